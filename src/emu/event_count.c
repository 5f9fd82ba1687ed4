/* Counting accesses as they happen. */
#include "emu/event_count.h"

#include <string.h>

/* Whether copies of 16 bytes come past the cache from lines of data, lane by lane: what counters
 * take for granted. */
static bool follows_lanes(const bf_emu_event *event) {
  const uint64_t *from = event->global_address;
  bool follows = !event->is_cached && from[0] % 128 == 0;
  for (unsigned lane = 1; lane < BF_EMU_LANES && follows; lane++)
    follows = !(event->mask >> lane & 1) || from[lane] == from[0] + 16 * (uint64_t)lane;
  return follows && (event->mask & 1);
}

int bf_emu_event_count(bf_counter *counter, const bf_machine *machine, const bf_hash *hash,
                       const bf_emu_event *event, bf_count *count) {
  BF_TRY(bf_counter_count_lanes(counter, event->op, event->width_bytes, event->mask,
                                event->shared_address, count, NULL));
  bool is_copy =
      event->op == BF_OP_CP16 && event->global_address && event->mask && !follows_lanes(event);
  if (!event->mask || (!is_copy && !event->changes))
    return BF_OK;
  bf_access access = {
      .op = event->op, .width_bytes = event->width_bytes, .mask = event->mask, .count = 1};
  memcpy(access.address, event->shared_address, BF_EMU_LANES * sizeof *event->shared_address);
  if (!is_copy)
    return bf_memory_count_changes(machine, hash, &access, event->changes, count, NULL);
  return bf_memory_count_copy(machine, hash, &access, event->global_address, event->is_cached,
                              count, NULL);
}

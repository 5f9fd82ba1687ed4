/* Memory that is fetched while other warps run. */
#include "emu/fetch.h"
#include "emu/warp.h"

#include <stdlib.h>

enum { FADING = 6 /* 1 << FADING lanes count for the share of misses */ };

static uint32_t *set_of(bf_emu_fetches *fetches, uint64_t line) {
  return fetches->line[(line * UINT64_C(0x9e3779b97f4a7c15) >> 32) % BF_FETCH_SETS];
}

static bool is_known(const uint32_t *set, uint64_t line) {
  bool is_there = false;
  for (unsigned way = 0; way < BF_FETCH_WAYS; way++)
    is_there |= set[way] == (uint32_t)line;
  return is_there;
}

/* A line that follows one that is there counts as found: lanes that go through rows of their own
 * are foreseen by the host. */
void bf_fetch_look_up(bf_emu_worker *worker, const bf_emu_op *op, uint32_t sampled,
                      const uint64_t *address) {
  if (!worker->fetches && !(worker->fetches = calloc(1, sizeof *worker->fetches)))
    return; /* a warp waits for its own memory then */
  bf_emu_fetches *fetches = worker->fetches;
  uint32_t *misses = &fetches->misses[op->site % BF_EMU_KNOWN];
  BF_EACH_LANE(sampled, lane) {
    uint64_t line = (address[lane] + (uint64_t)op->offset) >> BF_FETCH_LINE_BITS;
    bool is_there = is_known(set_of(fetches, line), line);
    bool is_foreseen = is_there || is_known(set_of(fetches, line - 1), line - 1);
    if (!is_there)
      set_of(fetches, line)[fetches->turn++ % BF_FETCH_WAYS] = (uint32_t)line;
    *misses += ((is_foreseen ? 0 : BF_FETCH_ONE) >> FADING) - (*misses >> FADING);
  }
}

void bf_fetch_begin(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask,
                    const uint64_t *address) {
  BF_EACH_LANE(mask, lane)
  __builtin_prefetch((const void *)(uintptr_t)(address[lane] + (uint64_t)op->offset));
  warp->fetched = op;
  warp->is_fetching = true;
  bf_emu_account(warp, op);
  bf_emu_yield(warp, op, false);
}

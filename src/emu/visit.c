/* Visits in shared memory of other blocks of a cluster. */
#include "emu/visit.h"

#include "emu/cluster.h"
#include "emu/race.h"

#include <stdlib.h>

/* The last access of a block to shared memory of another; warp NULL: none. */
typedef struct visit {
  bf_emu_warp *warp;
  const bf_emu_op *op;
  uint64_t address;
  uint32_t time; /* of race.c */
  unsigned lane, width_bytes;
  bool is_write;
} visit;

struct bf_emu_visits {
  uint32_t heard; /* of the ranks that have begun */
  visit from[BF_EMU_MOST_CLUSTER];
};

void bf_visit_free(bf_emu_block *block) {
  free(block->visits);
  block->visits = NULL;
}

void bf_visit_begin(bf_emu_block *block) {
  if (block->visits)
    *block->visits = (struct bf_emu_visits){0};
}

/* What is known of a block; NULL: nobody looks for races, or memory is exhausted. */
static struct bf_emu_visits *visits_of(bf_emu_block *block) {
  if (!block->visits && block->worker->flight->races)
    block->visits = calloc(1, sizeof *block->visits);
  return block->visits;
}

void bf_visit_heard(bf_emu_block *block, unsigned rank) {
  struct bf_emu_visits *visits = block->cluster ? visits_of(block) : NULL;
  if (visits)
    visits->heard |= rank < BF_EMU_MOST_CLUSTER ? UINT32_C(1) << rank : UINT32_MAX;
}

static bool tell(const visit *of, const bf_emu_block *owner, const char *what) {
  char text[200];
  snprintf(text, sizeof text, "block (%u,%u,%u), whose memory this is, %s", owner->id[0],
           owner->id[1], owner->id[2], what);
  return bf_emu_say_race(of->warp, of->op, BF_PTX_SPACE_SHARED, of->lane, of->address,
                         of->width_bytes, of->is_write, text);
}

bool bf_visit_note(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *owner,
                   uint64_t address, unsigned width_bytes, bool is_write) {
  struct bf_emu_visits *own = visits_of(warp->block), *other = visits_of(owner);
  if (!own || !other)
    return bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, lane, "out of memory") != NULL;
  visit now = {.warp = warp,
               .op = op,
               .address = address,
               .time = bf_race_time(warp->worker->flight),
               .lane = lane,
               .width_bytes = width_bytes,
               .is_write = is_write};
  other->from[warp->block->rank] = now;
  return own->heard >> owner->rank & 1 || bf_race_has_heard(warp->block, owner) ||
         tell(&now, owner,
              "may not have begun: a barrier of the cluster, or something else that comes from it, "
              "must be waited for before");
}

void bf_visit_ended(bf_emu_block *block) {
  for (unsigned i = 0; block->visits && i < block->cluster->count; i++) {
    const visit *last = &block->visits->from[i];
    if (last->warp && !bf_race_is_ordered(last->warp->block, last->time, block) &&
        !tell(last, block,
              "may end before: it must wait for a barrier of the cluster, or for something else "
              "that comes from this thread, behind this"))
      return;
  }
}

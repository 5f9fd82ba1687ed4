/* The last copies of a thread, each in one of the slots of the set that its numbers lead to. */
#include "emu/copied.h"
#include "emu/inner.h"

#include <stdlib.h>

enum { SET_BITS = 7, SETS = 1 << SET_BITS, SLOTS = 4, LINE_BYTES = 128 };

/* All that the cost of a copy depends on. Lanes that take no part have zeros. */
typedef struct copy {
  uint64_t from[BF_EMU_LANES]; /* the sources, from the line on that the first of them lies in */
  uint32_t to[BF_EMU_LANES];
  uint32_t mask; /* 0: no copy */
  uint32_t is_cached;
} copy;

typedef struct slot {
  copy copy;
  bf_copied_cost cost;
} slot;

struct bf_copied {
  slot set[SETS][SLOTS];
  unsigned next; /* which slot of a set is given to another copy */
};

static copy copy_of(const bf_emu_event *event) {
  copy own = {.mask = event->mask, .is_cached = event->is_cached};
  uint64_t line = event->global_address[BF_FIRST_LANE(event->mask)] / LINE_BYTES * LINE_BYTES;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    bool takes_part = event->mask >> lane & 1;
    own.from[lane] = takes_part ? event->global_address[lane] - line : 0;
    own.to[lane] = takes_part ? event->shared_address[lane] : 0;
  }
  return own;
}

static unsigned set_of(const copy *own) {
  uint64_t mixed = own->mask ^ (uint64_t)own->is_cached << 32;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    mixed += (own->from[lane] + ((uint64_t)own->to[lane] << 24)) * (2 * lane + 1);
  return (unsigned)(mixed * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SET_BITS));
}

bool bf_copied_find(const bf_copied *copied, const bf_emu_event *event, bf_copied_cost *cost) {
  if (!copied)
    return false;
  copy own = copy_of(event);
  const slot *set = copied->set[set_of(&own)];
  for (unsigned i = 0; i < SLOTS; i++)
    if (memcmp(&set[i].copy, &own, sizeof own) == 0) {
      *cost = set[i].cost;
      return true;
    }
  return false;
}

void bf_copied_keep(bf_copied **copied, const bf_emu_event *event, const bf_copied_cost *cost) {
  if (!*copied)
    *copied = calloc(1, sizeof **copied);
  if (!*copied)
    return;
  copy own = copy_of(event);
  (*copied)->set[set_of(&own)][(*copied)->next++ % SLOTS] = (slot){own, *cost};
}

void bf_copied_free(bf_copied *copied) { free(copied); }

/* A table by place and warp. Where an entry is missed many times in a row, addresses depend on
 * data: then only some of the accesses are remembered, in case that changes. */
#include "emu/again.h"
#include "emu/inner.h"

#include <stdlib.h>

/* Warps of a place that have entries of their own; misses that are all remembered, and which of the
 * others are. */
enum { ENTRIES = 512, WARPS = 8, PATIENCE = 8, RARELY = 64 };

struct bf_again {
  bf_again_entry entry[ENTRIES];
};

bf_again_entry *bf_again_find(bf_again **again, const bf_emu_event *event, bf_again_entry **place) {
  *place = NULL;
  if (!*again)
    *again = calloc(1, sizeof **again);
  if (!*again || event->global_address || event->changes || !event->mask)
    return NULL;
  bf_again_entry *at = &(*again)->entry[(event->site * WARPS + event->warp % WARPS) % ENTRIES];
  if (at->mask == event->mask && at->site == event->site && at->op == event->op &&
      at->width_bytes == event->width_bytes &&
      memcmp(at->address, event->shared_address, sizeof at->address) == 0) {
    at->misses = 0;
    return at;
  }
  if (++at->misses <= PATIENCE || at->misses % RARELY == 0)
    *place = at;
  return NULL;
}

void bf_again_set(bf_again_entry *place, const bf_emu_event *event, const bf_copied_cost *cost,
                  bf_kept_access *kept) {
  memcpy(place->address, event->shared_address, sizeof place->address);
  place->mask = event->mask;
  place->site = event->site;
  place->op = event->op;
  place->width_bytes = event->width_bytes;
  place->cost = *cost;
  place->kept = kept;
}

void bf_again_free(bf_again *again) { free(again); }

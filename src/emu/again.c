/* A table of accesses by place of the code, mask and two of the addresses. Where accesses of a
 * place are not found many times in a row, addresses depend on data: then only some of them are
 * remembered, in case that changes. */
#include "emu/again.h"
#include "emu/inner.h"

#include <stdlib.h>

/* Sets of accesses that are remembered, and how many are in one; places that have a count of misses
 * of their own; misses that are all remembered, and which of the others are. A loop over a triangle
 * makes some hundred accesses at one place, each once, before the first is made again. */
enum { SET_BITS = 11, SETS = 1 << SET_BITS, WAYS = 2, PLACES = 256, PATIENCE = 512, RARELY = 64 };

struct bf_again {
  bf_again_entry entry[SETS][WAYS];
  uint32_t misses[PLACES]; /* since one was found */
};

/* Four lanes, and all ones in those whose bits are set. */
typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));
#define BIT(i, k) ((i) >> (k)&1 ? UINT32_MAX : 0)
#define SPREAD(i)                                                                                  \
  { BIT(i, 0), BIT(i, 1), BIT(i, 2), BIT(i, 3) }
static const four spread[16] = {
    SPREAD(0), SPREAD(1), SPREAD(2),  SPREAD(3),  SPREAD(4),  SPREAD(5),  SPREAD(6),  SPREAD(7),
    SPREAD(8), SPREAD(9), SPREAD(10), SPREAD(11), SPREAD(12), SPREAD(13), SPREAD(14), SPREAD(15)};

/* Whether lanes of mask have these addresses. */
static inline bool are_same(const uint16_t *element, unsigned shift, const uint32_t *address,
                            uint32_t mask) {
  four apart = {0};
  for (unsigned i = 0; i < BF_EMU_LANES; i += 4) {
    four known = {element[i], element[i + 1], element[i + 2], element[i + 3]};
    apart |=
        ((known << shift) ^ *(const four *)(const void *)(address + i)) & spread[mask >> i & 15];
  }
  return (apart[0] | apart[1] | apart[2] | apart[3]) == 0;
}

/* Where an access is remembered: the addresses of its first and last lane tell most apart. */
static inline unsigned set_of(const bf_emu_event *event) {
  uint64_t first = event->shared_address[__builtin_ctz(event->mask)];
  uint64_t last = event->shared_address[31 - __builtin_clz(event->mask)];
  uint64_t key = (first << 32 | event->mask) ^ last * UINT64_C(0xc2b2ae3d27d4eb4f) ^
                 event->site * UINT64_C(0x165667b19e3779f9);
  return (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SET_BITS));
}

static inline bool is_it(const bf_again_entry *at, const bf_emu_event *event) {
  return at->mask == event->mask && at->site == event->site && at->op == event->op &&
         at->width_bytes == event->width_bytes &&
         are_same(at->element, (unsigned)__builtin_ctz(event->width_bytes), event->shared_address,
                  event->mask);
}

/* The table, aligned as its entries are; NULL: out of memory. */
static bf_again *make(void) {
  void *made = NULL;
  if (posix_memalign(&made, _Alignof(bf_again), sizeof(bf_again)))
    return NULL;
  return memset(made, 0, sizeof(bf_again));
}

bf_again_entry *bf_again_find(bf_again **again, const bf_emu_event *event, bf_again_entry **place) {
  *place = NULL;
  if (!*again)
    *again = make();
  if (!*again || event->global_address || event->changes || !event->mask)
    return NULL;
  bf_again_entry *set = (*again)->entry[set_of(event)];
  uint32_t *misses = &(*again)->misses[event->site % PLACES];
  for (unsigned i = 0; i < WAYS; i++)
    if (is_it(&set[i], event)) {
      *misses = 0;
      return &set[i];
    }
  if (++*misses <= PATIENCE || *misses % RARELY == 0)
    *place = &set[*misses % WAYS];
  return NULL;
}

void bf_again_set(bf_again_entry *place, const bf_emu_event *event, const bf_copied_cost *cost,
                  bf_kept_access *kept) {
  unsigned shift = (unsigned)__builtin_ctz(event->width_bytes);
  uint32_t bad = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint32_t address = event->mask >> lane & 1 ? event->shared_address[lane] : 0;
    place->element[lane] = (uint16_t)(address >> shift);
    bad |= address ^ (uint32_t)place->element[lane] << shift;
  }
  place->mask = bad ? 0 : event->mask;
  place->site = event->site;
  place->op = (uint8_t)event->op;
  place->width_bytes = (uint8_t)event->width_bytes;
  place->count = cost->count;
  place->number = cost->pattern.number;
  place->base = cost->pattern.base;
  place->kept = kept;
}

void bf_again_free(bf_again *again) { free(again); }

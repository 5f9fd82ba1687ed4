/* Inside room emu: other warps run while memory is fetched for one.
 *
 * Lanes that load from places far apart in a large array wait for the host's memory, 100
 * nanoseconds and more, and a host sees only about as far ahead as one such load of a warp. So
 * where a load has a lane that mostly misses the host's cache, all its lines are fetched, and other
 * warps of the block run before the load is done: as a GPU does it. Whether lanes miss is told by
 * a sample of a cache, not by a clock, so that warps take turns in the same order in
 * every run. */
#ifndef BF_EMU_FETCH_H
#define BF_EMU_FETCH_H

#include "emu/inner.h"

enum {
  BF_FETCH_BYTES = 1 << 22, /* arrays that are not larger mostly stay in the host's cache */
  BF_FETCH_BESIDE = 8,      /* warps that take turns: the registers of more do not stay there */
  BF_FETCH_LINE_BITS = 6,   /* of a line of the host's cache, */
  BF_FETCH_PAGE_BITS = 12,  /* and of a page of its memory */
  BF_FETCH_WARPS = 8,       /* one warp of so many is looked at, */
  BF_FETCH_SHARE = 64,      /* and one page of so many */
  BF_FETCH_ONE = 1 << 16,   /* a share of misses of 1 */
  BF_FETCH_LEAST = BF_FETCH_ONE / 3, /* from which on other warps run meanwhile */
  BF_FETCH_WAYS = 4,
  BF_FETCH_SETS = BF_FETCH_BYTES / BF_FETCH_WAYS / BF_FETCH_SHARE >> BF_FETCH_LINE_BITS
};

/* A sample of a cache of BF_FETCH_BYTES, and what was found there. */
typedef struct bf_emu_fetches {
  uint32_t line[BF_FETCH_SETS][BF_FETCH_WAYS];
  uint32_t turn;                 /* of ways, to be replaced */
  uint32_t misses[BF_EMU_KNOWN]; /* by site: the share of lanes that did not find their line */
} bf_emu_fetches;

/* Looks up lanes whose pages are in the sample, and takes note of what was found. */
void bf_fetch_look_up(bf_emu_worker *worker, const bf_emu_op *op, uint32_t sampled,
                      const uint64_t *address);
/* Fetches memory for lanes of mask and sets the path aside, which then executes op again. */
void bf_fetch_begin(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask, const uint64_t *address);

/* The lanes of mask whose pages are in the sample. */
static inline uint32_t bf_fetch_sampled(const bf_emu_op *op, uint32_t mask,
                                        const uint64_t *address) {
  uint32_t sampled = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint64_t page = (address[lane] + (uint64_t)op->offset) >> BF_FETCH_PAGE_BITS;
    uint64_t mixed = page ^ page >> 6 ^ page >> 12;
    sampled |= (uint32_t)(mixed % BF_FETCH_SHARE == 0) << lane;
  }
  return sampled & mask;
}

/* bf_fetch_first where the array is large. */
__attribute__((noinline)) static bool bf_fetch_large(bf_emu_warp *warp, const bf_emu_op *op,
                                                     uint32_t mask, const uint64_t *address) {
  bf_emu_worker *worker = warp->worker;
  if (!warp->block->may_fetch)
    return false;
  if (warp->fetched == op) {
    warp->fetched = NULL;
    return false;
  }
  uint32_t sampled = warp->index % BF_FETCH_WARPS == 0 ? bf_fetch_sampled(op, mask, address) : 0;
  if (sampled)
    bf_fetch_look_up(worker, op, sampled, address);
  /* A warp whose lanes go different ways, or that polls, is not to lose its place among them. */
  if (!worker->fetches || worker->fetches->misses[op->site % BF_EMU_KNOWN] < BF_FETCH_LEAST ||
      warp->paths || warp->spins || warp->polled)
    return false;
  bf_fetch_begin(warp, op, mask, address);
  return true;
}

/* Whether a load of lanes of mask, which lie apart, has been set aside until its memory is fetched;
 * then the operation returns NULL. Addresses are those of registers, before the op's offset, and in
 * the range that the place of the code used last. */
static inline bool bf_fetch_first(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask,
                                  const uint64_t *address) {
  const bf_emu_known *known = &warp->worker->known[op->site % BF_EMU_KNOWN];
  return known->end - known->first > BF_FETCH_BYTES && bf_fetch_large(warp, op, mask, address);
}

#endif

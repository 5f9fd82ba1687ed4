/* memory/far: what accesses to the shared memory of other blocks of a cluster send. */
#ifndef BF_MEMORY_FAR_H
#define BF_MEMORY_FAR_H

#include "memory/memory.h"

/* Sectors of 32 bytes that an access of up to 32 lanes sends: a load those that it touches; an
 * atomic two for each, again for every further lane of its most wanted word; a store one for each
 * 16 bytes that it touches, but one for a whole sector that neighbouring lanes write: those whose
 * data lie in the same 64 bytes of what the warp stores, the first of which is not overwritten. So
 * an H200 counts; of stores it is an estimate, 3.8% off on average (tests/data/h200/README.md),
 * which bf_memory_far_range bounds. */
unsigned bf_memory_far_sectors(bf_side side, unsigned width_bytes, uint32_t mask,
                               const uint64_t *address);

/* What an H200 may count in the place of bf_memory_far_sectors. A load counts that. A store counts
 * at least the sectors and at most the halves of sectors that it touches: two of a sector of which
 * a word is missing but both halves are touched; one of a sector that lanes write in order, alone,
 * if all 64 bytes of what the warp stores that they belong to are such sectors. An atomic counts
 * that where no word is wanted twice, and at most two for each lane. */
typedef struct bf_far_range {
  unsigned least, most;
} bf_far_range;
bf_far_range bf_memory_far_range(bf_side side, unsigned width_bytes, uint32_t mask,
                                 const uint64_t *address);

#endif

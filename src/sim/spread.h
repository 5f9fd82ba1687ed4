/* Inside room sim: how addresses are dealt out to the sets of a cache, the slices of the
 * second-level cache, memory channels and their banks. Things that follow each other go to parts
 * that follow each other, so that a stream uses all of them evenly; and every round over the parts
 * begins at another one, so that a stride which is a multiple of their number does not stay on a
 * single part.
 */
#ifndef BF_SIM_SPREAD_H
#define BF_SIM_SPREAD_H

#include <stdint.h>

/* The part, below `parts` (less than 2^32), of thing `index`; *round is index / parts. Part and
 * round together tell the thing:
 *   part = (index mod parts + floor(parts * frac(round * 0.618...))) mod parts */
static inline uint64_t bf_sim_spread(uint64_t index, uint64_t parts, uint64_t *round) {
  *round = index / parts;
  uint64_t turned = ((*round * UINT64_C(0x9e3779b97f4a7c15)) >> 32) * parts >> 32;
  uint64_t part = index - *round * parts + turned;
  return part < parts ? part : part - parts;
}

#endif

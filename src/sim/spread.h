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

/* A number of parts, at least 1 and less than 2^32, with what divides by it without a division:
 *   index / parts = floor(index * magic / 2^(64 + shift)) for index < 2^63,
 * where magic = ceil(2^(64 + shift) / parts) and 2^shift is the greatest power of two below parts,
 * so that magic is less than 2^64 and its error, less than parts / 2^(64 + shift) <= 2^-63, is too
 * small to reach the next whole number. */
typedef struct bf_sim_parts {
  uint64_t parts, magic;
  unsigned shift;
} bf_sim_parts;

__extension__ typedef unsigned __int128 bf_sim_product;

static inline bf_sim_parts bf_sim_parts_of(uint64_t parts) {
  unsigned shift = 0;
  while ((UINT64_C(2) << shift) < parts)
    shift++;
  bf_sim_product power = (bf_sim_product)1 << (64 + shift);
  uint64_t magic = parts > 1 ? (uint64_t)((power + parts - 1) / parts) : 0;
  return (bf_sim_parts){.parts = parts, .magic = magic, .shift = shift};
}

/* index / parts. */
static inline uint64_t bf_sim_parts_divide(const bf_sim_parts *own, uint64_t index) {
  if (!own->magic)
    return index;
  return (uint64_t)((bf_sim_product)index * own->magic >> 64) >> own->shift;
}

/* As bf_sim_spread. */
static inline uint64_t bf_sim_parts_spread(const bf_sim_parts *own, uint64_t index,
                                           uint64_t *round) {
  *round = bf_sim_parts_divide(own, index);
  uint64_t turned = ((*round * UINT64_C(0x9e3779b97f4a7c15)) >> 32) * own->parts >> 32;
  uint64_t part = index - *round * own->parts + turned;
  return part < own->parts ? part : part - own->parts;
}

#endif

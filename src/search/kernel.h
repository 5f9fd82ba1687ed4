/* Inside room search: the inner loops of the exact solver on bit planes.
 *
 * A functional is a mask over coordinates; its value on a word is a parity. For each shape the
 * plane of a functional is a 32-bit mask: bit i is the functional's value on word i of the shape.
 * Choosing functionals one by one splits each shape's words into blocks, and after all bank_bits
 * of them a block is what one bank serves. With r functionals still to come a block of c words
 * needs at least ceil(c / 2^r) wavefronts, which bounds the cost from below.
 *
 * Planes of all functionals are the XOR of two table entries. Arrays that run over shapes are
 * padded to a multiple of 16 and aligned to 64 bytes; padding has weight 0. The same body
 * (kernel_body.h) is compiled for scalars, AVX2 and AVX-512; bf_kernel_best picks at run time. */
#ifndef BF_SEARCH_KERNEL_H
#define BF_SEARCH_KERNEL_H

#include "search/problem.h"

enum { BF_MAX_FUNCTIONALS = 6, BF_PLANE_WORDS = 32, BF_PLANE_ALIGN = 64 };

typedef struct bf_planes {
  unsigned dimension, low_dimension;
  size_t stride;    /* shapes, padded */
  uint32_t *low;    /* [2^low_dimension][stride] */
  uint32_t *high;   /* [2^(dimension - low_dimension)][stride] */
  uint32_t *active; /* which words exist */
  uint32_t *ideal;
  uint32_t *weight;
  uint32_t *square; /* NULL if no shape has any */
} bf_planes;

/* Planes of a problem in coordinates; BF_UNSUPPORTED where a shape has more than 32 words. */
int bf_planes_build(const bf_problem *problem, const bf_coordinates *coordinates, bf_planes *planes,
                    bf_diagnostic *diagnostic);
void bf_planes_free(bf_planes *planes);
/* count zeroed 32-bit numbers at the alignment kernels need; free with free(). */
uint32_t *bf_planes_array(size_t count);

/* What a search has split on the way down: at each level 2^level blocks per shape, their sizes, and
 * room for the wavefronts each shape needs at least. Level 0 is the shapes themselves. */
typedef struct bf_levels {
  uint32_t *blocks[BF_MAX_FUNCTIONALS + 1], *sizes[BF_MAX_FUNCTIONALS + 1];
  uint32_t *passes[BF_MAX_FUNCTIONALS + 1];
} bf_levels;
/* Levels 0..deepest; false, with nothing to free, when out of memory. */
bool bf_levels_make(const bf_planes *planes, unsigned deepest, bf_levels *levels);
void bf_levels_free(bf_levels *levels);

struct bf_pencil;
struct bf_fold;
/* A set of the points of fold.h. */
typedef uint64_t bf_points __attribute__((vector_size(16)));
typedef uint8_t bf_bytes __attribute__((vector_size(16)));
typedef struct bf_kernel {
  const char *name;
  /* Cost of a full hash of m functionals. */
  uint64_t (*cost)(const bf_planes *planes, const uint32_t *functional, unsigned m);
  /* Splits the 2^level blocks by one functional into 2^(level+1), with their sizes. */
  void (*split)(const bf_planes *planes, const uint32_t *blocks, unsigned level,
                uint32_t functional, uint32_t *out_blocks, uint32_t *out_sizes);
  /* Wavefronts that each shape needs at least, given sizes of 2^level blocks of m functionals;
   * returns the weighted sum above ideal. */
  uint64_t (*passes)(const bf_planes *planes, const uint32_t *sizes, unsigned level, unsigned m,
                     uint32_t *passes);
  /* The same sum after one more functional, from the parent's passes and sum; stops early with a
   * value of at least limit. With level + 1 == m it is the exact cost. */
  uint64_t (*bound)(const bf_planes *planes, const uint32_t *blocks, const uint32_t *sizes,
                    unsigned level, unsigned m, uint32_t functional, const uint32_t *parent,
                    uint64_t parent_sum, uint64_t limit);
  /* Adds the units of all functionals at a node of that level to a pencil (pencil.h). */
  void (*pencil)(struct bf_pencil *pencil, const bf_levels *levels, unsigned level);
  /* Of the planes of functional f and the later ones that lead above it, up to `most` whose units,
   * or-ed, stay below; returns how many. */
  unsigned (*planes)(const struct bf_pencil *pencil, uint32_t f, const uint32_t *others,
                     uint32_t count, uint64_t below, unsigned most, uint32_t *found);
  /* Which last functionals from `first` on cost less than `below` on top of the node. */
  void (*ends)(struct bf_pencil *pencil, const bf_levels *levels, unsigned level, uint32_t first,
               uint64_t below);
  /* Folds by a vector (fold.h), whose bits below q are t. False if no vector costs less than
   * `below`, divided by the factor, on top of the node above. */
  bool (*fold)(struct bf_fold *fold, unsigned t, uint64_t below);
  /* The v of `others` for which the units of u, v and u ^ v, or-ed, stay below on top of the folded
   * node; found has room for all points. Returns how many. */
  unsigned (*fold_planes)(struct bf_fold *fold, unsigned u, const bf_points *others, uint64_t below,
                          uint8_t *found);
} bf_kernel;

extern const bf_kernel bf_kernel_scalar;
#if defined(__x86_64__)
extern const bf_kernel bf_kernel_avx2, bf_kernel_avx512;
#endif
/* All kernels this CPU can run, slowest first; NULL past the last. */
const bf_kernel *bf_kernel_available(unsigned index);
const bf_kernel *bf_kernel_best(void);

#endif

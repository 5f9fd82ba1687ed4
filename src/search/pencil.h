/* Inside room search: the last two functionals of a hash, all of them at once.
 *
 * A node of the search has chosen all functionals but two, V. Every hash below it is V and a plane
 * {0, f, g, f^g} of functionals modulo V. A functional f forces *units*: one wavefront more of one
 * shape than V alone forces. The hash forces what any of its three functionals does, so the units
 * of the three or-ed are a bound, which is far above the bound of each alone: of 40 random shapes
 * each functional forces another half.
 *
 * Units are bit vectors over all 2^width functionals: the value of every functional on a word is a
 * row of the Walsh matrix, ones in a block are counted by bit-sliced adders, and comparing the
 * counts gives the unit. 64 units are turned into a word per functional, by units of like weight
 * (a weight is split into powers of two). */
#ifndef BF_SEARCH_PENCIL_H
#define BF_SEARCH_PENCIL_H

#include "search/kernel.h"

enum {
  BF_PENCIL_MAX_WIDTH = 12, /* coordinates that are left for the last two functionals */
  BF_PENCIL_MAX_SHAPES = 4096,
  BF_PENCIL_GROUP = 64,       /* units of one word */
  BF_PENCIL_THRESHOLDS = 16,  /* units of one shape that can be new at a node */
  BF_PENCIL_WEIGHT_BITS = 40, /* of a weight, less the factor that all share */
};

/* What does not change during a search. */
typedef struct bf_pencil_plan {
  const bf_planes *planes;
  uint64_t factor; /* that all weights share */
  uint64_t walsh[256][4] __attribute__((aligned(64)));
  uint16_t *code; /* [shape][BF_PLANE_WORDS]: free coordinates of the words */
} bf_pencil_plan;

/* What one worker fills at a node. Words of 64 units are in the order of bf_pencil_at. */
typedef struct bf_pencil {
  const bf_pencil_plan *plan;
  unsigned width;
  uint32_t first;                        /* functionals below it are not asked for */
  uint16_t *code;                        /* without the leads of V */
  uint64_t *open[BF_PENCIL_WEIGHT_BITS]; /* units that wait, by weight bit */
  unsigned waiting[BF_PENCIL_WEIGHT_BITS];
  uint64_t **group; /* [groups][2^width]: the units that each functional forces */
  uint64_t *weight; /* of a unit of the group */
  unsigned groups, capacity;
  uint64_t *sum; /* [2^width]: what a functional forces on top of V */
  bool out_of_memory;
  uint16_t *end_code; /* code without one lead more: for the last functional alone */
  uint64_t *ends;     /* a bit for each functional number: it costs less than was asked */
} bf_pencil;

/* The place of functional number t. */
static inline uint32_t bf_pencil_at(uint32_t t) {
  return (t & ~255u) | (t & 63) << 2 | (t >> 6 & 3);
}

/* Whether a problem with so many free coordinates, less those of V, fits. BF_UNSUPPORTED if not. */
int bf_pencil_plan_make(const bf_problem *problem, const bf_coordinates *coordinates,
                        unsigned fixed, const bf_planes *planes, bf_pencil_plan **plan,
                        bf_diagnostic *diagnostic);
void bf_pencil_plan_free(bf_pencil_plan *plan);
bf_pencil *bf_pencil_new(const bf_pencil_plan *plan, unsigned width);
void bf_pencil_free(bf_pencil *pencil);
/* Another group of units for the kernels; NULL when out of memory. */
uint64_t *bf_pencil_add_group(bf_pencil *pencil, uint64_t weight);

/* Fills groups and sums of a node: blocks, sizes and passes of its level, whose functionals lead
 * with the coordinates of leads (free ones). */
void bf_pencil_fill(const bf_kernel *kernel, bf_pencil *pencil, const bf_levels *levels,
                    unsigned level, uint32_t leads, uint32_t first);

/* The same for the last functional alone, at a node whose functionals lead with one coordinate
 * more, number `lead` of those left: ends says which functionals from `first` on cost less than
 * `below` on top of what the node forces. */
void bf_pencil_end(const bf_kernel *kernel, bf_pencil *pencil, const bf_levels *levels,
                   unsigned level, unsigned lead, uint32_t first, uint64_t below);

#endif

/* Inside room search: the last two vectors of a null space, all of them at once.
 *
 * A node of the search over null spaces has chosen all vectors but two, N. Words that differ by a
 * vector of N share a bank for sure; so the words of a shape are numbers on the *points* of the
 * space modulo N, of which there are four for each bank. Every hash below the node is N and a plane
 * {0, u, v, u^v} of vectors modulo N. A vector u forces *units*: the fullest bank of a shape has
 * one word more than under N alone, where a point and the point u away from it hold that many
 * together. The hash forces what any of its three vectors does, so the units of the three or-ed are
 * a bound.
 *
 * Which vectors force a unit is a set of points too: from every point x that holds k words, the
 * points that hold T - k or more, moved by x. Sets of 128 points are one vector register, and
 * moving by x is three byte shuffles. Nodes that differ in their last vector alone are made by
 * *folding* the points of the node above: those with bit q set are moved onto the others. */
#ifndef BF_SEARCH_FOLD_H
#define BF_SEARCH_FOLD_H

#include "search/kernel.h"

enum {
  BF_FOLD_MAX_BANK_BITS = 5, /* 4 * 2^5 points */
  BF_FOLD_POINTS = 128,
  BF_FOLD_WEIGHT_BITS = 40, /* of a weight, less the factor that all share */
  BF_FOLD_GROUP = 64,       /* units of one word */
};

/* A shape at the node above, whose points are two halves: bit q not set, bit q set. */
typedef struct bf_fold_shape {
  uint8_t top[2];                            /* words of the fullest point of each half */
  uint8_t fullest;                           /* wavefronts so far, at least the ideal */
  uint64_t weight, square;                   /* as in bf_shape, divided by the factor */
  bf_points at_least[2][BF_PLANE_WORDS + 1]; /* points that hold so many words; 1 to 3
                                                and what top says are set */
} bf_fold_shape;

typedef struct bf_fold {
  size_t count; /* of shapes */
  bf_fold_shape *shape;
  uint64_t factor;   /* that all weights share */
  bf_points allowed; /* vectors that may be chosen */
  /* What the kernel says of the node that is folded: */
  uint64_t cost;   /* on top of the node above, divided by the factor */
  bf_points alive; /* vectors that cost less than was asked, with N */
  size_t units;
  bf_points *unit; /* the vectors that force it */
  uint64_t *weight;
  /* The same turned round, for planes: groups of up to 64 units of like weight. */
  bool turned;
  unsigned groups;
  uint64_t (*group)[BF_FOLD_POINTS]; /* a bit for each unit that the vector forces */
  uint64_t *group_weight;
} bf_fold;

/* A fold for the shapes of a problem; NULL when out of memory. fits says whether there can be one.
 */
bool bf_fold_fits(const bf_problem *problem);
bf_fold *bf_fold_new(const bf_problem *problem);
void bf_fold_free(bf_fold *fold);

/* No words yet. */
void bf_fold_clear(bf_fold_shape *shape, unsigned fullest);
/* Adds that many words at a point of a half. */
void bf_fold_add(bf_fold_shape *shape, unsigned half, unsigned point, unsigned words);

static inline bool bf_points_has(const bf_points *set, unsigned point) {
  return (*set)[point / 64] >> point % 64 & 1;
}
/* Those points of which bit `bit` is set. */
bf_points bf_points_with_bit(unsigned bit);

#endif

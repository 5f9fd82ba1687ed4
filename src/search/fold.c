/* Memory of folds; the nodes themselves are folded by the kernels (fold_body.h). */
#include "search/fold.h"

#include <stdlib.h>
#include <string.h>

static uint64_t common_factor(const bf_problem *problem) {
  uint64_t factor = 0;
  for (size_t s = 0; s < problem->count; s++) {
    factor = bf_common_factor(factor, problem->shape[s].weight);
    factor = bf_common_factor(factor, problem->shape[s].square);
  }
  return factor ? factor : 1;
}

/* Bits that the weight of a unit can have, with the factor taken out. */
static unsigned weight_bits(const bf_problem *problem, uint64_t factor) {
  unsigned bits = 1;
  for (size_t s = 0; s < problem->count; s++) {
    const bf_shape *shape = &problem->shape[s];
    while ((shape->weight / factor + shape->square / factor * BF_PLANE_WORDS) >> bits)
      bits++;
  }
  return bits;
}

bool bf_fold_fits(const bf_problem *problem) {
  if (problem->geometry.bank_bits > BF_FOLD_MAX_BANK_BITS)
    return false;
  for (size_t s = 0; s < problem->count; s++)
    if (problem->shape[s].words > BF_PLANE_WORDS ||
        (problem->shape[s].weight | problem->shape[s].square) >> 48)
      return false;
  return weight_bits(problem, common_factor(problem)) <= BF_FOLD_WEIGHT_BITS;
}

bf_fold *bf_fold_new(const bf_problem *problem) {
  bf_fold *fold = calloc(1, sizeof *fold);
  if (!fold)
    return NULL;
  size_t units = problem->count * BF_PLANE_WORDS;
  fold->count = problem->count;
  fold->factor = common_factor(problem);
  size_t groups = (units / BF_FOLD_GROUP + 1) * weight_bits(problem, fold->factor);
  fold->shape = aligned_alloc(64, (problem->count * sizeof *fold->shape + 63) / 64 * 64);
  fold->unit = aligned_alloc(64, (units * sizeof *fold->unit + 63) / 64 * 64);
  fold->weight = malloc(units * sizeof *fold->weight);
  fold->group = malloc(groups * sizeof *fold->group);
  fold->group_weight = malloc(groups * sizeof *fold->group_weight);
  if (!fold->shape || !fold->unit || !fold->weight || !fold->group || !fold->group_weight) {
    bf_fold_free(fold);
    return NULL;
  }
  for (size_t s = 0; s < problem->count; s++) {
    fold->shape[s].weight = problem->shape[s].weight / fold->factor;
    fold->shape[s].square = problem->shape[s].square / fold->factor;
  }
  return fold;
}

void bf_fold_free(bf_fold *fold) {
  if (!fold)
    return;
  free(fold->shape);
  free(fold->unit);
  free(fold->weight);
  free(fold->group);
  free(fold->group_weight);
  free(fold);
}

void bf_fold_clear(bf_fold_shape *shape, unsigned fullest) {
  shape->top[0] = shape->top[1] = 0;
  for (unsigned half = 0; half < 2; half++)
    for (unsigned k = 1; k <= 3; k++)
      shape->at_least[half][k] = (bf_points){0};
  shape->fullest = (uint8_t)fullest;
}

void bf_fold_add(bf_fold_shape *shape, unsigned half, unsigned point, unsigned words) {
  bf_points *set = shape->at_least[half];
  for (; shape->top[half] < words; shape->top[half]++)
    if (shape->top[half] >= 3)
      set[shape->top[half] + 1] = (bf_points){0};
  for (unsigned k = 1; k <= words; k++)
    set[k][point / 64] |= (uint64_t)1 << point % 64;
}

bf_points bf_points_with_bit(unsigned bit) {
  bf_points set = {0};
  for (unsigned point = 0; point < BF_FOLD_POINTS; point++)
    if (point >> bit & 1)
      set[point / 64] |= (uint64_t)1 << point % 64;
  return set;
}

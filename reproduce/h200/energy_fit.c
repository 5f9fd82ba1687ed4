/* Least squares without negative values, one value after the other: each is moved to where the sum
 * is least while the others stay, or to 0, until nothing moves any more. The sum is convex, so that
 * this ends at its least. */
#include "reproduce/h200/energy_fit.h"

#include <math.h>

enum { LEAST_ROWS = 3 * H200_ENERGIES, MOST_ROWS = 512, MOST_ROUNDS = 100000 };

const char *const h200_energy_names[H200_ENERGIES] = {
    "static_watts",      "int_picojoules",   "float_picojoules",  "special_picojoules",
    "matrix_picojoules", "issue_picojoules", "shared_picojoules", "l1_picojoules"};

double *h200_energy_of(bf_sim_gpu *gpu, unsigned index) {
  double *const values[H200_ENERGIES] = {&gpu->static_watts,      &gpu->int_picojoules,
                                         &gpu->float_picojoules,  &gpu->special_picojoules,
                                         &gpu->matrix_picojoules, &gpu->issue_picojoules,
                                         &gpu->shared_picojoules, &gpu->l1_picojoules};
  return values[index];
}

/* What a launch takes of each value, and *fixed: of those that are not fitted, in joules. */
static void find_shares(bf_sim_gpu *gpu, const bf_sim_result *result, double *share,
                        double *fixed) {
  bf_sim_energy energy;
  for (unsigned i = 0; i < H200_ENERGIES; i++)
    *h200_energy_of(gpu, i) = 0;
  gpu->static_watts = 1e-30; /* without it there is no energy */
  bf_sim_energy_find(gpu, result, &energy);
  *fixed = energy.total;
  for (unsigned i = 0; i < H200_ENERGIES; i++) {
    double before = *h200_energy_of(gpu, i);
    *h200_energy_of(gpu, i) = 1;
    bf_sim_energy_find(gpu, result, &energy);
    share[i] = energy.total - *fixed;
    *h200_energy_of(gpu, i) = before;
  }
}

/* Moves one value to where the sum of squares is least; how far, as a share of it. */
static double move(const double (*share)[H200_ENERGIES], double *left, unsigned rows, unsigned i,
                   double *value) {
  double up = 0, down = 0;
  for (unsigned k = 0; k < rows; k++) {
    up += share[k][i] * left[k];
    down += share[k][i] * share[k][i];
  }
  if (down <= 0)
    return 0;
  double next = fmax(0, *value + up / down), by = next - *value;
  for (unsigned k = 0; k < rows; k++)
    left[k] -= by * share[k][i];
  *value = next;
  return fabs(by) / (next + 1e-9);
}

bool h200_energy_fit(const h200_energy_row *row, unsigned rows, bf_sim_gpu *gpu) {
  double share[MOST_ROWS][H200_ENERGIES], left[MOST_ROWS];
  double value[H200_ENERGIES] = {0};
  unsigned count = 0;
  for (unsigned i = 0; i < rows && count < MOST_ROWS; i++) {
    if (!row[i].is_fitted)
      continue;
    double fixed;
    find_shares(gpu, &row[i].result, share[count], &fixed);
    for (unsigned k = 0; k < H200_ENERGIES; k++)
      share[count][k] /= row[i].joules;
    left[count++] = 1 - fixed / row[i].joules;
  }
  if (count < LEAST_ROWS)
    return false;
  double farthest = 1;
  for (unsigned round = 0; round < MOST_ROUNDS && farthest > 1e-9; round++) {
    farthest = 0;
    for (unsigned i = 0; i < H200_ENERGIES; i++)
      farthest =
          fmax(farthest, move((const double(*)[H200_ENERGIES])share, left, count, i, &value[i]));
  }
  for (unsigned i = 0; i < H200_ENERGIES; i++)
    *h200_energy_of(gpu, i) = value[i];
  return true;
}

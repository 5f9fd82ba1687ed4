/* Evaluating many hashes of one problem: bit planes where the problem fits them, the reference
 * otherwise. */
#include "search/evaluate.h"

#include <string.h>

int bf_evaluator_build(const bf_problem *problem, bf_evaluator *evaluator,
                       bf_diagnostic *diagnostic) {
  memset(evaluator, 0, sizeof *evaluator);
  evaluator->problem = problem;
  evaluator->coordinates = bf_problem_coordinates(problem, 0);
  unsigned m = problem->geometry.bank_bits;
  if (m == 0 || m > BF_MAX_FUNCTIONALS || evaluator->coordinates.dimension > 24)
    return BF_OK;
  int error = bf_planes_build(problem, &evaluator->coordinates, &evaluator->planes, diagnostic);
  if (error == BF_UNSUPPORTED)
    return BF_OK;
  if (!error)
    evaluator->kernel = bf_kernel_best();
  return error;
}

uint64_t bf_evaluator_cost(const bf_evaluator *evaluator, const uint64_t *row) {
  if (!evaluator->kernel)
    return bf_problem_cost(evaluator->problem, row);
  unsigned m = evaluator->problem->geometry.bank_bits;
  uint32_t functional[BF_MAX_FUNCTIONALS];
  for (unsigned i = 0; i < m; i++)
    functional[i] = bf_coordinates_project(&evaluator->coordinates, row[i]);
  return evaluator->kernel->cost(&evaluator->planes, functional, m);
}

void bf_evaluator_free(bf_evaluator *evaluator) { bf_planes_free(&evaluator->planes); }

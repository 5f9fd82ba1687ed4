/* Inside room search: the cost of many hashes of one problem. */
#ifndef BF_SEARCH_EVALUATE_H
#define BF_SEARCH_EVALUATE_H

#include "search/kernel.h"

typedef struct bf_evaluator {
  const bf_problem *problem;
  bf_coordinates coordinates;
  bf_planes planes;
  const bf_kernel *kernel; /* NULL: use bf_problem_cost */
} bf_evaluator;

int bf_evaluator_build(const bf_problem *problem, bf_evaluator *evaluator,
                       bf_diagnostic *diagnostic);
/* The same number as bf_problem_cost. */
uint64_t bf_evaluator_cost(const bf_evaluator *evaluator, const uint64_t *row);
void bf_evaluator_free(bf_evaluator *evaluator);

#endif

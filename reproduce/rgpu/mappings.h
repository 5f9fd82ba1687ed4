/* Other ways to put the benchmarks of R-GPU on its multiprocessors than those that are compared:
 * fewer copies, copies that share their cores in turn, and two graphs side by side. */
#ifndef BF_REPRODUCE_RGPU_MAPPINGS_H
#define BF_REPRODUCE_RGPU_MAPPINGS_H

#include "reproduce/rgpu/bench.h"

typedef struct rgpu_other_mapping {
  const rgpu_benchmark *of; /* the benchmark that it is another mapping of */
  const rgpu_benchmark *graph;
  const char *what;
  unsigned copies, folded; /* folded: copies that share their cores; 0: none */
} rgpu_other_mapping;

enum { RGPU_OTHER_MAPPINGS = 14 };
extern const rgpu_other_mapping rgpu_other_mappings[RGPU_OTHER_MAPPINGS];

/* What it takes, in cycles. */
int rgpu_run_mapping(const rgpu_other_mapping *mapping, bool is_quick, uint64_t *cycles,
                     bf_diagnostic *diagnostic);

/* CONV and STENCIL in one graph (examples/rgpu/side.df), and one after the other. */
typedef struct rgpu_side {
  unsigned lanes;                   /* that both need together, one copy each */
  uint64_t together, conv, stencil; /* cycles */
} rgpu_side;

int rgpu_run_side(bool is_quick, rgpu_side *side, bf_diagnostic *diagnostic);

#endif

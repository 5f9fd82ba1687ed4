/* The ladder: every fix from doing nothing to the exact search, and which one to take. */
#ifndef BF_LADDER_H
#define BF_LADDER_H

#include "base/base.h"

typedef struct bf_ladder_step {
  const char *name;
  char hash[512];
  uint64_t conflicts, bytes_wasted;
  unsigned instructions;
  bool proven;
} bf_ladder_step;

typedef struct bf_ladder {
  bf_ladder_step step[8];
  unsigned count;
  unsigned recommended; /* index into step */
  char reason[512];
  uint64_t conflicts_before;
} bf_ladder;

int bf_solve_ladder(const bf_machine *machine, const bf_workload *workload,
                    const bf_solve_options *options, bf_ladder *ladder, bf_diagnostic *diagnostic);

#endif

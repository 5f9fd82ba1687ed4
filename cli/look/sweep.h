/* sim --sweep: a simulation for every combination of values, into a file of results. Several
 * processes may work on one file, as mpirun starts them (docs/sweeps.md). */
#ifndef BF_CLI_SWEEP_H
#define BF_CLI_SWEEP_H

#include "cli/look/simulate.h"
#include "sim/sweep.h"

/* What the options of sim say. */
typedef struct cli_sweep {
  const char *text, *output; /* the sweep; where results go */
  bool json;
  const cli_simulated *simulated;
  /* A file with its launches; */
  const char *file, *launch, *check;
  uint64_t module;
  /* or a benchmark, which may also be an axis. 0: the default. */
  const char *benchmark;
  uint64_t scale, seed;
} cli_sweep;

/* Runs all points that are not finished. Returns the exit status: 1 where points have errors. */
int cli_sweep_run(const cli_sweep *request);

/* Prints how a sweep into that file ended, as JSON; the exit status. */
int cli_sweep_print_json(const char *output, const bf_sim_sweep_outcome *outcome);

#endif

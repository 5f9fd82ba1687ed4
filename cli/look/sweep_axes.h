/* The axes of sim --sweep: which there are, what values they take, and what a point simulates. */
#ifndef BF_CLI_SWEEP_AXES_H
#define BF_CLI_SWEEP_AXES_H

#include "cli/look/sweep.h"
#include "kernels/corpus.h"
#include "sim/sweep.h"

/* Reads the text of a sweep. Names are parameters of GPUs, machine, gpu, hash, lock-hash,
 * benchmark, scale and seed, unless an option gives the same thing. Diagnostics have line and
 * column. */
int cli_axes_read(const cli_sweep *request, bf_sim_sweep **sweep, bf_diagnostic *diagnostic);

/* What is simulated at a point. */
typedef struct cli_point {
  bf_arena arena;
  cli_simulated simulated;
  const bf_corpus_benchmark *benchmark; /* NULL: the file */
  unsigned scale, seed;
} cli_point;

/* Free the arena also after an error. */
int cli_axes_point(const cli_sweep *request, const bf_sim_sweep *sweep, uint64_t number,
                   cli_point *point, bf_diagnostic *diagnostic);

/* Adds to text all that results depend on besides the values of axes: options, the GPUs with all
 * their parameters, and what is in files. */
int cli_axes_basis(const cli_sweep *request, const bf_sim_sweep *sweep, bf_text *text,
                   bf_diagnostic *diagnostic);

#endif

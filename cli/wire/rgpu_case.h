/* What rgpu run, sweep and cost simulate: a graph of a file, or one of the benchmarks of braak15.
 */
#ifndef BF_CLI_RGPU_CASE_H
#define BF_CLI_RGPU_CASE_H

#include "cli/progress.h"
#include "cli/wire/rgpu.h"
#include "reproduce/rgpu/bench.h"
#include "rgpu/cost.h"
#include "sim/ledger.h"

/* The benchmark as a kernel of an ordinary GPU. */
typedef struct cli_rgpu_kernel {
  uint64_t cycles; /* 0: it has not run */
  double dram_bytes_per_cycle;
} cli_rgpu_kernel;

typedef struct cli_rgpu_case {
  const rgpu_benchmark *benchmark; /* NULL: a file */
  bf_rgpu_graph *graph;
  bf_sim_gpu *gpu;
  bf_rgpu_fabric fabric;
  bf_rgpu_order order;
  bf_rgpu_mapping *mapping;
  unsigned copies;
  /* What was found. */
  rgpu_outcome outcome;
  bf_rgpu_power power;
  cli_rgpu_kernel kernel[RGPU_KERNELS];
} cli_rgpu_case;

/* What the options ask R-GPU to be. */
int cli_rgpu_fabric(const cli_rgpu_settings *s, bf_rgpu_fabric *fabric, bf_diagnostic *diagnostic);
/* Reads the graph and loads the GPU that the options ask for. Free also after an error. */
int cli_rgpu_case_load(const cli_rgpu_settings *s, const char *name, cli_rgpu_case *own,
                       bf_diagnostic *diagnostic);
/* Places copies of the graph on the ring: those asked for, else those of a benchmark, else as many
 * as fit where the graph makes use of them, else one. A graph that does not fit is BF_BAD_INPUT. */
int cli_rgpu_case_map(const cli_rgpu_settings *s, cli_rgpu_case *own, bf_diagnostic *diagnostic);
/* Simulates it, and works out the power. Draws a bar in a terminal where asked to. */
int cli_rgpu_case_run(const cli_rgpu_settings *s, bool has_bar, cli_rgpu_case *own,
                      bf_diagnostic *diagnostic);
/* The benchmark as a kernel, with a bar; nothing for a graph of a file, or with --no-kernels. */
int cli_rgpu_case_kernel(const cli_rgpu_settings *s, rgpu_kernel kernel, cli_rgpu_case *own,
                         bf_diagnostic *diagnostic);
/* How many times as fast as a kernel; 0: it has not run. */
double cli_rgpu_case_speedup(const cli_rgpu_case *own, rgpu_kernel kernel);
/* Prints why it did not run, and the details of a deadlock, block by block. Returns the exit
 * status.
 */
int cli_rgpu_case_complain(const cli_rgpu_case *own, const bf_diagnostic *diagnostic);
void cli_rgpu_case_free(cli_rgpu_case *own);

#endif

/* What rgpu run, sweep and cost simulate: a graph of a file, or one of the benchmarks of document
 * 002. */
#ifndef BF_CLI_RGPU_CASE_H
#define BF_CLI_RGPU_CASE_H

#include "reproduce/rgpu/bench.h"
#include "rgpu.h"
#include "rgpu/cost.h"

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
  uint64_t kernel_cycles; /* 0: it has not run */
} cli_rgpu_case;

/* Reads the graph and loads the GPU that the options ask for. Free also after an error. */
int cli_rgpu_case_load(const cli_rgpu_settings *s, const char *name, cli_rgpu_case *own,
                       bf_diagnostic *diagnostic);
/* Places copies of the graph on the ring: those asked for, else those of a benchmark, else as many
 * as fit where the graph makes use of them, else one. A graph that does not fit is BF_BAD_INPUT. */
int cli_rgpu_case_map(const cli_rgpu_settings *s, cli_rgpu_case *own, bf_diagnostic *diagnostic);
/* Simulates it, and works out the power. */
int cli_rgpu_case_run(const cli_rgpu_settings *s, cli_rgpu_case *own, bf_diagnostic *diagnostic);
/* The benchmark as a kernel of an ordinary GPU; nothing for a graph of a file. */
int cli_rgpu_case_kernel(const cli_rgpu_settings *s, cli_rgpu_case *own, bf_diagnostic *diagnostic);
/* How many times as fast as the kernel; 0: it has not run. */
double cli_rgpu_case_speedup(const cli_rgpu_case *own);
void cli_rgpu_case_free(cli_rgpu_case *own);

#endif

/* The verbs of `bankfold rgpu`, one file each (rgpu_VERB.c); rgpu.c has the table of them. */
#ifndef BF_CLI_RGPU_H
#define BF_CLI_RGPU_H

#include "cli/cli.h"
#include "rgpu/map.h"

typedef struct cli_rgpu_settings {
  cli_common common;
  const char *svg, *dot, *output, *kernel, *unit_slots, *gpu, *order, *axes, *wait_for;
  cli_texts set, parameter;
  uint64_t copies, cores, units, lanes, states, loop;
  uint64_t data_fifo, address_fifo, most_cycles, workers;
  uint64_t core_cycles, three_cycles, load_cycles, fold;
  bool trade, recompute, quick, no_prefetch, no_kernels, pipelines_take_entries;
} cli_rgpu_settings;

/* Each returns the exit status. */
int cli_rgpu_map(const cli_rgpu_settings *s, const char *file);
int cli_rgpu_show(const cli_rgpu_settings *s, const char *file);
int cli_rgpu_extract(const cli_rgpu_settings *s, const char *file);
int cli_rgpu_run(const cli_rgpu_settings *s, const char *name);
int cli_rgpu_sweep(const cli_rgpu_settings *s, const char *name);
int cli_rgpu_cost(const cli_rgpu_settings *s, const char *name);

/* Reads a graph: a benchmark of braak15 by its name, or a file. */
int cli_rgpu_read(const char *name, bf_rgpu_graph **graph, bf_diagnostic *diagnostic);
/* The ring that the options ask for. */
bf_rgpu_ring cli_rgpu_ring(const cli_rgpu_settings *s);
/* Two files that would both go to standard output, or over each other. */
bool cli_rgpu_same_output(const char *one, const char *other);

#endif

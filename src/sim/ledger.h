/* sim/ledger: all launches of a program, simulated one after another: which hash each kernel has,
 * and what each launch has cost. */
#ifndef BF_SIM_LEDGER_H
#define BF_SIM_LEDGER_H

#include "hash/hash.h"
#include "sim/diagram.h"
#include "sim/sample.h"
#include "sim/sass.h"
#include "sim/timeline.h"

/* The shared accesses of a source line, or of a line of the PTX where the source is not known. */
typedef struct bf_sim_line {
  const char *file; /* NULL: PTX */
  uint64_t line;
  bf_sim_site cost; /* of all its instructions */
} bf_sim_line;

typedef struct bf_sim_launched {
  const char *kernel, *hash; /* hash: canonical text */
  uint32_t grid[3], block[3];
  bf_sim_result result; /* sites are the kernel's */
  uint64_t sm_cycles;   /* cycles times multiprocessors that had work */
  bf_sim_line *line;    /* most conflicts first */
  size_t lines;
} bf_sim_launched;

typedef struct bf_sim_ledger {
  /* How to simulate; borrowed. */
  bf_sim_settings settings;   /* its hash is for kernels that hashes does not name, and both are
                                 for launches that ask for none */
  const bf_hash_list *hashes; /* or NULL */
  bf_timeline *timeline;      /* of all launches, or NULL */
  uint64_t timeline_cycles;   /* of each launch */
  bf_diagram *diagram;        /* of the first launch, or NULL */
  bf_sim_sampler *sampler;    /* simulates a part of launches; or NULL: all of them */
  bool (*progress)(void *context, uint64_t blocks_done, uint64_t blocks); /* or NULL */
  void *progress_context;
  /* What was found. */
  bf_arena arena;
  bf_sim_launched *launch;
  size_t launches, capacity;
} bf_sim_ledger;

/* Simulates a launch, in place of bf_emu_run, and adds it to the ledger. hash is that of the banks
 * which the launch asks for itself, as text; NULL: it asks for none. A launch that a fault has
 * ended is in the ledger too, with what was found until then; a deadlock, and the end of
 * most_cycles, are errors. */
int bf_sim_ledger_run(bf_sim_ledger *ledger, bf_emu *emu, const bf_emu_launch *launch,
                      const char *hash, bf_emu_result *result, bf_diagnostic *diagnostic);
/* The same for the launch that a trace is of; no timeline, no diagram, no sampling. */
int bf_sim_ledger_run_sass(bf_sim_ledger *ledger, const bf_sim_sass *trace,
                           bf_diagnostic *diagnostic);
/* The sums over all launches; lines are in the arena of the ledger. blocks_per_sm and
 * occupancy_limit are 0 and NULL where there are several. */
int bf_sim_ledger_total(bf_sim_ledger *ledger, bf_sim_launched *total, bf_diagnostic *diagnostic);
void bf_sim_ledger_free(bf_sim_ledger *ledger);

/* Bytes read from and written to DRAM in each of these cycles. */
double bf_sim_dram_rate(const bf_sim_result *result, uint64_t cycles);
/* Warp instructions that a multiprocessor issued in a cycle, on average. */
double bf_sim_ipc_per_sm(const bf_sim_launched *launched);
/* Warps on a multiprocessor, on average, as a share of those it can hold. */
double bf_sim_occupancy(const bf_sim_gpu *gpu, const bf_sim_launched *launched);

/* ---- Lines of text (remarks.c) ---- */

/* How good the conflict history was and what energy it took, where either is known. */
void bf_sim_remarks_write(const bf_sim_gpu *gpu, const bf_sim_result *result, bf_text *text);
/* What waits on what in the last launch, line by line, where it did not end. */
void bf_sim_waits_write(const bf_sim_ledger *ledger, FILE *file);

#endif

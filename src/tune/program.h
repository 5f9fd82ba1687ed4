/* tune/program: hashes for the kernels of a program that ran without a GPU (bankfold exec), from
 * the accesses that its processes made: proposed and, where the program can be run again, tried. */
#ifndef BF_TUNE_PROGRAM_H
#define BF_TUNE_PROGRAM_H

#include "emu/costs.h"
#include "exchange/accesses.h"
#include "sim/sim.h"
#include "tune/predict.h"

/* A module of the program. */
typedef struct bf_program_module {
  const bf_accesses_module *did; /* what its kernels did */
  bf_ptx_module *ptx;
  bf_plans plans;
  const char **hash; /* of each plan, as bf_rewrite_kernel has it; NULL: it is left alone */
  /* Of each plan, what is predicted of launches that fill a GPU, in words, where a kernel is left
   * alone in those that were tried; or NULL. */
  const char **larger;
} bf_program_module;

typedef struct bf_program {
  bf_program_module *module;
  size_t modules;
  const bf_machine *machine; /* of the search */
  const bf_sim_gpu *gpu;     /* that trials are simulated on; NULL: they are not */
} bf_program;

/* Parses the modules of a program that ran. accesses are borrowed. Free also after an error. */
int bf_program_make(const bf_accesses *accesses, bf_program *program, bf_diagnostic *diagnostic);
void bf_program_free(bf_program *program);

/* ---- Hashes ---- */

/* Proposes for every kernel that was launched, and takes the best that is worth it. */
int bf_program_propose(bf_program *program, const bf_plans_search *search,
                       bf_diagnostic *diagnostic);

/* How the program is run once more, with its kernels rewritten by the lines of a list of hashes. */
typedef struct bf_program_runner {
  /* *is_good: the run ended as the first one did. */
  int (*run)(void *context, const bf_text *hashes, bool *is_good, bf_diagnostic *diagnostic);
  /* What a kernel took in the first run, and in the last one; false: it was not launched. */
  bool (*compare)(void *context, const char *kernel, bf_comparison *comparison);
  void *context;
} bf_program_runner;

/* What a kernel took in a run, with all hashes of the banks together. */
bf_evidence bf_program_evidence(const bf_costs *costs, const char *kernel);
/* Tries the candidates, all kernels at once, and takes what the judge takes (tune/judge.h). A small
 * launch waits more than it works, and says little about a large one: where nothing is worth it in
 * the launches that were tried, what the PTX says about larger ones is kept. */
int bf_program_try(bf_program *program, const bf_program_runner *runner, bf_diagnostic *diagnostic);
/* Lines KERNEL HASH, with what is predicted as comments; title is the first of them. A kernel of
 * which more is expected of larger launches has none. */
void bf_program_write(const bf_program *program, const char *title, bf_text *text);

#endif

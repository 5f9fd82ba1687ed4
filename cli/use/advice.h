/* Hashes for the kernels of a program that bankfold exec ran, from the accesses that they made
 * (exchange/accesses.h): what rewrite --hash auto would choose for each. */
#ifndef BF_CLI_ADVICE_H
#define BF_CLI_ADVICE_H

#include "cli/use/plans.h"
#include "emu/costs.h"
#include "exchange/accesses.h"

/* What the launches of a kernel in a run took. */
typedef struct cli_counts {
  uint64_t wavefronts, instructions;
  uint64_t cycles; /* simulated, or 0 */
} cli_counts;

/* What trials found out about a kernel. */
typedef struct cli_advice_trial {
  int best; /* candidate that took least; -1: none was tried */
  cli_counts before, after;
} cli_advice_trial;

/* A module of the program, with the accesses of all processes that loaded it. */
typedef struct cli_advice_module {
  struct cli_advice_module *next;
  bf_ptx_module *ptx;
  cli_trial written, merged; /* workloads and launches of its kernels */
  cli_plans plans;
  cli_advice_trial *trial; /* of each plan; NULL: there were none */
  const char **hash;       /* of each plan, as bf_rewrite_kernel has it; NULL: it is left alone */
} cli_advice_module;

typedef struct cli_advice {
  bf_accesses accesses; /* as they were read: the PTX of the modules */
  cli_advice_module *first;
} cli_advice;

/* Reads the files of a folder into empty advice. Free also after an error. */
int cli_advice_read(const char *folder, const bf_machine *machine, cli_advice *advice,
                    bf_diagnostic *diagnostic);
/* Chooses for every kernel that was launched. */
int cli_advice_choose(cli_advice *advice, const cli_plans_search *search,
                      bf_diagnostic *diagnostic);
/* How the program is run once more, with the kernels rewritten by the lines of a file of hashes. */
typedef struct cli_advice_runner {
  /* Fills an empty record. *is_good: the run ended as the first one did. */
  int (*run)(void *context, const bf_text *hashes, bf_costs *record, bool *is_good,
             bf_diagnostic *diagnostic);
  void *context;
  const bf_costs *original; /* of the first run */
  bool by_cycles;           /* launches are simulated: cycles decide, else wavefronts */
} cli_advice_runner;

/* Tries the candidates of the choice, all kernels at once and a run for each rank, and takes what
 * took least, where that is less than before. */
int cli_advice_try(cli_advice *advice, const cli_advice_runner *runner, bf_diagnostic *diagnostic);
/* Lines KERNEL HASH, with what is predicted as comments; title is the first of them. */
void cli_advice_write(const cli_advice *advice, const char *title, bf_text *text);
void cli_advice_free(cli_advice *advice);

#endif

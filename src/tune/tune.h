/* tune: the best hashes for the kernels of a module.
 *
 *   observe   the accesses that kernels make (observe.h), in the launches of a description
 *   propose   hashes that remove their conflicts (propose.h)
 *   try       each on the emulator, or the simulator of a GPU (trial.h, plans.h)
 *   judge     which are worth it (judge.h)
 *
 * and run the result once more, to see that all memory is as before. */
#ifndef BF_TUNE_H
#define BF_TUNE_H

#include "tune/plans.h"
#include "tune/trial.h"

typedef struct bf_tune_options {
  const char *file;        /* of the PTX, for diagnostics */
  const char *description; /* file of the launches; with run, what to call them */
  const bf_machine *machine;
  const bf_sim_gpu *gpu; /* whose time decides; NULL: wavefronts and instructions do */
  bool gpu_is_needed;    /* else, where launches cannot be simulated, wavefronts decide */
  unsigned workers;
  bool keeps_accesses; /* of the original: for bf_tune_choose */
  bool keeps_memory;   /* of the original and the result: they are compared */
  /* Who runs the launches, and what is handed to it (bf_trial_options); NULL: description says. */
  int (*run)(void *context, const bf_trial_options *options, bf_trial_watch *watch,
             bf_diagnostic *diagnostic);
  void *context;
} bf_tune_options;

typedef struct bf_tune {
  const bf_tune_options *options;
  bf_plans *plans;
  const bf_sim_gpu *gpu; /* that decides, or NULL */
  char remark[256];      /* why it is not the one of the options, or empty */
  bf_trial original;     /* emulated */
  bf_trial simulated;    /* the same on gpu */
  bf_trial last;         /* of a candidate */
  bf_trial result;       /* of what was taken, emulated */
  bool differs;          /* the result computes something else, or fails */
} bf_tune;

/* Runs the original. plans and options are borrowed. Free also after an error. */
int bf_tune_begin(const bf_tune_options *options, bf_plans *plans, bf_tune *tune,
                  bf_diagnostic *diagnostic);
/* Gives each kernel the hash that is best for it, or none. */
int bf_tune_choose(bf_tune *tune, const bf_plans_search *search, bf_diagnostic *diagnostic);
/* Runs what the module was rewritten to, and compares counts and, with keeps_memory, all memory: a
 * difference is BF_BAD_INPUT. */
int bf_tune_check(bf_tune *tune, const bf_rewrite_result *rewritten, bf_diagnostic *diagnostic);
void bf_tune_free(bf_tune *tune);

#endif

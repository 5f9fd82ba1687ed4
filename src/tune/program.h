/* tune/program: hashes for the kernels of a program that ran without a GPU (bankfold exec), from
 * the accesses that its processes made: proposed and, where the program can be run again, tried. */
#ifndef BF_TUNE_PROGRAM_H
#define BF_TUNE_PROGRAM_H

#include "tune/plans.h"

/* A kernel that was launched, in all processes together. */
typedef struct bf_program_kernel {
  const char *name;
  uint64_t launches;
  bf_observed accesses; /* owned */
} bf_program_kernel;

/* A module of the program, with all that processes which loaded it did. */
typedef struct bf_program_module {
  struct bf_program_module *next;
  bf_text text; /* its PTX */
  bf_ptx_module *ptx;
  bf_program_kernel *kernel; /* those that were launched */
  size_t kernels, capacity;
  bf_plans plans;
  const char **hash; /* of each plan, as bf_rewrite_kernel has it; NULL: it is left alone */
} bf_program_module;

typedef struct bf_program {
  bf_arena arena;
  bf_program_module *first;
} bf_program;

/* ---- What it did ---- */

/* The module with that PTX, which is copied where it is new. */
int bf_program_add_module(bf_program *program, const char *ptx, size_t size,
                          bf_program_module **module, bf_diagnostic *diagnostic);
/* Adds launches of a kernel, and the accesses that they made (NULL: none were kept). */
int bf_program_add_kernel(bf_program *program, bf_program_module *module, const char *name,
                          uint64_t launches, const bf_observed *accesses,
                          bf_diagnostic *diagnostic);
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

/* Tries the candidates, all kernels at once, and takes what the judge takes (tune/judge.h). */
int bf_program_try(bf_program *program, const bf_program_runner *runner, bf_diagnostic *diagnostic);
/* Lines KERNEL HASH, with what is predicted as comments; title is the first of them. */
void bf_program_write(const bf_program *program, const char *title, bf_text *text);

#endif

/* How suggest runs kernels: the original, and the patched source. */
#ifndef BF_CLI_SUGGEST_RUN_H
#define BF_CLI_SUGGEST_RUN_H

#include "cli/use/suggest_table.h"

typedef struct cli_suggest_runs {
  const char *launch;     /* a launch description; NULL: */
  char **program;         /* a program and its arguments */
  int arguments;          /* with its name */
  const char *machine;    /* --machine of exec, or NULL */
  const cli_texts *flags; /* for nvcc */
  const char *folder;     /* for files of the run */
} cli_suggest_runs;

/* Runs the module of a review and adds what it does to its arrays. The trace, and with a program
 * what it prints, are files NAME.trace and NAME.out of the folder. *status is the program's. */
int cli_suggest_record(const cli_suggest_runs *runs, const char *name, bf_review *review,
                       int *status, bf_diagnostic *diagnostic);

/* Compiles the patched source to PTX, which is read; *module is NULL where it does not compile. */
int cli_suggest_try(const cli_suggest_runs *runs, bf_review *review, bf_ptx_module **module,
                    bf_diagnostic *diagnostic);

/* Compiles and runs the patched source and compares: conflicts of the arrays that were patched, and
 * memory, or what the program prints. The accesses of the original must have been recorded under
 * the name "original"; status is that of its program. */
int cli_suggest_check(const cli_suggest_runs *runs, int status, bf_review *review,
                      cli_suggest_table *suggested, bf_diagnostic *diagnostic);

#endif

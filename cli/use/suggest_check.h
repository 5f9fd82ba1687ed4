/* Where suggest gets accesses from, and the check of a patched source. */
#ifndef BF_CLI_SUGGEST_CHECK_H
#define BF_CLI_SUGGEST_CHECK_H

#include "cli/use/children.h"
#include "cli/use/suggested.h"

/* How kernels are run. */
typedef struct cli_suggest_runs {
  const char *launch;     /* a launch description, or NULL */
  cli_started program;    /* with count 0: none */
  const cli_texts *flags; /* for nvcc */
  const char *folder;     /* for files of the run */
  const bf_machine *machine;
} cli_suggest_runs;

/* Adds what a module does when it runs as asked for to its arrays. The trace, and with a program
 * what it prints, are files NAME.trace and NAME.out of the folder. */
int cli_suggest_record(const cli_suggest_runs *runs, const char *name, const bf_ptx_module *module,
                       cli_arrays *arrays, int *status, bf_diagnostic *diagnostic);

/* Compiles and runs the patched source and compares: conflicts of the arrays that were patched, and
 * memory, or what the program prints. The accesses of the original must have been recorded under
 * the name "original"; status is that of its program. */
int cli_suggest_check(const cli_suggest_runs *runs, const bf_ptx_module *original, int status,
                      bf_patch *patch, const char *kernel, cli_suggested *suggested,
                      bf_diagnostic *diagnostic);

#endif

/* Programs that suggest starts: nvcc, and bankfold exec. */
#ifndef BF_CLI_CHILDREN_H
#define BF_CLI_CHILDREN_H

#include "cli/cli.h"

/* Compiles source with nvcc and the flags given to the PTX file output, with line information.
 * Where there is no nvcc the message says what to do. What nvcc says goes to standard error. */
int cli_compile_ptx(const char *source, const cli_texts *flags, const char *output,
                    bf_diagnostic *diagnostic);
/* The same for a whole program that `bankfold exec` can run. */
int cli_compile_program(const char *source, const cli_texts *flags, const char *output,
                        bf_diagnostic *diagnostic);

/* A program and its arguments, of which the first is its name. */
typedef struct cli_started {
  const char *machine; /* --machine of exec, or NULL */
  int count;
  char **arguments;
} cli_started;

/* Runs a program by `bankfold exec`; its accesses, as the PTX has them, go to the file trace, what
 * it prints to the file output. *status is its exit status. */
int cli_record_program(const cli_started *program, const char *trace, const char *output,
                       int *status, bf_diagnostic *diagnostic);

#endif

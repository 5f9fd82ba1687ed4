/* Runs of programs whose accesses to shared memory are kept. */
#ifndef BF_PROCESS_TRACED_H
#define BF_PROCESS_TRACED_H

#include "base/base.h"

typedef struct bf_traced_run {
  char **program;      /* and its arguments */
  int arguments;       /* with its name */
  const char *machine; /* --machine of exec, or NULL */
  bool is_as_written;  /* accesses as the PTX has them, not as ptxas merges them */
} bf_traced_run;

/* Runs a program by `bankfold exec` of this program; its accesses go to the file trace, what it
 * prints to the file output. *status is its own. */
int bf_process_trace(const bf_traced_run *run, const char *trace, const char *output, int *status,
                     bf_diagnostic *diagnostic);

#endif

/* A run of a program that is watched: where its output goes, how long it may take, and how it
 * ended. */
#ifndef BF_CLI_ATTEMPT_H
#define BF_CLI_ATTEMPT_H

#include "cli/cli.h"

typedef struct cli_attempt {
  const char *path;     /* of the program */
  char **arguments;     /* ending with NULL */
  const char *input;    /* file that is its standard input; NULL: nothing */
  const char *output;   /* file that gets its standard output; NULL: nowhere */
  bool shows_errors;    /* its standard error is ours, else nowhere */
  double limit_seconds; /* it is killed then; 0: never */
  /* Called about twenty times a second; false kills the program. */
  bool (*tick)(void *context);
  void *context;
} cli_attempt;

typedef struct cli_attempt_end {
  int status;               /* as a shell gives it */
  bool is_late, is_stopped; /* it was killed: by limit_seconds, by tick */
  int signal;               /* that ended it otherwise; 0: none */
  double seconds;
} cli_attempt_end;

int cli_attempt_run(const cli_attempt *attempt, cli_attempt_end *end, bf_diagnostic *diagnostic);

#endif

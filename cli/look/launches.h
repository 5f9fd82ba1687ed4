/* Launches of bare PTX from a launch description, with progress, for profile, trace and sim. */
#ifndef BF_CLI_LAUNCHES_H
#define BF_CLI_LAUNCHES_H

#include "cli/cli.h"
#include "emu/launches.h"

typedef struct cli_launches {
  const char *ptx;   /* file */
  uint64_t module;   /* of a fat binary; 0: the first */
  const char *check; /* uninitialised, races, or both; NULL: none */
  bool prints_to_stderr;
  bf_launches run; /* all but file, module, checks and printing */
} cli_launches;

/* Runs all launches. What kernels print goes to standard output or error; a progress bar shows long
 * launches, and Ctrl-C stops them. */
int cli_launches_run(const cli_launches *launches, bf_diagnostic *diagnostic);
/* Checks the words of --check (NULL: none). Returns -1 to go on or an exit status. */
int cli_check_words(const cli_command *command, const char *list);

#endif

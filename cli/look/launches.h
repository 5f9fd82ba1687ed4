/* Launches of bare PTX from a launch description, for profile, trace and rewrite. */
#ifndef BF_CLI_LAUNCHES_H
#define BF_CLI_LAUNCHES_H

#include "cli/cli.h"
#include "emu/script.h"

typedef struct cli_launches {
  const char *ptx, *description; /* files */
  uint64_t module;               /* of a fat binary; 0: the first */
  const bf_ptx_module *parsed;   /* run instead of what ptx holds; or NULL */
  const char *check;             /* uninitialised, races, or both; NULL: none */
  uint64_t workers;
  bool is_quiet; /* no progress bar, no Ctrl-C, and nothing of what kernels print */
  /* Called before and after every launch. */
  int (*before)(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic);
  int (*after)(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
               double seconds, bf_diagnostic *diagnostic);
  /* Called behind the last launch, while buffers and variables are there; or NULL. */
  int (*done)(void *context, const bf_script *script, const bf_emu *emu,
              const bf_emu_module *module, bf_diagnostic *diagnostic);
  void *context;
} cli_launches;

/* Reads PTX from a file that may be a program or fat binary; module counts from 1 (0: the first).
 */
int cli_ptx_read(const char *path, uint64_t module, bf_ptx_module **ptx, bf_diagnostic *diagnostic);

/* Runs all launches. What kernels print goes to standard output (to standard error where
 * prints_to_stderr); a fault of a kernel is an error. A progress bar shows long launches. */
int cli_launches_run(const cli_launches *launches, bool prints_to_stderr,
                     bf_diagnostic *diagnostic);
/* An error for machines whose warps are not those of CUDA. */
int cli_check_warps(const bf_machine *machine, bf_diagnostic *diagnostic);
/* Checks the words of --check (NULL: none). Returns -1 to go on or an exit status. */
int cli_check_words(const cli_command *command, const char *list);

#endif

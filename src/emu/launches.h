/* emu/launches: PTX run by a launch description (emu/script.h), from the files to the last launch.
 */
#ifndef BF_EMU_LAUNCHES_H
#define BF_EMU_LAUNCHES_H

#include "emu/script.h"

typedef struct bf_launches {
  const char *file; /* of the PTX, for diagnostics */
  const bf_ptx_module *module;
  const char *description; /* its file */
  unsigned workers;
  bool check_uninitialised, check_races;
  /* Gets what kernels print; NULL: it is dropped. */
  void (*print)(void *context, const char *text, size_t bytes);
  void *print_context;
  /* Called before every launch; or NULL. */
  int (*before)(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic);
  /* Executes a launch in place of bf_emu_run: a simulator, for one. hash is the text of `hash HASH`
   * in the description, or NULL. NULL: bf_emu_run, which has no use for hashes. */
  int (*execute)(void *context, bf_emu *emu, const bf_emu_launch *launch, const char *hash,
                 bf_emu_result *result, bf_diagnostic *diagnostic);
  /* Called after every launch without a fault; or NULL. */
  int (*after)(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
               double seconds, bf_diagnostic *diagnostic);
  /* Called behind the last launch, while buffers and variables are there; or NULL. */
  int (*done)(void *context, const bf_script *script, const bf_emu *emu,
              const bf_emu_module *module, bf_diagnostic *diagnostic);
  void *context;
} bf_launches;

/* Runs all launches; a fault of a kernel is an error. */
int bf_launches_run(const bf_launches *launches, bf_diagnostic *diagnostic);
/* The same, and writes the shared accesses to a trace at path, as they are in the PTX or, with
 * is_merged, as ptxas merges them; *lines is how many there are. before and context are its own. */
int bf_launches_trace(const bf_launches *launches, const char *path, bool is_merged,
                      uint64_t *lines, bf_diagnostic *diagnostic);
/* An error for machines whose warps are not those of CUDA. */
int bf_launches_check_machine(const bf_machine *machine, bf_diagnostic *diagnostic);

#endif

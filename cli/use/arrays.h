/* The shared arrays of the kernels of a module, each with the accesses to it. */
#ifndef BF_CLI_ARRAYS_H
#define BF_CLI_ARRAYS_H

#include "analyze/analyze.h"
#include "cli/cli.h"
#include "ptx/site.h"

enum { CLI_ARRAY_NAME = 256 };

typedef struct cli_array {
  const bf_ptx_function *kernel;
  size_t number; /* of the kernel */
  const bf_site_names *names;
  const char *kernel_name; /* readable */
  bool is_asked;           /* the kernel is one of those asked for */
  const bf_ptx_variable *variable;
  uint64_t offset_bytes;
  char name[CLI_ARRAY_NAME];     /* as in the source */
  char function[CLI_ARRAY_NAME]; /* that declares it, readable; empty: not known */
  bf_workload *workload;         /* accesses as written; addresses count from its start */
  bf_workload *merged;           /* as ptxas merges them; NULL: not known */
} cli_array;

typedef struct cli_arrays {
  bf_arena arena;
  const bf_ptx_module *module;
  bf_site_names names;
  cli_array *array; /* in the order of kernels and variables */
  size_t count;
  uint64_t mixed;   /* executions of accesses to several arrays at once, which are left out */
  uint64_t unknown; /* instructions that the analysis without running does not know fully */
} cli_arrays;

/* The arrays of all kernels. kernel (NULL: all) is the name of the only one that is asked for, as
 * in the PTX or readable. Free also after an error. */
int cli_arrays_make(const bf_ptx_module *module, const char *kernel, cli_arrays *arrays,
                    bf_diagnostic *diagnostic);
void cli_arrays_free(cli_arrays *arrays);

/* Adds the accesses of a trace, whose sites say which kernel they belong to; where the module has
 * one kernel, all are its own. is_merged: they are those that ptxas makes. */
int cli_arrays_add_trace(cli_arrays *arrays, const char *path, bool is_merged,
                         const bf_machine *machine, bf_diagnostic *diagnostic);
/* Adds what the analysis without running finds for the kernels asked for and blocks of that size
 * (0: what the kernels require). */
int cli_arrays_add_static(cli_arrays *arrays, const uint32_t block[3], bf_diagnostic *diagnostic);

/* The part of a site behind the name of the kernel: FILE:LINE. */
const char *cli_array_site(const cli_array *array, const char *site);

#endif

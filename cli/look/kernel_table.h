/* The kernels of a run as a table and as JSON, each with its worst lines and a remedy. */
#ifndef BF_CLI_KERNEL_TABLE_H
#define BF_CLI_KERNEL_TABLE_H

#include "cli/cli.h"
#include "cli/gate.h"
#include "emu/costs.h"
#include "sim/sim.h"

/* What the table and the JSON need to know of the run. */
typedef struct cli_program_run {
  const char *program;
  int status;     /* of the program */
  int own_status; /* of the command */
  int signal;     /* that ended the program, or 0 */
  const bf_machine *machine;
  const char *hash;      /* canonical text */
  const bf_sim_gpu *gpu; /* that it was simulated on; NULL: emulated */
  bool machine_code;     /* with gpu: ptxas was asked what it makes of the kernels */
  const char *lock_hash; /* with gpu: "plain", "xor" or "add" */
  double fix_seconds;    /* longest search of a fix for a kernel; 0: the standard */
  bool skipped_rest;     /* blocks that were not counted were not run */
  /* With gpu: what the same run has cost with another hash of the banks, and its canonical text; or
   * NULL. */
  const bf_costs *hashed;
  const char *what_if;
} cli_program_run;

/* The costs must be sorted. */
int cli_kernel_table_write_text(const cli_program_run *run, const bf_costs *costs, bool color,
                                bf_text *text, bf_diagnostic *diagnostic);
int cli_kernel_table_write_json(const cli_program_run *run, const bf_costs *costs, bf_text *text,
                                bf_diagnostic *diagnostic);

/* The lines of all kernels against limits; the exit status. */
int cli_kernel_table_gate(const cli_gate *gate, const bf_costs *costs, int status);

#endif

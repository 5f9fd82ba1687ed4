/* The kernels of a run as a table and as JSON, each with its worst lines and a remedy. */
#ifndef BF_CLI_HOTSPOTS_H
#define BF_CLI_HOTSPOTS_H

#include "cli/cli.h"
#include "emu/costs.h"
#include "sim/sim.h"

/* What would remove the conflicts of a kernel: the ladder's advice for the worst access of each
 * line, weighted by how often the line accesses memory. Without a recommendation reason says why,
 * and is empty where there are no conflicts. */
typedef struct cli_remedy {
  bool exists; /* a step of the ladder is worth taking */
  char name[32], hash[512];
  char reason[512];
  uint64_t before, after; /* conflicts */
} cli_remedy;

int cli_remedy_find(const bf_machine *machine, const bf_costs_kernel *kernel, cli_remedy *remedy,
                    bf_diagnostic *diagnostic);

/* What the table and the JSON need to know of the run. */
typedef struct cli_program_run {
  const char *program;
  int status;
  const bf_machine *machine;
  const char *hash;      /* canonical text */
  const bf_sim_gpu *gpu; /* that it was simulated on; NULL: emulated */
  const char *lock_hash; /* with gpu: "plain", "xor" or "add" */
} cli_program_run;

/* The costs must be sorted. */
int cli_hotspots_write_text(const cli_program_run *run, const bf_costs *costs, bool color,
                            bf_text *text, bf_diagnostic *diagnostic);
int cli_hotspots_write_json(const cli_program_run *run, const bf_costs *costs, bf_text *text,
                            bf_diagnostic *diagnostic);

#endif

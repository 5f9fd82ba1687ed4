/* Machine code for simulations: what ptxas makes of the PTX that is simulated. */
#ifndef BF_CLI_LOOK_MACHINE_CODE_H
#define BF_CLI_LOOK_MACHINE_CODE_H

#include "sim/machine.h"
#include "sim/sim.h"

/* Reads the cubin of --cubin, or where that is "auto" lets ptxas make one of a file's PTX (module:
 * counted from 1, 0: the first) or of ptx where file is NULL. Free code also after an error. */
int cli_machine_code_load(const char *cubin, const bf_sim_gpu *gpu, const char *file,
                          uint64_t module, const char *ptx, bf_machine_code *code,
                          bf_diagnostic *diagnostic);

#endif

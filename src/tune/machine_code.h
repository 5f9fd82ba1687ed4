/* tune/machine_code: what ptxas makes of PTX that is simulated (sim/machine.h). */
#ifndef BF_TUNE_MACHINE_CODE_H
#define BF_TUNE_MACHINE_CODE_H

#include "sim/machine.h"
#include "sim/sim.h"

/* Whether machine code can decide about launches on a GPU: its file says what that takes. Else
 * BF_BAD_INPUT, with the name of the option that asked for it. */
int bf_machine_code_suits(const bf_sim_gpu *gpu, const char *option, bf_diagnostic *diagnostic);
/* Has ptxas compile PTX for compute capability 9.0. Free code also after an error. */
int bf_machine_code_make(const bf_text *ptx, bf_machine_code *code, bf_diagnostic *diagnostic);
/* Reads a cubin. The same holds for code. */
int bf_machine_code_load(const char *path, bf_machine_code *code, bf_diagnostic *diagnostic);

#endif

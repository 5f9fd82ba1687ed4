/* Inside room sim: what ptxas has made of the instructions of a kernel (made.c). */
#ifndef BF_SIM_MADE_H
#define BF_SIM_MADE_H

#include "sim/machine.h"
#include "sim/program.h"

/* Lets machine code decide about the instructions of a program, where it has the kernel's; control:
 * by number of the instruction. 0 or BF_NO_MEMORY. */
int bf_sim_made_set(const bf_sim_gpu *gpu, const bf_emu_kernel *kernel,
                    const bf_machine_kernel *machine, const bf_sim_control *control,
                    bf_sim_program *program);

#endif

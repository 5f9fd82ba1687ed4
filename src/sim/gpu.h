/* Inside room sim: what gpu.c, which knows the parameters, and gpu_file.c, which reads files,
 * share. */
#ifndef BF_SIM_GPU_H
#define BF_SIM_GPU_H

#include "sim/sim.h"

enum { BF_SIM_GPU_PROBLEM = 400 };

/* Gives every parameter its default. */
void bf_sim_gpu_reset(bf_sim_gpu *gpu);
/* The parameter called name, or NULL with the problem in words: which names are near. */
const bf_sim_parameter *bf_sim_gpu_find(const char *name, char problem[BF_SIM_GPU_PROBLEM]);
/* Sets a parameter from text. False, with the problem in words, where the text is no value of it.
 */
bool bf_sim_gpu_assign(bf_sim_gpu *gpu, const bf_sim_parameter *parameter, const char *value,
                       char problem[BF_SIM_GPU_PROBLEM]);
/* Copies the values of all parameters. */
void bf_sim_gpu_copy_values(bf_sim_gpu *to, const bf_sim_gpu *from);
/* Keeps where a value comes from, in place of what was known about that key. The first call makes
 * room; the texts are copied. */
int bf_sim_gpu_keep_fact(bf_sim_gpu *gpu, const bf_machine_fact *fact, bf_diagnostic *diagnostic);

#endif

/* sim/sweep_basis: what the results of a sweep depend on, as text: the basis of bf_sim_sweep_form.
 */
#ifndef BF_SIM_SWEEP_BASIS_H
#define BF_SIM_SWEEP_BASIS_H

#include "base/base.h"

/* Adds a GPU with all its parameters. */
int bf_sim_basis_gpu(const char *name, bf_text *text, bf_diagnostic *diagnostic);
/* Adds a number that stands for the content of a file (NULL: none). */
int bf_sim_basis_file(const char *path, bf_text *text, bf_diagnostic *diagnostic);

#endif

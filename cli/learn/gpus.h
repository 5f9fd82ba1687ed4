/* cli/gpus: GPU files as tables, for `bankfold machines`. */
#ifndef CLI_GPUS_H
#define CLI_GPUS_H

#include "cli/cli.h"
#include "sim/sim.h"

/* Whether name is that of a GPU: a built-in one, or a file that ends in ".gpu". */
bool cli_is_gpu(const char *name);
/* Adds the list of all built-in GPUs: rows of a table, or the member "gpus" of an open object. */
int cli_list_gpus(bf_json *json, bool wants_json, bf_diagnostic *diagnostic);
/* Adds every parameter of a GPU, with its meaning, basis and source. */
void cli_write_gpu(const bf_sim_gpu *gpu, bf_text *text);
void cli_write_gpu_json(const bf_sim_gpu *gpu, bf_text *text);

#endif

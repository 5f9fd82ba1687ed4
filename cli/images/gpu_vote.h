/* Votes on the GPU, for hist and hough: a library with CUDA in it (gpu/vote) that is loaded only
 * when
 * --device gpu asks for it, so that the program itself needs no CUDA. */
#ifndef BF_CLI_GPU_VOTE_H
#define BF_CLI_GPU_VOTE_H

#include "cli/cli.h"
#include "gpu/vote/bankfold_vote_host.h"
#include "imaging/voter.h"

/* An open GPU and the functions of bankfold_vote_host.h; all zero where none is open. */
typedef struct cli_gpu {
  void *library;
  bf_voter voter;
  const char *name;
  void (*close)(bf_gpu *gpu);
} cli_gpu;

/* Loads the library that $BANKFOLD_VOTE_CUDA names, or that lies beside the program or where it was
 * installed, and opens the GPU. Close in any case. */
int cli_gpu_open(cli_gpu *gpu, bf_diagnostic *diagnostic);
void cli_gpu_close(cli_gpu *gpu);

#endif

/* What bundled kernels that vote did to shared memory on the emulator, for hist and hough. */
#ifndef BF_CLI_VOTE_KERNELS_H
#define BF_CLI_VOTE_KERNELS_H

#include "cli/cli.h"
#include "kernels/measure.h"

typedef struct cli_vote_kernel {
  const char *kernel, *layout;
  uint64_t accesses, wavefronts, ideal, conflicts;
} cli_vote_kernel;

/* Both commands have kernels in three layouts. */
enum { CLI_VOTE_KERNELS = 3 };

/* Sets the numbers of kernel. */
void cli_vote_take(cli_vote_kernel *kernel, const bf_corpus_launched *total);
/* A table under a title, "Kernels with <copies> in shared memory, on <machine>:". */
void cli_vote_draw(const cli_vote_kernel *kernels, const char *copies, const bf_machine *machine,
                   bf_text *text);
/* The machine and the kernels as members of a JSON object. */
void cli_vote_json(const cli_vote_kernel *kernels, const bf_machine *machine, bf_json *json);

#endif

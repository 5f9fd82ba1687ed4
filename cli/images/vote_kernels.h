/* What bundled kernels that vote did to shared memory on the emulator, for hist and hough. */
#ifndef BF_CLI_VOTE_KERNELS_H
#define BF_CLI_VOTE_KERNELS_H

#include "cli/cli.h"
#include "kernels/vote.h"

/* A table under a title, "Kernels with <copies> in shared memory, on <machine>:". */
void cli_vote_draw(const bf_corpus_vote *kernels, const char *copies, const bf_machine *machine,
                   bf_text *text);
/* The machine and the kernels as members of a JSON object. */
void cli_vote_json(const bf_corpus_vote *kernels, const bf_machine *machine, bf_json *json);

#endif

/* The accesses that the kernels of a program made under bankfold exec (runtime/accesses.c writes
 * them), read back for tune/program.h. */
#ifndef BF_CLI_ADVICE_H
#define BF_CLI_ADVICE_H

#include "cli/cli.h"
#include "tune/program.h"

/* Reads the files of a folder into an empty program. */
int cli_advice_read(const char *folder, const bf_machine *machine, bf_program *program,
                    bf_diagnostic *diagnostic);

#endif

/* Compiling source by nvcc, as suggest does. */
#ifndef BF_CLI_COMPILE_H
#define BF_CLI_COMPILE_H

#include "cli/cli.h"

/* Compiles source with nvcc and the flags given to the PTX file output, with line information.
 * Where there is no nvcc the message says what to do. What nvcc says goes to standard error. */
int cli_compile_ptx(const char *source, const cli_texts *flags, const char *output,
                    bf_diagnostic *diagnostic);
/* The same, without a word where it fails: the source may not be right. */
int cli_try_ptx(const char *source, const cli_texts *flags, const char *output,
                bf_diagnostic *diagnostic);
/* The same for a whole program that `bankfold exec` can run. */
int cli_compile_program(const char *source, const cli_texts *flags, const char *output,
                        bf_diagnostic *diagnostic);

#endif

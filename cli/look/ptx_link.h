/* bankfold ptx link. */
#ifndef BF_CLI_PTX_LINK_H
#define BF_CLI_PTX_LINK_H

#include "ptx/fatbin.h"

/* Links the best PTX of every module of the files; writes it to output, or prints it where that is
 * NULL. An exit status. */
int cli_ptx_link(int count, char **files, bf_arch wanted, const char *output);

#endif

/* Libraries of Bankfold that programs get which are started. */
#ifndef BF_CLI_LIBRARY_H
#define BF_CLI_LIBRARY_H

#include "cli/cli.h"

#include <limits.h>

/* The absolute path of the folder that holds a library: in the build folder, under build_folder, or
 * where it was installed. */
bool cli_find_library(const char *build_folder, const char *library, char folder[PATH_MAX]);
/* The path of the injection library (docs/inject.md), which LD_PRELOAD can name. */
int cli_find_injection(char path[2 * PATH_MAX], bf_diagnostic *diagnostic);

#endif

/* The environment of a program that is started, and the libraries that go with it. Functions return
 * false where that is impossible. */
#ifndef BF_CLI_ENVIRONMENT_H
#define BF_CLI_ENVIRONMENT_H

#include "cli.h"

#include <limits.h>

/* Sets a variable to "value:what it was". */
bool cli_prepend_variable(const char *name, const char *value);
/* Sets a variable, or removes it where value is NULL. */
bool cli_put_variable(const char *name, const char *value);
/* The same for a file, as an absolute path: the program may change its folder. */
bool cli_put_path(const char *name, const char *path);
/* The absolute path of the folder that holds a library: in the build folder, under build_folder, or
 * where it was installed. */
bool cli_find_library(const char *build_folder, const char *library, char folder[PATH_MAX]);

#endif

/* The environment of a program that is started, and the libraries and files that go with it.
 * Functions return false where that is impossible. */
#ifndef BF_CLI_ENVIRONMENT_H
#define BF_CLI_ENVIRONMENT_H

#include "cli/cli.h"

#include <limits.h>

/* Sets a variable to "value:what it was". */
bool cli_prepend_variable(const char *name, const char *value);
/* The absolute path of the folder that holds a library: in the build folder, under build_folder, or
 * where it was installed. */
bool cli_find_library(const char *build_folder, const char *library, char folder[PATH_MAX]);
/* The path of the injection library (docs/inject.md), which LD_PRELOAD can name. */
int cli_find_injection(char path[2 * PATH_MAX], bf_diagnostic *diagnostic);

/* A folder of its own for what is written during a run. */
int cli_make_folder(char folder[PATH_MAX], bf_diagnostic *diagnostic);
/* Removes the plain files of a folder. */
void cli_empty_folder(const char *folder);
/* Removes a folder of plain files. */
void cli_remove_folder(const char *folder);

/* A new folder for the files of a run, where temporary files go. */
int cli_make_folder(char folder[PATH_MAX], bf_diagnostic *diagnostic);
/* Removes a folder of plain files. */
void cli_remove_folder(const char *folder);

#endif

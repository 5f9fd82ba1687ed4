/* Folders and variables for programs that are run. */
#ifndef BF_PROCESS_FOLDER_H
#define BF_PROCESS_FOLDER_H

#include "base/base.h"

#include <limits.h>

/* Makes a folder of its own for the files of a run, where temporary files go. */
int bf_process_make_folder(char folder[PATH_MAX], bf_diagnostic *diagnostic);
/* Removes the plain files of a folder. */
void bf_process_empty_folder(const char *folder);
/* Removes a folder of plain files. */
void bf_process_remove_folder(const char *folder);

/* Sets a variable of the environment to "value:what it was"; false where memory is exhausted. */
bool bf_process_prepend_variable(const char *name, const char *value);
/* Has programs load a library before all others; false where memory is exhausted. Those with
 * AddressSanitizer, which must come first in its own view, are told that it need not. */
bool bf_process_preload(const char *library);

#endif

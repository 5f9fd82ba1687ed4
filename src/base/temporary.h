/* base/temporary: a file that is written beside the one that it will replace, so that readers see
 * all of it or nothing.
 *
 * It is made anew, never opened where something stands: its name is 128 random bits, which nobody
 * can guess or meet again, and starts with ".bankfold-", which no reader of a folder takes for a
 * file of its own. What a killed process leaves is in nobody's way. */
#ifndef BF_BASE_TEMPORARY_H
#define BF_BASE_TEMPORARY_H

#include "base/base.h"

typedef struct bf_temporary {
  int file;   /* descriptor, open for writing; -1: closed, or none */
  char *name; /* NULL: it is gone, or has its place */
} bf_temporary;

/* Makes the file that is to replace path, with these rights less the user's mask. BF_IO, with
 * errno, or BF_NO_MEMORY. */
int bf_temporary_open(const char *path, unsigned rights, bf_temporary *temporary);
/* Writes all bytes; false where that fails, as errno says. */
bool bf_temporary_write(const bf_temporary *temporary, const char *bytes, size_t size);
/* Closes it and puts it in the place of path, whatever stands there; false where that fails, as
 * errno says. A file that must survive a loss of power is given fsync before. */
bool bf_temporary_commit(bf_temporary *temporary, const char *path);
/* Closes and removes it, unless it has its place. errno is kept. */
void bf_temporary_close(bf_temporary *temporary);

#endif

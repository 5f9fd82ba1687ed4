/* Temporary files: made beside the file that they replace. */
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANDOM_BYTES = 16, MOST_TRIES = 16 };

/* The folder of a path, with its last slash, and a new name. NULL: errno says why. */
static char *make_name(const char *path) {
  static const char prefix[] = ".bankfold-";
  unsigned char random[RANDOM_BYTES];
  const char *slash = strrchr(path, '/');
  size_t folder_bytes = slash ? (size_t)(slash + 1 - path) : 0;
  char *name = malloc(folder_bytes + sizeof prefix + 2 * sizeof random);
  if (!name)
    return NULL;
  if (getentropy(random, sizeof random) != 0) {
    free(name);
    return NULL;
  }
  memcpy(name, path, folder_bytes);
  memcpy(name + folder_bytes, prefix, sizeof prefix);
  for (size_t i = 0; i < sizeof random; i++)
    sprintf(name + folder_bytes + sizeof prefix - 1 + 2 * i, "%02x", random[i]);
  return name;
}

int bf_temporary_open(const char *path, unsigned rights, bf_temporary *temporary) {
  *temporary = (bf_temporary){.file = -1};
  for (int i = 0; i < MOST_TRIES; i++) {
    char *name = make_name(path);
    if (!name)
      return errno == ENOMEM ? BF_NO_MEMORY : BF_IO;
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)rights);
    if (file >= 0) {
      *temporary = (bf_temporary){file, name};
      return BF_OK;
    }
    int kept = errno;
    free(name);
    errno = kept;
    if (errno != EEXIST && errno != EINTR)
      break;
  }
  return BF_IO;
}

bool bf_temporary_write(const bf_temporary *temporary, const char *bytes, size_t size) {
  while (size) {
    ssize_t done = write(temporary->file, bytes, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    bytes += done;
    size -= (size_t)done;
  }
  return true;
}

bool bf_temporary_commit(bf_temporary *temporary, const char *path) {
  int closed = temporary->file >= 0 ? close(temporary->file) : 0;
  temporary->file = -1;
  if (closed != 0 || rename(temporary->name, path) != 0)
    return false;
  free(temporary->name);
  temporary->name = NULL;
  return true;
}

void bf_temporary_close(bf_temporary *temporary) {
  int kept = errno;
  if (temporary->file >= 0)
    close(temporary->file);
  if (temporary->name)
    unlink(temporary->name);
  free(temporary->name);
  *temporary = (bf_temporary){.file = -1};
  errno = kept;
}

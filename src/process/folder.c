/* Folders and variables for programs that are run. */
#include "process/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int bf_process_make_folder(char folder[PATH_MAX], bf_diagnostic *diagnostic) {
  const char *place = getenv("TMPDIR");
  snprintf(folder, PATH_MAX, "%s/bankfold.XXXXXX", place && *place == '/' ? place : "/tmp");
  if (!mkdtemp(folder))
    return bf_fail(diagnostic, BF_IO, "cannot make %s: %s", folder, strerror(errno));
  return BF_OK;
}

void bf_process_empty_folder(const char *folder) {
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(directory), entry->d_name, 0);
  if (directory)
    closedir(directory);
}

void bf_process_remove_folder(const char *folder) {
  bf_process_empty_folder(folder);
  rmdir(folder);
}

bool bf_process_prepend_variable(const char *name, const char *value) {
  const char *old = getenv(name);
  bf_text text = {0};
  bf_text_addf(&text, "%s%s%s", value, old && *old ? ":" : "", old ? old : "");
  bool done = !text.failed && setenv(name, text.data, 1) == 0;
  bf_text_free(&text);
  return done;
}

bool bf_process_preload(const char *library) {
  static const char is_told[] = "verify_asan_link_order=";
  const char *options = getenv("ASAN_OPTIONS");
  return ((options && strstr(options, is_told)) ||
          bf_process_prepend_variable("ASAN_OPTIONS", "verify_asan_link_order=0")) &&
         bf_process_prepend_variable("LD_PRELOAD", library);
}

/* Libraries that programs get which are started. */
#include "cli/library.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_find_library(const char *build_folder, const char *library, char folder[PATH_MAX]) {
  /* The third is where an archive of a release has them, wherever it was unpacked; the last is for
   * those who copied both to one folder. */
  const char *const places[] = {build_folder, BF_RUNTIME_FROM_BIN, "../lib/bankfold", "."};
  char self[PATH_MAX], path[3 * PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = 0;
  char *slash = strrchr(self, '/');
  if (slash)
    *slash = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    bool is_absolute = places[i][0] == '/';
    int end = snprintf(path, sizeof path, "%s%s%s", is_absolute ? "" : self, is_absolute ? "" : "/",
                       places[i]);
    snprintf(path + end, sizeof path - (size_t)end, "/%s", library);
    bool is_there = access(path, R_OK) == 0;
    path[end] = 0;
    if (is_there && realpath(path, folder))
      return true;
  }
  return false;
}

int cli_find_injection(char path[2 * PATH_MAX], bf_diagnostic *diagnostic) {
  static const char library[] = "libbankfold-inject.so";
  char folder[PATH_MAX];
  if (!cli_find_library("inject", library, folder))
    return bf_fail(diagnostic, BF_IO, "%s was not found beside the program", library);
  snprintf(path, 2 * PATH_MAX, "%s/%s", folder, library);
  if (strpbrk(path, " :"))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "%s: a path with spaces or colons cannot be loaded before a program", path);
  return BF_OK;
}

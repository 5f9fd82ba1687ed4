/* Finding programs as a shell does, and tools of the CUDA toolkit where they usually are. */
#include "process/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether path is a file that can be run. */
static bool is_program(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool bf_process_find(const char *name, bool (*accepts)(const char *path), char *path,
                     size_t bytes) {
  if (strchr(name, '/')) {
    snprintf(path, bytes, "%s", name);
    return is_program(path) && (!accepts || accepts(path));
  }
  const char *folder = getenv("PATH");
  while (folder && *folder) {
    size_t length = strcspn(folder, ":");
    snprintf(path, bytes, "%.*s%s%s", (int)length, folder, length ? "/" : "", name);
    if (is_program(path) && (!accepts || accepts(path)))
      return true;
    folder += length + (folder[length] == ':');
  }
  return false;
}

/* Whether path leads to another program than this one. */
static bool is_other(const char *path) {
  char self[PATH_MAX], target[PATH_MAX];
  return !realpath("/proc/self/exe", self) || !realpath(path, target) || strcmp(self, target) != 0;
}

/* Whether the tool is at folder + between + name; path is filled then. */
static bool is_in(const char *folder, const char *between, const char *name, char path[PATH_MAX]) {
  char candidate[PATH_MAX];
  int length = folder ? snprintf(candidate, sizeof candidate, "%s%s%s", folder, between, name) : 0;
  if (length <= 0 || length >= PATH_MAX)
    return false;
  return bf_process_find(candidate, is_other, path, PATH_MAX);
}

/* Whether the tool is beside the nvcc in PATH. */
static bool is_beside_nvcc(const char *name, char path[PATH_MAX]) {
  char nvcc[PATH_MAX], real[PATH_MAX];
  if (!bf_process_find("nvcc", is_other, nvcc, sizeof nvcc) || !realpath(nvcc, real))
    return false;
  *strrchr(real, '/') = 0;
  return is_in(real, "/", name, path);
}

int bf_process_find_tool(const char *name, bf_variable variable, char path[PATH_MAX],
                         bf_diagnostic *diagnostic) {
  const char *given = bf_variable_get(variable);
  if (given && bf_process_find(given, is_other, path, PATH_MAX))
    return BF_OK;
  if (given)
    return bf_fail(diagnostic, BF_IO, "%s: '%s' is no %s that can be run",
                   bf_variable_name(variable), given, name);
  if (bf_process_find(name, is_other, path, PATH_MAX) || is_beside_nvcc(name, path) ||
      is_in(getenv("CUDA_HOME"), "/bin/", name, path) ||
      is_in(getenv("CUDA_PATH"), "/bin/", name, path) ||
      is_in("/usr/local/cuda", "/bin/", name, path))
    return BF_OK;
  return bf_fail(diagnostic, BF_IO, "no %s in PATH or CUDA_HOME; %s can name it", name,
                 bf_variable_name(variable));
}

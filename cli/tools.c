/* The compilers of the CUDA toolkit, as other programs. */
#include "cli/tools.h"

#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Finding ---- */

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
  return cli_program_find(candidate, is_other, path, PATH_MAX);
}

/* Whether the tool is beside the nvcc in PATH. */
static bool is_beside_nvcc(const char *name, char path[PATH_MAX]) {
  char nvcc[PATH_MAX], real[PATH_MAX];
  if (!cli_program_find("nvcc", is_other, nvcc, sizeof nvcc) || !realpath(nvcc, real))
    return false;
  *strrchr(real, '/') = 0;
  return is_in(real, "/", name, path);
}

int cli_tool_find(const char *name, bf_variable variable, char path[PATH_MAX],
                  bf_diagnostic *diagnostic) {
  const char *given = bf_variable_get(variable);
  if (given && cli_program_find(given, is_other, path, PATH_MAX))
    return BF_OK;
  if (given)
    return bf_fail(diagnostic, BF_IO, "%s: '%s' is no %s that can be run",
                   bf_variable_name(variable), given, name);
  if (cli_program_find(name, is_other, path, PATH_MAX) || is_beside_nvcc(name, path) ||
      is_in(getenv("CUDA_HOME"), "/bin/", name, path) ||
      is_in(getenv("CUDA_PATH"), "/bin/", name, path) ||
      is_in("/usr/local/cuda", "/bin/", name, path))
    return BF_OK;
  return bf_fail(diagnostic, BF_IO, "no %s in PATH or CUDA_HOME; %s can name it", name,
                 bf_variable_name(variable));
}

/* ---- Running ---- */

int cli_memory_file(const bf_text *content, char path[CLI_MEMORY_PATH_BYTES]) {
  int file = memfd_create("bankfold", 0);
  size_t done = 0;
  while (file >= 0 && done < content->size) {
    ssize_t written = write(file, content->data + done, content->size - done);
    if (written < 0) {
      close(file);
      return -1;
    }
    done += (size_t)written;
  }
  snprintf(path, CLI_MEMORY_PATH_BYTES, "/proc/self/fd/%d", file);
  return file;
}

/* In the new process: becomes the tool, with output to the files where they are not -1. */
static void start(const char *path, char **argv, int out, int error) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  signal(SIGPIPE, SIG_DFL);
  if (out >= 0) {
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(out, 1);
    dup2(error, 2);
  }
  execv(path, argv);
  _exit(CLI_STATUS_NOT_RUN);
}

/* The content of a file that was written to. */
static void read_back(int file, bf_text *text) {
  char piece[1 << 12];
  ssize_t got;
  lseek(file, 0, SEEK_SET);
  while ((got = read(file, piece, sizeof piece)) > 0)
    bf_text_add(text, piece, (size_t)got);
}

int cli_tool_run(const char *path, char **argv, bool catches, cli_tool_end *end,
                 bf_diagnostic *diagnostic) {
  *end = (cli_tool_end){0};
  int out = catches ? memfd_create("out", MFD_CLOEXEC) : -1;
  int error = catches ? memfd_create("error", MFD_CLOEXEC) : -1;
  fflush(NULL);
  pid_t child = catches && (out < 0 || error < 0) ? -1 : fork();
  if (child == 0)
    start(path, argv, out, error);
  while (child > 0 && waitpid(child, &end->status, 0) < 0 && errno == EINTR)
    ;
  if (child > 0 && catches) {
    read_back(out, &end->out);
    read_back(error, &end->error);
  }
  if (out >= 0)
    close(out);
  if (error >= 0)
    close(error);
  return child > 0 ? BF_OK : bf_fail(diagnostic, BF_IO, "cannot run %s: %s", path, strerror(errno));
}

void cli_tool_end_free(cli_tool_end *end) {
  bf_text_free(&end->out);
  bf_text_free(&end->error);
}

bool cli_tool_succeeded(const cli_tool_end *end) {
  return WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0;
}

int cli_tool_status(const cli_tool_end *end) {
  if (WIFEXITED(end->status))
    return WEXITSTATUS(end->status);
  signal(WTERMSIG(end->status), SIG_DFL);
  raise(WTERMSIG(end->status));
  return 128 + WTERMSIG(end->status);
}

int cli_tool_become(const char *path, char **argv) {
  signal(SIGPIPE, SIG_DFL);
  fflush(NULL);
  execv(path, argv);
  fprintf(stderr, "bankfold: error: cannot run %s: %s\n", path, strerror(errno));
  return CLI_STATUS_NOT_RUN;
}

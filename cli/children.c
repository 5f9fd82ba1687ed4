/* nvcc and bankfold exec as child processes. */
#include "children.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_NOT_RUN = 127, MOST_ARGUMENTS = 256 };

/* Replaces this process by a program whose standard output goes to the file output. */
static void become(char **arguments, const char *output) {
  int file = output ? open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600) : 2;
  signal(SIGPIPE, SIG_DFL);
  if (file >= 0)
    dup2(file, 1);
  execv(arguments[0], arguments);
  _exit(STATUS_NOT_RUN);
}

/* Runs a program to its end; its standard output goes to a file (NULL: to standard error). */
static int start(char **arguments, const char *output, int *status, bf_diagnostic *diagnostic) {
  int ended = 0;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0)
    become(arguments, output);
  while (child > 0 && waitpid(child, &ended, 0) < 0 && errno == EINTR)
    continue;
  *status = child < 0          ? STATUS_NOT_RUN
            : WIFEXITED(ended) ? WEXITSTATUS(ended)
                               : 128 + WTERMSIG(ended);
  return *status == STATUS_NOT_RUN ? bf_fail(diagnostic, BF_IO, "cannot run %s", arguments[0])
                                   : BF_OK;
}

/* ---- nvcc ---- */

/* Looks for nvcc in PATH, and where CUDA usually is. */
static bool find_nvcc(char path[PATH_MAX]) {
  const char *list = getenv("PATH");
  for (const char *at = list ? list : ""; *at; at += strcspn(at, ":"), at += *at == ':') {
    snprintf(path, PATH_MAX, "%.*s/nvcc", (int)strcspn(at, ":"), at);
    if (access(path, X_OK) == 0)
      return true;
  }
  snprintf(path, PATH_MAX, "/usr/local/cuda/bin/nvcc");
  return access(path, X_OK) == 0;
}

/* Whether the flags choose the architecture. */
static bool has_architecture(const cli_texts *flags) {
  for (unsigned i = 0; i < flags->count; i++)
    if (strncmp(flags->text[i], "-arch", 5) == 0 || strncmp(flags->text[i], "-gencode", 8) == 0 ||
        strncmp(flags->text[i], "--gpu-architecture", 18) == 0)
      return true;
  return false;
}

/* Compiles source with some flags of our own, ending with NULL. */
static int compile(const char *source, const cli_texts *flags, const char *const *own,
                   const char *output, bf_diagnostic *diagnostic) {
  char nvcc[PATH_MAX];
  const char *arguments[MOST_ARGUMENTS];
  unsigned count = 0;
  int status;
  if (!find_nvcc(nvcc))
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, source,
                        "nvcc was not found; where it is, make PTX with nvcc -lineinfo -ptx, and "
                        "give that with --source %s",
                        source);
  arguments[count++] = nvcc;
  for (; *own; own++)
    arguments[count++] = *own;
  if (!has_architecture(flags))
    arguments[count++] = "-arch=sm_90";
  for (unsigned i = 0; i < flags->count; i++)
    arguments[count++] = flags->text[i];
  arguments[count++] = source;
  arguments[count++] = "-o";
  arguments[count++] = output;
  arguments[count] = NULL;
  BF_TRY(start((char **)arguments, NULL, &status, diagnostic));
  return status == 0
             ? BF_OK
             : bf_fail_file(diagnostic, BF_BAD_INPUT, source, "nvcc ended with status %d", status);
}

int cli_compile_ptx(const char *source, const cli_texts *flags, const char *output,
                    bf_diagnostic *diagnostic) {
  static const char *const own[] = {"-lineinfo", "-ptx", NULL};
  return compile(source, flags, own, output, diagnostic);
}

int cli_compile_program(const char *source, const cli_texts *flags, const char *output,
                        bf_diagnostic *diagnostic) {
  static const char *const own[] = {"-lineinfo", "-cudart", "shared", NULL};
  return compile(source, flags, own, output, diagnostic);
}

/* ---- exec ---- */

int cli_record_program(const cli_started *program, const char *trace, const char *output,
                       int *status, bf_diagnostic *diagnostic) {
  char self[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size <= 0)
    return bf_fail(diagnostic, BF_IO, "cannot find this program to run it again");
  self[size] = 0;
  const char *first[] = {self,      "exec", "--quiet",   "--as-written",
                         "--trace", trace,  "--machine", program->machine};
  unsigned used = sizeof first / sizeof *first - (program->machine ? 0 : 2);
  char **arguments = calloc(used + (size_t)program->count + 1, sizeof *arguments);
  if (!arguments)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  memcpy(arguments, first, used * sizeof *first);
  for (int i = 0; i < program->count; i++)
    arguments[used + (unsigned)i] = program->arguments[i];
  int error = start(arguments, output, status, diagnostic);
  free(arguments);
  if (error == BF_OK && access(trace, R_OK) != 0)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, program->arguments[0],
                         "it left no accesses to shared memory (status %d)", *status);
  return error;
}

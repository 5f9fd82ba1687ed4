/* Runs of programs whose accesses to shared memory are kept. */
#include "process/traced.h"
#include "process/process.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* What exec is told, ending with the program's own arguments and NULL; NULL where memory is
 * exhausted. */
static char **arguments_of(const bf_traced_run *run, const char *self, const char *trace) {
  char **arguments = calloc(8 + (size_t)run->arguments + 1, sizeof *arguments);
  unsigned used = 0;
  if (!arguments)
    return NULL;
  const char *first[] = {self,           "exec",      "--quiet",
                         "--save-trace", trace,       run->is_as_written ? "--as-written" : NULL,
                         "--machine",    run->machine};
  for (size_t i = 0; i < sizeof first / sizeof *first - (run->machine ? 0 : 2); i++)
    if (first[i])
      arguments[used++] = (char *)first[i];
  for (int i = 0; i < run->arguments; i++)
    arguments[used++] = run->program[i];
  return arguments;
}

int bf_process_trace(const bf_traced_run *run, const char *trace, const char *output, int *status,
                     bf_diagnostic *diagnostic) {
  char self[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size <= 0)
    return bf_fail(diagnostic, BF_IO, "cannot find this program to run it again");
  self[size] = 0;
  char **arguments = arguments_of(run, self, trace);
  if (!arguments)
    return bf_no_memory(diagnostic);
  bf_process process = {
      .path = self, .arguments = arguments, .input = "/dev/null", .output = output};
  bf_process_end end;
  int error = bf_process_run(&process, &end, diagnostic);
  *status = error ? BF_PROCESS_NOT_RUN : end.status;
  free(arguments);
  if (!error && access(trace, R_OK) != 0)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, run->program[0],
                         "it left no accesses to shared memory (status %d)", *status);
  return error;
}

/* Reading a whole trace into a workload: the one step from files to weighted sets that needs to
 * know a machine. */
#include "memory/memory.h"

static int explain(int error, const char *path, bf_diagnostic *diagnostic) {
  if (error == BF_UNSUPPORTED)
    return bf_fail_file(diagnostic, error, path,
                        "too many distinct accesses or sites to keep in memory");
  return bf_no_memory(diagnostic);
}

static int add_all(bf_trace *trace, const char *path, bf_workload *workload,
                   bf_diagnostic *diagnostic) {
  bf_access access;
  int result;
  while ((result = bf_trace_next(trace, &access, diagnostic)) > 0) {
    int error = bf_workload_add(workload, &access);
    if (error)
      return explain(error, path, diagnostic);
  }
  return result;
}

int bf_workload_take(bf_trace *trace, const char *name, bf_workload **out,
                     bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_workload *workload;
  int error = bf_workload_create(&workload) == BF_OK ? add_all(trace, name, workload, diagnostic)
                                                     : bf_no_memory(diagnostic);
  if (error)
    bf_workload_free(workload);
  else
    *out = workload;
  return error;
}

int bf_workload_read(const char *path, const bf_machine *machine, bf_workload **out,
                     bf_diagnostic *diagnostic) {
  return bf_workload_read_form(path, BF_TRACE_OWN, machine, out, diagnostic);
}

int bf_workload_read_form(const char *path, bf_trace_form form, const bf_machine *machine,
                          bf_workload **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_trace *trace;
  BF_TRY(bf_trace_open_form(path, form, &limits, &trace, diagnostic));
  int error = bf_workload_take(trace, path, out, diagnostic);
  bf_trace_close(trace);
  return error;
}

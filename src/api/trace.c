/* Traces in memory, and those that are read access by access. */
#include "api/api.h"

/* What a trace of another tool leaves open. */
static void remark(const bf_trace_options *options, const char *name, const bf_trace *trace) {
  if (options->form == BF_TRACE_OWN)
    return;
  if (options->form == BF_TRACE_NVBIT)
    bf_say(&options->logger, BF_LOG_WARNING,
           "%s: NVBit says nothing of active lanes; all 32 count as active", name);
  if (bf_trace_passed_over(trace))
    bf_say(&options->logger, BF_LOG_REMARK, "%s: %llu lines without a shared access are left out",
           name, (unsigned long long)bf_trace_passed_over(trace));
}

/* Options for a trace. */
static int take_options(const bf_trace_options *given, bf_trace_options *options,
                        bf_diagnostic *diagnostic) {
  BF_TRY(bf_take_options(given, options, sizeof *options, "bf_trace_options", diagnostic));
  if ((unsigned)options->form > BF_TRACE_ACCELSIM)
    return bf_fail(diagnostic, BF_BAD_INPUT, "unknown form %d of traces", (int)options->form);
  return BF_OK;
}

int bf_trace_read(const char *path, const bf_machine *machine, const bf_trace_options *given,
                  bf_trace **trace, bf_diagnostic *diagnostic) {
  bf_trace_options options;
  *trace = NULL;
  BF_TRY(take_options(given, &options, diagnostic));
  bf_trace_limits limits = bf_machine_limits(machine);
  return bf_trace_open_form(path, options.form, &limits, trace, diagnostic);
}

int bf_workload_parse(const void *data, size_t size, const bf_machine *machine,
                      const bf_trace_options *given, bf_workload **workload,
                      bf_diagnostic *diagnostic) {
  bf_trace_options options;
  bf_trace *trace;
  *workload = NULL;
  BF_TRY(take_options(given, &options, diagnostic));
  const char *name = options.name ? options.name : "trace";
  bf_trace_limits limits = bf_machine_limits(machine);
  BF_TRY(bf_trace_open_memory(name, data, size, options.form, &limits, &trace, diagnostic));
  int error = bf_workload_take(trace, name, workload, diagnostic);
  if (!error)
    remark(&options, name, trace);
  bf_trace_close(trace);
  return error;
}

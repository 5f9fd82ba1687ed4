/* trace: runs kernels of a PTX file on the emulator and writes their shared accesses. */
#include "cli/look/launches.h"

#include <string.h>

typedef struct settings {
  cli_common common;
  const char *launch, *output, *form;
  uint64_t module, workers;
  bool as_written;
} settings;

static const cli_option options[] = {
    {"launch", CLI_TEXT, offsetof(settings, launch), "FILE", NULL,
     "the launch description: buffers and launches (docs/profile.md)"},
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "where to write the trace (default: standard output)"},
    {"form", CLI_TEXT, offsetof(settings, form), "FORM", "text packed",
     "text (default) or packed, as in docs/traces.md"},
    {"as-written", CLI_FLAG, offsetof(settings, as_written), NULL, NULL,
     "accesses as the PTX has them, not as ptxas merges them"},
    {"module", CLI_NUMBER, offsetof(settings, module), "N", NULL,
     "module of a program or fat binary (default 1)"},
    {"threads", CLI_NUMBER, offsetof(settings, workers), "N", NULL,
     "threads that run a kernel (default 1, which keeps the order of accesses)"},
    CLI_COMMON(settings),
};

typedef struct tracing {
  const settings *settings;
  bf_tracer *tracer;
  bf_emu_observer observer;
} tracing;

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  tracing *work = context;
  BF_TRY(bf_tracer_begin(work->tracer, launch->kernel, &work->observer, diagnostic));
  work->observer.as_merged = !work->settings->as_written;
  launch->observer = &work->observer;
  return BF_OK;
}

static int print_json(const char *output, const bf_tracer *tracer) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  uint64_t lines, executions;
  bf_tracer_count(tracer, &lines, &executions);
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "trace", output);
  bf_json_number(&json, "lines", lines);
  bf_json_number(&json, "accesses", executions);
  bf_json_end(&json, '}');
  return cli_print(&text);
}

static int trace(const void *given, int count, char **arguments) {
  const settings *s = given;
  (void)count;
  bf_diagnostic diagnostic = {.caret = -1};
  if (!s->launch)
    return cli_usage_error(&cli_trace, "--launch is needed: which kernels to run, and on what");
  if (s->workers > 1024)
    return cli_usage_error(&cli_trace, "--workers takes at most 1024");
  if (s->common.json && !s->output)
    return cli_usage_error(&cli_trace, "--json needs --output: standard output has the trace");
  tracing work = {.settings = s};
  bool packed = s->form && strcmp(s->form, "packed") == 0;
  int error = bf_tracer_open(s->output ? s->output : "-", packed, &work.tracer, &diagnostic);
  cli_launches launches = {.ptx = arguments[0],
                           .module = s->module,
                           .prints_to_stderr = true,
                           .run = {.description = s->launch,
                                   .workers = s->workers ? (unsigned)s->workers : 1,
                                   .before = before,
                                   .context = &work}};
  if (!error)
    error = cli_launches_run(&launches, &diagnostic);
  if (!error)
    error = bf_tracer_commit(work.tracer, &diagnostic);
  int status = CLI_OK;
  if (!error && s->common.json)
    status = print_json(s->output, work.tracer);
  bf_tracer_close(work.tracer);
  return error ? cli_complain(&diagnostic) : status;
}

const cli_command cli_trace = {
    .name = "trace",
    .summary = "run kernels of a PTX file without a GPU and write their shared accesses",
    .arguments = "FILE",
    .details =
        "FILE and the launch description are as for profile. The trace can be given to check,\n"
        "classify, solve and the other commands. Equal accesses of a launch are written once, with "
        "a\n"
        "count; the site of an access is its kernel and source line.",
    .examples = "bankfold trace kernel.ptx --launch kernel.launch --output kernel.trace\n"
                "bankfold trace kernel.ptx --launch kernel.launch | bankfold solve -",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = trace,
};

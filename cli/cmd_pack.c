/* bankfold pack: turns a trace into the packed form, or back into text. */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  const char *output;
  bool text;
} settings;

static const cli_option options[] = {
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "where to write (default: standard output)"},
    {"text", CLI_FLAG, offsetof(settings, text), NULL, NULL, "write text instead"},
    CLI_COMMON(settings),
};

typedef struct totals {
  uint64_t accesses, executions;
} totals;

/* Copies every access; trace and writer stay open. */
static int copy(bf_trace *trace, bf_trace_writer *writer, totals *sum, bf_diagnostic *diagnostic) {
  bf_access access;
  int result;
  while ((result = bf_trace_next(trace, &access, diagnostic)) > 0) {
    int error = bf_trace_writer_add(writer, &access, diagnostic);
    if (error != BF_OK)
      return error;
    sum->accesses++;
    sum->executions += access.count;
  }
  return result < 0 ? result : bf_trace_writer_commit(writer, diagnostic);
}

static int pack(const settings *s, const char *path, totals *sum, bf_diagnostic *diagnostic) {
  bf_machine *machine;
  int error = cli_load_machine(&s->common, &machine, diagnostic);
  if (error != BF_OK)
    return error;
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_machine_free(machine);
  bf_trace *trace = NULL;
  bf_trace_writer *writer = NULL;
  error = bf_trace_open(path, &limits, &trace, diagnostic);
  if (error == BF_OK)
    error = bf_trace_writer_open(s->output ? s->output : "-", !s->text, &writer, diagnostic);
  if (error == BF_OK)
    error = copy(trace, writer, sum, diagnostic);
  if (error == BF_IO && errno == EPIPE)
    error = BF_OK; /* whoever reads has seen enough */
  bf_trace_writer_close(writer);
  bf_trace_close(trace);
  return error;
}

static int print_totals(const settings *s, const totals *sum) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "output", s->output);
  bf_json_string(&json, "form", s->text ? "text" : "packed");
  bf_json_number(&json, "accesses", sum->accesses);
  bf_json_number(&json, "executions", sum->executions);
  bf_json_end(&json, '}');
  return cli_print(&text);
}

static int run(const void *given, int count, char **arguments) {
  (void)count;
  const settings *s = given;
  bool to_standard_output = !s->output || strcmp(s->output, "-") == 0;
  if (s->common.json && to_standard_output)
    return cli_usage_error(&cli_pack, "--json needs an --output file");
  if (!s->text && to_standard_output && isatty(1))
    return cli_usage_error(&cli_pack, "a packed trace is not for terminals; give --output FILE");
  totals sum = {0};
  bf_diagnostic diagnostic;
  if (pack(s, arguments[0], &sum, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  return s->common.json ? print_totals(s, &sum) : CLI_OK;
}

const cli_command cli_pack = {
    .name = "pack",
    .summary = "turn a trace into the packed form, or back into text",
    .arguments = "FILE",
    .details = "Reads the trace FILE (\"-\": standard input), text or packed, and writes the same\n"
               "accesses in the packed form, which is much smaller and faster to read; with\n"
               "--text, one access a line with byte addresses. Comments are not kept.",
    .examples = "bankfold pack kernel.trace --output kernel.bft # pack\n"
                "bankfold pack kernel.bft --text | less         # look into a packed trace\n",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .settings_size = sizeof(settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};

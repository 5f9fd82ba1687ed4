/* bankfold ncu: what Nsight Compute measured, beside what is predicted, and what its counters mean.
 */
#include "ncu/ncu.h"
#include "cli/cli.h"
#include "process/process.h"
#include "process/program.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  const char *program, *kernel;
} settings;

static const cli_option options[] = {
    {"program", CLI_TEXT, offsetof(settings, program), "FILE", NULL,
     "PTX, or a program with PTX, whose conflicts are predicted beside"},
    {"kernel", CLI_TEXT, offsetof(settings, kernel), "KERNEL", NULL,
     "only the kernel of that name (default: all)"},
    CLI_COMMON(settings),
};

/* ---- Reading ---- */

static bool is_report(const char *path) {
  size_t length = strlen(path);
  return length > 8 && strcmp(path + length - 8, ".ncu-rep") == 0;
}

/* Adds what ncu prints of a page of a report; source: which one the source page has. */
static int print_page(const char *ncu, const char *report, const char *page, const char *source,
                      bf_text *text, bf_diagnostic *diagnostic) {
  const char *arguments[] = {
      ncu,    "--import", report, "--csv", "--page", page, source ? "--print-source" : NULL,
      source, NULL};
  bf_process process = {.path = ncu, .arguments = (char **)arguments, .keeps_output = true};
  bf_process_end end;
  BF_TRY(bf_process_run(&process, &end, diagnostic));
  const char *said = end.error.size ? end.error.data : end.output.size ? end.output.data : "";
  int error = BF_OK;
  if (end.status == 0 && end.output.size)
    bf_text_add(text, end.output.data, end.output.size);
  else
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, report, "ncu does not read it: %.*s",
                         (int)strcspn(said, "\n"), said);
  bf_text_puts(text, "\n");
  bf_process_end_free(&end);
  return error;
}

/* Adds the tables of a file: as they are or, of a report, as the program ncu prints them. */
static int load(const char *path, bf_text *text, bf_diagnostic *diagnostic) {
  char ncu[PATH_MAX];
  if (!is_report(path))
    return bf_read_file(path, SIZE_MAX, text, diagnostic);
  if (!bf_process_find("ncu", NULL, ncu, sizeof ncu))
    return bf_fail_file(
        diagnostic, BF_UNSUPPORTED, path,
        "Nsight Compute's program ncu, which reads it, is not in PATH; where it is: "
        "ncu --import FILE --csv --page raw");
  BF_TRY(print_page(ncu, path, "raw", NULL, text, diagnostic));
  return print_page(ncu, path, "source", "cuda,sass", text, diagnostic);
}

/* Adds what is predicted from --program, on the machine of the options. */
static int predict(const settings *s, bf_ncu *ncu, bf_diagnostic *diagnostic) {
  bf_machine *machine;
  BF_TRY(cli_load_machine(&s->common, &machine, diagnostic));
  int error = bf_ncu_predict_program(ncu, s->program, machine, diagnostic);
  bf_machine_free(machine);
  return error;
}

/* ---- Printing ---- */

static int print(const settings *s, const bf_ncu *ncu) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  if (s->common.json) {
    bf_json_begin(&json, NULL, '{', false);
    bf_json_begin(&json, "kernels", '[', false);
  }
  for (size_t i = 0; i < ncu->kernels; i++) {
    const bf_ncu_kernel *kernel = &ncu->kernel[i];
    if (s->kernel && strcmp(kernel->short_name, s->kernel) != 0)
      continue;
    if (s->common.json)
      bf_ncu_write_json(kernel, &json);
    else
      bf_ncu_write(kernel, &text);
  }
  if (s->common.json) {
    bf_json_end(&json, ']');
    bf_json_end(&json, '}');
  }
  return cli_print(&text);
}

static int run(const void *given, int count, char **arguments) {
  const settings *s = given;
  bf_text text = {0};
  bf_ncu ncu = {.kernels = 0};
  bf_diagnostic diagnostic = {.caret = -1};
  int error = BF_OK;
  for (int i = 0; i < count && !error; i++) {
    error = load(arguments[i], &text, &diagnostic);
    bf_text_puts(&text, "\n");
  }
  if (!error && text.failed)
    error = bf_no_memory(&diagnostic);
  if (!error)
    error = bf_ncu_read(arguments[0], text.data, text.size, &ncu, &diagnostic);
  if (!error)
    bf_ncu_merge(&ncu);
  if (!error && s->program)
    error = predict(s, &ncu, &diagnostic);
  int status = error ? cli_complain(&diagnostic) : print(s, &ncu);
  bf_ncu_free(&ncu);
  bf_text_free(&text);
  return status;
}

const cli_command cli_ncu = {
    .name = "ncu",
    .summary = "say what the counters of Nsight Compute mean, beside what is predicted",
    .arguments = "FILE...",
    .details = "FILE is what ncu --csv --page raw, details or source printed, or a report "
               "(.ncu-rep), which\n"
               "the program ncu reads. Several files are tables of the same launches. For each "
               "kernel it says\n"
               "which conflicts are bank conflicts and what else counters mix in (docs/ncu.md), "
               "line by line\n"
               "where the source page is there, and with --program what the PTX predicts.",
    .examples = "ncu --set full --import-source yes -o app ./app && bankfold ncu app.ncu-rep\n"
                "ncu --csv --page raw --import app.ncu-rep > raw.csv && bankfold ncu raw.csv "
                "--program ./app\n"
                "bankfold ncu raw.csv source.csv --program app.ptx --kernel transpose\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 16,
    .run = run,
};

/* bankfold ncu: what Nsight Compute measured, beside what is predicted, and what its counters mean.
 */
#include "ncu/ncu.h"
#include "cli/cli.h"
#include "process/folder.h"
#include "process/traced.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  const char *program, *kernel, *run, *trace, *through;
} settings;

static const cli_option options[] = {
    {"program", CLI_TEXT, offsetof(settings, program), "FILE", NULL,
     "PTX, or a program with PTX, whose conflicts are predicted beside"},
    {"run", CLI_TEXT, offsetof(settings, run), "PROGRAM", NULL,
     "run this program as exec does, and count beside: also where addresses depend on data"},
    {"trace", CLI_TEXT, offsetof(settings, trace), "FILE", NULL,
     "the same from a trace that exec --save-trace wrote"},
    {"through", CLI_TEXT, offsetof(settings, through), "WHAT", "ncu ncu_report",
     "what reads reports: NVIDIA's program or its Python module (default: which is there)"},
    {"kernel", CLI_TEXT, offsetof(settings, kernel), "KERNEL", NULL,
     "only the kernel of that name (default: all)"},
    CLI_COMMON(settings),
};

/* Adds what a run of --run, which has no arguments, counts. */
static int predict_run(const settings *s, const bf_machine *machine, bf_ncu *ncu,
                       bf_diagnostic *diagnostic) {
  char folder[PATH_MAX], trace[PATH_MAX + 16], *program[] = {(char *)s->run, NULL};
  int status;
  bf_traced_run run = {.program = program, .arguments = 1, .machine = s->common.machine};
  BF_TRY(bf_process_make_folder(folder, diagnostic));
  snprintf(trace, sizeof trace, "%s/run.trace", folder);
  int error = bf_process_trace(&run, trace, "/dev/null", &status, diagnostic);
  if (!error)
    error = bf_ncu_predict_trace(ncu, trace, machine, diagnostic);
  bf_process_remove_folder(folder);
  return error;
}

/* Adds what is predicted, on the machine of the options. */
static int predict(const settings *s, bf_ncu *ncu, bf_diagnostic *diagnostic) {
  bf_machine *machine;
  BF_TRY(cli_load_machine(&s->common, &machine, diagnostic));
  int error = s->program ? bf_ncu_predict_program(ncu, s->program, machine, diagnostic) : BF_OK;
  if (!error && s->trace)
    error = bf_ncu_predict_trace(ncu, s->trace, machine, diagnostic);
  if (!error && s->run)
    error = predict_run(s, machine, ncu, diagnostic);
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
    error = bf_ncu_load(arguments[i], s->through, &text, &diagnostic);
    bf_text_puts(&text, "\n");
  }
  if (!error && text.failed)
    error = bf_no_memory(&diagnostic);
  if (!error)
    error = bf_ncu_read(arguments[0], text.data, text.size, &ncu, &diagnostic);
  if (!error)
    bf_ncu_merge(&ncu);
  if (!error)
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
    .details =
        "FILE is what ncu --csv --page raw, details or source printed, or a report "
        "(.ncu-rep), which\n"
        "the program ncu reads, or NVIDIA's Python module ncu_report. Several files are tables of "
        "the same launches. For each "
        "kernel it says\n"
        "which conflicts are bank conflicts and what else counters mix in (docs/ncu.md), "
        "line by line\n"
        "where the source page is there, with --program what the PTX predicts, and with --run or\n"
        "--trace what a run without a GPU counts.",
    .examples = "ncu --set full --import-source yes -o app ./app && bankfold ncu app.ncu-rep\n"
                "ncu --csv --page raw --import app.ncu-rep > raw.csv && bankfold ncu raw.csv "
                "--program ./app\n"
                "bankfold ncu raw.csv source.csv --program app.ptx --kernel transpose\n"
                "bankfold ncu app.ncu-rep --run ./app\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 16,
    .run = run,
};

/* bankfold report: a page of HTML about workloads. */
#include "cli/cli.h"

#include "cli/explorer.h"
#include "cli/progress.h"
#include "report/report.h"
#include "search/ladder.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  const char *output;
  uint64_t pictures;
  double time_limit;
  bool still;
} settings;

enum { DEFAULT_PICTURES = 3, MOST_FILES = 64 };
static const double default_time_limit_seconds = 10;

/* The workloads and what was found out about them. */
typedef struct findings {
  bf_machine *machine;
  bf_workload *workload[MOST_FILES];
  bf_ladder ladder[MOST_FILES];
  bf_report_part part[MOST_FILES];
  size_t count;
} findings;

/* Reads every trace before the first search starts, so that a bad one is known at once. */
static int read_all(findings *f, int count, char **paths, bf_diagnostic *diagnostic) {
  int error = BF_OK;
  for (int i = 0; i < count && !error; i++) {
    error = bf_workload_read(paths[i], f->machine, &f->workload[i], diagnostic);
    f->part[i] = (bf_report_part){paths[i], f->workload[i], &f->ladder[i]};
    f->count++;
  }
  return error;
}

static int solve_all(findings *f, const settings *given, bf_diagnostic *diagnostic) {
  bf_solve_options options = {
      .struct_bytes = sizeof options,
      .time_limit_seconds = given->time_limit > 0 ? given->time_limit : default_time_limit_seconds,
      .progress = cli_progress_step};
  int error = BF_OK;
  for (size_t i = 0; i < f->count && !error; i++) {
    cli_progress progress;
    cli_block_bar bar = cli_block_bar_begin(NULL);
    bf_search_watch watch = {.tell = cli_block_bar_tell, .context = &bar, .step = f->part[i].name};
    bar.unit = NULL;
    options.progress_context = &progress;
    cli_progress_begin(&progress, options.time_limit_seconds);
    error = bf_solve_ladder_watched(f->machine, f->workload[i], &options, &watch, &f->ladder[i],
                                    diagnostic);
    cli_progress_end(&progress);
    cli_block_bar_end(&bar);
  }
  return error;
}

/* The page that needs no script: text and pictures. */
static int write_still(const findings *f, const settings *given, const char *path,
                       bf_diagnostic *diagnostic) {
  bf_report_options options = {.pictures =
                                   given->pictures < 1000 ? (unsigned)given->pictures : 1000};
  if (!given->pictures)
    options.pictures = DEFAULT_PICTURES;
  bf_text text = {0};
  int error = bf_report_html(f->machine, f->part, f->count, &options, &text, diagnostic);
  if (error) {
    bf_text_free(&text);
    return cli_complain(diagnostic);
  }
  return cli_write(path, &text);
}

/* The explorer, opened on the report. */
static int write_explorer(const findings *f, const char *path, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  int error = bf_report_json(f->machine, f->part, f->count, &text, diagnostic);
  if (!error)
    error = text.failed ? bf_no_memory(diagnostic)
                        : cli_explorer_write_report(path, f->part[0].name, text.data, diagnostic);
  bf_text_free(&text);
  return error ? cli_complain(diagnostic) : CLI_OK;
}

static int write_page(const findings *f, const settings *given, bf_diagnostic *diagnostic) {
  const char *path = given->output ? given->output : "report.html";
  bool is_still = given->still || given->pictures || !cli_explorer_is_there();
  int status =
      is_still ? write_still(f, given, path, diagnostic) : write_explorer(f, path, diagnostic);
  bf_text note = {0};
  if (status == CLI_OK && strcmp(path, "-") != 0 && !given->common.json) {
    bf_text_addf(&note, "%s: %zu workload%s; open it in a browser\n", path, f->count,
                 f->count == 1 ? "" : "s");
    status = cli_print(&note);
  }
  return status;
}

static int print_json(const findings *f, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  if (bf_report_json(f->machine, f->part, f->count, &text, diagnostic) == BF_OK)
    return cli_print(&text);
  bf_text_free(&text);
  return cli_complain(diagnostic);
}

static int run(const void *given, int count, char **arguments) {
  const settings *options = given;
  bf_diagnostic diagnostic;
  findings *f = calloc(1, sizeof *f);
  int error = f ? BF_OK : bf_no_memory(&diagnostic);
  int status = CLI_OK;
  cli_watch_interrupt();
  if (!error)
    error = cli_load_machine(&options->common, &f->machine, &diagnostic);
  if (!error)
    error = read_all(f, count, arguments, &diagnostic);
  if (!error)
    error = solve_all(f, options, &diagnostic);
  if (error)
    status = cli_complain(&diagnostic);
  if (status == CLI_OK && (options->output || !options->common.json))
    status = write_page(f, options, &diagnostic);
  if (status == CLI_OK && options->common.json)
    status = print_json(f, &diagnostic);
  for (size_t i = 0; f && i < MOST_FILES; i++)
    bf_workload_free(f->workload[i]);
  if (f)
    bf_machine_free(f->machine);
  free(f);
  return status;
}

static const cli_option options[] = {
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "the page to write (default report.html; - for standard output)"},
    {"still", CLI_FLAG, offsetof(settings, still), NULL, NULL,
     "a page without scripts: text and pictures"},
    {"pictures", CLI_NUMBER, offsetof(settings, pictures), "N", NULL,
     "the same with so many accesses drawn per workload (default 3)"},
    {"time-limit", CLI_REAL, offsetof(settings, time_limit), "SECONDS", NULL,
     "limit of each exact search (default 10)"},
    CLI_COMMON(settings),
};

const cli_command cli_report = {
    .name = "report",
    .summary = "write a page about workloads: conflicts, causes, pictures and fixes",
    .arguments = "FILE...",
    .details =
        "Reads traces and writes one HTML page that needs nothing else: totals, conflicts by "
        "site,\n"
        "the worst accesses explained and drawn before and after the recommended hash, and the\n"
        "ladder of fixes with what each leaves and costs. It is the explorer (docs/explorer.md), "
        "where\n"
        "that was built, else a page without scripts, which --still asks for. With --json the "
        "same\n"
        "facts go to standard output, and a page is written only where --output names one.",
    .examples = "bankfold report tile.trace fft.trace --output conflicts.html",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = MOST_FILES,
    .run = run,
};

/* solve: finds a hash, or walks the whole ladder of fixes. */
#include "cli/cli.h"
#include "cli/progress.h"
#include "report/solved.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  const char *from, *method, *class_, *granule;
  bool pairs, all_candidates;
  const char *time_limit;
  uint64_t threads;
} settings;

static const cli_option options[] = {
    CLI_COMMON(settings),
    CLI_FROM(settings),
    {"method", CLI_TEXT, offsetof(settings, method), "METHOD",
     "ladder bit-vector givargis givargis-literal min-imbalance padding exact",
     "how to search (default ladder: all of them, with a recommendation)"},
    {"pairs", CLI_FLAG, offsetof(settings, pairs), NULL, NULL,
     "givargis (and -literal), min-imbalance: choose among XORs of two bits too"},
    {"class", CLI_TEXT, offsetof(settings, class_), "CLASS", "general row cute one-term two-term",
     "the hashes that exact searches (default general: all of them)"},
    {"granule", CLI_TEXT, offsetof(settings, granule), "BYTES", "4 8 16",
     "bytes that must stay together (default 4; in the ladder, the widest access)"},
    {"time-limit", CLI_TEXT, offsetof(settings, time_limit), "SECONDS", NULL,
     "exact: stop after this long with the best so far (default 10; 0 = no limit)"},
    {"all-candidates", CLI_FLAG, offsetof(settings, all_candidates), NULL, NULL,
     "bit-vector: try every candidate, also where strides rule them out"},
    {"threads", CLI_NUMBER, offsetof(settings, threads), "N", NULL,
     "threads to use (default one per core)"},
};

static const struct {
  const char *name;
  bf_method method;
} methods[] = {
    {"bit-vector", BF_METHOD_BIT_VECTOR},
    {"givargis", BF_METHOD_GIVARGIS},
    {"givargis-literal", BF_METHOD_GIVARGIS_LITERAL},
    {"min-imbalance", BF_METHOD_MIN_IMBALANCE},
    {"padding", BF_METHOD_PADDING},
    {"exact", BF_METHOD_EXACT},
};

static const char *const class_names[] = {"general", "row", "cute", "one-term", "two-term"};

/* ---- Running ---- */

static int fill_options(const settings *own, bf_solve_options *to, cli_progress *progress) {
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    if (strcmp(own->method, methods[i].name) == 0)
      to->method = methods[i].method;
  for (size_t i = 0; own->class_ && i < sizeof class_names / sizeof *class_names; i++)
    if (strcmp(own->class_, class_names[i]) == 0)
      to->class_ = (bf_class)i;
  if (own->class_ && strcmp(own->method, "exact") != 0)
    return cli_usage_error(&cli_solve, "--class goes with --method exact");
  if (own->granule)
    to->granule_bytes = own->granule[0] == '1' ? 16 : (unsigned)(own->granule[0] - '0');
  to->pairs = own->pairs;
  to->all_candidates = own->all_candidates;
  to->time_limit_seconds = 10;
  int status = cli_seconds(&cli_solve, "time-limit", own->time_limit, &to->time_limit_seconds);
  if (status >= 0)
    return status;
  if (own->threads > 1024)
    return cli_usage_error(&cli_solve, "--threads takes at most 1024");
  to->threads = (unsigned)own->threads;
  to->progress = cli_progress_step;
  to->progress_context = progress;
  return -1;
}

static int solve_ladder(const settings *own, const bf_machine *machine, const bf_workload *workload,
                        const bf_solve_options *to, const bf_search_watch *watch, bf_text *text,
                        bf_diagnostic *diagnostic) {
  bf_ladder ladder;
  BF_TRY(bf_solve_ladder_watched(machine, workload, to, watch, &ladder, diagnostic));
  if (own->common.json)
    return bf_report_ladder_json(machine, &ladder, text, diagnostic);
  bf_report_ladder_text(&ladder, cli_wants_color(&own->common), text);
  return BF_OK;
}

static int solve_one(const settings *own, const bf_machine *machine, const bf_workload *workload,
                     const bf_solve_options *to, const bf_search_watch *watch, bf_text *text,
                     bf_diagnostic *diagnostic) {
  bf_solution solution;
  BF_TRY(bf_solve_watched(machine, workload, to, watch, &solution, diagnostic));
  if (own->common.json)
    bf_report_solution_json(own->method, &solution, text);
  else
    bf_report_solution_text(own->method, &solution, text);
  bf_solution_clear(&solution);
  return BF_OK;
}

static int solve(const void *given, int count, char **arguments) {
  settings own = *(const settings *)given;
  (void)count;
  if (!own.method)
    own.method = own.class_ ? "exact" : "ladder";
  bool ladder = strcmp(own.method, "ladder") == 0;
  bf_solve_options to = {.struct_bytes = sizeof to, .method = BF_METHOD_EXACT};
  cli_progress progress;
  int status = fill_options(&own, &to, &progress);
  if (status >= 0)
    return status;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_machine *machine = NULL;
  bf_workload *workload = NULL;
  bf_text text = {0};
  int error = cli_load_machine(&own.common, &machine, &diagnostic);
  if (!error)
    error = bf_workload_read_form(arguments[0], cli_trace_form(own.from), machine, &workload,
                                  &diagnostic);
  if (!error) {
    cli_progress_begin(&progress, to.time_limit_seconds);
    cli_block_bar bar = cli_block_bar_begin(NULL);
    bf_search_watch watch = {cli_block_bar_tell, &bar, own.method, 0};
    bar.unit = NULL;
    error = ladder ? solve_ladder(&own, machine, workload, &to, &watch, &text, &diagnostic)
                   : solve_one(&own, machine, workload, &to, &watch, &text, &diagnostic);
    cli_progress_end(&progress);
    cli_block_bar_end(&bar);
  }
  bf_workload_free(workload);
  bf_machine_free(machine);
  if (error) {
    bf_text_free(&text);
    return cli_complain(&diagnostic);
  }
  return cli_print(&text);
}

const cli_command cli_solve = {
    .name = "solve",
    .summary = "find the hash that removes the most conflicts",
    .arguments = "FILE",
    .details = "Without --method, walks the ladder of fixes - nothing, padding, a CuTe swizzle, "
               "bit-vector and\nbitwise hashes, and the provably best hash - and recommends one, "
               "or recommends doing nothing.\nThe exact search gives bounds and says whether they "
               "meet; Ctrl-C takes the best so far.",
    .examples =
        "bankfold solve kernel.trace\n"
        "bankfold solve kernel.trace --method exact --class row --json\n"
        "bankfold solve kernel.trace --method exact --granule 16   # keep 16-byte accesses\n"
        "bankfold solve kernel.trace --method min-imbalance --pairs --machine fermi\n"
        "bankfold solve kernel.trace --method givargis-literal --pairs   # as published",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = solve,
};

/* solve: finds a hash, or walks the whole ladder of fixes. */
#include "cli/cli.h"
#include "cli/progress.h"
#include "process/ranks.h"
#include "report/solved.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  const char *from, *method, *class_, *granule, *most_xors, *share, *arrays;
  cli_texts also;
  bool pairs, all_candidates, front, hardware, joint;
  double instruction_cost;
  const char *time_limit;
  uint64_t threads;
} settings;

static const cli_option options[] = {
    CLI_COMMON(settings),
    CLI_FROM(settings),
    {"method", CLI_TEXT, offsetof(settings, method), "METHOD",
     "ladder bit-vector givargis givargis-literal min-imbalance padding modulo exact",
     "how to search (default ladder: all of them, with a recommendation)"},
    {"pairs", CLI_FLAG, offsetof(settings, pairs), NULL, NULL,
     "givargis (and -literal), min-imbalance: choose among XORs of two bits too"},
    {"class", CLI_TEXT, offsetof(settings, class_), "CLASS",
     "general row cute one-term two-term tma",
     "the hashes that exact searches (default general: all of them; tma: what tensor copies do)"},
    {"most-xors", CLI_TEXT, offsetof(settings, most_xors), "N",
     "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
     "exact: only hashes of at most N XORs of two bits"},
    {"also", CLI_TEXTS, offsetof(settings, also), "MACHINE", NULL,
     "one hash for this machine too; can be given several times"},
    {"front", CLI_FLAG, offsetof(settings, front), NULL, NULL,
     "ladder: every step that no other beats in conflicts and cost"},
    {"hardware", CLI_FLAG, offsetof(settings, hardware), NULL, NULL,
     "ladder: the hash is a unit in hardware, instructions cost nothing"},
    {"instruction-cost", CLI_REAL, offsetof(settings, instruction_cost), "W", NULL,
     "ladder: wavefronts that an instruction counts for (default 0.25)"},
    {"granule", CLI_TEXT, offsetof(settings, granule), "BYTES", "4 8 16",
     "bytes that must stay together (default 4; in the ladder, the widest access)"},
    {"time-limit", CLI_TEXT, offsetof(settings, time_limit), "SECONDS", NULL,
     "stop after this long with the best so far (default 10; 0 = no limit)"},
    {"joint", CLI_FLAG, offsetof(settings, joint), NULL, NULL,
     "exact, modulo: a hash together with padding and the place where the data begin"},
    {"arrays", CLI_TEXT, offsetof(settings, arrays), "OFFSETS", NULL,
     "exact: a hash for each of the arrays that begin at these bytes, as 0,4096,8192"},
    {"share", CLI_TEXT, offsetof(settings, share), "FILE", NULL,
     "exact: share the search with other processes by this file, or go on with it"},
    {"all-candidates", CLI_FLAG, offsetof(settings, all_candidates), NULL, NULL,
     "bit-vector: try every candidate, also where strides rule them out"},
    {"threads", CLI_NUMBER, offsetof(settings, threads), "N", NULL,
     "threads to use (default one per core)"},
};

/* In the order of bf_method and bf_class. */
static const char *const methods[] = {"exact",   "bit-vector",       "givargis", "min-imbalance",
                                      "padding", "givargis-literal", "modulo"};
static const char *const classes[] = {"general", "row", "cute", "one-term", "two-term", "tma"};

/* The number of a name; 0 where it is none of them. */
static int find(const char *const *names, size_t count, const char *name) {
  for (size_t i = 0; name && i < count; i++)
    if (strcmp(names[i], name) == 0)
      return (int)i;
  return 0;
}

/* ---- Running ---- */

static int fill_options(const settings *own, bf_solve_options *to, cli_progress *progress) {
  bool is_exact = strcmp(own->method, "exact") == 0, is_ladder = strcmp(own->method, "ladder") == 0;
  to->method = (bf_method)find(methods, sizeof methods / sizeof *methods, own->method);
  to->class_ = (bf_class)find(classes, sizeof classes / sizeof *classes, own->class_);
  if (own->class_ && !is_exact)
    return cli_usage_error(&cli_solve, "--class goes with --method exact");
  if (own->most_xors && (!is_exact || to->class_ != BF_CLASS_GENERAL))
    return cli_usage_error(&cli_solve, "--most-xors goes with --method exact and all hashes");
  if ((own->front || own->hardware || own->instruction_cost > 0) && !is_ladder)
    return cli_usage_error(&cli_solve,
                           "--front, --hardware and --instruction-cost go with the ladder");
  if (own->share && (!is_exact || own->most_xors || to->class_ > BF_CLASS_ROW))
    return cli_usage_error(&cli_solve, "--share goes with --method exact and all hashes or rows");
  bool is_modulo = to->method == BF_METHOD_MODULO;
  if (own->joint && ((!is_exact && !is_modulo) || own->also.count || own->share))
    return cli_usage_error(&cli_solve,
                           "--joint goes with --method exact or modulo and one machine");
  if (own->arrays && (!is_exact || own->also.count || own->share || own->joint))
    return cli_usage_error(&cli_solve,
                           "--arrays goes with --method exact and one machine, not --joint");
  to->shared_file = own->share;
  to->has_most_gates = own->most_xors != NULL;
  to->most_gates = own->most_xors ? (unsigned)atoi(own->most_xors) : 0;
  to->front = own->front;
  to->instruction_wavefronts = own->hardware ? -1 : own->instruction_cost;
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
  bf_ranks ranks = bf_ranks_find();
  to->threads = own->threads || ranks.all == 1 ? (unsigned)own->threads : bf_ranks_workers(&ranks);
  to->progress = cli_progress_step;
  to->progress_context = progress;
  return -1;
}

static int solve_ladder(const settings *own, bf_loaded_cases *cases, const bf_solve_options *to,
                        const bf_search_watch *watch, double until, bf_text *text,
                        bf_diagnostic *diagnostic) {
  bf_ladder ladder;
  BF_TRY(bf_solve_ladder_watched(cases->item->machine, cases->item->workload, to, watch, &ladder,
                                 diagnostic));
  if (cases->count > 1)
    BF_TRY(bf_cases_judge(cases, ladder.step[ladder.recommended].hash, NULL, until, diagnostic));
  if (own->common.json)
    return bf_report_ladder_json(&ladder, cases, text, diagnostic);
  bf_report_ladder_text(&ladder, cli_wants_color(&own->common), text);
  bf_report_cases_text(cases, text);
  return BF_OK;
}

static int solve_one(const settings *own, bf_loaded_cases *cases, const bf_solve_options *to,
                     const bf_search_watch *watch, double until, bf_text *text,
                     bf_diagnostic *diagnostic) {
  bf_joint joint = {0};
  bf_solution *solution = &joint.solution;
  const bf_machine *machine = cases->item->machine;
  const bf_workload *workload = cases->item->workload;
  BF_TRY(own->joint ? bf_solve_joint_watched(machine, workload, to, watch, &joint, diagnostic)
                    : bf_solve_watched(machine, workload, to, watch, solution, diagnostic));
  int error = BF_OK;
  if (cases->count > 1)
    error = bf_cases_judge(cases, bf_hash_text(solution->hash), own->joint ? &joint : NULL, until,
                           diagnostic);
  if (!error && own->common.json) {
    bf_report_solution_json(own->method, solution, own->joint ? &joint : NULL, cases, text);
  } else if (!error) {
    bf_report_solution_text(own->method, solution, own->joint ? &joint : NULL, text);
    bf_report_cases_text(cases, text);
  }
  bf_joint_clear(&joint);
  return error;
}

/* The numbers of --arrays. */
static int parse_begins(const char *given, uint64_t *begin, unsigned *count,
                        bf_diagnostic *diagnostic) {
  const char *at = given;
  for (*count = 0;; at++) {
    if (*count == BF_ARRAYS_MOST)
      return bf_fail(diagnostic, BF_BAD_INPUT, "--arrays: more than %d arrays", BF_ARRAYS_MOST);
    if (!bf_parse_number(&at, &begin[*count]) || (*at && *at != ',') || begin[*count] > UINT32_MAX)
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "--arrays takes bytes at which arrays begin, as 0,4096, not '%s'", given);
    ++*count;
    if (!*at)
      return BF_OK;
  }
}

static int solve_arrays(const settings *own, bf_loaded_cases *cases, const bf_solve_options *to,
                        const bf_search_watch *watch, bf_text *text, bf_diagnostic *diagnostic) {
  uint64_t begin[BF_ARRAYS_MOST];
  unsigned count;
  bf_arrays arrays;
  BF_TRY(parse_begins(own->arrays, begin, &count, diagnostic));
  BF_TRY(bf_solve_arrays_watched(cases->item->machine, cases->item->workload, begin, count, to,
                                 watch, &arrays, diagnostic));
  if (own->common.json)
    bf_report_arrays_json(&arrays, cases, text);
  else
    bf_report_arrays_text(&arrays, cases, text);
  bf_arrays_clear(&arrays);
  return BF_OK;
}

/* Different accesses of all traces that are kept: 0.8 GB of them. */
enum { MOST_DIFFERENT = 1 << 22 };

/* Every trace on every machine. Half of the limit is for reading. */
static int load(const settings *own, int count, char **arguments, double limit,
                bf_loaded_cases *cases, bf_diagnostic *diagnostic) {
  const char *machine[CLI_MOST_TEXTS + 1] = {own->common.machine ? own->common.machine : "hopper"};
  for (unsigned i = 0; i < own->also.count; i++)
    machine[i + 1] = own->also.text[i];
  cli_block_bar bar = cli_block_bar_begin(count == 1 ? bf_input_name(arguments[0]) : "traces");
  bar.unit = "bytes";
  cli_watch_interrupt();
  bf_cases_query query = {.path = (const char *const *)arguments,
                          .paths = (size_t)count,
                          .form = cli_trace_form(own->from),
                          .machine = machine,
                          .machines = own->also.count + 1,
                          .most_accesses = MOST_DIFFERENT / (size_t)count,
                          .seconds = limit / 2,
                          .tell = cli_block_bar_step,
                          .context = &bar};
  BF_TRY(cli_overrides(&own->common, &query.overrides, diagnostic));
  int error = bf_cases_load(&query, cases, diagnostic);
  cli_block_bar_end(&bar);
  return error;
}

static int solve(const void *given, int count, char **arguments) {
  settings own = *(const settings *)given;
  if (!own.method)
    own.method =
        own.class_ || own.most_xors || own.share || own.joint || own.arrays ? "exact" : "ladder";
  bool ladder = strcmp(own.method, "ladder") == 0;
  bf_solve_options to = {.struct_bytes = sizeof to, .method = BF_METHOD_EXACT};
  cli_progress progress;
  int status = fill_options(&own, &to, &progress);
  if (status >= 0)
    return status;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_loaded_cases cases = {0};
  bf_text text = {0};
  double started = bf_seconds();
  int error = load(&own, count, arguments, to.time_limit_seconds, &cases, &diagnostic);
  if (!error) {
    double limit = to.time_limit_seconds, judging = bf_cases_judge_seconds(&cases);
    double until = limit > 0 ? started + limit : 0;
    double left = until - bf_seconds() - (judging < limit / 10 ? judging : limit / 10);
    to.time_limit_seconds = left > to.time_limit_seconds / 10 ? left : to.time_limit_seconds / 10;
    to.also = cases.item + 1;
    to.also_count = cases.count - 1;
    cli_progress_begin(&progress, to.time_limit_seconds);
    cli_block_bar bar = cli_block_bar_begin(NULL);
    bf_search_watch watch = {
        .tell = cli_block_bar_tell, .context = &bar, .step = own.method, .share = &cases.counted};
    bar.unit = NULL;
    error = ladder       ? solve_ladder(&own, &cases, &to, &watch, until, &text, &diagnostic)
            : own.arrays ? solve_arrays(&own, &cases, &to, &watch, &text, &diagnostic)
                         : solve_one(&own, &cases, &to, &watch, until, &text, &diagnostic);
    if (error && diagnostic.line && !diagnostic.file[0])
      snprintf(diagnostic.file, sizeof diagnostic.file, "%s", bf_input_name(arguments[0]));
    cli_progress_end(&progress);
    cli_block_bar_end(&bar);
  }
  bf_cases_unload(&cases);
  if (error) {
    bf_text_free(&text);
    return cli_complain(&diagnostic);
  }
  if (own.share && bf_ranks_find().own != 0)
    bf_text_free(&text); /* the first rank prints */
  return cli_print(&text);
}

const cli_command cli_solve = {
    .name = "solve",
    .summary = "find the hash that removes the most conflicts",
    .arguments = "FILE...",
    .details = "Without --method, walks the ladder of fixes - nothing, padding, a CuTe swizzle, "
               "bit-vector and\nbitwise hashes, and the provably best hash - and recommends one, "
               "or recommends doing nothing.\nThe exact search gives bounds and says whether they "
               "meet; Ctrl-C takes the best so far. Of several traces, and machines with --also, "
               "the hash is the\n"
               "one that leaves the fewest conflicts in all of them together.",
    .examples =
        "bankfold solve kernel.trace\n"
        "bankfold solve kernel.trace --method exact --class row --json\n"
        "bankfold solve kernel.trace --method exact --granule 16   # keep 16-byte accesses\n"
        "bankfold solve a.trace b.trace --also ampere   # one hash for all\n"
        "bankfold solve kernel.trace --joint   # hash, padding and base address together\n"
        "bankfold solve kernel.trace --arrays 0,4096   # a hash for each of two arrays\n"
        "bankfold solve kernel.trace --most-xors 3   # the best cheap one; --front shows all "
        "trades\n"
        "mpirun -n 8 bankfold solve kernel.trace --share search.txt --time-limit 0   # one search\n"
        "bankfold solve kernel.trace --method min-imbalance --pairs --machine fermi\n"
        "bankfold solve kernel.trace --banks 64 --method modulo   # which number of banks up to "
        "64; --joint pads too\n"
        "bankfold solve kernel.trace --method givargis-literal --pairs   # as published",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 64,
    .run = solve,
};

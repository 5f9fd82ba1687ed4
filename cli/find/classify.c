/* bankfold classify: what pattern each access of a trace follows, in words and numbers. */
#include "cli/find/site_table.h"
#include "cli/find/spool.h"
#include "cli/progress.h"

#include <string.h>

typedef struct settings {
  cli_common common;
  const char *from;
  uint64_t columns, block_x, threads;
  bool summary, accesses, json_lines;
} settings;

static const cli_option options[] = {
    {"columns", CLI_NUMBER, offsetof(settings, columns), "N", NULL,
     "elements in a row of the 2-D array that is accessed"},
    {"block-x", CLI_NUMBER, offsetof(settings, block_x), "N", NULL,
     "threads in a row of the thread block (blockDim.x), if fewer than the lanes"},
    {"summary", CLI_FLAG, offsetof(settings, summary), NULL, NULL,
     "only how many accesses are of which class, and what they cost (as --json does)"},
    {"accesses", CLI_FLAG, offsetof(settings, accesses), NULL, NULL,
     "list every access with --json too"},
    {"json-lines", CLI_FLAG, offsetof(settings, json_lines), NULL, NULL,
     "write each access as a line of JSON as soon as it is read"},
    {"threads", CLI_NUMBER, offsetof(settings, threads), "N", NULL,
     "threads to use where accesses are not listed (default one per core)"},
    CLI_COMMON(settings),
    CLI_FROM(settings),
};

/* Output is handed to the spool in pieces of this size. */
enum { PIECE_BYTES = 1 << 20, COLUMNS_MAX = 1 << 30 };

/* Everything that a run has open. */
typedef struct run_state {
  const settings *settings;
  const char *file;
  bf_machine *machine;
  bf_counter *counter;
  bf_site_sums *sums; /* in place of a list */
  bf_trace *trace;
  bf_text text;
  bf_json json;
  cli_spool spool; /* kept until the whole trace is known to be good */
} run_state;

static int open_all(run_state *s, const char *path, bf_diagnostic *diagnostic) {
  s->file = bf_input_name(path);
  int error = cli_load_machine(&s->settings->common, &s->machine, diagnostic);
  if (error)
    return error;
  unsigned lanes = bf_machine_lanes(s->machine);
  if (s->settings->block_x > lanes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--block-x is %llu, but %s has %u lanes",
                   (unsigned long long)s->settings->block_x, bf_machine_name(s->machine), lanes);
  if (s->settings->columns > COLUMNS_MAX)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--columns is more than %d", COLUMNS_MAX);
  BF_TRY(bf_counter_create(s->machine, NULL, &s->counter, diagnostic));
  bf_trace_limits limits = bf_machine_limits(s->machine);
  return bf_trace_open_form(path, cli_trace_form(s->settings->from), &limits, &s->trace,
                            diagnostic);
}

static void close_all(run_state *s) {
  bf_trace_close(s->trace);
  bf_counter_free(s->counter);
  bf_site_sums_free(s->sums);
  bf_machine_free(s->machine);
  bf_text_free(&s->text);
  cli_spool_free(&s->spool);
}

/* ---- One access ---- */

static void print_numbers(bf_text *text, const bf_pattern *p) {
  bf_text_addf(text, "  M = [[%lld, %lld], [%lld, %lld]], o = (%lld, %lld)", (long long)p->m[0][0],
               (long long)p->m[0][1], (long long)p->m[1][0], (long long)p->m[1][1],
               (long long)p->origin[0], (long long)p->origin[1]);
  if (p->columns > 1)
    bf_text_addf(text, " on rows of %lld", (long long)p->columns);
  bf_text_addf(text, "; strides %lld along tx", (long long)p->stride_x);
  if (p->height_y > 1)
    bf_text_addf(text, ", %lld along ty", (long long)p->stride_y);
  bf_text_puts(text, "\n");
}

static void print_conflicts(run_state *s, const bf_count *count) {
  bool color = cli_wants_color(&s->settings->common);
  const char *machine = bf_machine_name(s->machine);
  unsigned wavefronts = count->ideal + count->conflicts;
  bf_text_puts(&s->text, color ? (count->conflicts ? "  \033[31m" : "  \033[32m") : "  ");
  if (count->conflicts == 0)
    bf_text_addf(&s->text, "no bank conflict on %s: %u wavefront%s", machine, wavefronts,
                 wavefronts == 1 ? "" : "s");
  else if (count->ideal == 1)
    bf_text_addf(&s->text, "%u-way bank conflict on %s: %u wavefronts where 1 would do", wavefronts,
                 machine, wavefronts);
  else
    bf_text_addf(&s->text, "bank conflicts on %s: %u wavefronts where %u would do", machine,
                 wavefronts, count->ideal);
  if (count->estimated)
    bf_text_puts(&s->text, " (an estimate)");
  bf_text_puts(&s->text, color ? "\033[0m\n" : "\n");
}

static void print_access(run_state *s, const bf_access *access, const bf_pattern *pattern,
                         const char *explanation, const bf_count *count) {
  bf_text *text = &s->text;
  bf_text_addf(text, "%s:%llu: %s %u", s->file, (unsigned long long)access->line,
               bf_op_name(access->op), access->width_bytes);
  if (access->count > 1)
    bf_text_addf(text, " x%llu", (unsigned long long)access->count);
  if (access->site)
    bf_text_addf(text, " @%s", access->site);
  bf_text_addf(text, "\n  %s\n", explanation);
  if (pattern->class_ != BF_PATTERN_RANDOM)
    print_numbers(text, pattern);
  print_conflicts(s, count);
}

/* The parameters of a pattern; a random one has none, which is written as null. */
static void write_numbers(bf_json *json, const bf_pattern *pattern) {
  if (pattern->class_ == BF_PATTERN_RANDOM) {
    const char *const keys[] = {"stride_x", "stride_y", "width_x", "offset", "matrix", "origin"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
      bf_json_string(json, keys[i], NULL);
    return;
  }
  bf_json_integer(json, "stride_x", pattern->stride_x);
  bf_json_integer(json, "stride_y", pattern->stride_y);
  bf_json_number(json, "width_x", pattern->width_x);
  bf_json_integer(json, "offset", pattern->offset);
  bf_json_begin(json, "matrix", '[', true);
  for (int row = 0; row < 2; row++) {
    bf_json_begin(json, NULL, '[', true);
    bf_json_integer(json, NULL, pattern->m[row][0]);
    bf_json_integer(json, NULL, pattern->m[row][1]);
    bf_json_end(json, ']');
  }
  bf_json_end(json, ']');
  bf_json_begin(json, "origin", '[', true);
  bf_json_integer(json, NULL, pattern->origin[0]);
  bf_json_integer(json, NULL, pattern->origin[1]);
  bf_json_end(json, ']');
}

static void write_access(bf_json *json, const bf_access *access, const bf_pattern *pattern,
                         const char *explanation, const bf_count *count) {
  bf_json_begin(json, NULL, '{', true);
  bf_json_number(json, "line", access->line);
  bf_json_string(json, "site", access->site);
  bf_json_string(json, "op", bf_op_name(access->op));
  bf_json_number(json, "width", access->width_bytes);
  bf_json_number(json, "count", access->count);
  bf_json_string(json, "class", bf_pattern_class_name(pattern->class_));
  write_numbers(json, pattern);
  bf_json_integer(json, "columns", pattern->columns);
  bf_json_number(json, "wavefronts", count->ideal + count->conflicts);
  bf_json_string(json, "explanation", explanation);
  bf_json_end(json, '}');
}

static int classify(run_state *s, const bf_access *access, bf_diagnostic *diagnostic) {
  bf_count count;
  int error = bf_counter_count(s->counter, access, &count, diagnostic);
  if (error) {
    snprintf(diagnostic->file, sizeof diagnostic->file, "%s", s->file);
    diagnostic->line = access->line;
    return error;
  }
  int64_t columns = s->settings->columns ? (int64_t)s->settings->columns : 1;
  bf_pattern pattern = bf_access_classify(access, bf_machine_lanes(s->machine), columns);
  if (s->settings->block_x)
    bf_pattern_reshape(&pattern, (unsigned)s->settings->block_x);
  bf_text explanation = {0};
  bf_pattern_explain(&pattern, access, &explanation);
  if (explanation.failed)
    error = bf_no_memory(diagnostic);
  else if (s->settings->common.json || s->settings->json_lines)
    write_access(&s->json, access, &pattern, explanation.data, &count);
  else
    print_access(s, access, &pattern, explanation.data, &count);
  bf_text_free(&explanation);
  return error;
}

/* ---- The whole trace ---- */

/* Hands the text on: lines of JSON at once, all else to the spool. */
static int hand_on(run_state *s, bf_diagnostic *diagnostic) {
  if (!s->settings->json_lines)
    return cli_spool_add(&s->spool, &s->text, diagnostic);
  return cli_print(&s->text) == CLI_OK ? BF_OK
                                       : bf_fail(diagnostic, BF_IO, "cannot write the output");
}

/* Classifies every access. */
static int classify_all(run_state *s, bf_diagnostic *diagnostic) {
  const bf_access *access;
  int result;
  while ((result = bf_trace_step(s->trace, &access, diagnostic)) > 0) {
    if (s->settings->json_lines)
      s->json = (bf_json){.text = &s->text, .flat = {true}};
    int error = classify(s, access, diagnostic);
    if (!error && (s->settings->json_lines || s->text.size >= PIECE_BYTES))
      error = hand_on(s, diagnostic);
    if (error)
      return error;
  }
  return result;
}

/* Lists every access. */
static int list(run_state *s, bf_diagnostic *diagnostic) {
  bool json = s->settings->common.json && !s->settings->json_lines;
  if (json) {
    bf_json_begin(&s->json, NULL, '{', false);
    bf_json_string(&s->json, "machine", bf_machine_name(s->machine));
    bf_json_begin(&s->json, "accesses", '[', false);
  }
  BF_TRY(classify_all(s, diagnostic));
  if (json) {
    bf_json_end(&s->json, ']');
    bf_json_end(&s->json, '}');
  }
  return hand_on(s, diagnostic);
}

static void write_classes(run_state *s) {
  size_t count;
  const bf_site_sum *row = bf_site_sums_rows(s->sums, &count);
  bf_json_begin(&s->json, NULL, '{', false);
  bf_json_string(&s->json, "machine", bf_machine_name(s->machine));
  bf_json_begin(&s->json, "classes", '[', false);
  for (size_t i = 0; i < count; i++) {
    bf_json_begin(&s->json, NULL, '{', true);
    bf_json_string(&s->json, "class", row[i].key);
    bf_json_number(&s->json, "accesses", row[i].sum.accesses);
    bf_json_number(&s->json, "wavefronts", row[i].sum.wavefronts);
    bf_json_number(&s->json, "ideal", row[i].sum.ideal);
    bf_json_number(&s->json, "conflicts", row[i].sum.conflicts);
    if (row[i].worst_conflicts) {
      bf_json_number(&s->json, "worst_line", row[i].worst_line);
      bf_json_string(&s->json, "worst", row[i].worst);
    }
    bf_json_end(&s->json, '}');
  }
  bf_json_end(&s->json, ']');
  bf_json_end(&s->json, '}');
}

/* How many accesses are of which class, by all threads. */
static int sum_up(run_state *s, bf_diagnostic *diagnostic) {
  BF_TRY(bf_site_sums_create(s->machine, NULL, BF_LOCK_PLAIN, &s->sums, diagnostic));
  bf_site_sums_by_class(s->sums);
  cli_block_bar bar = cli_block_bar_begin(s->file);
  bar.unit = "bytes";
  bf_site_sums_reading reading = {
      .threads = (unsigned)s->settings->threads, .progress = cli_block_bar_step, .context = &bar};
  int error = bf_site_sums_read(s->sums, s->trace, s->file, &reading, diagnostic);
  cli_block_bar_end(&bar);
  if (error)
    return error;
  if (s->settings->common.json)
    write_classes(s);
  else
    cli_site_table_write(s->sums, cli_wants_color(&s->settings->common), &s->text);
  return hand_on(s, diagnostic);
}

/* Whether every access is listed. */
static bool wants_list(const settings *own) {
  return own->accesses || own->json_lines || (!own->common.json && !own->summary);
}

static int run(const void *given, int count, char **arguments) {
  (void)count;
  const settings *own = given;
  run_state s = {.settings = own};
  s.json.text = &s.text;
  bf_diagnostic diagnostic = {.caret = -1};
  if (own->summary && (own->accesses || own->json_lines))
    return cli_usage_error(&cli_classify, "--summary lists no accesses");
  if (!wants_list(own) && (own->columns || own->block_x))
    return cli_usage_error(&cli_classify,
                           "--columns and --block-x are for a list of accesses: give --accesses");
  int error = open_all(&s, arguments[0], &diagnostic);
  if (!error)
    error = wants_list(own) ? list(&s, &diagnostic) : sum_up(&s, &diagnostic);
  int status = !error ? cli_spool_print(&s.spool) : cli_complain(&diagnostic);
  close_all(&s);
  return status;
}

const cli_command cli_classify = {
    .name = "classify",
    .summary = "say which pattern each access follows, and what that means for the banks",
    .arguments = "FILE",
    .details =
        "Each access of the trace FILE (\"-\": standard input) is broadcast, linear, a stride, a\n"
        "block or random. All but random come with the matrix M and the origin o that give the\n"
        "element of a lane: (row, column) = M (ty, tx) + o, where tx and ty number the lanes in\n"
        "rows of --block-x lanes and the array has rows of --columns elements. An element is as\n"
        "wide as the access. With --summary, and with --json unless --accesses asks for each, "
        "only\n"
        "sums of each class are given, however long the trace is.",
    .examples = "bankfold classify kernel.trace                           # strides and blocks\n"
                "bankfold classify transpose.trace --columns 16           # rows and columns\n"
                "bankfold classify tile.trace --columns 32 --block-x 8    # 8 threads a row\n"
                "bankfold classify long.bft --summary                     # sums by class\n"
                "echo 'ld 4 ffffffff stride:32' | bankfold classify -     # one access\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};

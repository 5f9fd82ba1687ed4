/* bankfold classify: what pattern each access of a trace follows, in words and numbers. */
#include "cli/find/spool.h"

#include <string.h>

typedef struct settings {
  cli_common common;
  const char *from;
  uint64_t columns, block_x;
} settings;

static const cli_option options[] = {
    {"columns", CLI_NUMBER, offsetof(settings, columns), "N", NULL,
     "elements in a row of the 2-D array that is accessed"},
    {"block-x", CLI_NUMBER, offsetof(settings, block_x), "N", NULL,
     "threads in a row of the thread block (blockDim.x), if fewer than the lanes"},
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
  bf_hash *hash;
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
  error = cli_load_hash(NULL, s->machine, &s->hash, diagnostic);
  if (error)
    return error;
  bf_trace_limits limits = bf_machine_limits(s->machine);
  return bf_trace_open_form(path, cli_trace_form(s->settings->from), &limits, &s->trace,
                            diagnostic);
}

static void close_all(run_state *s) {
  bf_trace_close(s->trace);
  bf_hash_free(s->hash);
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
  int error = bf_memory_count(s->machine, s->hash, access, &count, diagnostic);
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
  else if (s->settings->common.json)
    write_access(&s->json, access, &pattern, explanation.data, &count);
  else
    print_access(s, access, &pattern, explanation.data, &count);
  bf_text_free(&explanation);
  return error;
}

/* ---- The whole trace ---- */

/* Classifies every access into the spool. */
static int classify_all(run_state *s, bf_diagnostic *diagnostic) {
  bf_access access;
  int result;
  while ((result = bf_trace_next(s->trace, &access, diagnostic)) > 0) {
    int error = classify(s, &access, diagnostic);
    if (!error && s->text.size >= PIECE_BYTES)
      error = cli_spool_add(&s->spool, &s->text, diagnostic);
    if (error)
      return error;
  }
  return result;
}

static int classify_trace(run_state *s, const char *path, bf_diagnostic *diagnostic) {
  int error = open_all(s, path, diagnostic);
  if (error)
    return error;
  bool json = s->settings->common.json;
  if (json) {
    bf_json_begin(&s->json, NULL, '{', false);
    bf_json_string(&s->json, "machine", bf_machine_name(s->machine));
    bf_json_begin(&s->json, "accesses", '[', false);
  }
  error = classify_all(s, diagnostic);
  if (error)
    return error;
  if (json) {
    bf_json_end(&s->json, ']');
    bf_json_end(&s->json, '}');
  }
  return cli_spool_add(&s->spool, &s->text, diagnostic);
}

static int run(const void *given, int count, char **arguments) {
  (void)count;
  run_state s = {.settings = given};
  s.json.text = &s.text;
  bf_diagnostic diagnostic;
  int error = classify_trace(&s, arguments[0], &diagnostic);
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
        "wide as the access.",
    .examples = "bankfold classify kernel.trace                           # strides and blocks\n"
                "bankfold classify transpose.trace --columns 16           # rows and columns\n"
                "bankfold classify tile.trace --columns 32 --block-x 8    # 8 threads a row\n"
                "echo 'ld 4 ffffffff stride:32' | bankfold classify -     # one access\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};

/* bankfold explain: what the element of a shared array that a warp accesses does to the banks,
 * without a file. */
#include "cli/cli.h"
#include "report/report.h"
#include "source/subscript.h"

#include <string.h>

enum { MOST_EXPRESSIONS = 16, PICTURE_ROWS = 8, MOST_THREADS = 1024 };

typedef struct settings {
  cli_common common;
  const char *block, *type, *op;
  cli_texts param;
  const char *trace;
  bool draw;
} settings;

static const cli_option options[] = {
    {"block", CLI_TEXT, offsetof(settings, block), "XxYxZ", NULL,
     "threads of a block, e.g. 32x8 (default 32: one warp)"},
    {"type", CLI_TEXT, offsetof(settings, type), "TYPE", NULL,
     "the array, e.g. float[32][32] (needed)"},
    {"op", CLI_TEXT, offsetof(settings, op), "OP", "ld st atom",
     "what is done to the elements (default ld)"},
    {"param", CLI_TEXTS, offsetof(settings, param), "NAME=NUMBER", NULL,
     "the value of a name in the expressions; may be repeated"},
    {"draw", CLI_FLAG, offsetof(settings, draw), NULL, NULL,
     "draw the worst warp: which bank serves which lane in which wavefront"},
    {"save-trace", CLI_TEXT, offsetof(settings, trace), "[FILE]", NULL,
     "write what the warps do as a trace (to standard output without FILE) instead"},
    CLI_COMMON(settings),
};

/* All that is asked for. */
typedef struct question {
  const settings *settings;
  bf_machine *machine;
  bf_subscript_question code;
} question;

/* Reads NAME=NUMBER; names point into copies that the arena keeps. */
static int load_names(question *q, bf_arena *arena, bf_diagnostic *diagnostic) {
  const cli_texts *given = &q->settings->param;
  for (unsigned i = 0; i < given->count; i++) {
    char *name = bf_arena_copy(arena, given->text[i]), *equals = name ? strchr(name, '=') : NULL;
    const char *at = equals ? equals + 1 : "";
    uint64_t value;
    if (!name)
      return bf_no_memory(diagnostic);
    if (!equals || !bf_parse_number(&at, &value) || *at || value > INT32_MAX)
      return bf_fail(diagnostic, BF_BAD_INPUT, "--param takes NAME=NUMBER, not '%s'",
                     given->text[i]);
    *equals = 0;
    q->code.place.name[q->code.place.values] = name;
    q->code.place.value[q->code.place.values++] = (int64_t)value;
  }
  return BF_OK;
}

static int load(question *q, bf_arena *arena, bf_diagnostic *diagnostic) {
  uint32_t block[3] = {32, 1, 1};
  BF_TRY(cli_load_machine(&q->settings->common, &q->machine, diagnostic));
  q->code.machine = q->machine;
  BF_TRY(cli_parse_size("block", q->settings->block, 1, block, diagnostic));
  if ((uint64_t)block[0] * block[1] > MOST_THREADS ||
      (uint64_t)block[0] * block[1] * block[2] > MOST_THREADS)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a block has at most %d threads", MOST_THREADS);
  memcpy(q->code.place.block, block, sizeof block);
  BF_TRY(bf_subscript_type(q->settings->type, &q->code.array, diagnostic));
  unsigned bytes = q->code.array.element_bytes;
  if (bytes > 16 || (bytes & (bytes - 1)) != 0)
    return bf_fail(
        diagnostic, BF_UNSUPPORTED,
        "elements of %u bytes are accessed in several pieces, which the compiler chooses", bytes);
  q->code.op = (bf_op)bf_op_find(q->settings->op ? q->settings->op : "ld");
  return load_names(q, arena, diagnostic);
}

/* Warps of the block. */
static unsigned count_warps(const question *q) {
  unsigned lanes = bf_machine_lanes(q->machine);
  const uint32_t *block = q->code.place.block;
  return (block[0] * block[1] * block[2] + lanes - 1) / lanes;
}

/* The warp of an expression with most conflicts. */
static int find_worst(const question *q, const char *text, unsigned *worst, bf_count *most,
                      bf_access *access, bf_diagnostic *diagnostic) {
  unsigned lanes = bf_machine_lanes(q->machine), warps = count_warps(q);
  for (unsigned warp = 0; warp < warps; warp++) {
    bf_access own = {.op = q->code.op};
    bf_count count;
    BF_TRY(
        bf_subscript_warp(text, &q->code.array, &q->code.place, warp, lanes, 0, &own, diagnostic));
    BF_TRY(bf_memory_count(q->machine, NULL, &own, &count, diagnostic));
    if (warp == 0 || count.conflicts > most->conflicts) {
      *worst = warp;
      *most = count;
      *access = own;
    }
  }
  return BF_OK;
}

/* What one expression does, from its worst warp. */
static int explain(const question *q, const char *text, bf_text *out, bf_diagnostic *diagnostic) {
  unsigned warp = 0;
  bf_count count = {0};
  bf_access access;
  bf_picture *picture = NULL;
  bf_hash *none = NULL;
  BF_TRY(find_worst(q, text, &warp, &count, &access, diagnostic));
  BF_TRY(cli_load_hash(NULL, q->machine, &none, diagnostic));
  int error = bf_picture_create(q->machine, none, &access, &picture, diagnostic);
  if (!error) {
    bf_pattern pattern = bf_access_classify(&access, bf_machine_lanes(q->machine), 0);
    bf_text_addf(out, "%s: %u wavefronts a warp, %u would do\n  ", text,
                 count.ideal + count.conflicts, count.ideal);
    bf_pattern_explain(&pattern, &access, out);
    bf_text_puts(out, "\n  ");
    bf_picture_explain(picture, out);
    bf_text_puts(out, "\n");
    bf_draw_options drawing = {.color = cli_wants_color(&q->settings->common),
                               .width_columns = cli_columns(0),
                               .most_rows = PICTURE_ROWS};
    if (q->settings->draw)
      bf_draw_terminal((const bf_picture *const *)&picture, 1, &drawing, out);
  }
  bf_picture_free(picture);
  bf_hash_free(none);
  return error;
}

/* The expression without blanks, which would end the site of a line of a trace. */
static void write_site(const char *text, bf_text *site) {
  for (const char *at = text; *at; at++)
    if (!strchr(" \t\r\n", *at))
      bf_text_add(site, at, 1);
}

/* Every warp's access of an expression as a line of a trace, with the expression as its site. */
static int add_lines(const question *q, const char *text, bf_text *out, bf_diagnostic *diagnostic) {
  unsigned lanes = bf_machine_lanes(q->machine), warps = count_warps(q);
  bf_text site = {0};
  int error = BF_OK;
  write_site(text, &site);
  for (unsigned warp = 0; warp < warps && !error && !site.failed; warp++) {
    bf_access own = {.op = q->code.op, .count = 1, .site = site.data};
    error =
        bf_subscript_warp(text, &q->code.array, &q->code.place, warp, lanes, 0, &own, diagnostic);
    if (!error)
      bf_trace_print_line(&own, out);
  }
  out->failed |= site.failed;
  bf_text_free(&site);
  return error;
}

/* What is asked for: a trace, JSON, or sentences. */
static int answer(const question *q, bf_text *out, bf_diagnostic *diagnostic) {
  bool is_sentences = !q->settings->trace && !q->settings->common.json;
  bf_subscript_fixes fixes;
  BF_TRY(bf_subscript_fix(&q->code, &fixes, diagnostic));
  for (unsigned i = 0; i < q->code.count; i++) {
    if (q->settings->trace)
      BF_TRY(add_lines(q, q->code.texts[i], out, diagnostic));
    else if (is_sentences)
      BF_TRY(explain(q, q->code.texts[i], out, diagnostic));
  }
  if (is_sentences)
    bf_subscript_write(&q->code, &fixes, out);
  else if (!q->settings->trace)
    bf_subscript_write_json(&q->code, &fixes, out);
  return BF_OK;
}

static int run(const void *given, int count, char **arguments) {
  bf_arena arena = {0};
  bf_text out = {0};
  bf_diagnostic diagnostic = {.caret = -1};
  question q = {.settings = given,
                .code = {.texts = (const char *const *)arguments, .count = (unsigned)count}};
  if (!q.settings->type)
    return cli_usage_error(&cli_explain, "--type is needed, as in --type 'float[32][32]'");
  int error = load(&q, &arena, &diagnostic);
  if (!error)
    error = answer(&q, &out, &diagnostic);
  bf_machine_free(q.machine);
  bf_arena_free(&arena);
  if (!error)
    return cli_write(q.settings->trace, &out);
  bf_text_free(&out);
  return cli_complain(&diagnostic);
}

const cli_command cli_explain = {
    .name = "explain",
    .summary = "explain an index expression: lanes, banks, wavefronts, and the fix as code",
    .arguments = "EXPRESSION...",
    .details = "Takes elements of a shared array as CUDA source has them, and says what a warp "
               "that accesses\n"
               "them does to the banks, and what to write instead. Several expressions are "
               "accesses to one\n"
               "array. They may use threadIdx, blockDim, blockIdx (0), warpSize, lane, tid (the "
               "number of the\n"
               "thread in its block), the operators of C, and names that --param gives. The array "
               "starts at\n"
               "bank 0.",
    .examples =
        "bankfold explain 'tile[threadIdx.x][threadIdx.y]' --block 32x8 --type 'float[32][32]'\n"
        "bankfold explain 'a[tid / 4][tid % 4 * 8]' 'a[tid % 8][lane]' --type '__half[64][64]' "
        "--draw\n"
        "bankfold explain 'a[lane][0]' --type 'float[32][32]' --save-trace | bankfold solve -\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = MOST_EXPRESSIONS,
    .run = run,
};

/* bankfold align: the base addresses at which a pattern has the fewest conflicts. */
#include "cli/cli.h"

#include "search/align.h"

#include <math.h>

typedef struct settings {
  cli_common common;
  const char *hash, *matrix, *range;
  uint64_t stride, count, patterns, distance;
  bool brute_force;
} settings;

static const cli_option options[] = {
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL, "hash function (default none)"},
    {"matrix", CLI_TEXT, offsetof(settings, matrix), "RxC", NULL,
     "rows and columns of a row-major matrix of R rows and C columns"},
    {"stride", CLI_NUMBER, offsetof(settings, stride), "S", NULL, "words between two words"},
    {"count", CLI_NUMBER, offsetof(settings, count), "W", NULL, "words of the strided pattern"},
    {"patterns", CLI_NUMBER, offsetof(settings, patterns), "N", NULL,
     "N such patterns, one after the other (default 1)"},
    {"distance", CLI_NUMBER, offsetof(settings, distance), "D", NULL,
     "words between the bases of two neighbouring patterns"},
    {"range", CLI_TEXT, offsetof(settings, range), "A:B", NULL,
     "base addresses in words, A and B included (default: where the pattern fits)"},
    {"brute-force", CLI_FLAG, offsetof(settings, brute_force), NULL, NULL,
     "also evaluate every base without symmetry, compare, and print both times"},
    CLI_COMMON(settings),
};

/* What is asked and what came out. */
typedef struct align_job {
  const settings *options;
  bf_machine *machine;
  bf_hash *hash;
  bf_align_pattern pattern;
  uint64_t from, to;
  bf_alignment found, check;
  double seconds, check_seconds;
} align_job;

/* ---- Input ---- */

/* Reads the pattern from the options; -1 to go on or an exit status. */
static int read_pattern(align_job *job) {
  const settings *o = job->options;
  bool strided = o->stride || o->count || o->patterns || o->distance;
  if (o->matrix && strided)
    return cli_usage_error(&cli_align, "--matrix excludes --stride, --count, --patterns and "
                                       "--distance");
  bf_diagnostic diagnostic;
  if (o->matrix)
    return bf_align_parse_matrix(o->matrix, &job->pattern, &diagnostic) == BF_OK
               ? -1
               : cli_complain(&diagnostic);
  if (!o->stride || !o->count)
    return cli_usage_error(&cli_align, "give --matrix RxC, or --stride S and --count W of at "
                                       "least 1");
  if (o->patterns > 1 && !o->distance)
    return cli_usage_error(&cli_align, "--patterns needs a --distance of at least 1");
  if (o->distance && !o->patterns)
    return cli_usage_error(&cli_align, "--distance needs --patterns");
  job->pattern = (bf_align_pattern){.stride = o->stride,
                                    .count = o->count,
                                    .distance = o->distance,
                                    .patterns = o->patterns ? o->patterns : 1};
  return -1;
}

/* The bases at which the pattern fits into the allocation, or all where it never does. */
static void set_default_range(align_job *job) {
  uint64_t last = ((uint64_t)1 << bf_machine_geometry(job->machine).address_bits) - 1;
  uint64_t extent = bf_align_extent(&job->pattern);
  job->from = 0;
  job->to = extent <= last ? last - extent : last;
}

/* Loads machine and hash and reads the range. */
static int load(align_job *job, bf_diagnostic *diagnostic) {
  int error = cli_load_machine(&job->options->common, &job->machine, diagnostic);
  if (!error)
    error = cli_load_hash(job->options->hash, job->machine, &job->hash, diagnostic);
  if (error)
    return error;
  set_default_range(job);
  if (job->options->range)
    error = bf_align_parse_range(job->options->range, &job->from, &job->to, diagnostic);
  return error;
}

/* One search, with its time. */
static int search(align_job *job, bool use_symmetry, bf_alignment *alignment, double *seconds,
                  bf_diagnostic *diagnostic) {
  double start = bf_seconds();
  int error = bf_align_search(job->hash, &job->pattern, job->from, job->to, use_symmetry, alignment,
                              diagnostic);
  *seconds = bf_seconds() - start;
  return error;
}

/* The search that was asked for, and the check. */
static int search_all(align_job *job, bf_diagnostic *diagnostic) {
  int error = search(job, true, &job->found, &job->seconds, diagnostic);
  if (!error && job->options->brute_force)
    error = search(job, false, &job->check, &job->check_seconds, diagnostic);
  return error;
}

/* ---- Output ---- */

/* How many bases one evaluation stands for. */
static double factor(const bf_alignment *alignment) {
  return (double)alignment->bases / (double)alignment->evaluated;
}

/* A symmetry point is a whole number or lies halfway between two. */
static bool is_half(double point) { return point != floor(point); }

static bool is_linear(const align_job *job) { return job->hash->kind == BF_HASH_LINEAR; }

static void write_json_check(const align_job *job, bf_json *json) {
  bf_json_begin(json, "brute_force", '{', false);
  bf_json_bool(json, "agrees", bf_align_same(&job->found, &job->check));
  bf_json_number(json, "evaluated", job->check.evaluated);
  bf_json_real(json, "seconds", job->check_seconds);
  bf_json_real(json, "speedup", job->check_seconds / job->seconds);
  bf_json_end(json, '}');
}

static void write_json(const align_job *job, bf_text *text) {
  const bf_alignment *found = &job->found;
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "hash", bf_hash_text(job->hash));
  bf_json_begin(&json, "optimal", '[', false);
  for (size_t i = 0; i < found->optimal_count; i++) {
    bf_json_begin(&json, NULL, '[', true);
    bf_json_number(&json, NULL, found->optimal[i].from);
    bf_json_number(&json, NULL, found->optimal[i].to);
    bf_json_end(&json, ']');
  }
  bf_json_end(&json, ']');
  bf_json_number(&json, "conflicts", found->conflicts);
  bf_json_number(&json, "worst", found->worst);
  bf_json_begin(&json, "symmetry_points", '[', true);
  for (size_t i = 0; i < found->symmetry_count; i++) {
    bf_json_number(&json, NULL, (uint64_t)found->symmetry_points[i]);
    if (is_half(found->symmetry_points[i]))
      bf_text_puts(text, ".5");
  }
  bf_json_end(&json, ']');
  bf_json_number(&json, "bases", found->bases);
  bf_json_number(&json, "evaluated", found->evaluated);
  bf_json_real(&json, "factor", factor(found));
  bf_json_real(&json, "seconds", job->seconds);
  if (job->options->brute_force)
    write_json_check(job, &json);
  bf_json_end(&json, '}');
}

static void write_pattern(const align_job *job, bf_text *text) {
  const bf_align_pattern *p = &job->pattern;
  if (p->also_transposed)
    bf_text_addf(text, "pattern     rows and columns of a matrix, %llu x %llu words\n",
                 (unsigned long long)p->count, (unsigned long long)p->stride);
  else
    bf_text_addf(text, "pattern     %llu words, %llu apart\n", (unsigned long long)p->count,
                 (unsigned long long)p->stride);
  if (!p->also_transposed && p->patterns > 1)
    bf_text_addf(text, "            %llu times, bases %llu apart\n",
                 (unsigned long long)p->patterns, (unsigned long long)p->distance);
  bf_geometry geometry = bf_machine_geometry(job->machine);
  bf_text_addf(text, "memory      %u banks, 2^%u words, hash %s\n", 1u << geometry.bank_bits,
               geometry.address_bits, bf_hash_text(job->hash));
  if (is_linear(job) && bf_align_extent(p) >> geometry.address_bits)
    bf_text_puts(text, "            the pattern is longer than the memory: addresses wrap\n");
}

static void write_range(bf_text *text, bf_align_range range) {
  bf_text_addf(text, "            %llu", (unsigned long long)range.from);
  if (range.to > range.from)
    bf_text_addf(text, " .. %llu", (unsigned long long)range.to);
  bf_text_puts(text, "\n");
}

static void write_best(const align_job *job, bf_text *text) {
  const size_t shown = 16;
  const bf_alignment *found = &job->found;
  uint64_t bases = 0;
  for (size_t i = 0; i < found->optimal_count; i++)
    bases += found->optimal[i].to - found->optimal[i].from + 1;
  bf_text_addf(text, "best        %llu conflicts, at %llu of %llu bases:\n",
               (unsigned long long)found->conflicts, (unsigned long long)bases,
               (unsigned long long)found->bases);
  for (size_t i = 0; i < found->optimal_count && i < shown; i++)
    write_range(text, found->optimal[i]);
  if (found->optimal_count > shown)
    bf_text_addf(text, "            and %zu more ranges (--json lists all)\n",
                 found->optimal_count - shown);
  if (found->worst > found->conflicts)
    bf_text_addf(text, "worst       %llu conflicts; the best has %.1f%% fewer\n",
                 (unsigned long long)found->worst,
                 100 - 100 * (double)found->conflicts / (double)found->worst);
  else
    bf_text_puts(text, "worst       the same: the base does not matter here\n");
}

static void write_symmetry(const align_job *job, bf_text *text) {
  const bf_alignment *found = &job->found;
  bf_text_puts(text, "symmetry    ");
  if (!is_linear(job))
    bf_text_puts(text, "none: not an XOR hash");
  else if (found->symmetry_count == 0)
    bf_text_puts(text, "no centre in the range");
  for (size_t i = 0; i < found->symmetry_count; i++)
    bf_text_addf(text, "%s%.*f", i ? ", " : "about ", is_half(found->symmetry_points[i]) ? 1 : 0,
                 found->symmetry_points[i]);
  bf_text_puts(text, "\n");
}

static void write_work(const align_job *job, bf_text *text) {
  const bf_alignment *found = &job->found;
  bf_text_addf(text, "work        %llu of %llu bases evaluated (1 in %.4g), %.4f s\n",
               (unsigned long long)found->evaluated, (unsigned long long)found->bases,
               factor(found), job->seconds);
  if (job->options->brute_force)
    bf_text_addf(text, "brute force all bases evaluated, %.4f s (%.3g times as long): %s\n",
                 job->check_seconds, job->check_seconds / job->seconds,
                 bf_align_same(found, &job->check) ? "same result" : "DIFFERENT RESULT");
}

static int print(const align_job *job) {
  bf_text text = {0};
  if (job->options->common.json) {
    write_json(job, &text);
  } else {
    write_pattern(job, &text);
    write_best(job, &text);
    write_symmetry(job, &text);
    write_work(job, &text);
  }
  int status = cli_print(&text);
  bool agrees = !job->options->brute_force || bf_align_same(&job->found, &job->check);
  return status == CLI_OK && !agrees ? CLI_FINDINGS : status;
}

static int run(const void *given, int count, char **arguments) {
  (void)count;
  (void)arguments;
  align_job job = {.options = given};
  bf_diagnostic diagnostic;
  int status = read_pattern(&job);
  if (status >= 0)
    return status;
  int error = load(&job, &diagnostic);
  if (!error)
    error = search_all(&job, &diagnostic);
  status = !error ? print(&job) : cli_complain(&diagnostic);
  bf_alignment_clear(&job.found);
  bf_alignment_clear(&job.check);
  bf_hash_free(job.hash);
  bf_machine_free(job.machine);
  return status;
}

const cli_command cli_align = {
    .name = "align",
    .summary = "where to put a matrix or strided pattern",
    .arguments = "",
    .details = "Finds all base addresses at which a pattern has the fewest conflicts. A word\n"
               "conflicts if an earlier word of the same row, column or strided pattern is in\n"
               "its bank. All addresses count words. Under an XOR hash symmetry saves most of\n"
               "the work; under other hashes every base is evaluated.",
    .examples =
        "bankfold align --hash fixed --matrix 24x40 # rows and columns of a tile\n"
        "bankfold align --hash fixed --stride 6 --count 32 --range 0:1023 # one strided access\n"
        "bankfold align --banks 8192 --address-bits 26 --hash xor:0,13,8191 --matrix 976x976 "
        "--range 0:5000000 --json # a cache of 8192 sets",
    CLI_OPTIONS(options, settings),
    .most_arguments = 0,
    .run = run,
};

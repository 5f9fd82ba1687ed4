/* tune: finds hashes that make the kernels of a program faster, by running it on the GPU. */
#include "cli/environment.h"
#include "cli/process.h"
#include "cli/program.h"
#include "cli/use/tuned.h"
#include "cli/use/wrap.h"
#include "kernels/devices.h"
#include "rewrite/listed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  const char *output, *hash_file, *input, *timeout;
  cli_texts hash;
  uint64_t repeats;
  bool ignore_output;
} settings;

static const cli_option options[] = {
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "write the hashes to FILE, for run and rewrite (-: to standard output, without the table)"},
    {"hash-file", CLI_TEXT, offsetof(settings, hash_file), "FILE", NULL,
     "one more candidate: hashes of single kernels, as exec --save-hashes writes them"},
    {"hash", CLI_TEXTS, offsetof(settings, hash), "HASH", NULL,
     "a candidate for all kernels, in place of the built-in ones; may be repeated"},
    {"repeats", CLI_NUMBER, offsetof(settings, repeats), "N", NULL,
     "runs with each candidate (default 3)"},
    {"ignore-output", CLI_FLAG, offsetof(settings, ignore_output), NULL, NULL,
     "do not compare what runs print, only their exit statuses"},
    {"input", CLI_TEXT, offsetof(settings, input), "FILE", NULL,
     "standard input of every run (default: nothing)"},
    {"timeout", CLI_TEXT, offsetof(settings, timeout), "SECONDS", NULL,
     "longest run (default: a minute and ten times as long as the first; 0 = no limit)"},
    CLI_OUTPUT(settings),
};

/* The program as it is, then what is tried where nothing else is asked for: hashes that keep 4, 8
 * and 16 bytes together, which XOR one and two groups of row bits into the bank. */
static const char *const built_in[] = {
    "fixed",      "xor:0,6,31",
    "xor:0,7,31", "bits:0^5^10,1^6^11,2^7^12,3^8^13,4^9^14",
    "cute:4,3,4", "bits:0,1^5^9,2^6^10,3^7^11,4^8^12",
    "cute:3,4,3", "bits:0,1,2^5^8,3^6^9,4^7^10",
};
enum { BUILT_IN = sizeof built_in / sizeof *built_in, MOST_CANDIDATES = CLI_MOST_TEXTS + 2 };

/* A candidate whose every kernel takes this much longer after one round is given up. */
static const double hopeless = 1.05;

typedef struct tuner {
  const settings *settings;
  int arguments;
  char **argument;
  cli_program program;
  cli_candidate candidate[MOST_CANDIDATES];
  unsigned candidates;
  char folder[PATH_MAX]; /* of all that is written meanwhile */
  char cache[PATH_MAX + 16], times[PATH_MAX + 16], log[PATH_MAX + 16], expected[PATH_MAX + 16],
      printed[PATH_MAX + 16], chosen[PATH_MAX + 16];
  double timeout_seconds; /* as asked for; below 0: not */
  int status;             /* of the program as it is */
  double seconds;         /* of its first run */
  unsigned runs_done, runs_expected;
  const char *shown; /* what the bar says */
  bool has_bar;
  cli_tuning_runs runs, confirming;
  cli_tuning tuning;
  bf_writer *output;
} tuner;

/* ---- Progress ---- */

/* Draws the bar; false once the user wants no more. */
static bool draw(void *context) {
  tuner *t = context;
  if (t->has_bar) {
    char bar[BF_BAR_CELLS + 1];
    bf_bar_fill((double)t->runs_done / (double)t->runs_expected, bar);
    fprintf(stderr, "\r\033[K[%s] run %u of %u: %s", bar, t->runs_done + 1, t->runs_expected,
            t->shown);
    fflush(stderr);
  }
  return !cli_interrupted();
}

static void clear_bar(const tuner *t) {
  if (t->has_bar)
    fputs("\r\033[K", stderr);
}

/* ---- Single runs ---- */

/* Sets what the library reads for a run with a candidate. */
static bool set_hashes(const cli_candidate *candidate) {
  return cli_put_variable("BANKFOLD_HASH", candidate->is_file ? NULL : candidate->text) &&
         cli_put_path("BANKFOLD_HASHES", candidate->is_file ? candidate->text : NULL);
}

static double limit_seconds(const tuner *t) {
  if (t->timeout_seconds >= 0)
    return t->timeout_seconds;
  return t->seconds > 0 ? 60 + 10 * t->seconds : 0;
}

/* Runs the program with a candidate; its times are in the folder then. */
static int run_program(tuner *t, const cli_candidate *candidate, const char *output,
                       bool shows_errors, cli_process_end *end, bf_diagnostic *diagnostic) {
  const char *input = t->settings->input;
  cli_process process = {.path = t->program.path,
                         .arguments = t->argument,
                         .input = input ? input : "/dev/null",
                         .output = output,
                         .error = shows_errors ? NULL : "/dev/null",
                         .limit_seconds = limit_seconds(t),
                         .tick = draw,
                         .context = t};
  cli_empty_folder(t->times);
  bool is_original = candidate == &t->candidate[0];
  t->shown = is_original ? "as it is" : candidate->is_file ? "hashes of a file" : candidate->text;
  if (!set_hashes(candidate))
    return bf_no_memory(diagnostic);
  BF_TRY(cli_process_run(&process, end, diagnostic));
  t->runs_done++;
  return end->is_stopped ? bf_fail(diagnostic, BF_IO, "interrupted") : BF_OK;
}

/* Whether two files hold the same. */
static bool is_same_file(const char *first, const char *second) {
  FILE *a = fopen(first, "rb"), *b = fopen(second, "rb");
  char from_a[4096], from_b[4096];
  bool is_same = a && b;
  size_t got = 1;
  while (is_same && got) {
    got = fread(from_a, 1, sizeof from_a, a);
    is_same = fread(from_b, 1, sizeof from_b, b) == got && memcmp(from_a, from_b, got) == 0;
  }
  if (a)
    fclose(a);
  if (b)
    fclose(b);
  return is_same;
}

/* How a run differs from the first one as it is, in words; false where it does not. */
static bool differs(const tuner *t, const cli_process_end *end, char *how, size_t size) {
  if (end->is_late)
    snprintf(how, size, "does not end within %.0f s", limit_seconds(t));
  else if (end->signal)
    snprintf(how, size, "is ended by signal %d (%s)", end->signal, strsignal(end->signal));
  else if (end->status != t->status)
    snprintf(how, size, "has exit status %d, not %d", end->status, t->status);
  else if (!t->settings->ignore_output && !is_same_file(t->expected, t->printed))
    snprintf(how, size, "prints something else");
  else
    return false;
  return true;
}

/* Gives a candidate up, and says so where that is no matter of time. */
static void drop(const tuner *t, cli_candidate *candidate, const char *why, bool warns) {
  snprintf(candidate->dropped, sizeof candidate->dropped, "%s", why);
  if (!warns)
    return;
  clear_bar(t);
  fprintf(stderr, "bankfold: warning: with %s the program %s; it is not used\n", candidate->text,
          why);
}

/* Runs the program with a candidate and keeps the times; number is how `to` calls it. */
static int measure(tuner *t, cli_candidate *candidate, unsigned number, cli_tuning_runs *to,
                   bf_diagnostic *diagnostic) {
  cli_process_end end;
  char how[160];
  cli_times times = {0};
  BF_TRY(run_program(t, candidate, t->printed, false, &end, diagnostic));
  if (differs(t, &end, how, sizeof how)) {
    if (number == 0)
      return bf_fail(diagnostic, BF_UNSUPPORTED,
                     "run again as it is, the program %s: runs cannot be compared%s", how,
                     strncmp(how, "prints", 6) == 0 ? " (--ignore-output compares only exit "
                                                      "statuses)"
                                                    : "");
    drop(t, candidate, how, true);
    return BF_OK;
  }
  int error = cli_times_read(t->times, &times, diagnostic);
  if (!error)
    error = cli_tuning_add(to, number, &times, diagnostic);
  candidate->runs += !error;
  cli_times_free(&times);
  return error;
}

/* ---- All runs ---- */

/* The first run, as it is: what the others are compared with. Its times do not count: it warms up
 * whatever needs it. */
static int run_first(tuner *t, bf_diagnostic *diagnostic) {
  cli_process_end end;
  cli_times times = {0};
  BF_TRY(run_program(t, &t->candidate[0], t->expected, true, &end, diagnostic));
  if (end.is_late)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s does not end within %.0f s", t->argument[0],
                   limit_seconds(t));
  if (end.signal)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s is ended by signal %d (%s)", t->argument[0],
                   end.signal, strsignal(end.signal));
  t->status = end.status;
  t->seconds = end.seconds;
  int error = cli_times_read(t->times, &times, diagnostic);
  if (!error && !times.rows)
    error = bf_fail(diagnostic, BF_UNSUPPORTED,
                    "%s launches no kernel that can be timed (exit status %d)", t->argument[0],
                    end.status);
  cli_times_free(&times);
  return error;
}

/* Gives up candidates that can be used for no kernel, or make every kernel slower. */
static void drop_hopeless(tuner *t) {
  for (unsigned i = 1; i < t->candidates; i++) {
    bool is_used = false, has_hope = false;
    for (size_t j = 0; j < t->runs.run[0].times.rows; j++) {
      cli_comparison comparison;
      if (!cli_tuning_compare(&t->runs, i, t->runs.run[0].times.row[j].kernel, &comparison))
        continue;
      is_used = true;
      has_hope |= comparison.after.ns < hopeless * comparison.before.ns;
    }
    if (!has_hope && !*t->candidate[i].dropped)
      drop(t, &t->candidate[i], is_used ? "every kernel is slower" : "no kernel can use it", false);
  }
}

/* Runs every candidate once; the order turns from round to round, so that what changes with time,
 * as clocks do, hits all alike. */
static int run_round(tuner *t, unsigned round, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < t->candidates; i++) {
    unsigned number = round % 2 ? t->candidates - 1 - i : i;
    if (!*t->candidate[number].dropped)
      BF_TRY(measure(t, &t->candidate[number], number, &t->runs, diagnostic));
  }
  return BF_OK;
}

static uint64_t repeats(const tuner *t) { return t->settings->repeats ? t->settings->repeats : 3; }

/* How many runs there will be, as far as is known after so many rounds. */
static void expect_runs(tuner *t, uint64_t rounds_done) {
  unsigned left = 0;
  for (unsigned i = 0; i < t->candidates; i++)
    left += !*t->candidate[i].dropped;
  t->runs_expected = t->runs_done + (unsigned)(left * (repeats(t) - rounds_done) + 2 * repeats(t));
}

/* Measures all that was chosen against the program as it is. */
static int confirm(tuner *t, bf_diagnostic *diagnostic) {
  cli_candidate all = {.text = t->chosen, .is_file = true};
  bf_text text = {0};
  cli_tuned_write_choice(&t->tuning, &text);
  int error = text.failed ? bf_no_memory(diagnostic)
                          : bf_write_file(t->chosen, text.data, text.size, diagnostic);
  bf_text_free(&text);
  for (uint64_t i = 0; i < repeats(t) && !error && !*all.dropped; i++) {
    error = measure(t, &t->candidate[0], 0, &t->confirming, diagnostic);
    if (!error)
      error = measure(t, &all, 1, &t->confirming, diagnostic);
  }
  if (*all.dropped)
    cli_tuning_runs_free(&t->confirming);
  return error;
}

/* Says of a kernel that no candidate could be used for what the library's log says of the first
 * run with a hash. */
static void explain(const tuner *t, cli_tuned *kernel) {
  FILE *file = fopen(t->log, "r");
  char *line = NULL, mark[1024];
  size_t capacity = 0;
  bool is_found = false;
  snprintf(mark, sizeof mark, ":   %s: left alone: ", kernel->name);
  while (file && !is_found && getline(&line, &capacity, file) > 0) {
    char *at = strstr(line, mark);
    line[strcspn(line, "\n")] = 0;
    is_found = at && strcmp(at + strlen(mark), "no hash") != 0;
    if (is_found)
      snprintf(kernel->reason, sizeof kernel->reason, "%s", at + strlen(mark));
  }
  free(line);
  if (file)
    fclose(file);
}

/* All runs and what follows from them. */
static int run_all(tuner *t, bf_diagnostic *diagnostic) {
  expect_runs(t, 0);
  t->runs_expected++;
  BF_TRY(run_first(t, diagnostic));
  for (unsigned round = 0; round < repeats(t); round++) {
    BF_TRY(run_round(t, round, diagnostic));
    if (round == 0)
      drop_hopeless(t);
    expect_runs(t, round + 1);
  }
  BF_TRY(cli_tuning_choose(&t->runs, t->candidates, &t->tuning, diagnostic));
  for (size_t i = 0; i < t->tuning.kernels; i++)
    if (!t->tuning.kernel[i].tried)
      explain(t, &t->tuning.kernel[i]);
  if (!cli_tuning_has_choice(&t->tuning))
    return BF_OK;
  BF_TRY(confirm(t, diagnostic));
  cli_tuning_confirm(&t->confirming, &t->tuning);
  return BF_OK;
}

/* ---- The command ---- */

/* Adds a candidate that must be a row-preserving hash, or a file of such. */
static int add_candidate(tuner *t, const char *text, bool is_file, bf_diagnostic *diagnostic) {
  BF_TRY(cli_wrap_check(is_file ? text : NULL, is_file ? NULL : text, diagnostic));
  t->candidate[t->candidates++] = (cli_candidate){.text = text, .is_file = is_file};
  return BF_OK;
}

static int load_candidates(tuner *t, bf_diagnostic *diagnostic) {
  const settings *s = t->settings;
  t->candidate[t->candidates++] = (cli_candidate){.text = "none"};
  if (s->hash_file)
    BF_TRY(add_candidate(t, s->hash_file, true, diagnostic));
  for (unsigned i = 0; i < s->hash.count; i++)
    BF_TRY(add_candidate(t, s->hash.text[i], false, diagnostic));
  for (unsigned i = 0; i < BUILT_IN && !s->hash.count; i++)
    BF_TRY(add_candidate(t, built_in[i], false, diagnostic));
  return BF_OK;
}

/* Sets what is the same in all runs. Code that is loaded when it is first launched would count as
 * time of that launch. */
static bool set_environment(const tuner *t, const char *library) {
  char pattern[PATH_MAX + 32];
  snprintf(pattern, sizeof pattern, "%s/%%p", t->times);
  return cli_prepend_variable("LD_PRELOAD", library) &&
         cli_put_variable("BANKFOLD_TIMES", pattern) &&
         cli_put_variable("BANKFOLD_CACHE", t->cache) && cli_put_variable("BANKFOLD_LOG", t->log) &&
         setenv("CUDA_MODULE_LOADING", "EAGER", 0) == 0;
}

/* Makes the folder and names what will be in it. */
static int make_places(tuner *t, bf_diagnostic *diagnostic) {
  BF_TRY(cli_make_folder(t->folder, diagnostic));
  const struct {
    char *path;
    const char *name;
  } places[] = {{t->cache, "cache"},       {t->times, "times"},     {t->log, "log"},
                {t->expected, "expected"}, {t->printed, "printed"}, {t->chosen, "chosen"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    snprintf(places[i].path, PATH_MAX + 16, "%s/%s", t->folder, places[i].name);
  if (mkdir(t->times, 0700) != 0)
    return bf_fail(diagnostic, BF_IO, "cannot make %s: %s", t->times, strerror(errno));
  return BF_OK;
}

/* All that comes before the first run. */
static int load(tuner *t, bf_diagnostic *diagnostic) {
  char library[2 * PATH_MAX];
  BF_TRY(load_candidates(t, diagnostic));
  BF_TRY(cli_program_inspect(t->argument[0], &t->program, diagnostic));
  BF_TRY(cli_find_injection(library, diagnostic));
  BF_TRY(bf_cuda_check(diagnostic));
  if (t->settings->output)
    BF_TRY(bf_writer_open(t->settings->output, false, &t->output, diagnostic));
  BF_TRY(make_places(t, diagnostic));
  t->has_bar = isatty(2) != 0;
  cli_watch_interrupt();
  return set_environment(t, library) ? BF_OK : bf_no_memory(diagnostic);
}

/* Writes the file of hashes. */
static int write_hashes(tuner *t, const cli_tuned_result *result, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  cli_tuned_write_hashes(result, &text);
  int error = text.failed ? bf_no_memory(diagnostic)
                          : bf_writer_write(t->output, text.data, text.size, diagnostic);
  bf_text_free(&text);
  return !error ? bf_writer_commit(t->output, diagnostic) : error;
}

/* Prints the table or JSON. */
static int print(const tuner *t, const cli_tuned_result *result) {
  const settings *s = t->settings;
  bf_text text = {0};
  if (s->common.json)
    cli_tuned_write_json(result, &text);
  else if (!s->output || strcmp(s->output, "-") != 0)
    cli_tuned_write_text(result, cli_wants_color(&s->common), &text);
  return cli_print(&text);
}

static void unload(tuner *t) {
  if (*t->folder) {
    cli_remove_folder(t->cache);
    cli_remove_folder(t->times);
    cli_remove_folder(t->folder);
  }
  bf_writer_close(t->output);
  cli_tuning_free(&t->tuning);
  cli_tuning_runs_free(&t->confirming);
  cli_tuning_runs_free(&t->runs);
}

/* What is wrong with the command line: -1 to go on or an exit status. */
static int check_usage(const settings *s, tuner *t) {
  if (s->hash_file && strcmp(s->hash_file, "-") == 0)
    return cli_usage_error(&cli_tune, "--hash-file is read more than once; standard input cannot "
                                      "be");
  if (s->repeats > 1000)
    return cli_usage_error(&cli_tune, "--repeats takes at most 1000");
  if (s->common.json && s->output && strcmp(s->output, "-") == 0)
    return cli_usage_error(&cli_tune, "--json and --output - both need standard output");
  return cli_seconds(&cli_tune, "timeout", s->timeout, &t->timeout_seconds);
}

static int run(const void *given, int count, char **arguments) {
  tuner t = {.settings = given, .arguments = count, .argument = arguments, .timeout_seconds = -1};
  bf_diagnostic diagnostic = {.caret = -1};
  int status = check_usage(given, &t);
  if (status >= 0)
    return status;
  arguments[count] = NULL;
  int error = load(&t, &diagnostic);
  if (!error)
    error = run_all(&t, &diagnostic);
  clear_bar(&t);
  cli_tuned_result result = {count,        arguments,   t.settings->output, t.runs_done,
                             t.candidates, t.candidate, &t.tuning};
  if (!error && t.output)
    error = write_hashes(&t, &result, &diagnostic);
  status = !error ? print(&t, &result) : cli_complain(&diagnostic);
  unload(&t);
  return status;
}

const cli_command cli_tune = {
    .name = "tune",
    .summary = "find the hashes that make a CUDA program faster, by running it on the GPU",
    .arguments = "PROGRAM [ARGUMENT...]",
    .details =
        "PROGRAM is run many times as it is and with candidate hashes, as bankfold run does it,\n"
        "and the time of every launch is measured. For each kernel the candidate that is\n"
        "fastest is kept, where it is faster than the program as it is by more than a hundredth\n"
        "and more than the times vary; what was kept is measured once more, and what is not\n"
        "confirmed is left alone. Runs that end or print otherwise than the program as it is\n"
        "do not count. PROGRAM must do the same in every run, and reads --input, not the\n"
        "terminal. Options stand before PROGRAM; all that follows it is for the program.",
    .examples = "bankfold tune --output app.hashes ./app 1024\n"
                "bankfold run --hash-file app.hashes ./app 1024     # use what was found\n"
                "bankfold tune --ignore-output ./bench              # it prints times\n"
                "bankfold tune --hash fixed --hash cute:3,4,3 --repeats 5 ./app\n",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .settings_size = sizeof(settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .passes_rest = true,
    .run = run,
};

/* tune: finds hashes that make the kernels of a program faster, by running it on the GPU. */
#include "cli/library.h"
#include "cli/use/tune_table.h"
#include "cli/use/wrap.h"
#include "kernels/devices.h"
#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"
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
    {"time-limit", CLI_TEXT, offsetof(settings, timeout), "SECONDS", NULL,
     "longest run (default: a minute and ten times as long as the first; 0 = no limit)"},
    CLI_OUTPUT(settings),
};

enum { MOST_CANDIDATES = CLI_MOST_TEXTS + 2 };

typedef struct tuner {
  const settings *settings;
  int arguments;
  char **argument;
  bf_process_program program;
  bf_measured_candidate candidate[MOST_CANDIDATES];
  unsigned candidates;
  char folder[PATH_MAX]; /* of all that is written meanwhile */
  char cache[PATH_MAX + 16], times[PATH_MAX + 16], expected[PATH_MAX + 16], printed[PATH_MAX + 16],
      chosen[PATH_MAX + 16];
  double timeout_seconds; /* as asked for; below 0: not */
  int status;             /* of the program as it is */
  double seconds;         /* of its first run */
  const char *shown;      /* what the bar says */
  bool has_bar;
  bf_measured measured;
  bf_writer *output;
  bf_text content; /* of a file of hashes that cannot be read again */
} tuner;

/* ---- Progress ---- */

/* Draws the bar; false once the user wants no more. */
static bool draw(void *context) {
  tuner *t = context;
  if (t->has_bar) {
    char bar[BF_BAR_CELLS + 1];
    unsigned done = t->measured.runs_done, expected = t->measured.runs_expected;
    bf_bar_fill((double)done / (double)expected, bar);
    fprintf(stderr, "\r\033[K[%s] run %u of %u: %s", bar, done + 1, expected, t->shown);
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
static int set_hashes(const tuner *t, const bf_measured_candidate *candidate,
                      bf_diagnostic *diagnostic) {
  bf_rewriting_settings told = {0};
  if (candidate->kind == BF_MEASURED_FILE)
    return cli_wrap_put_hashes(candidate->text, &t->content, &told, diagnostic);
  if (candidate->kind == BF_MEASURED_LINES)
    told.hashes = t->chosen;
  else
    told.hash = candidate->text;
  if (candidate->kind == BF_MEASURED_LINES)
    BF_TRY(bf_write_file(t->chosen, candidate->text, strlen(candidate->text), diagnostic));
  return bf_rewriting_settings_put(&told, diagnostic);
}

static double limit_seconds(const tuner *t) {
  if (t->timeout_seconds >= 0)
    return t->timeout_seconds;
  return t->seconds > 0 ? 60 + 10 * t->seconds : 0;
}

/* Runs the program with a candidate; its times are in the folder then. */
static int run_program(tuner *t, const bf_measured_candidate *candidate, bool is_first,
                       bf_process_end *end, bf_diagnostic *diagnostic) {
  const char *input = t->settings->input;
  bf_process process = {.path = t->program.path,
                        .arguments = t->argument,
                        .input = input ? input : "/dev/null",
                        .output = is_first ? t->expected : t->printed,
                        .error = is_first ? NULL : "/dev/null",
                        .limit_seconds = limit_seconds(t),
                        .tick = draw,
                        .context = t};
  bf_process_empty_folder(t->times);
  t->shown = candidate->kind == BF_MEASURED_PLAIN  ? "as it is"
             : candidate->kind == BF_MEASURED_HASH ? candidate->text
                                                   : "hashes of a file";
  BF_TRY(set_hashes(t, candidate, diagnostic));
  BF_TRY(bf_process_run(&process, end, diagnostic));
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
static bool differs(const tuner *t, const bf_process_end *end, char *how, size_t size) {
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

/* The first run, as it is, must end and launch something. */
static int check_first(tuner *t, const bf_process_end *end, const bf_times *times,
                       bf_diagnostic *diagnostic) {
  if (end->is_late)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s does not end within %.0f s", t->argument[0],
                   limit_seconds(t));
  if (end->signal)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s is ended by signal %d (%s)", t->argument[0],
                   end->signal, strsignal(end->signal));
  if (!times->rows)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "%s launches no kernel that can be timed (exit status %d)", t->argument[0],
                   end->status);
  t->status = end->status;
  t->seconds = end->seconds;
  return BF_OK;
}

/* bf_measured_runner.run */
static int run_candidate(void *context, const bf_measured_candidate *candidate, bool is_first,
                         bf_times *times, char how[160], bf_diagnostic *diagnostic) {
  tuner *t = context;
  bf_process_end end;
  BF_TRY(run_program(t, candidate, is_first, &end, diagnostic));
  if (!is_first && differs(t, &end, how, 160)) {
    bool prints = candidate->kind == BF_MEASURED_PLAIN && strncmp(how, "prints", 6) == 0;
    return prints ? bf_fail(diagnostic, BF_UNSUPPORTED,
                            "run again as it is, the program %s: runs cannot be compared "
                            "(--ignore-output compares only exit statuses)",
                            how)
                  : BF_OK;
  }
  BF_TRY(bf_times_read(t->times, times, diagnostic));
  return is_first ? check_first(t, &end, times, diagnostic) : BF_OK;
}

/* bf_measured_runner.drop */
static void warn(void *context, const bf_measured_candidate *candidate) {
  const tuner *t = context;
  clear_bar(t);
  fprintf(stderr, "bankfold: warning: with %s the program %s; it is not used\n",
          candidate->kind == BF_MEASURED_LINES ? t->chosen : candidate->text, candidate->dropped);
}

/* ---- The command ---- */

/* Adds a candidate that must be a row-preserving hash, or a file of such. */
static int add_candidate(tuner *t, bf_measured_kind kind, const char *text,
                         bf_diagnostic *diagnostic) {
  bool is_file = kind == BF_MEASURED_FILE;
  BF_TRY(cli_wrap_check(is_file ? text : NULL, is_file ? NULL : text, &t->content, diagnostic));
  t->candidate[t->candidates++] = (bf_measured_candidate){.kind = kind, .text = text};
  return BF_OK;
}

static int load_candidates(tuner *t, bf_diagnostic *diagnostic) {
  const settings *s = t->settings;
  t->candidate[t->candidates++] = (bf_measured_candidate){.text = "none"};
  if (s->hash_file)
    BF_TRY(add_candidate(t, BF_MEASURED_FILE, s->hash_file, diagnostic));
  for (unsigned i = 0; i < s->hash.count; i++)
    BF_TRY(add_candidate(t, BF_MEASURED_HASH, s->hash.text[i], diagnostic));
  for (const char *const *at = bf_measured_hashes; *at && !s->hash.count; at++)
    BF_TRY(add_candidate(t, BF_MEASURED_HASH, *at, diagnostic));
  return BF_OK;
}

/* Sets what is the same in all runs. Code that is loaded when it is first launched would count as
 * time of that launch. */
static int set_environment(const tuner *t, const char *library, bf_diagnostic *diagnostic) {
  char pattern[PATH_MAX + 32];
  snprintf(pattern, sizeof pattern, "%s/%%p", t->times);
  bf_rewriting_settings told = {.times = pattern, .cache = t->cache};
  BF_TRY(bf_rewriting_settings_put(&told, diagnostic));
  bool is_done = bf_process_preload(library) && setenv("CUDA_MODULE_LOADING", "EAGER", 0) == 0;
  return is_done ? BF_OK : bf_no_memory(diagnostic);
}

/* Makes the folder and names what will be in it. */
static int make_places(tuner *t, bf_diagnostic *diagnostic) {
  BF_TRY(bf_process_make_folder(t->folder, diagnostic));
  const struct {
    char *path;
    const char *name;
  } places[] = {{t->cache, "cache"},
                {t->times, "times"},
                {t->expected, "expected"},
                {t->printed, "printed"},
                {t->chosen, "chosen"}};
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
  BF_TRY(bf_process_inspect(t->argument[0], &t->program, diagnostic));
  BF_TRY(cli_find_injection(library, diagnostic));
  BF_TRY(bf_cuda_check(diagnostic));
  if (t->settings->output)
    BF_TRY(bf_writer_open(t->settings->output, false, &t->output, diagnostic));
  BF_TRY(make_places(t, diagnostic));
  t->has_bar = isatty(2) != 0;
  cli_watch_interrupt();
  return set_environment(t, library, diagnostic);
}

/* Writes the file of hashes. */
static int write_hashes(tuner *t, const cli_tune_table *result, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  cli_tune_table_write_hashes(result, &text);
  int error = text.failed ? bf_no_memory(diagnostic)
                          : bf_writer_write(t->output, text.data, text.size, diagnostic);
  bf_text_free(&text);
  return !error ? bf_writer_commit(t->output, diagnostic) : error;
}

/* Prints the table or JSON. */
static int print(const tuner *t, const cli_tune_table *result) {
  const settings *s = t->settings;
  bf_text text = {0};
  if (s->common.json)
    cli_tune_table_write_json(result, &text);
  else if (!s->output || strcmp(s->output, "-") != 0)
    cli_tune_table_write_text(result, cli_wants_color(&s->common), &text);
  return cli_print(&text);
}

static void unload(tuner *t) {
  if (*t->folder) {
    bf_process_remove_folder(t->cache);
    bf_process_remove_folder(t->times);
    bf_process_remove_folder(t->folder);
  }
  bf_writer_close(t->output);
  bf_text_free(&t->content);
  bf_measured_free(&t->measured);
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
  bf_measured_runner runner = {.run = run_candidate, .drop = warn, .context = &t};
  unsigned repeats = t.settings->repeats ? (unsigned)t.settings->repeats : 3;
  if (!error)
    error = bf_measure(t.candidate, t.candidates, repeats, &runner, &t.measured, &diagnostic);
  clear_bar(&t);
  cli_tune_table result = {count, arguments, t.settings->output, &t.measured};
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
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .passes_rest = true,
    .run = run,
};

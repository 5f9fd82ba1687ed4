/* reproduce: computes published tables and figures and compares them with what was published. */
#include "base/guess.h"
#include "cli/cli.h"
#include "reproduce/frame/frame.h"

#include <string.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  bool quick, full, summary;
  uint64_t workers;
  const char *output;
} settings;

static const cli_option options[] = {
    {"output", CLI_TEXT, offsetof(settings, output), "DIR", NULL,
     "write CSV, SVG and index.md of each reproduction to DIR/NAME (default reproduction)"},
    {"quick", CLI_FLAG, offsetof(settings, quick), NULL, NULL,
     "smaller inputs and fewer points, to see that it works"},
    {"full", CLI_FLAG, offsetof(settings, full), NULL, NULL,
     "also what is left out to end within five minutes on two cores (rgpu-assumed)"},
    {"summary", CLI_FLAG, offsetof(settings, summary), NULL, NULL,
     "only how many claims of each document hold, differ, are fitted or derived; without names as "
     "recorded from full runs"},
    {"threads", CLI_NUMBER, offsetof(settings, workers), "N", NULL,
     "threads to use (default one per core)"},
    {"json", CLI_FLAG, offsetof(settings, common.json), NULL, NULL, "print one JSON object"},
};

/* ---- Listing ---- */

static int list_all(const settings *own) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  const bf_reproduction *at;
  if (own->common.json) {
    bf_json_begin(&json, NULL, '{', false);
    bf_json_begin(&json, "reproductions", '[', false);
  } else {
    bf_text_addf(&text, "%-22s %-40s %s\n", "reproduction", "document", "what it is");
  }
  for (unsigned i = 0; (at = bf_reproduce_get(i)); i++) {
    if (!own->common.json) {
      bf_text_addf(&text, "%-22s %-40s %s\n", at->name, at->document, at->title);
      continue;
    }
    bf_json_begin(&json, NULL, '{', false);
    bf_json_string(&json, "name", at->name);
    bf_json_string(&json, "document", at->document);
    bf_json_string(&json, "title", at->title);
    bf_json_string(&json, "summary", at->summary);
    bf_json_end(&json, '}');
  }
  if (own->common.json) {
    bf_json_end(&json, ']');
    bf_json_end(&json, '}');
  }
  return cli_print(&text);
}

/* ---- Running ---- */

/* What is being done since when, to tell how long it still takes. */
typedef struct progress {
  const char *name;
  char part[80]; /* of the work */
  double start;
} progress;

/* Shows how far a reproduction is and how long its present part still takes, on a terminal only;
 * false after Ctrl-C. */
static bool show_progress(void *context, unsigned done, unsigned total, const char *next) {
  progress *own = context;
  if (isatty(2)) {
    char bar[BF_BAR_CELLS + 1];
    if (strncmp(own->part, next, sizeof own->part - 1) != 0) {
      snprintf(own->part, sizeof own->part, "%s", next);
      own->start = bf_seconds();
    }
    bf_bar_fill(total ? (double)done / total : 0, bar);
    fprintf(stderr, "\r\033[K[%s] %s: %s, %u of %u", bar, own->name, next, done, total);
    if (done)
      fprintf(stderr, ", %.0f s left", (bf_seconds() - own->start) / done * (total - done));
    fflush(stderr);
  }
  return !cli_interrupted();
}

static void clear_progress(void) {
  if (isatty(2))
    fputs("\r\033[K", stderr);
}

enum { COLUMNS = 4 };

/* Name, published and our value, and difference of a claim as text, which the caller frees. */
static void describe_claim(const bf_reproduce_claim *claim, bf_text column[COLUMNS]) {
  memset(column, 0, COLUMNS * sizeof *column);
  bf_text_puts(&column[0], claim->name);
  bf_reproduce_claim_text(claim, &column[1], &column[2], &column[3]);
}

/* Widens columns to hold the text of a claim. */
static void fit_claim(const bf_reproduce_claim *claim, int width[COLUMNS]) {
  bf_text column[COLUMNS];
  describe_claim(claim, column);
  for (unsigned i = 0; i < COLUMNS; i++) {
    width[i] = (int)column[i].size > width[i] ? (int)column[i].size : width[i];
    bf_text_free(&column[i]);
  }
}

/* Adds a claim as a row. The verdict comes first, because rows can be long; "DIFFERS" stands for
 * one that must hold. */
static void write_claim(bf_text *text, const bf_reproduce_claim *claim, const int width[COLUMNS]) {
  bf_text column[COLUMNS];
  describe_claim(claim, column);
  bool fails = claim->must_hold && claim->verdict == BF_DIFFERS;
  bf_text_addf(text, "  %-7s", fails ? "DIFFERS" : bf_reproduce_verdict_name(claim->verdict));
  for (unsigned i = 0; i < COLUMNS; i++) {
    bool is_last = i == COLUMNS - 1; /* numbers, to the right */
    bf_text_addf(text, is_last ? "  %*s\n" : "  %-*s", width[i],
                 column[i].failed ? "" : column[i].data);
    text->failed = text->failed || column[i].failed;
    bf_text_free(&column[i]);
  }
}

static void write_run(bf_text *text, const bf_reproduce_run *run) {
  static const char *const heads[COLUMNS] = {"claim", "published", "ours", "difference"};
  int width[COLUMNS];
  for (unsigned i = 0; i < COLUMNS; i++)
    width[i] = (int)strlen(heads[i]);
  for (const frame_claim *at = run->claim; at; at = at->next)
    fit_claim(&at->claim, width);
  bf_text_addf(text, "%s: %s (", run->reproduction->name, run->reproduction->title);
  bf_text_puts(text, run->reproduction->document);
  bf_text_puts(text, ")\n");
  if (run->claim)
    bf_text_addf(text, "  verdict  %-*s  %-*s  %-*s  %*s\n", width[0], heads[0], width[1], heads[1],
                 width[2], heads[2], width[3], heads[3]);
  for (const frame_claim *at = run->claim; at; at = at->next)
    write_claim(text, &at->claim, width);
  bf_reproduce_reasons(run, "  - ", text);
  for (const frame_note *missing = run->missing; missing; missing = missing->next)
    bf_text_addf(text, "  not computed: %s\n", missing->text);
  bf_text_addf(text, "  written to %s\n", run->settings.folder);
}

/* What the reproductions that ran have given. */
typedef struct results {
  bf_text *text;
  bf_json json;
  bf_reproduce_summary summary;
  unsigned failures;
} results;

/* Adds what a run found to the output. */
static void write_results(const settings *own, const bf_reproduce_run *run, results *all) {
  all->failures += bf_reproduce_failures(run);
  bf_reproduce_summary_add(&all->summary, run);
  if (own->summary)
    return;
  if (!own->common.json) {
    write_run(all->text, run);
    return;
  }
  bf_json_begin(&all->json, NULL, '{', false);
  bf_reproduce_json(run, &all->json);
  bf_json_end(&all->json, '}');
}

/* Runs one reproduction. */
static int run_one(const settings *own, const bf_reproduction *reproduction, results *all,
                   bf_diagnostic *diagnostic) {
  bf_text folder = {0};
  bf_text_addf(&folder, "%s/%s", own->output ? own->output : "reproduction", reproduction->name);
  if (folder.failed)
    return bf_no_memory(diagnostic);
  progress shown = {.name = reproduction->name};
  bf_reproduce_settings with = {.folder = folder.data,
                                .workers = (unsigned)own->workers,
                                .quick = own->quick,
                                .full = own->full,
                                .progress = show_progress,
                                .context = &shown};
  bf_reproduce_run *run;
  int error = bf_reproduce_execute(reproduction, &with, &run, diagnostic);
  clear_progress();
  if (!error)
    write_results(own, run, all);
  bf_reproduce_free(run);
  bf_text_free(&folder);
  return error;
}

/* Reproduction number index of those asked for; NULL behind the last. */
static const bf_reproduction *chosen(int count, char **names, unsigned index) {
  if (strcmp(names[0], "all") == 0)
    return bf_reproduce_get(index);
  return index < (unsigned)count ? bf_reproduce_find(names[index]) : NULL;
}

/* Adds how many claims got which verdict. */
static void write_summary(const settings *own, results *all) {
  if (own->common.json)
    bf_reproduce_summary_json(&all->summary, &all->json);
  else
    bf_reproduce_summary_text(&all->summary, all->text);
}

static int run_chosen(const settings *own, int count, char **names, results *all,
                      bf_diagnostic *diagnostic) {
  bool lists = own->common.json && !own->summary;
  const bf_reproduction *at;
  if (own->common.json)
    bf_json_begin(&all->json, NULL, '{', false);
  if (lists)
    bf_json_begin(&all->json, "reproductions", '[', false);
  for (unsigned i = 0; (at = chosen(count, names, i)); i++)
    BF_TRY(run_one(own, at, all, diagnostic));
  if (lists)
    bf_json_end(&all->json, ']');
  if (own->summary)
    write_summary(own, all);
  if (own->common.json) {
    bf_json_number(&all->json, "failures", all->failures);
    bf_json_end(&all->json, '}');
  }
  return BF_OK;
}

/* What is recorded from full runs. */
static int show_recorded(const settings *own) {
  bf_text text = {0};
  results all = {.text = &text, .json = {.text = &text}};
  bf_reproduce_summary_recorded(&all.summary);
  if (own->common.json)
    bf_json_begin(&all.json, NULL, '{', false);
  write_summary(own, &all);
  if (own->common.json)
    bf_json_end(&all.json, '}');
  else
    bf_text_puts(&text, "Only what holds is a success. These are recorded results of full runs; "
                        "'bankfold reproduce --summary all' computes them anew.\n");
  return cli_print(&text);
}

/* Says that there is no such reproduction, and which one may be meant. */
static int unknown_name(const char *name) {
  char likely[BF_GUESS_BYTES];
  bf_guess guess = bf_guess_begin(name);
  bf_guess_offer(&guess, "all", 3);
  for (unsigned i = 0; bf_reproduce_get(i); i++)
    bf_guess_offer(&guess, bf_reproduce_get(i)->name, strlen(bf_reproduce_get(i)->name));
  return cli_usage_error(&cli_reproduce, "no reproduction '%s'%s; bankfold reproduce lists them",
                         name, bf_guess_text(&guess, likely));
}

static int reproduce(const void *given, int count, char **arguments) {
  const settings *own = given;
  bf_diagnostic diagnostic = {.caret = -1};
  if (count == 0)
    return own->summary ? show_recorded(own) : list_all(own);
  bool all = strcmp(arguments[0], "all") == 0;
  if (all && count > 1)
    return cli_usage_error(&cli_reproduce, "'all' stands for every reproduction; '%s' is too much",
                           arguments[1]);
  for (int i = 0; i < count && !all; i++)
    if (!bf_reproduce_find(arguments[i]))
      return unknown_name(arguments[i]);
  if (own->quick && own->full)
    return cli_usage_error(&cli_reproduce, "--quick and --full exclude each other");
  if (own->workers > 1024)
    return cli_usage_error(&cli_reproduce, "--workers takes at most 1024");
  bf_text text = {0};
  results found = {.text = &text, .json = {.text = &text}};
  bf_reproduce_summary_begin(&found.summary);
  cli_watch_interrupt();
  if (run_chosen(own, count, arguments, &found, &diagnostic) != BF_OK) {
    bf_text_free(&text);
    return cli_complain(&diagnostic);
  }
  int status = cli_print(&text);
  return status == CLI_OK && found.failures ? CLI_FINDINGS : status;
}

const cli_command cli_reproduce = {
    .name = "reproduce",
    .summary = "compute published tables and figures and compare them",
    .arguments = "[NAME... | all]",
    .details =
        "Without names, lists what can be reproduced. With names, or with 'all', computes those "
        "tables and\nfigures, prints each published claim beside what is found here, and writes "
        "tables (CSV), charts (SVG)\nand a report (index.md). Exit status 1 where a claim that "
        "must hold does not (DIFFERS).",
    .examples = "bankfold reproduce\n"
                "bankfold reproduce genindex --output results\n"
                "bankfold reproduce --summary\n"
                "bankfold reproduce all --quick --json",
    CLI_OPTIONS(options, settings),
    .least_arguments = 0,
    .most_arguments = 1000,
    .run = reproduce,
};

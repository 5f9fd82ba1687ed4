/* Runs of the original and the patched source. */
#include "cli/use/suggest_run.h"

#include "cli/use/compile.h"
#include "emu/launches.h"
#include "process/traced.h"
#include "ptx/fatbin.h"
#include "tune/trial.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_OUTPUT_BYTES = 1 << 28, MOST_PATH = PATH_MAX + 32 };

/* ---- Recording ---- */

/* Runs the launches of the description and adds their accesses. */
static int record_launches(const cli_suggest_runs *runs, const char *trace, bool is_merged,
                           bf_review *review, bf_diagnostic *diagnostic) {
  bf_launches launches = {.file = review->module->file,
                          .module = review->module,
                          .description = runs->launch,
                          .workers = 1};
  uint64_t lines;
  BF_TRY(bf_launches_trace(&launches, trace, is_merged, &lines, diagnostic));
  return lines ? bf_review_add_trace(review, trace, is_merged, diagnostic) : BF_OK;
}

int cli_suggest_record(const cli_suggest_runs *runs, const char *name, bf_review *review,
                       int *status, bf_diagnostic *diagnostic) {
  char trace[MOST_PATH], output[MOST_PATH];
  snprintf(trace, sizeof trace, "%s/%s.trace", runs->folder, name);
  snprintf(output, sizeof output, "%s/%s.out", runs->folder, name);
  *status = 0;
  if (runs->launch) {
    BF_TRY(record_launches(runs, trace, false, review, diagnostic));
    return record_launches(runs, trace, true, review, diagnostic);
  }
  bf_traced_run run = {.program = runs->program,
                       .arguments = runs->arguments,
                       .machine = runs->machine,
                       .is_as_written = true};
  BF_TRY(bf_process_trace(&run, trace, output, status, diagnostic));
  return bf_review_add_trace(review, trace, false, diagnostic);
}

/* ---- Comparing ---- */

/* Compares what both modules leave in memory. */
static int compare_memory(const cli_suggest_runs *runs, const bf_review *original,
                          const bf_review *patched, cli_suggest_table *s,
                          bf_diagnostic *diagnostic) {
  bf_trial_options options = {.file = s->file,
                              .description = runs->launch,
                              .module = original->module,
                              .machine = original->machine};
  return bf_trial_compare(&options, patched->module, &s->is_equal, &s->difference, diagnostic);
}

/* Reads what a program has printed. */
static int read_output(const cli_suggest_runs *runs, const char *name, bf_text *text,
                       bf_diagnostic *diagnostic) {
  char path[MOST_PATH];
  snprintf(path, sizeof path, "%s/%s.out", runs->folder, name);
  return bf_read_file(path, MOST_OUTPUT_BYTES, text, diagnostic);
}

/* Compares what both programs print, and their exit statuses. */
static int compare_programs(const cli_suggest_runs *runs, int status, int patched_status,
                            cli_suggest_table *s, bf_diagnostic *diagnostic) {
  bf_text first = {0}, second = {0};
  int error = read_output(runs, "original", &first, diagnostic);
  if (!error)
    error = read_output(runs, "patched", &second, diagnostic);
  bool is_same = first.size == second.size &&
                 (first.size == 0 || memcmp(first.data, second.data, first.size) == 0);
  if (status != patched_status)
    bf_text_addf(&s->difference, "exit status %d became %d", status, patched_status);
  else if (!is_same)
    bf_text_puts(&s->difference, "the program prints something else");
  s->is_equal = is_same && status == patched_status;
  bf_text_free(&first);
  bf_text_free(&second);
  return error;
}

/* ---- The check ---- */

/* The flags with -I and the folder of the source, where headers beside it are found. */
static void add_include(const cli_suggest_runs *runs, const char *path, char include[PATH_MAX],
                        cli_texts *flags) {
  const char *slash = strrchr(path, '/');
  snprintf(include, PATH_MAX, "-I%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
  *flags = *runs->flags;
  if (flags->count < CLI_MOST_TEXTS)
    flags->text[flags->count++] = include;
}

/* Writes the patched source into the folder, under its own name. */
static int write_patched(const cli_suggest_runs *runs, bf_review *review, char path[PATH_MAX],
                         bf_diagnostic *diagnostic) {
  const char *file = review->source->file, *slash = strrchr(file, '/');
  bf_text text = {0};
  int size = snprintf(path, PATH_MAX, "%s/%s", runs->folder, slash ? slash + 1 : file);
  bf_patch_write_source(&review->patch, &text);
  int error = text.failed || size >= PATH_MAX
                  ? bf_no_memory(diagnostic)
                  : bf_write_file(path, text.data ? text.data : "", text.size, diagnostic);
  bf_text_free(&text);
  return error;
}

int cli_suggest_try(const cli_suggest_runs *runs, bf_review *review, bf_ptx_module **module,
                    bf_diagnostic *diagnostic) {
  char source[PATH_MAX], include[PATH_MAX], ptx[MOST_PATH];
  bf_diagnostic refused;
  cli_texts flags;
  *module = NULL;
  snprintf(ptx, sizeof ptx, "%s/tried.ptx", runs->folder);
  add_include(runs, review->source->file, include, &flags);
  BF_TRY(write_patched(runs, review, source, diagnostic));
  if (cli_try_ptx(source, &flags, ptx, &refused) != BF_OK)
    return BF_OK;
  return bf_fatbin_read_ptx(ptx, 0, module, diagnostic);
}

/* Compiles the patched source to PTX, and with a program to one. */
static int compile_patched(const cli_suggest_runs *runs, bf_review *review, char *program,
                           bf_ptx_module **module, bf_diagnostic *diagnostic) {
  char source[PATH_MAX], include[PATH_MAX], ptx[MOST_PATH];
  cli_texts flags;
  snprintf(ptx, sizeof ptx, "%s/patched.ptx", runs->folder);
  snprintf(program, MOST_PATH, "%s/patched", runs->folder);
  add_include(runs, review->source->file, include, &flags);
  BF_TRY(write_patched(runs, review, source, diagnostic));
  BF_TRY(cli_compile_ptx(source, &flags, ptx, diagnostic));
  if (!runs->launch)
    BF_TRY(cli_compile_program(source, &flags, program, diagnostic));
  return bf_fatbin_read_ptx(ptx, 0, module, diagnostic);
}

/* Runs the patched module and compares it with the original. */
static int compare(const cli_suggest_runs *runs, int status, const bf_ptx_module *module,
                   bf_review *review, cli_suggest_table *s, bf_diagnostic *diagnostic) {
  bf_review patched;
  int patched_status = 0;
  int error = bf_review_find_arrays(&patched, module, review->machine, NULL, diagnostic);
  if (!error)
    error = cli_suggest_record(runs, "patched", &patched, &patched_status, diagnostic);
  if (!error)
    error = bf_review_check(review, &patched, diagnostic);
  if (!error)
    error = runs->launch ? compare_memory(runs, review, &patched, s, diagnostic)
                         : compare_programs(runs, status, patched_status, s, diagnostic);
  bf_review_free(&patched);
  s->is_checked = !error;
  return error;
}

int cli_suggest_check(const cli_suggest_runs *runs, int status, bf_review *review,
                      cli_suggest_table *s, bf_diagnostic *diagnostic) {
  char program[MOST_PATH];
  bf_ptx_module *module = NULL;
  char *original = runs->launch ? NULL : runs->program[0];
  BF_TRY(compile_patched(runs, review, program, &module, diagnostic));
  if (original)
    runs->program[0] = program;
  int error = compare(runs, status, module, review, s, diagnostic);
  if (original)
    runs->program[0] = original;
  bf_ptx_free(module);
  return error;
}

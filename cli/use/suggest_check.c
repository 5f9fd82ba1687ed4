/* Runs of the original and the patched source. */
#include "cli/use/suggest_check.h"

#include "ptx/fatbin.h"
#include "tune/trial.h"

#include <limits.h>
#include <string.h>

enum { MOST_OUTPUT_BYTES = 1 << 28 };

/* ---- Recording ---- */

typedef struct tracing {
  bf_tracer *tracer;
  bool is_merged;
  bf_emu_observer observer;
} tracing;

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  tracing *t = context;
  BF_TRY(bf_tracer_begin(t->tracer, launch->kernel, &t->observer, diagnostic));
  t->observer.as_merged = t->is_merged;
  launch->observer = &t->observer;
  return BF_OK;
}

/* Runs the launches of the description and adds their accesses to the arrays. */
static int record_launches(const cli_suggest_runs *runs, const bf_ptx_module *module,
                           const char *trace, bool is_merged, cli_arrays *arrays,
                           bf_diagnostic *diagnostic) {
  tracing t = {.is_merged = is_merged};
  uint64_t lines, executions;
  bf_launches launches = {.file = module->file,
                          .module = module,
                          .description = runs->launch,
                          .workers = 1,
                          .before = before,
                          .context = &t};
  BF_TRY(bf_tracer_open(trace, false, &t.tracer, diagnostic));
  int error = bf_launches_run(&launches, diagnostic);
  if (!error)
    error = bf_tracer_commit(t.tracer, diagnostic);
  bf_tracer_count(t.tracer, &lines, &executions);
  bf_tracer_close(t.tracer);
  return error || !lines
             ? error
             : cli_arrays_add_trace(arrays, trace, is_merged, runs->machine, diagnostic);
}

int cli_suggest_record(const cli_suggest_runs *runs, const char *name, const bf_ptx_module *module,
                       cli_arrays *arrays, int *status, bf_diagnostic *diagnostic) {
  char trace[PATH_MAX + 32], output[PATH_MAX + 32];
  snprintf(trace, sizeof trace, "%s/%s.trace", runs->folder, name);
  snprintf(output, sizeof output, "%s/%s.out", runs->folder, name);
  *status = 0;
  if (runs->launch) {
    BF_TRY(record_launches(runs, module, trace, false, arrays, diagnostic));
    return record_launches(runs, module, trace, true, arrays, diagnostic);
  }
  BF_TRY(cli_record_program(&runs->program, trace, output, status, diagnostic));
  return cli_arrays_add_trace(arrays, trace, false, runs->machine, diagnostic);
}

/* ---- Comparing ---- */

/* Compares what both modules leave in memory. */
static int compare_memory(const cli_suggest_runs *runs, const bf_ptx_module *original,
                          const bf_ptx_module *patched, cli_suggested *s,
                          bf_diagnostic *diagnostic) {
  bf_trial_options options = {.file = s->file,
                              .description = runs->launch,
                              .module = original,
                              .machine = runs->machine,
                              .keeps_memory = true};
  bf_trial first, second = {0};
  int error = bf_trial_run(&options, &first, diagnostic);
  options.module = patched;
  if (!error)
    error = bf_trial_run(&options, &second, diagnostic);
  if (!error)
    s->is_equal = bf_trial_is_equal(&first, &second, &s->difference);
  bf_trial_free(&first);
  bf_trial_free(&second);
  return error;
}

/* Reads what a program has printed. */
static int read_output(const cli_suggest_runs *runs, const char *name, bf_text *text,
                       bf_diagnostic *diagnostic) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/%s.out", runs->folder, name);
  return bf_read_file(path, MOST_OUTPUT_BYTES, text, diagnostic);
}

/* Compares what both programs print, and their exit statuses. */
static int compare_programs(const cli_suggest_runs *runs, int status, int patched_status,
                            cli_suggested *s, bf_diagnostic *diagnostic) {
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

/* Counts the conflicts of the patched arrays as they were measured. */
static int count_conflicts(const cli_arrays *arrays, cli_suggested *s, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < s->count; i++) {
    cli_suggested_array *item = &s->item[i];
    for (size_t k = 0; k < arrays->count && item->is_patched; k++) {
      const cli_array *own = &arrays->array[k];
      if (strcmp(own->kernel->name, item->array->kernel->name) != 0 ||
          strcmp(own->variable->name, item->array->variable->name) != 0)
        continue;
      BF_TRY(bf_suggest_count(s->machine, own->merged ? own->merged : own->workload, NULL,
                              &item->checked_wavefronts, &item->checked_conflicts, diagnostic));
      item->is_checked = true;
    }
  }
  return BF_OK;
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
static int write_patched(const cli_suggest_runs *runs, bf_patch *patch, char path[PATH_MAX],
                         bf_diagnostic *diagnostic) {
  const char *name = strrchr(patch->source->file, '/');
  bf_text text = {0};
  int size = snprintf(path, PATH_MAX, "%s/%s", runs->folder, name ? name + 1 : patch->source->file);
  bf_patch_write_source(patch, &text);
  int error = text.failed || size >= PATH_MAX
                  ? bf_no_memory(diagnostic)
                  : bf_write_file(path, text.data ? text.data : "", text.size, diagnostic);
  bf_text_free(&text);
  return error;
}

/* Records the patched module and compares it with the original. */
static int compare(const cli_suggest_runs *runs, const bf_ptx_module *original, int status,
                   const bf_ptx_module *patched, const char *kernel, cli_suggested *s,
                   bf_diagnostic *diagnostic) {
  cli_arrays arrays;
  int patched_status = 0;
  int error = cli_arrays_make(patched, kernel, &arrays, diagnostic);
  if (!error)
    error = cli_suggest_record(runs, "patched", patched, &arrays, &patched_status, diagnostic);
  if (!error)
    error = count_conflicts(&arrays, s, diagnostic);
  cli_arrays_free(&arrays);
  if (!error)
    error = runs->launch ? compare_memory(runs, original, patched, s, diagnostic)
                         : compare_programs(runs, status, patched_status, s, diagnostic);
  s->is_checked = !error;
  return error;
}

int cli_suggest_check(const cli_suggest_runs *runs, const bf_ptx_module *original, int status,
                      bf_patch *patch, const char *kernel, cli_suggested *s,
                      bf_diagnostic *diagnostic) {
  char source[PATH_MAX], ptx[PATH_MAX + 32], include[PATH_MAX], program[PATH_MAX + 32];
  cli_suggest_runs own = *runs;
  cli_texts flags;
  bf_ptx_module *patched = NULL;
  char *old_name = runs->program.count ? runs->program.arguments[0] : NULL;
  add_include(runs, patch->source->file, include, &flags);
  snprintf(ptx, sizeof ptx, "%s/patched.ptx", runs->folder);
  snprintf(program, sizeof program, "%s/patched", runs->folder);
  BF_TRY(write_patched(runs, patch, source, diagnostic));
  BF_TRY(cli_compile_ptx(source, &flags, ptx, diagnostic));
  if (old_name)
    BF_TRY(cli_compile_program(source, &flags, program, diagnostic));
  BF_TRY(bf_fatbin_read_ptx(ptx, 0, &patched, diagnostic));
  if (old_name)
    own.program.arguments[0] = program;
  int error = compare(&own, original, status, patched, kernel, s, diagnostic);
  if (old_name)
    own.program.arguments[0] = old_name;
  bf_ptx_free(patched);
  return error;
}

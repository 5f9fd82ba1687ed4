/* From accesses of a run to a file of hashes. */
#include "cli/use/advice.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ptxas compiles no more static shared memory, so that the injection library leaves such kernels
 * alone. */
enum { MOST_STATIC_BYTES = 48 * 1024 };

static int damaged(bf_diagnostic *diagnostic) {
  return bf_fail(diagnostic, BF_BAD_INPUT, "a damaged record of the run");
}

/* ---- Reading ---- */

/* A file while it is read. */
typedef struct reading {
  cli_advice *advice;
  const char *path;
  bf_trace_limits limits;
  cli_advice_module *module; /* of the lines that follow; NULL: none yet */
  size_t kernel;             /* in both trials of the module */
  bool has_kernel;
} reading;

/* The module with that text, or a new one, which takes the text. */
static int find_module(cli_advice *advice, bf_text *text, cli_advice_module **found,
                       bf_diagnostic *diagnostic) {
  cli_advice_module **at = &advice->first;
  while (*at &&
         ((*at)->text.size != text->size || memcmp((*at)->text.data, text->data, text->size) != 0))
    at = &(*at)->next;
  *found = *at;
  if (*found)
    return BF_OK;
  cli_advice_module *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->text = *text;
  *text = (bf_text){0};
  *at = *found = made;
  return bf_ptx_parse("PTX", made->text.data, made->text.size, &made->ptx, diagnostic);
}

/* A line "module". */
static int read_module(reading *r, const char *number, bf_diagnostic *diagnostic) {
  char path[4096];
  bf_text text = {0};
  snprintf(path, sizeof path, "%s-%s.ptx", r->path, number);
  int error = bf_read_file(path, SIZE_MAX, &text, diagnostic);
  if (!error)
    error = text.size ? find_module(r->advice, &text, &r->module, diagnostic) : damaged(diagnostic);
  bf_text_free(&text);
  r->has_kernel = false;
  return error;
}

/* A line "kernel". */
static int read_kernel(reading *r, char *fields, bf_diagnostic *diagnostic) {
  char *launches = strchr(fields, '\t'), *left_out = launches ? strchr(launches + 1, '\t') : NULL;
  uint64_t count;
  if (!r->module || !left_out)
    return damaged(diagnostic);
  *launches++ = *left_out++ = 0;
  const char *cursor = launches;
  size_t unused;
  if (!bf_parse_number(&cursor, &count))
    return damaged(diagnostic);
  BF_TRY(bf_trial_add(&r->module->written, fields, true, &r->kernel, diagnostic));
  BF_TRY(bf_trial_add(&r->module->merged, fields, true, &unused, diagnostic));
  bf_trial_kernel *kernel = &r->module->merged.kernel[r->kernel];
  kernel->launches += count;
  kernel->is_cut |= strcmp(left_out, "1") == 0;
  r->has_kernel = true;
  return BF_OK;
}

/* A line "written" or "merged". What does not fit the machine is left out. */
static int read_access(reading *r, bf_trial *trial, const char *line, bf_diagnostic *diagnostic) {
  bf_access access;
  int got =
      bf_trace_parse_line(r->path, 0, line, &r->limits, &r->advice->arena, &access, diagnostic);
  if (got == 1)
    got = bf_workload_add(trial->kernel[r->kernel].workload, &access);
  if (got == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  r->module->merged.kernel[r->kernel].is_cut |= got != BF_OK;
  return BF_OK;
}

static int read_line(reading *r, char *line, bf_diagnostic *diagnostic) {
  line[strcspn(line, "\n")] = 0;
  char *rest = strchr(line, '\t');
  if (!rest)
    return damaged(diagnostic);
  *rest++ = 0;
  if (strcmp(line, "module") == 0)
    return read_module(r, rest, diagnostic);
  if (strcmp(line, "kernel") == 0)
    return read_kernel(r, rest, diagnostic);
  if (!r->has_kernel)
    return damaged(diagnostic);
  bool is_written = strcmp(line, "written") == 0;
  return read_access(r, is_written ? &r->module->written : &r->module->merged, rest, diagnostic);
}

/* Adds the file of one process. */
static int read_file(cli_advice *advice, const bf_machine *machine, const char *path,
                     bf_diagnostic *diagnostic) {
  reading r = {.advice = advice, .path = path, .limits = bf_machine_limits(machine)};
  FILE *file = fopen(path, "r");
  char *line = NULL;
  size_t capacity = 0;
  int error = BF_OK;
  if (!file)
    return bf_fail(diagnostic, BF_IO, "cannot read %s: %s", path, strerror(errno));
  while (!error && getline(&line, &capacity, file) > 0)
    error = read_line(&r, line, diagnostic);
  free(line);
  fclose(file);
  return error;
}

/* Files of processes; names with a dot are those of modules. */
static int is_process(const struct dirent *entry) { return !strchr(entry->d_name, '.'); }

int cli_advice_read(const char *folder, const bf_machine *machine, cli_advice *advice,
                    bf_diagnostic *diagnostic) {
  struct dirent **entry;
  int count = scandir(folder, &entry, is_process, versionsort), error = BF_OK;
  if (count < 0)
    return bf_fail(diagnostic, BF_IO, "cannot read %s: %s", folder, strerror(errno));
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
    if (!error)
      error = read_file(advice, machine, path, diagnostic);
    free(entry[i]);
  }
  free(entry);
  return error;
}

/* ---- Choosing ---- */

/* Rewrites the module with its plans: the kernels that this works for have a hash. */
static int settle(cli_advice_module *module, bf_diagnostic *diagnostic) {
  bf_rewrite_result result = {0};
  bf_ptx_module *rewritten = NULL;
  int error = cli_plans_rewrite(&module->plans, &result, &rewritten, diagnostic);
  for (unsigned i = 0; i < module->plans.count && !error; i++) {
    cli_plan *plan = &module->plans.plan[i];
    const bf_rewrite_kernel *kernel = &result.kernel[i];
    if (!cli_plan_has_hash(&module->plans, plan))
      continue;
    if (kernel->is_rewritten && kernel->padded_bytes <= MOST_STATIC_BYTES) {
      module->hash[i] = bf_arena_copy(&module->plans.examined.arena, kernel->hash);
      error = module->hash[i] ? BF_OK : bf_no_memory(diagnostic);
      continue;
    }
    bf_text reason = {0};
    if (kernel->is_rewritten)
      bf_text_puts(&reason, "padding lifts its static arrays above 48 KiB");
    else
      cli_plans_explain(plan, kernel, &reason);
    snprintf(plan->reason, sizeof plan->reason, "%s", reason.data ? reason.data : "");
    bf_text_free(&reason);
  }
  bf_ptx_free(rewritten);
  bf_rewrite_free(&result);
  return error;
}

int cli_advice_choose(cli_advice *advice, const cli_plans_search *search,
                      bf_diagnostic *diagnostic) {
  for (cli_advice_module *module = advice->first; module; module = module->next) {
    BF_TRY(cli_plans_make(module->ptx, "PTX", NULL, &module->plans, diagnostic));
    module->plans.dynamic_is_rounded = true; /* as run does it */
    module->hash = calloc(module->plans.count + 1, sizeof *module->hash);
    if (!module->hash)
      return bf_no_memory(diagnostic);
    BF_TRY(cli_plans_choose(&module->plans, search, &module->merged, &module->written, diagnostic));
    BF_TRY(settle(module, diagnostic));
  }
  return BF_OK;
}

/* ---- Trying ---- */

/* Whether a module before this one has a launched kernel of that name. */
static bool is_taken(const cli_advice *advice, const cli_advice_module *module, const char *name) {
  for (const cli_advice_module *at = advice->first; at != module; at = at->next)
    if (bf_trial_find(&at->merged, name))
      return true;
  return false;
}

/* Adds the lines of a plan with hashes to a file of hashes. */
static void write_lines(const cli_plans *plans, const cli_plan *plan, bf_text *text) {
  const bf_rewrite_kernel *examined = &plans->examined.kernel[plan - plans->plan];
  bf_text_addf(text, "%s %s\n", plan->name, plan->hash ? bf_hash_text(plan->hash) : "none");
  for (unsigned i = 0; plan->is_by_array && i < examined->arrays; i++)
    if (plan->array_hash[i])
      bf_text_addf(text, "%s[%s] %s\n", plan->name, examined->array[i].name,
                   bf_hash_text(plan->array_hash[i]));
}

/* What a kernel took in a run, with all hashes of the banks together. */
static cli_counts count_kernel(const cli_record *record, const char *name) {
  cli_counts sum = {0};
  for (size_t i = 0; i < record->kernels; i++)
    if (strcmp(record->kernel[i].name, name) == 0) {
      sum.wavefronts += record->kernel[i].wavefronts;
      sum.instructions += record->kernel[i].warp_instructions;
      sum.cycles += record->kernel[i].cycles;
    }
  return sum;
}

static bf_prediction predict(const cli_advice_trial *trial) {
  return (bf_prediction){.wavefronts_before = trial->before.wavefronts,
                         .wavefronts_after = trial->after.wavefronts,
                         .added_instructions = (int64_t)trial->after.instructions -
                                               (int64_t)trial->before.instructions};
}

/* What the kernel gains, in cycles or wavefronts. */
static double gain(const cli_advice_trial *trial, bool by_cycles) {
  bf_prediction prediction = predict(trial);
  return by_cycles ? (double)trial->before.cycles - (double)trial->after.cycles
                   : bf_prediction_gain(&prediction);
}

/* Takes the candidates of one rank and lists those of the kernels that have one; false where none
 * has. Arrays that have their own come last. */
static bool list_candidates(cli_advice *advice, unsigned rank, bf_text *lines) {
  bool any = false;
  for (cli_advice_module *module = advice->first; module; module = module->next)
    for (unsigned i = 0; i < module->plans.count; i++) {
      cli_plan *plan = &module->plans.plan[i];
      bool is_hidden = is_taken(advice, module, plan->name);
      if (!cli_plan_take(&module->plans, plan, is_hidden ? UINT32_MAX : rank))
        continue;
      write_lines(&module->plans, plan, lines);
      any = true;
    }
  return any;
}

/* Keeps the candidates of that rank, which are taken, where they gain more than those before. */
static void keep_best(cli_advice *advice, const cli_advice_runner *runner, const cli_record *record,
                      unsigned rank) {
  for (cli_advice_module *module = advice->first; module; module = module->next)
    for (unsigned i = 0; i < module->plans.count; i++) {
      const cli_plan *plan = &module->plans.plan[i];
      cli_advice_trial own = {(int)rank, count_kernel(runner->original, plan->name),
                              count_kernel(record, plan->name)};
      cli_advice_trial *best = &module->trial[i];
      if (cli_plan_has_hash(&module->plans, plan) && own.after.instructions &&
          (best->best < 0 || gain(&own, runner->by_cycles) > gain(best, runner->by_cycles)))
        *best = own;
    }
}

/* Takes what was best for a kernel, where it gains something. */
static void take_best(const cli_plans *plans, cli_plan *plan, const cli_advice_trial *trial,
                      bool by_cycles) {
  bool is_gain = trial->best >= 0 && gain(trial, by_cycles) > 0;
  cli_plan_take(plans, plan, is_gain ? (unsigned)trial->best : UINT32_MAX);
  if (trial->best < 0 && plan->choice.candidates)
    snprintf(plan->reason, sizeof plan->reason, "no run with a candidate ended as the first did");
  if (trial->best < 0)
    return;
  plan->prediction = predict(trial);
  plan->reason[0] = 0;
  if (!is_gain && by_cycles)
    snprintf(plan->reason, sizeof plan->reason, "hashed, it takes %llu cycles, not %llu",
             (unsigned long long)trial->after.cycles, (unsigned long long)trial->before.cycles);
  else if (!is_gain)
    snprintf(plan->reason, sizeof plan->reason,
             "hashed, it takes %llu wavefronts, not %llu, and %lld more instructions",
             (unsigned long long)trial->after.wavefronts,
             (unsigned long long)trial->before.wavefronts,
             (long long)plan->prediction.added_instructions);
}

/* Runs the candidates of one rank. */
static int try_rank(cli_advice *advice, const cli_advice_runner *runner, unsigned rank,
                    bf_diagnostic *diagnostic) {
  bf_text lines = {0};
  cli_record record = {0};
  bool is_good = false;
  int error = BF_OK;
  if (list_candidates(advice, rank, &lines))
    error = lines.failed ? bf_no_memory(diagnostic)
                         : runner->run(runner->context, &lines, &record, &is_good, diagnostic);
  if (!error && is_good)
    keep_best(advice, runner, &record, rank);
  cli_record_free(&record);
  bf_text_free(&lines);
  return error;
}

int cli_advice_try(cli_advice *advice, const cli_advice_runner *runner, bf_diagnostic *diagnostic) {
  for (cli_advice_module *module = advice->first; module; module = module->next) {
    module->trial = calloc(module->plans.count + 1, sizeof *module->trial);
    if (!module->trial)
      return bf_no_memory(diagnostic);
    for (unsigned i = 0; i < module->plans.count; i++)
      module->trial[i].best = -1;
  }
  for (unsigned rank = 0; rank <= BF_CHOOSE_MOST; rank++)
    BF_TRY(try_rank(advice, runner, rank, diagnostic));
  for (cli_advice_module *module = advice->first; module; module = module->next) {
    for (unsigned i = 0; i < module->plans.count; i++)
      take_best(&module->plans, &module->plans.plan[i], &module->trial[i], runner->by_cycles);
    memset(module->hash, 0, module->plans.count * sizeof *module->hash);
    BF_TRY(settle(module, diagnostic));
  }
  return BF_OK;
}

/* ---- Writing ---- */

/* What is predicted of the kernel with its hash. */
static void write_prediction(const cli_plan *plan, const cli_advice_trial *trial, bf_text *text) {
  const bf_prediction *p = &plan->prediction;
  bf_text_addf(text, "%llu -> %llu wavefronts, %lld more instructions, gain %.0f",
               (unsigned long long)p->wavefronts_before, (unsigned long long)p->wavefronts_after,
               (long long)p->added_instructions, bf_prediction_gain(p));
  if (trial && trial->after.cycles)
    bf_text_addf(text, ", %llu -> %llu cycles", (unsigned long long)trial->before.cycles,
                 (unsigned long long)trial->after.cycles);
}

/* The lines of a kernel that was launched. */
static void write_kernel(const cli_advice *advice, const cli_advice_module *module, unsigned index,
                         bf_text *text) {
  const cli_plan *plan = &module->plans.plan[index];
  const bf_trial_kernel *launched = bf_trial_find(&module->merged, plan->name);
  if (!launched)
    return;
  bf_text_puts(text, "# ");
  bf_ptx_readable_name(plan->name, text);
  if (is_taken(advice, module, plan->name)) {
    bf_text_puts(text, ": another module has a kernel of this name, and the line above is its\n");
    return;
  }
  bf_text_addf(text, ": %llu launch%s, ", (unsigned long long)launched->launches,
               launched->launches == 1 ? "" : "es");
  if (module->hash[index])
    write_prediction(plan, module->trial ? &module->trial[index] : NULL, text);
  else {
    bf_text_puts(text, "left alone: ");
    cli_plans_explain(plan, &module->plans.examined.kernel[index], text);
  }
  if (launched->is_cut)
    bf_text_puts(text, "; from its first accesses only, there were too many different ones");
  bf_text_puts(text, "\n");
  cli_hash_lines(plan->name, module->hash[index], text);
}

void cli_advice_write(const cli_advice *advice, const char *title, bf_text *text) {
  bf_text_addf(text, "# %s\n", title);
  if (!advice->first)
    bf_text_puts(text, "# no kernel was launched\n* none\n");
  for (const cli_advice_module *module = advice->first; module; module = module->next)
    for (unsigned i = 0; i < module->plans.count; i++)
      write_kernel(advice, module, i, text);
}

void cli_advice_free(cli_advice *advice) {
  for (cli_advice_module *at = advice->first, *next; at; at = next) {
    next = at->next;
    cli_plans_free(&at->plans);
    bf_trial_free(&at->written);
    bf_trial_free(&at->merged);
    bf_ptx_free(at->ptx);
    bf_text_free(&at->text);
    free(at->trial);
    free(at->hash);
    free(at);
  }
  bf_arena_free(&advice->arena);
  *advice = (cli_advice){0};
}

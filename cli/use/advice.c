/* From accesses of a run to a file of hashes. */
#include "cli/use/advice.h"

#include <stdlib.h>
#include <string.h>

/* ptxas compiles no more static shared memory, so that the injection library leaves such kernels
 * alone. */
enum { MOST_STATIC_BYTES = 48 * 1024 };

/* ---- Reading ---- */

/* Moves a kernel of the run into the trials of its module. */
static int take_kernel(cli_advice_module *module, bf_accesses_kernel *from,
                       bf_diagnostic *diagnostic) {
  size_t written, merged;
  BF_TRY(cli_trial_add(&module->written, from->name, false, &written, diagnostic));
  BF_TRY(cli_trial_add(&module->merged, from->name, false, &merged, diagnostic));
  cli_trial_kernel *kernel = &module->merged.kernel[merged];
  kernel->launches = from->launches;
  kernel->is_cut = from->is_cut;
  kernel->workload = from->merged;
  module->written.kernel[written].workload = from->written;
  from->written = from->merged = NULL;
  return BF_OK;
}

/* Adds a module of the run behind the others. */
static int take_module(cli_advice_module **at, const bf_accesses_module *from,
                       bf_diagnostic *diagnostic) {
  cli_advice_module *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  *at = made;
  BF_TRY(bf_ptx_parse("PTX", from->ptx, strlen(from->ptx), &made->ptx, diagnostic));
  for (size_t i = 0; i < from->kernels; i++)
    BF_TRY(take_kernel(made, &from->kernel[i], diagnostic));
  return BF_OK;
}

int cli_advice_read(const char *folder, const bf_machine *machine, cli_advice *advice,
                    bf_diagnostic *diagnostic) {
  cli_advice_module **at = &advice->first;
  int error = bf_accesses_read(folder, machine, &advice->accesses, diagnostic);
  for (size_t i = 0; i < advice->accesses.modules && !error; i++) {
    error = take_module(at, &advice->accesses.module[i], diagnostic);
    if (!error)
      at = &(*at)->next;
  }
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
    if (cli_trial_find(&at->merged, name))
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
static cli_counts count_kernel(const bf_costs *record, const char *name) {
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
static void keep_best(cli_advice *advice, const cli_advice_runner *runner, const bf_costs *record,
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
  bf_costs record = {0};
  bool is_good = false;
  int error = BF_OK;
  if (list_candidates(advice, rank, &lines))
    error = lines.failed ? bf_no_memory(diagnostic)
                         : runner->run(runner->context, &lines, &record, &is_good, diagnostic);
  if (!error && is_good)
    keep_best(advice, runner, &record, rank);
  bf_costs_free(&record);
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
  const cli_trial_kernel *launched = cli_trial_find(&module->merged, plan->name);
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
    cli_trial_free(&at->written);
    cli_trial_free(&at->merged);
    bf_ptx_free(at->ptx);
    free(at->trial);
    free(at->hash);
    free(at);
  }
  bf_accesses_free(&advice->accesses);
  *advice = (cli_advice){0};
}

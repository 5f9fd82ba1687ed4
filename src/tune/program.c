/* From what a program did to a file of hashes. */
#include "tune/program.h"

#include "sim/worth.h"

#include <stdlib.h>
#include <string.h>

/* ptxas compiles no more static shared memory, so that the injection library leaves such kernels
 * alone. */
enum { MOST_STATIC_BYTES = 48 * 1024 };

/* ---- What it did ---- */

int bf_program_make(const bf_accesses *accesses, bf_program *program, bf_diagnostic *diagnostic) {
  *program = (bf_program){.module = calloc(accesses->modules + 1, sizeof *program->module)};
  if (!program->module)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < accesses->modules; i++) {
    bf_program_module *module = &program->module[program->modules++];
    module->did = &accesses->module[i];
    BF_TRY(
        bf_ptx_parse("PTX", module->did->ptx, strlen(module->did->ptx), &module->ptx, diagnostic));
  }
  return BF_OK;
}

void bf_program_free(bf_program *program) {
  for (size_t i = 0; i < program->modules; i++) {
    bf_plans_free(&program->module[i].plans);
    bf_ptx_free(program->module[i].ptx);
    free(program->module[i].hash);
    free(program->module[i].larger);
  }
  free(program->module);
  *program = (bf_program){0};
}

/* The launches of a kernel; NULL: there were none. */
static const bf_accesses_kernel *find_kernel(const bf_program_module *module, const char *name) {
  for (size_t i = 0; i < module->did->kernels; i++)
    if (strcmp(module->did->kernel[i].name, name) == 0)
      return &module->did->kernel[i];
  return NULL;
}

/* ---- Proposing ---- */

/* Whether a module before this one has a launched kernel of that name: a list of hashes has one
 * line for both, which is that of the first. */
static bool is_hidden(const bf_program *program, const bf_program_module *module,
                      const char *name) {
  for (const bf_program_module *at = program->module; at != module; at++)
    if (find_kernel(at, name))
      return true;
  return false;
}

/* Keeps the hash of a kernel that was rewritten, or the reason why it cannot be. */
static int keep_hash(bf_program_module *module, unsigned index, const bf_rewrite_kernel *kernel,
                     bf_diagnostic *diagnostic) {
  bf_plan *plan = &module->plans.plan[index];
  if (kernel->is_rewritten && kernel->padded_bytes <= MOST_STATIC_BYTES) {
    module->hash[index] = bf_arena_copy(&module->plans.examined.arena, kernel->hash);
    return module->hash[index] ? BF_OK : bf_no_memory(diagnostic);
  }
  bf_text reason = {0};
  if (kernel->is_rewritten)
    bf_text_puts(&reason, "padding lifts its static arrays above 48 KiB");
  else
    bf_plan_explain(plan, kernel, &reason);
  snprintf(plan->reason, sizeof plan->reason, "%s", reason.data ? reason.data : "");
  bf_text_free(&reason);
  return BF_OK;
}

/* Rewrites the module with its plans: the kernels that this works for have a hash. */
static int settle(bf_program_module *module, bf_diagnostic *diagnostic) {
  bf_rewrite_result result = {0};
  int error = bf_plans_rewrite(&module->plans, false, &result, diagnostic);
  memset(module->hash, 0, module->plans.count * sizeof *module->hash);
  for (unsigned i = 0; i < module->plans.count && !error; i++)
    if (bf_plan_has_hash(&module->plans, &module->plans.plan[i]))
      error = keep_hash(module, i, &result.kernel[i], diagnostic);
  bf_rewrite_free(&result);
  return error;
}

/* Kernels that were launched. */
static size_t count_launched(const bf_program *program) {
  size_t launched = 0;
  for (size_t i = 0; i < program->modules; i++)
    launched += program->module[i].did->kernels;
  return launched;
}

/* The search of one kernel: it has an equal share of what is left until the deadline of all. */
static bf_plans_search share_of(const bf_plans_search *all, size_t kernels_left) {
  bf_plans_search own = *all;
  if (all->deadline > 0) {
    double now = bf_seconds(), left = all->deadline > now ? all->deadline - now : 0;
    own.deadline = now + left / (double)(kernels_left ? kernels_left : 1);
    own.time_limit_seconds = left / (double)(kernels_left ? kernels_left : 1) / BF_PROPOSE_MOST;
    if (own.time_limit_seconds <= 0)
      own.time_limit_seconds = 0.001;
  }
  return own;
}

/* Proposes for the kernels of a module; *kernels_left have none yet, in all modules. */
static int propose_module(const bf_program *program, bf_program_module *module,
                          const bf_plans_search *search, size_t *kernels_left,
                          bf_diagnostic *diagnostic) {
  bf_plans *plans = &module->plans;
  BF_TRY(bf_plans_make(module->ptx, "PTX", NULL, plans, diagnostic));
  plans->padding_has_room = true; /* as run does it */
  module->hash = calloc(plans->count + 1, sizeof *module->hash);
  if (!module->hash)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < plans->count; i++) {
    bf_plan *plan = &plans->plan[i];
    const bf_accesses_kernel *launched = find_kernel(module, plan->name);
    bf_observed accesses = {0};
    if (launched)
      accesses = (bf_observed){launched->written, launched->merged, launched->is_cut};
    plan->is_asked = !is_hidden(program, module, plan->name);
    bf_plans_search own = share_of(search, *kernels_left);
    *kernels_left -= launched && *kernels_left;
    BF_TRY(bf_plan_propose(plans, plan, &own, launched ? &accesses : NULL, diagnostic));
  }
  return settle(module, diagnostic);
}

int bf_program_propose(bf_program *program, const bf_plans_search *search,
                       bf_diagnostic *diagnostic) {
  size_t kernels_left = count_launched(program);
  program->machine = search->machine;
  for (size_t i = 0; i < program->modules; i++)
    BF_TRY(propose_module(program, &program->module[i], search, &kernels_left, diagnostic));
  return BF_OK;
}

/* ---- Larger launches ---- */

/* Whether candidates of a kernel were tried, and none was taken. */
static bool is_left(const bf_program_module *module, unsigned index) {
  const bf_plan *plan = &module->plans.plan[index];
  for (unsigned i = 0; i < BF_PLAN_CANDIDATES && !module->hash[index]; i++)
    if (plan->was_tried[i])
      return true;
  return false;
}

/* The hash of a plan, or those of its arrays, in words. */
static void name_hashes(const bf_plans *plans, const bf_plan *plan, bf_text *text) {
  const char *between = "";
  if (plan->hash)
    bf_text_puts(text, bf_hash_text(plan->hash));
  for (unsigned i = 0; plan->is_by_array && i < bf_plan_examined(plans, plan)->arrays; i++)
    if (plan->array_hash[i]) {
      bf_text_addf(text, "%s%s=%s", between, bf_plan_examined(plans, plan)->array[i].name,
                   bf_hash_text(plan->array_hash[i]));
      between = " ";
    }
}

/* Says what is predicted of larger launches of a kernel that wins in them. */
static int describe_larger(const bf_plans *plans, const bf_plan *plan, bf_arena *arena,
                           const char **larger, bf_diagnostic *diagnostic) {
  const bf_comparison *c = &plan->comparison;
  bf_text text = {0};
  name_hashes(plans, plan, &text);
  bf_text_addf(&text, " is predicted to take %.0f%% of the time ", 100 * bf_judge_share(c));
  if (c->after.least_blocks > 1)
    bf_text_addf(&text, "in launches that fill an H200, and to pay from grids of %llu blocks on",
                 (unsigned long long)c->after.least_blocks);
  else if (c->after.least_blocks)
    bf_text_puts(&text, "in launches that fill an H200, and to pay in grids of any size");
  else
    bf_text_puts(&text, "in launches that fill an H200 many times");
  *larger = text.failed ? NULL : bf_arena_copy(arena, text.data);
  bf_text_free(&text);
  return *larger ? BF_OK : bf_no_memory(diagnostic);
}

/* Predicts larger launches of the kernels of a module that are left alone. */
static int foresee(bf_program_module *module, const bf_machine *machine,
                   bf_diagnostic *diagnostic) {
  bf_predict_options options = {.machine = machine, .decides_by_launch = true};
  bf_plans plans = {0};
  module->larger = calloc(module->plans.count + 1, sizeof *module->larger);
  int error = module->larger ? bf_plans_make(module->ptx, "PTX", NULL, &plans, diagnostic)
                             : bf_no_memory(diagnostic);
  plans.padding_has_room = plans.blocks_are_checked = plans.resizes_dynamic =
      true; /* as run does */
  for (unsigned i = 0; i < plans.count; i++)
    plans.plan[i].is_asked = is_left(module, i);
  if (!error)
    error = bf_predict_choose(&plans, &options, diagnostic);
  for (unsigned i = 0; i < plans.count && !error; i++)
    if (plans.plan[i].is_asked && bf_plan_has_hash(&plans, &plans.plan[i]))
      error = describe_larger(&plans, &plans.plan[i], &module->plans.examined.arena,
                              &module->larger[i], diagnostic);
  bf_plans_free(&plans);
  return error;
}

/* ---- Trying ---- */

bf_evidence bf_program_evidence(const bf_costs *costs, const char *kernel) {
  bf_evidence sum = {0};
  for (size_t i = 0; i < costs->kernels; i++)
    if (strcmp(costs->kernel[i].name, kernel) == 0) {
      sum.wavefronts += costs->kernel[i].wavefronts;
      sum.instructions += (int64_t)costs->kernel[i].warp_instructions;
      sum.cycles += costs->kernel[i].cycles;
      sum.work_cycles += costs->kernel[i].work_cycles;
    }
  return sum;
}

typedef struct trying {
  const bf_program *program;
  const bf_program_runner *runner;
} trying;

/* bf_plans_runner.run: all kernels that have a hash now, in one list. */
static int run(void *context, bool *is_good, bf_diagnostic *diagnostic) {
  const trying *t = context;
  bf_text lines = {0};
  for (size_t k = 0; k < t->program->modules; k++) {
    const bf_plans *plans = &t->program->module[k].plans;
    for (unsigned i = 0; i < plans->count; i++)
      if (bf_plan_has_hash(plans, &plans->plan[i]))
        bf_plan_write(plans, &plans->plan[i], &lines);
  }
  int error = lines.failed ? bf_no_memory(diagnostic)
                           : t->runner->run(t->runner->context, &lines, is_good, diagnostic);
  bf_text_free(&lines);
  return error;
}

/* bf_plans_runner.compare */
static bool compare(void *context, const char *kernel, bf_comparison *comparison) {
  const trying *t = context;
  return t->runner->compare(t->runner->context, kernel, comparison);
}

/* Gives kernels that were launched longer rows as a candidate. */
static int propose_padding(bf_program_module *module, const bf_machine *machine,
                           bf_diagnostic *diagnostic) {
  const bf_predict_options options = {.machine = machine};
  for (unsigned i = 0; i < module->plans.count; i++)
    if (find_kernel(module, module->plans.plan[i].name))
      BF_TRY(bf_predict_padding(&module->plans, &module->plans.plan[i], &options, diagnostic));
  return BF_OK;
}

int bf_program_try(bf_program *program, const bf_program_runner *runner,
                   bf_diagnostic *diagnostic) {
  trying t = {program, runner};
  bf_plans_runner all = {.run = run, .compare = compare, .context = &t};
  bf_plans **list = calloc(program->modules + 1, sizeof *list);
  if (!list)
    return bf_no_memory(diagnostic);
  int error = BF_OK;
  for (size_t i = 0; i < program->modules && !error; i++) {
    list[i] = &program->module[i].plans;
    error = propose_padding(&program->module[i], program->machine, diagnostic);
  }
  if (!error)
    error = bf_plans_try(list, program->modules, &all, diagnostic);
  free(list);
  for (size_t i = 0; i < program->modules && !error; i++) {
    error = settle(&program->module[i], diagnostic);
    if (!error)
      error = foresee(&program->module[i], program->machine, diagnostic);
  }
  return error;
}

/* ---- Writing ---- */

/* What the simulator says that the cycles are worth. */
static void write_worth(const bf_sim_gpu *gpu, const bf_comparison *c, bf_text *text) {
  if (!gpu || gpu->rewrite_share <= 0)
    return;
  bf_sim_worth worth =
      bf_sim_worth_find(gpu->rewrite_share, (double)c->before.cycles, (double)c->after.cycles);
  bf_text_addf(text, " (%.3f; of 100 measured ones 80 from %.3f to %.3f)", worth.gain, worth.low,
               worth.high);
}

/* What is predicted of the kernel with its hash. */
static void write_comparison(const bf_sim_gpu *gpu, const bf_comparison *c, bf_text *text) {
  bf_text_addf(text, "%llu -> %llu wavefronts, %lld more instructions, gain %.0f",
               (unsigned long long)c->before.wavefronts, (unsigned long long)c->after.wavefronts,
               (long long)(c->after.instructions - c->before.instructions), bf_judge_gain(c));
  if (!c->after.cycles)
    return;
  bf_text_addf(text, ", %llu -> %llu cycles", (unsigned long long)c->before.cycles,
               (unsigned long long)c->after.cycles);
  write_worth(gpu, c, text);
}

/* The lines of a kernel that was launched. */
static void write_kernel(const bf_program *program, const bf_program_module *module, unsigned index,
                         bf_text *text) {
  const bf_plan *plan = &module->plans.plan[index];
  const bf_accesses_kernel *launched = find_kernel(module, plan->name);
  if (!launched)
    return;
  bf_text_puts(text, "# ");
  bf_ptx_readable_name(plan->name, text);
  if (is_hidden(program, module, plan->name)) {
    bf_text_puts(text, ": another module has a kernel of this name, and the line above is its\n");
    return;
  }
  bf_text_addf(text, ": %llu launch%s, ", (unsigned long long)launched->launches,
               launched->launches == 1 ? "" : "es");
  if (module->hash[index])
    write_comparison(program->gpu, &plan->comparison, text);
  else {
    bf_text_puts(text, "left alone: ");
    bf_plan_explain(plan, &module->plans.examined.kernel[index], text);
  }
  if (launched->is_cut)
    bf_text_puts(text, "; from its first accesses only, there were too many different ones");
  if (module->larger && module->larger[index])
    bf_text_addf(text, "\n# not so in larger launches: %s; run --hash auto decides by launch\n",
                 module->larger[index]);
  else {
    bf_text_puts(text, "\n");
    bf_hash_list_write(plan->name, module->hash[index], text);
  }
}

void bf_program_write(const bf_program *program, const char *title, bf_text *text) {
  bf_text_addf(text, "# %s\n", title);
  if (!program->modules)
    bf_text_puts(text, "# no kernel was launched\n* none\n");
  for (size_t k = 0; k < program->modules; k++)
    for (unsigned i = 0; i < program->module[k].plans.count; i++)
      write_kernel(program, &program->module[k], i, text);
}

/* From what a program did to a file of hashes. */
#include "tune/program.h"

#include <stdlib.h>
#include <string.h>

/* ptxas compiles no more static shared memory, so that the injection library leaves such kernels
 * alone. */
enum { MOST_STATIC_BYTES = 48 * 1024 };

/* ---- What it did ---- */

int bf_program_add_module(bf_program *program, const char *ptx, size_t size,
                          bf_program_module **module, bf_diagnostic *diagnostic) {
  bf_program_module **at = &program->first;
  while (*at && ((*at)->text.size != size || memcmp((*at)->text.data, ptx, size) != 0))
    at = &(*at)->next;
  *module = *at;
  if (*module)
    return BF_OK;
  bf_program_module *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  *at = *module = made;
  bf_text_add(&made->text, ptx, size);
  return made->text.failed ? bf_no_memory(diagnostic)
                           : bf_ptx_parse("PTX", ptx, size, &made->ptx, diagnostic);
}

static bf_program_kernel *find_kernel(const bf_program_module *module, const char *name) {
  for (size_t i = 0; i < module->kernels; i++)
    if (strcmp(module->kernel[i].name, name) == 0)
      return &module->kernel[i];
  return NULL;
}

/* The kernel of that name, which is made where there is none; NULL: out of memory. */
static bf_program_kernel *make_kernel(bf_program *program, bf_program_module *module,
                                      const char *name) {
  bf_program_kernel *found = find_kernel(module, name);
  if (found)
    return found;
  if (module->kernels == module->capacity) {
    size_t capacity = module->capacity ? 2 * module->capacity : 8;
    bf_program_kernel *grown = realloc(module->kernel, capacity * sizeof *grown);
    if (!grown)
      return NULL;
    module->kernel = grown;
    module->capacity = capacity;
  }
  bf_program_kernel *made = &module->kernel[module->kernels];
  *made = (bf_program_kernel){.name = bf_arena_copy(&program->arena, name)};
  if (!made->name || bf_workload_create(&made->accesses.written) != BF_OK)
    return NULL;
  module->kernels++; /* from here on it is freed */
  return bf_workload_create(&made->accesses.merged) == BF_OK ? made : NULL;
}

/* Adds accesses; where there are too many different ones, the first are kept. */
static int add_accesses(bf_workload *to, const bf_workload *from, bool *is_cut) {
  for (size_t i = 0; i < bf_workload_size(from); i++) {
    int error = bf_workload_add(to, bf_workload_get(from, i));
    if (error == BF_NO_MEMORY)
      return error;
    *is_cut |= error != BF_OK;
  }
  return BF_OK;
}

int bf_program_add_kernel(bf_program *program, bf_program_module *module, const char *name,
                          uint64_t launches, const bf_observed *accesses,
                          bf_diagnostic *diagnostic) {
  bf_program_kernel *kernel = make_kernel(program, module, name);
  if (!kernel)
    return bf_no_memory(diagnostic);
  kernel->launches += launches;
  if (!accesses)
    return BF_OK;
  bf_observed *own = &kernel->accesses;
  own->is_cut |= accesses->is_cut;
  if (add_accesses(own->written, accesses->written, &own->is_cut) ||
      add_accesses(own->merged, accesses->merged, &own->is_cut))
    return bf_no_memory(diagnostic);
  return BF_OK;
}

static void free_module(bf_program_module *module) {
  for (size_t i = 0; i < module->kernels; i++) {
    bf_workload_free(module->kernel[i].accesses.written);
    bf_workload_free(module->kernel[i].accesses.merged);
  }
  free(module->kernel);
  bf_plans_free(&module->plans);
  bf_ptx_free(module->ptx);
  bf_text_free(&module->text);
  free(module->hash);
  free(module);
}

void bf_program_free(bf_program *program) {
  for (bf_program_module *at = program->first, *next; at; at = next) {
    next = at->next;
    free_module(at);
  }
  bf_arena_free(&program->arena);
  *program = (bf_program){0};
}

/* ---- Proposing ---- */

/* Whether a module before this one has a launched kernel of that name: a list of hashes has one
 * line for both, which is that of the first. */
static bool is_hidden(const bf_program *program, const bf_program_module *module,
                      const char *name) {
  for (const bf_program_module *at = program->first; at != module; at = at->next)
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

/* Proposes for the kernels of a module. */
static int propose_module(const bf_program *program, bf_program_module *module,
                          const bf_plans_search *search, bf_diagnostic *diagnostic) {
  bf_plans *plans = &module->plans;
  BF_TRY(bf_plans_make(module->ptx, "PTX", NULL, plans, diagnostic));
  plans->dynamic_is_rounded = true; /* as run does it */
  module->hash = calloc(plans->count + 1, sizeof *module->hash);
  if (!module->hash)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < plans->count; i++) {
    bf_plan *plan = &plans->plan[i];
    const bf_program_kernel *launched = find_kernel(module, plan->name);
    plan->is_asked = !is_hidden(program, module, plan->name);
    BF_TRY(bf_plan_propose(plans, plan, search, launched ? &launched->accesses : NULL, diagnostic));
  }
  return settle(module, diagnostic);
}

int bf_program_propose(bf_program *program, const bf_plans_search *search,
                       bf_diagnostic *diagnostic) {
  for (bf_program_module *module = program->first; module; module = module->next)
    BF_TRY(propose_module(program, module, search, diagnostic));
  return BF_OK;
}

/* ---- Trying ---- */

typedef struct trying {
  const bf_program *program;
  const bf_program_runner *runner;
} trying;

/* bf_plans_runner.run: all kernels that have a hash now, in one list. */
static int run(void *context, bool *is_good, bf_diagnostic *diagnostic) {
  const trying *t = context;
  bf_text lines = {0};
  for (const bf_program_module *module = t->program->first; module; module = module->next)
    for (unsigned i = 0; i < module->plans.count; i++)
      if (bf_plan_has_hash(&module->plans, &module->plans.plan[i]))
        bf_plan_write(&module->plans, &module->plans.plan[i], &lines);
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

int bf_program_try(bf_program *program, const bf_program_runner *runner,
                   bf_diagnostic *diagnostic) {
  trying t = {program, runner};
  bf_plans_runner all = {.run = run, .compare = compare, .context = &t};
  size_t count = 0;
  for (bf_program_module *module = program->first; module; module = module->next)
    count++;
  bf_plans **list = calloc(count + 1, sizeof *list);
  if (!list)
    return bf_no_memory(diagnostic);
  count = 0;
  for (bf_program_module *module = program->first; module; module = module->next)
    list[count++] = &module->plans;
  int error = bf_plans_try(list, count, &all, diagnostic);
  free(list);
  for (bf_program_module *module = program->first; module && !error; module = module->next)
    error = settle(module, diagnostic);
  return error;
}

/* ---- Writing ---- */

/* What is predicted of the kernel with its hash. */
static void write_comparison(const bf_comparison *c, bf_text *text) {
  bf_text_addf(text, "%llu -> %llu wavefronts, %lld more instructions, gain %.0f",
               (unsigned long long)c->before.wavefronts, (unsigned long long)c->after.wavefronts,
               (long long)(c->after.instructions - c->before.instructions), bf_judge_gain(c));
  if (c->after.cycles)
    bf_text_addf(text, ", %llu -> %llu cycles", (unsigned long long)c->before.cycles,
                 (unsigned long long)c->after.cycles);
}

/* The lines of a kernel that was launched. */
static void write_kernel(const bf_program *program, const bf_program_module *module, unsigned index,
                         bf_text *text) {
  const bf_plan *plan = &module->plans.plan[index];
  const bf_program_kernel *launched = find_kernel(module, plan->name);
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
    write_comparison(&plan->comparison, text);
  else {
    bf_text_puts(text, "left alone: ");
    bf_plan_explain(plan, &module->plans.examined.kernel[index], text);
  }
  if (launched->accesses.is_cut)
    bf_text_puts(text, "; from its first accesses only, there were too many different ones");
  bf_text_puts(text, "\n");
  bf_hash_list_write(plan->name, module->hash[index], text);
}

void bf_program_write(const bf_program *program, const char *title, bf_text *text) {
  bf_text_addf(text, "# %s\n", title);
  if (!program->first)
    bf_text_puts(text, "# no kernel was launched\n* none\n");
  for (const bf_program_module *module = program->first; module; module = module->next)
    for (unsigned i = 0; i < module->plans.count; i++)
      write_kernel(program, module, i, text);
}

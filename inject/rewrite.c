/* Rewriting by the hashes of settings: kernels stay as they are, and hashed ones stand beside them,
 * whose sizes of dynamic shared memory are rounded, and raised for longer rows, at launch. */
#include "inject.h"

#include "ptx/extract.h"
#include "rewrite/listed.h"
#include "tune/predict.h"

#include <string.h>

/* Whether the second version of a kernel shares no variables with the rest of the module. */
static bool is_alone(const bf_ptx_module *module, const bf_rewrite_kernel *kernel) {
  bool is_alone = false;
  return bf_ptx_extract(module, kernel->beside, NULL, &is_alone, NULL) == BF_OK && is_alone;
}

/* The parameters that decide what a kernel does to shared memory; none where that is not known. */
static void find_values(const bf_ptx_module *module, const char *name, bf_text *values) {
  const bf_ptx_function *kernel = bf_ptx_find(module, name);
  bf_diagnostic diagnostic = {.caret = -1};
  if (kernel && inject_values_write(kernel, values, &diagnostic) != BF_OK)
    bf_text_free(values);
}

/* The longest PTX that the driver is given in place of machine code: ptxas takes up to 5 us for a
 * byte of kernels of the corpus, so that a program starts a third of a second later at most. */
enum { MOST_COMPILED_BYTES = 64 << 10 };

/* What kernels are described from. */
typedef struct description {
  const inject_settings *settings;
  const bf_rewrite_result *result;
  const bf_plans *plans;
  bool has_code; /* the program has machine code */
} description;

/* Whether the second version of a kernel, which shares variables, would cost more than it may. */
static bool is_too_long(const description *d, const bf_rewrite_kernel *kernel) {
  return d->has_code && d->result->text.size > MOST_COMPILED_BYTES &&
         !inject_is_named(d->settings, kernel->name) && !is_alone(d->result->module, kernel);
}

/* Adds what is to be known about a kernel with a second version. */
static void describe_second(const description *d, unsigned index, inject_rewritten *rewritten) {
  const bf_rewrite_kernel *kernel = &d->result->kernel[index];
  bf_text values = {0};
  if (index < d->plans->count && d->plans->plan[index].needs_values)
    find_values(d->result->module, kernel->name, &values);
  inject_add_kernel(
      &(inject_kernel){.name = kernel->name,
                       .beside = kernel->beside,
                       .hash = kernel->hash,
                       .values = values.size ? values.data : NULL,
                       .is_alone = is_alone(d->result->module, kernel),
                       .is_doubtful = index < d->plans->count && d->plans->plan[index].is_doubtful,
                       .rounds = kernel->has_dynamic_shared,
                       .row_bytes = kernel->dynamic_row_bytes,
                       .unused_bytes = kernel->dynamic_unused_bytes,
                       .most_x = kernel->most_block[0],
                       .most_y = kernel->most_block[1],
                       .most_z = kernel->most_block[2]},
      &rewritten->lines);
  rewritten->hashed++;
  rewritten->lines.failed |= values.failed;
  bf_text_free(&values);
}

/* Adds what is to be known about one kernel: nothing where it has no hash. */
static void describe(const description *d, unsigned index, inject_rewritten *rewritten) {
  static const char shares[] = "it shares variables with the program, all of whose code, which is "
                               "long, would have to be compiled for it";
  const bf_rewrite_kernel *kernel = &d->result->kernel[index];
  bf_text reason = {0};
  bool is_left = kernel->is_rewritten && is_too_long(d, kernel);
  if (kernel->is_rewritten && !is_left) {
    describe_second(d, index, rewritten);
  } else {
    if (is_left)
      bf_text_puts(&reason, shares);
    else
      bf_listed_reason(kernel, &reason);
    if (reason.size)
      inject_add_kernel(&(inject_kernel){.name = kernel->name, .reason = reason.data},
                        &rewritten->lines);
  }
  rewritten->lines.failed |= reason.failed;
  bf_text_free(&reason);
  if (is_left)
    bf_text_addf(&rewritten->remarks, "%s: left alone: %s", kernel->name, shares);
  else
    bf_listed_remark(kernel, &rewritten->remarks);
  bf_text_puts(&rewritten->remarks, "\n");
}

/* ---- Hashes ---- */

/* Where hashes come from. */
typedef struct choice {
  const inject_settings *settings;
  bf_plans plans; /* with auto: what is chosen */
} choice;

/* The hash that is chosen for a kernel or an array of it. */
static const bf_hash *chosen(void *context, const bf_ptx_function *kernel,
                             const bf_ptx_variable *array) {
  const choice *c = context;
  const bf_listed listed = {.hashes = c->settings->hashes};
  if (!inject_is_named(c->settings, kernel->name))
    return bf_plans_hash(&c->plans, kernel->name, array);
  const bf_hash *hash = bf_listed_hash(&listed, kernel->name, array ? array->name : NULL);
  return hash && strcmp(bf_hash_text(hash), "none") != 0 ? hash : NULL;
}

/* Chooses hashes that win in launches of some size: at launches it is asked again. */
static int choose(const bf_ptx_module *module, const char *name, choice *c,
                  bf_diagnostic *diagnostic) {
  bf_machine *machine = NULL;
  BF_TRY(bf_plans_make(module, name, NULL, &c->plans, diagnostic));
  c->plans.padding_has_room = c->plans.blocks_are_checked = c->plans.resizes_dynamic = true;
  if (c->plans.examined.was_rewritten)
    return BF_OK;
  for (unsigned i = 0; i < c->plans.count; i++)
    c->plans.plan[i].is_asked = !inject_is_named(c->settings, c->plans.plan[i].name);
  BF_TRY(bf_machine_load("hopper", NULL, &machine, diagnostic));
  bf_predict_options options = {
      .machine = machine, .decides_by_launch = true, .is_measured = c->settings->recalls};
  int error = bf_predict_choose(&c->plans, &options, diagnostic);
  bf_machine_free(machine);
  return error;
}

/* Gives kernels without a hash the reason why none was chosen; texts live as long as plans. */
static void add_reasons(const bf_plans *plans, bf_rewrite_result *result) {
  for (unsigned i = 0; i < result->kernels && i < plans->count; i++) {
    const bf_plan *plan = &plans->plan[i];
    bf_rewrite_kernel *kernel = &result->kernel[i];
    if (kernel->is_rewritten || kernel->obstacles || !kernel->accesses || !*plan->reason)
      continue;
    bf_rewrite_obstacle *why = bf_arena_alloc(&result->arena, sizeof *why);
    if (!why)
      return;
    why->text = plan->reason;
    kernel->obstacle = why;
    kernel->obstacles = 1;
  }
}

/* ---- Modules ---- */

/* Describes what became of a module. */
static int take(const description *d, inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < d->result->kernels; i++)
    describe(d, i, rewritten);
  rewritten->kernels = d->result->kernels;
  rewritten->is_changed = d->result->is_changed && rewritten->hashed;
  if (rewritten->is_changed)
    bf_text_add(&rewritten->text, d->result->text.data, d->result->text.size);
  return rewritten->text.failed || rewritten->lines.failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* Rewrites a module with hashes that are named. */
static int rewrite_named(const inject_settings *settings, const bf_ptx_module *module,
                         bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  bf_listed listed = {settings->hashes,           settings->otherwise,     .padding_has_room = true,
                      .blocks_are_checked = true, .resizes_dynamic = true, .is_beside = true};
  return bf_rewrite_listed(module, &listed, result, diagnostic);
}

/* Rewrites and describes a parsed module. */
static int process(const inject_settings *settings, const char *name, const bf_ptx_module *module,
                   bool has_code, inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  choice c = {.settings = settings};
  bf_rewrite_result result = {0};
  bf_rewrite_options options = {.context = &c,
                                .hash_of = chosen,
                                .padding_has_room = true,
                                .blocks_are_checked = true,
                                .resizes_dynamic = true,
                                .is_beside = true};
  int error = BF_OK;
  if (settings->is_auto)
    error = choose(module, name, &c, diagnostic);
  if (!error)
    error = settings->is_auto ? bf_rewrite(module, &options, &result, diagnostic)
                              : rewrite_named(settings, module, &result, diagnostic);
  if (!error)
    add_reasons(&c.plans, &result);
  if (!error)
    error = take(&(description){settings, &result, &c.plans, has_code}, rewritten, diagnostic);
  bf_rewrite_free(&result);
  bf_plans_free(&c.plans);
  return error;
}

int inject_rewrite(const inject_settings *settings, const char *name, const bf_text *ptx,
                   bool has_code, inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  bf_ptx_module *module;
  BF_TRY(bf_ptx_parse(name, ptx->data, ptx->size, &module, diagnostic));
  int error = process(settings, name, module, has_code, rewritten, diagnostic);
  bf_ptx_free(module);
  return error;
}

/* What padding does to code that stays as it is.
 *
 * A shared variable of the module has one size for all kernels. Where a kernel is rewritten, those
 * of its variables that others use too grow for them as well. That is no harm, unless code asks
 * for the size of shared memory: then the kernel that wants the variable padded is refused.
 *
 * A variable that is .weak may be replaced by the one of another module, which is not padded. It is
 * declared without .weak where all code that names it belongs to kernels that are rewritten: these
 * call nothing outside of the module, so that no other code has to find it. */
#include "rewrite/inner.h"

/* ---- Functions of others ---- */

/* Whether code that is not a kernel's here may call the function itself. */
static bool is_exposed(const bf_rewrite_function *own) {
  return !own->function->is_entry && (own->kernels.count == 0 || own->is_pointed_to ||
                                      own->function->linkage != BF_PTX_PRIVATE);
}

bool bf_rewrite_find_others(bf_rewrite_plan *plan) {
  unsigned *found = bf_arena_alloc(plan->arena, ((size_t)plan->functions + 1) * sizeof *found);
  unsigned count = 0;
  plan->is_named_outside = bf_arena_alloc(plan->arena, (size_t)plan->variables + 1);
  if (!found || !plan->is_named_outside)
    return false;
  for (unsigned f = 0; f < plan->functions; f++) {
    plan->function[f].serves_others = is_exposed(&plan->function[f]);
    if (plan->function[f].serves_others)
      found[count++] = f;
  }
  for (unsigned n = 0; n < count; n++) {
    const bf_rewrite_function *own = &plan->function[found[n]];
    for (unsigned i = 0; i < own->names.count; i++)
      plan->is_named_outside[own->names.item[i]] = true;
    for (unsigned i = 0; i < own->calls.count; i++) {
      bf_rewrite_function *called = &plan->function[own->calls.item[i]];
      if (!called->serves_others)
        found[count++] = own->calls.item[i];
      called->serves_others = true;
    }
  }
  return true;
}

/* ---- Sizes ---- */

/* Who finds out how shared memory is laid out. */
typedef struct watchers {
  unsigned kernel;      /* the first that does and may use any variable; kernels: none */
  const char *function; /* the first of others that does, or NULL */
  bool any;
} watchers;

static watchers find_watchers(const bf_rewrite_plan *plan) {
  watchers w = {.kernel = plan->kernels};
  for (unsigned k = plan->kernels; k-- > 0;)
    if (plan->kernel[k].sees_layout && plan->kernel[k].leaves_module)
      w.kernel = k;
  for (unsigned f = plan->functions; f-- > 0;) {
    w.any |= plan->function[f].sees_layout;
    if (plan->function[f].serves_others && plan->function[f].sees_layout)
      w.function = plan->function[f].function->name;
  }
  return w;
}

/* The name of a function that would notice that the variable has grown, or NULL. */
static const char *find_noticing(const bf_rewrite_plan *plan, const watchers *w,
                                 unsigned variable) {
  const bf_rewrite_numbers *users = &plan->users[variable];
  unsigned kernel = w->kernel;
  for (unsigned n = 0; n < users->count && users->item[n] < kernel; n++)
    if (plan->kernel[users->item[n]].sees_layout)
      kernel = users->item[n];
  return kernel < plan->kernels ? plan->function[plan->kernel[kernel].index].function->name
                                : w->function;
}

static bool is_rewritten(const bf_rewrite_kernel_plan *kernel) {
  return kernel->wanted && !kernel->refused;
}

/* Refuses the kernels that would pad the variable; text goes on behind its name. */
static bool refuse_padding(bf_rewrite_plan *plan, bf_rewrite_result *result, unsigned variable,
                           const char *text, bool *changed) {
  for (unsigned n = 0; n < plan->users[variable].count; n++) {
    unsigned k = plan->users[variable].item[n];
    bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    if (!is_rewritten(kernel) || !bf_rewrite_pads(plan, kernel, variable))
      continue;
    *changed = true;
    if (!bf_rewrite_add_obstacle(plan, kernel, &result->kernel[k], plan->variable[variable]->line,
                                 "shared variable %s%s", plan->variable[variable]->name, text))
      return false;
  }
  return true;
}

/* Spares those who ask for sizes: few do. */
static bool spare_sizes(bf_rewrite_plan *plan, bf_rewrite_result *result, bool *changed) {
  watchers w = find_watchers(plan);
  for (unsigned i = 0; w.any && i < plan->variables; i++) {
    const char *name = plan->owner[i] < 0 ? find_noticing(plan, &w, i) : NULL;
    char text[300];
    snprintf(text, sizeof text, ", padded, changes the size that %s asks for", name ? name : "");
    if (name && !refuse_padding(plan, result, i, text, changed))
      return false;
  }
  return true;
}

/* ---- Variables that other modules may replace ---- */

/* Whether code that stays as it is names the variable. */
static bool is_named_by_others(const bf_rewrite_plan *plan, unsigned variable) {
  for (unsigned n = 0; n < plan->users[variable].count; n++)
    if (!is_rewritten(&plan->kernel[plan->users[variable].item[n]]))
      return true;
  return plan->is_named_outside[variable];
}

static bool spare_weak(bf_rewrite_plan *plan, bf_rewrite_result *result, bool *changed) {
  for (unsigned i = 0; i < plan->variables; i++)
    if (plan->variable[i]->linkage == BF_PTX_WEAK && is_named_by_others(plan, i) &&
        !refuse_padding(plan, result, i, " may be replaced by another module's", changed))
      return false;
  return true;
}

bool bf_rewrite_spare_neighbours(bf_rewrite_plan *plan, bf_rewrite_result *result, bool *changed) {
  return spare_sizes(plan, result, changed) && spare_weak(plan, result, changed);
}

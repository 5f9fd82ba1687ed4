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

void bf_rewrite_find_others(bf_rewrite_plan *plan) {
  for (unsigned f = 0; f < plan->functions; f++) {
    bf_rewrite_function *own = &plan->function[f];
    bool is_reached = own->function->is_entry;
    for (unsigned k = 0; k < plan->kernels && !is_reached; k++)
      is_reached = plan->kernel[k].reaches[f];
    own->serves_others = !own->function->is_entry && (!is_reached || own->is_pointed_to ||
                                                      own->function->linkage != BF_PTX_PRIVATE);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned f = 0; f < plan->functions; f++)
      for (uint32_t i = 0;
           plan->function[f].serves_others && i < plan->function[f].function->instructions; i++) {
        int called = bf_rewrite_called(plan, plan->function[f].function->instruction[i]);
        if (called >= 0 && !plan->function[called].serves_others) {
          plan->function[called].serves_others = true;
          changed = true;
        }
      }
  }
}

/* ---- Sizes ---- */

/* Whether some instruction of the function finds out how shared memory is laid out. */
static bool sees_layout(const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    if (bf_rewrite_sees_layout(function->instruction[i]))
      return true;
  return false;
}

/* Whether the function calls code that is not known here, which may use any variable. */
static bool leaves_module(const bf_rewrite_plan *plan, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    if (bf_rewrite_callee(function->instruction[i]) &&
        bf_rewrite_called(plan, function->instruction[i]) < 0)
      return true;
  return false;
}

/* Whether the kernel would notice that the variable has grown. */
static bool kernel_notices(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                           unsigned variable) {
  bool sees = false, leaves = false;
  for (unsigned f = 0; f < plan->functions; f++) {
    if (!kernel->reaches[f])
      continue;
    sees |= sees_layout(plan->function[f].function);
    leaves |= leaves_module(plan, plan->function[f].function);
  }
  return sees && (leaves || kernel->uses[variable]);
}

/* The name of a function that would notice that the variable has grown, or NULL. */
static const char *find_noticing(const bf_rewrite_plan *plan, unsigned variable) {
  for (unsigned k = 0; k < plan->kernels; k++)
    if (kernel_notices(plan, &plan->kernel[k], variable))
      return plan->function[plan->kernel[k].index].function->name;
  for (unsigned f = 0; f < plan->functions; f++)
    if (plan->function[f].serves_others && sees_layout(plan->function[f].function))
      return plan->function[f].function->name;
  return NULL;
}

/* Whether any function of the module finds out how shared memory is laid out: few do. */
static bool any_sees_layout(const bf_rewrite_plan *plan) {
  for (unsigned f = 0; f < plan->functions; f++)
    if (sees_layout(plan->function[f].function))
      return true;
  return false;
}

static bool is_rewritten(const bf_rewrite_kernel_plan *kernel) {
  return kernel->wanted && !kernel->refused;
}

/* Refuses the kernels that would pad the variable; text goes on behind its name. */
static bool refuse_padding(bf_rewrite_plan *plan, bf_rewrite_result *result, unsigned variable,
                           const char *text, bool *changed) {
  for (unsigned k = 0; k < plan->kernels; k++) {
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

/* Spares those who ask for sizes. */
static bool spare_sizes(bf_rewrite_plan *plan, bf_rewrite_result *result, bool *changed) {
  if (!any_sees_layout(plan))
    return true;
  for (unsigned i = 0; i < plan->variables; i++) {
    const char *name = plan->owner[i] < 0 ? find_noticing(plan, i) : NULL;
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
  for (unsigned k = 0; k < plan->kernels; k++)
    if (plan->kernel[k].uses[variable] && !is_rewritten(&plan->kernel[k]))
      return true;
  for (unsigned f = 0; f < plan->functions; f++)
    if (plan->function[f].serves_others &&
        bf_rewrite_names(plan->function[f].function, plan->variable[variable]->name))
      return true;
  return false;
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

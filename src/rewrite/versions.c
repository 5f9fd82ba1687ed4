/* Versions of functions: what kernels that hash alike share.
 *
 * A function that is only reached by kernels that are rewritten and hash alike is rewritten in its
 * place. Others are copied, once for each way of hashing, and stay for whoever else calls them. */
#include "rewrite/inner.h"

#include <string.h>

static bool is_rewritten(const bf_rewrite_kernel_plan *kernel) {
  return kernel->wanted && !kernel->refused;
}

/* Whether the function serves kernels that are rewritten and hash like this one, and nobody else.
 */
static bool is_own(const bf_rewrite_plan *plan, unsigned function,
                   const bf_rewrite_kernel_plan *kernel) {
  const bf_rewrite_function *own = &plan->function[function];
  if (own->function->is_entry)
    return true;
  if (own->serves_others)
    return false;
  for (unsigned k = 0; k < plan->kernels; k++) {
    const bf_rewrite_kernel_plan *other = &plan->kernel[k];
    if (other->reaches[function] &&
        (!is_rewritten(other) || !bf_rewrite_hash_alike(plan, other, kernel)))
      return false;
  }
  return true;
}

/* ---- Names ---- */

static bool has_item(const bf_rewrite_plan *plan, const char *name) {
  for (const bf_ptx_item *item = plan->module->first; item; item = item->next)
    if ((item->kind == BF_PTX_ITEM_FUNCTION && strcmp(item->function->name, name) == 0) ||
        (item->kind == BF_PTX_ITEM_VARIABLE && strcmp(item->variable->name, name) == 0) ||
        (item->kind == BF_PTX_ITEM_ALIAS && strcmp(item->alias[0], name) == 0))
      return true;
  return false;
}

static bool has_version(const bf_rewrite_plan *plan, const char *name) {
  for (unsigned f = 0; f < plan->functions; f++)
    for (const bf_rewrite_version *at = plan->function[f].versions; at; at = at->next)
      if (at->name && strcmp(at->name, name) == 0)
        return true;
  return false;
}

/* A name that nothing in the module has; NULL when memory is exhausted. */
static const char *choose_name(const bf_rewrite_plan *plan, const char *original) {
  size_t size = strlen(original) + 32;
  char *name = bf_arena_alloc(plan->arena, size);
  unsigned number = 0;
  if (!name)
    return NULL;
  do
    snprintf(name, size, "%s__bankfold_%u", original, ++number);
  while (has_item(plan, name) || has_version(plan, name));
  return name;
}

/* ---- Versions ---- */

const bf_rewrite_version *bf_rewrite_find_version(const bf_rewrite_plan *plan,
                                                  const bf_rewrite_function *function,
                                                  const bf_rewrite_kernel_plan *kernel) {
  for (const bf_rewrite_version *at = function->versions; at; at = at->next)
    if (bf_rewrite_hash_alike(plan, at->kernel, kernel))
      return at;
  return NULL;
}

/* Adds a version behind those that the function has. */
static int add_version(bf_rewrite_plan *plan, unsigned function,
                       const bf_rewrite_kernel_plan *kernel, bf_diagnostic *diagnostic) {
  bf_rewrite_function *own = &plan->function[function];
  bf_rewrite_version *made = bf_arena_alloc(plan->arena, sizeof *made);
  bf_rewrite_version **end = &own->versions;
  if (!made)
    return bf_no_memory(diagnostic);
  made->kernel = kernel;
  if (!is_own(plan, function, kernel) && !(made->name = choose_name(plan, own->function->name)))
    return bf_no_memory(diagnostic);
  while (*end)
    end = &(*end)->next;
  *end = made;
  return BF_OK;
}

int bf_rewrite_make_versions(bf_rewrite_plan *plan, bf_diagnostic *diagnostic) {
  for (unsigned k = 0; k < plan->kernels; k++)
    for (unsigned f = 0; is_rewritten(&plan->kernel[k]) && f < plan->functions; f++) {
      const bf_rewrite_function *own = &plan->function[f];
      if (plan->kernel[k].reaches[f] && own->is_involved &&
          !bf_rewrite_find_version(plan, own, &plan->kernel[k]))
        BF_TRY(add_version(plan, f, &plan->kernel[k], diagnostic));
    }
  for (unsigned f = 0; f < plan->functions; f++)
    for (bf_rewrite_version *at = plan->function[f].versions; at; at = at->next)
      BF_TRY(bf_rewrite_code_make(plan, &plan->function[f], at, diagnostic));
  return BF_OK;
}

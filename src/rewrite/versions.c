/* Versions of functions: what kernels that hash alike share.
 *
 * A function that is only reached by kernels that are rewritten and hash alike is rewritten in its
 * place. Others are copied, once for each way of hashing, and stay for whoever else calls them. */
#include "ptx/index.h"
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
  for (unsigned n = 0; n < own->kernels.count; n++) {
    const bf_rewrite_kernel_plan *other = &plan->kernel[own->kernels.item[n]];
    if (!is_rewritten(other) || !bf_rewrite_hash_alike(plan, other, kernel))
      return false;
  }
  return true;
}

/* ---- Names ---- */

/* Takes a name; *is_new: nothing had it. False when memory is exhausted. */
static bool take_name(bf_rewrite_plan *plan, const char *name, bool *is_new) {
  void **place = bf_table_at(&plan->taken_names, name, strlen(name));
  if (!place)
    return false;
  *is_new = !*place && !bf_table_find(&bf_ptx_index_of(plan->module)->names, name, strlen(name));
  *place = plan;
  return true;
}

/* A name that nothing in the module has, with that number or a larger one; NULL when memory is
 * exhausted. */
static const char *choose_name(bf_rewrite_plan *plan, const char *original, unsigned number) {
  size_t size = strlen(original) + 32;
  char *name = bf_arena_alloc(plan->arena, size);
  bool is_new = false;
  plan->taken_names.arena = plan->arena;
  if (!name)
    return NULL;
  for (; !is_new; number++) {
    snprintf(name, size, "%s__bankfold_%u", original, number);
    if (!take_name(plan, name, &is_new))
      return NULL;
  }
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
  unsigned number = 1;
  if (!made)
    return bf_no_memory(diagnostic);
  made->kernel = kernel;
  for (; *end; end = &(*end)->next)
    number += (*end)->name != NULL;
  if (!is_own(plan, function, kernel) &&
      !(made->name = choose_name(plan, own->function->name, number)))
    return bf_no_memory(diagnostic);
  *end = made;
  return BF_OK;
}

int bf_rewrite_make_versions(bf_rewrite_plan *plan, bf_diagnostic *diagnostic) {
  for (unsigned k = 0; k < plan->kernels; k++) {
    const bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    for (unsigned n = 0; is_rewritten(kernel) && n < kernel->reached.count; n++) {
      unsigned f = kernel->reached.item[n];
      const bf_rewrite_function *own = &plan->function[f];
      if (own->is_involved && !bf_rewrite_find_version(plan, own, kernel))
        BF_TRY(add_version(plan, f, kernel, diagnostic));
    }
  }
  for (unsigned f = 0; f < plan->functions; f++)
    for (bf_rewrite_version *at = plan->function[f].versions; at; at = at->next) {
      BF_TRY(bf_rewrite_code_make(plan, &plan->function[f], at, diagnostic));
      if (!bf_rewrite_pad_code(plan, &plan->function[f], at))
        return bf_no_memory(diagnostic);
    }
  return BF_OK;
}

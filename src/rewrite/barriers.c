/* mbarrier objects are touched by hardware that knows of no hash, so they stay where they are. That
 * is right where their variables hold nothing else: the variable is whole rows, no hashed access
 * goes there, and no hashed access to another variable leaves that one's rows. */
#include "rewrite/inner.h"

/* Whether any instruction of the function is on a barrier, or goes through the hash. */
static bool touches(const bf_rewrite_function *function) {
  for (uint32_t i = 0; i < function->function->instructions; i++)
    if (function->touch[i].kind == BF_TOUCH_BARRIER || bf_rewrite_is_hashed(function, i))
      return true;
  return false;
}

/* Origins are known inside one function only: the kernel must do all by itself. */
static bool is_alone(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel) {
  for (unsigned n = 0; n < kernel->reached.count; n++) {
    unsigned f = kernel->reached.item[n];
    if (f != kernel->index && touches(&plan->function[f]))
      return false;
  }
  return true;
}

/* The variables of barriers; BF_PTX_ORIGIN_UNKNOWN where some barrier may be anywhere. Open arrays
 * all start at the same place, so that their names tell nothing. */
static uint64_t find_barriers(const bf_rewrite_function *function, const bf_ptx_origins *origins) {
  uint64_t barriers = 0;
  for (uint32_t i = 0; i < function->function->instructions; i++)
    if (function->touch[i].kind == BF_TOUCH_BARRIER)
      barriers |= origins->of_address[i] ? origins->of_address[i] : BF_PTX_ORIGIN_UNKNOWN;
  for (unsigned i = 0; i < origins->variables; i++)
    if (barriers >> i & 1 && origins->variable[i]->bytes == 0)
      return BF_PTX_ORIGIN_UNKNOWN;
  return barriers;
}

/* Whether a hashed access may go to one of the variables, or to nobody knows where. */
static bool may_reach(const bf_rewrite_function *function, const bf_ptx_origins *origins,
                      uint64_t variables) {
  for (uint32_t i = 0; i < function->function->instructions; i++) {
    uint64_t origin = origins->of_address[i];
    if (!bf_rewrite_is_hashed(function, i))
      continue;
    if (origin == 0 && function->touch[i].kind == BF_TOUCH_SHARED)
      return true;
    if (origin & (variables | BF_PTX_ORIGIN_UNKNOWN))
      return true;
  }
  return false;
}

bool bf_rewrite_knows_barriers(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                               bool *knows) {
  const bf_rewrite_function *function = &plan->function[kernel->index];
  bool has_barriers = false;
  for (uint32_t i = 0; i < function->function->instructions; i++)
    has_barriers |= function->touch[i].kind == BF_TOUCH_BARRIER;
  *knows = false;
  if (!has_barriers || !is_alone(plan, kernel))
    return true;
  bf_ptx_origins *origins;
  if (bf_ptx_origins_create(plan->module, function->function, &origins, NULL) != BF_OK)
    return false;
  uint64_t barriers = find_barriers(function, origins);
  *knows = !(barriers & BF_PTX_ORIGIN_UNKNOWN) && !may_reach(function, origins, barriers);
  bf_ptx_origins_free(origins);
  return true;
}

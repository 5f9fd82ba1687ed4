/* Shared variables of a hashed kernel: whole rows, each starting with one, so that a row belongs to
 * one variable and the hash, which moves words inside rows, never leaves it. */
#include "rewrite/inner.h"

static unsigned element_bytes(const bf_ptx_variable *variable) {
  unsigned bytes = bf_ptx_type_bytes(variable->type) * (variable->vector ? variable->vector : 1);
  return bytes ? bytes : 1;
}

/* As declared, or the element's own. */
static unsigned own_alignment(const bf_ptx_variable *variable) {
  return variable->alignment_bytes ? variable->alignment_bytes : element_bytes(variable);
}

uint64_t bf_rewrite_append(uint64_t end_bytes, const bf_ptx_variable *variable) {
  uint64_t alignment = own_alignment(variable);
  return (end_bytes + alignment - 1) / alignment * alignment + variable->bytes;
}

unsigned bf_rewrite_alignment(const bf_rewrite_plan *plan, unsigned variable, bool is_padded) {
  unsigned own = own_alignment(plan->variable[variable]);
  unsigned wanted = is_padded ? plan->aligned_bytes[variable] : 0;
  return own > wanted ? own : wanted;
}

bf_ptx_variable bf_rewrite_padded(const bf_rewrite_plan *plan, unsigned number) {
  const bf_ptx_variable *variable = plan->variable[number];
  bf_ptx_variable padded = *variable;
  padded.alignment_bytes = bf_rewrite_alignment(plan, number, true);
  if (variable->linkage == BF_PTX_WEAK)
    padded.linkage = BF_PTX_PRIVATE;
  uint64_t over = variable->bytes % BF_REWRITE_ROW_BYTES;
  if (over == 0)
    return padded;
  padded.bytes += BF_REWRITE_ROW_BYTES - over;
  padded.dimensions = 1; /* elements are powers of two of bytes, and divide a row */
  padded.dimension[0] = padded.bytes / element_bytes(variable);
  return padded;
}

bf_ptx_variable bf_rewrite_declared(const bf_rewrite_plan *plan,
                                    const bf_rewrite_kernel_plan *kernel, unsigned variable) {
  const bf_rewrite_use *use = bf_rewrite_use_of(kernel, variable);
  if (use && use->padding && plan->variable[variable]->bytes)
    return bf_rewrite_lengthened(plan->variable[variable], use->padding);
  return bf_rewrite_pads(plan, kernel, variable) ? bf_rewrite_padded(plan, variable)
                                                 : *plan->variable[variable];
}

/* ---- Alignment to more than rows ---- */

enum {
  MOST_ALIGNMENT_BYTES = 1024, /* what counts of an alignment (alignment.c) */
  MOST_APART_BYTES = 4096,     /* what counts between two variables (siblings.c) */
  MOST_USERS = 32,             /* of a variable, and variables of each: others stay as they are */
};

/* Whether some kernel wants the variable as whole rows. */
static bool is_wanted(const bf_rewrite_plan *plan, unsigned variable) {
  const bf_rewrite_numbers *users = &plan->users[variable];
  for (unsigned n = 0; n < users->count; n++)
    if (plan->kernel[users->item[n]].wanted &&
        bf_rewrite_pads(plan, &plan->kernel[users->item[n]], variable))
      return true;
  return false;
}

/* Bytes of the variables of a kernel, in the order of the module, as ptxas puts them; all_ends: the
 * sum of where each of them ends, which is larger where one has moved. */
static uint64_t total_bytes(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                            bool all_ends) {
  uint64_t end_bytes = 0, sum_bytes = 0;
  for (unsigned i = 0; i < kernel->uses; i++) {
    const bf_rewrite_use *use = &kernel->use[i];
    bf_ptx_variable placed = *plan->variable[use->variable];
    if (use->padding && placed.bytes)
      placed = bf_rewrite_lengthened(plan->variable[use->variable], use->padding);
    else if (is_wanted(plan, use->variable))
      placed = bf_rewrite_padded(plan, use->variable);
    end_bytes = bf_rewrite_append(end_bytes, &placed);
    sum_bytes += end_bytes;
  }
  return all_ends ? sum_bytes : end_bytes;
}

/* Whether all kernels that use the variable need as much memory as with what it is aligned to now,
 * and, where it is aligned for the sake of others, nothing moves. */
static bool is_free(bf_rewrite_plan *plan, unsigned variable, unsigned aligned_bytes) {
  const bf_rewrite_numbers *users = &plan->users[variable];
  unsigned before = plan->aligned_bytes[variable];
  bool stays = aligned_bytes > MOST_ALIGNMENT_BYTES;
  for (unsigned n = 0; n < users->count; n++) {
    const bf_rewrite_kernel_plan *kernel = &plan->kernel[users->item[n]];
    uint64_t now = total_bytes(plan, kernel, stays);
    plan->aligned_bytes[variable] = aligned_bytes;
    uint64_t then = total_bytes(plan, kernel, stays);
    plan->aligned_bytes[variable] = before;
    if (then > now)
      return false;
  }
  return true;
}

/* Whether few kernels with few variables use the variable, and nobody else. */
static bool is_simple(const bf_rewrite_plan *plan, unsigned variable) {
  const bf_rewrite_numbers *users = &plan->users[variable];
  if (users->count > MOST_USERS || plan->is_named_outside[variable])
    return false;
  for (unsigned n = 0; n < users->count; n++)
    if (plan->kernel[users->item[n]].uses > MOST_USERS)
      return false;
  return true;
}

/* Whether a kernel that uses the variable has others that are static too. */
static bool has_siblings(const bf_rewrite_plan *plan, unsigned variable) {
  const bf_rewrite_numbers *users = &plan->users[variable];
  for (unsigned n = 0; n < users->count; n++)
    for (unsigned i = 0; i < plan->kernel[users->item[n]].uses; i++) {
      unsigned other = plan->kernel[users->item[n]].use[i].variable;
      if (other != variable && plan->variable[other]->bytes > MOST_ALIGNMENT_BYTES)
        return true;
    }
  return false;
}

/* Aligns a static variable to as much as is free, and no more than it is large. */
static void align_static(bf_rewrite_plan *plan, unsigned variable) {
  unsigned bytes = has_siblings(plan, variable) ? MOST_APART_BYTES : MOST_ALIGNMENT_BYTES;
  while (bytes > BF_REWRITE_ROW_BYTES && bytes / 2 >= plan->variable[variable]->bytes)
    bytes /= 2;
  while (bytes > BF_REWRITE_ROW_BYTES && !is_free(plan, variable, bytes))
    bytes /= 2;
  plan->aligned_bytes[variable] = bytes;
}

bool bf_rewrite_align(bf_rewrite_plan *plan) {
  bool has_static = false;
  plan->aligned_bytes =
      bf_arena_alloc(plan->arena, ((size_t)plan->variables + 1) * sizeof *plan->aligned_bytes);
  if (!plan->aligned_bytes)
    return false;
  for (unsigned i = 0; i < plan->variables; i++) {
    plan->aligned_bytes[i] = BF_REWRITE_ROW_BYTES;
    has_static |= plan->variable[i]->bytes > 0;
  }
  if (plan->is_examination)
    return true;
  for (unsigned i = 0; i < plan->variables; i++)
    if (plan->variable[i]->bytes && is_simple(plan, i) && is_wanted(plan, i))
      align_static(plan, i);
    else if (!has_static) /* dynamic shared memory starts where the block's does */
      plan->aligned_bytes[i] = MOST_ALIGNMENT_BYTES;
  return true;
}

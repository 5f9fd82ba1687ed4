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

unsigned bf_rewrite_alignment(const bf_ptx_variable *variable, bool is_padded) {
  unsigned own = own_alignment(variable);
  return own > BF_REWRITE_ROW_BYTES || !is_padded ? own : BF_REWRITE_ROW_BYTES;
}

bf_ptx_variable bf_rewrite_padded(const bf_ptx_variable *variable) {
  bf_ptx_variable padded = *variable;
  padded.alignment_bytes = bf_rewrite_alignment(variable, true);
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
  return bf_rewrite_pads(plan, kernel, variable) ? bf_rewrite_padded(plan->variable[variable])
                                                 : *plan->variable[variable];
}

/* How much shared memory a kernel declares: what it reaches by name, and what the functions that it
 * reaches declare. A rewritten kernel must not need more than a kernel may have. */
#include "verify/inner.h"

/* What ptxas lets a kernel declare. Published: CUDA C++ Programming Guide, technical specifications
 * per compute capability. */
enum { MOST_STATIC_BYTES = 48 * 1024 };

/* Where shared memory ends when the variable follows what ends there. */
static uint64_t append(uint64_t end, const bf_ptx_variable *variable) {
  uint64_t alignment = (uint64_t)1 << bf_verify_variable_zero_bits(variable);
  return variable->space == BF_PTX_SPACE_SHARED
             ? (end + alignment - 1) / alignment * alignment + variable->bytes
             : end;
}

static uint64_t append_statements(uint64_t end, const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      end = append_statements(end, statement->scope);
    else if (statement->kind == BF_PTX_STATEMENT_VARIABLE)
      end = append(end, statement->variable);
  return end;
}

/* Whether one of the functions names the variable. */
static bool is_named(const bf_verify_reached *at, const bf_ptx_variable *variable) {
  for (; at; at = at->next)
    if (bf_verify_names(at->function, variable))
      return true;
  return false;
}

/* Bytes that a kernel of a module declares. */
static int count_bytes(const bf_ptx_module *module, const bf_ptx_function *kernel, bf_arena *arena,
                       uint64_t *bytes) {
  bf_verify_reached *reached;
  *bytes = 0;
  BF_TRY(bf_verify_reach(kernel, arena, &reached));
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE && item->variable->space == BF_PTX_SPACE_SHARED &&
        is_named(reached, item->variable))
      *bytes = append(*bytes, item->variable);
  for (const bf_verify_reached *at = reached; at; at = at->next)
    *bytes = append_statements(*bytes, at->function->body);
  return BF_OK;
}

int bf_verify_fits(const bf_ptx_module *original, const bf_ptx_module *rewritten,
                   const bf_ptx_function *kernel, bf_arena *arena, bool *fits) {
  const bf_ptx_function *twin = bf_ptx_find(rewritten, kernel->name);
  uint64_t before = 0, after = 0;
  if (twin)
    BF_TRY(count_bytes(rewritten, twin, arena, &after));
  if (after > MOST_STATIC_BYTES)
    BF_TRY(count_bytes(original, kernel, arena, &before));
  *fits = after <= MOST_STATIC_BYTES || before > MOST_STATIC_BYTES;
  return BF_OK;
}

/* How much shared memory a kernel needs: the variables that it, or a function it reaches, names. A
 * rewritten kernel must not need more than a kernel may have. */
#include "verify/inner.h"

/* What ptxas lets a kernel declare. Published: CUDA C++ Programming Guide, technical specifications
 * per compute capability. */
enum { MOST_STATIC_BYTES = 48 * 1024 };

/* Where shared memory ends when the variable follows what ends there. */
static uint64_t append(uint64_t end, const bf_ptx_variable *variable) {
  uint64_t alignment = (uint64_t)1 << bf_verify_variable_zero_bits(variable);
  return (end + alignment - 1) / alignment * alignment + variable->bytes;
}

/* A variable that a kernel names, and what comes next in a list. */
typedef struct named {
  struct named *next;
  const bf_ptx_variable *variable;
} named;

/* Adds a variable to the list, unless it is there. */
static int add_variable(bf_arena *arena, named **list, const bf_ptx_variable *variable) {
  for (const named *at = *list; at; at = at->next)
    if (at->variable == variable)
      return BF_OK;
  named *made = bf_arena_alloc(arena, sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  *made = (named){*list, variable};
  *list = made;
  return BF_OK;
}

/* The same for all that an operand, or a part of it, names. */
static int add_operand(bf_arena *arena, named **list, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
      operand->symbol->variable->space == BF_PTX_SPACE_SHARED)
    return add_variable(arena, list, operand->symbol->variable);
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      BF_TRY(add_operand(arena, list, &operand->item[i]));
  return BF_OK;
}

/* Bytes of the variables that a kernel names, whether the module declares them or a function. */
static int count_bytes(const bf_ptx_function *kernel, bf_arena *arena, uint64_t *bytes) {
  bf_verify_reached *reached;
  named *list = NULL;
  *bytes = 0;
  BF_TRY(bf_verify_reach(kernel, arena, &reached));
  for (const bf_verify_reached *at = reached; at; at = at->next)
    for (uint32_t i = 0; i < at->function->instructions; i++)
      for (unsigned j = 0; j < at->function->instruction[i]->operands; j++)
        BF_TRY(add_operand(arena, &list, &at->function->instruction[i]->operand[j]));
  for (; list; list = list->next)
    *bytes = append(*bytes, list->variable);
  return BF_OK;
}

int bf_verify_fits(const bf_ptx_module *rewritten, const bf_ptx_function *kernel, bf_arena *arena,
                   bool *fits) {
  const bf_ptx_function *twin = bf_ptx_find(rewritten, kernel->name);
  uint64_t before = 0, after = 0;
  if (twin)
    BF_TRY(count_bytes(twin, arena, &after));
  if (after > MOST_STATIC_BYTES)
    BF_TRY(count_bytes(kernel, arena, &before));
  *fits = after <= MOST_STATIC_BYTES || before > MOST_STATIC_BYTES;
  return BF_OK;
}

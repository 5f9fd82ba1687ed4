/* What instructions on shared memory are in traces. */
#include "analyze/walk.h"

static bool reads_register(const bf_ptx_operand *operand, uint32_t number) {
  uint32_t other;
  if (bf_operand_register(operand, &other))
    return other == number;
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (reads_register(&operand->item[i], number))
      return true;
  return false;
}

/* Whether something reads the result of an atomic; ptxas makes a reduction of one that is not
 * read. */
static bool is_result_used(const bf_ptx_function *function, const bf_ptx_instruction *atomic) {
  uint32_t number;
  if (atomic->opcode != BF_PTX_OP_ATOM || atomic->operand[0].kind == BF_PTX_SINK)
    return false;
  if (!bf_operand_register(&atomic->operand[0], &number))
    return true;
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    bool writes = bf_ptx_op_get(instruction->opcode)->operands[0] == 'd';
    if (instruction->guard && reads_register(instruction->guard, number))
      return true;
    for (unsigned k = writes ? 1 : 0; k < instruction->operands; k++)
      if (reads_register(&instruction->operand[k], number))
        return true;
  }
  return false;
}

bool bf_walk_kind(const bf_ptx_function *function, const bf_ptx_instruction *instruction, bf_op *op,
                  unsigned *width_bytes) {
  return bf_ptx_access_kind(instruction, is_result_used(function, instruction), op, width_bytes);
}

uint32_t bf_walk_counted_lanes(const bf_ptx_instruction *instruction) {
  if (instruction->opcode != BF_PTX_OP_LDMATRIX && instruction->opcode != BF_PTX_OP_STMATRIX)
    return UINT32_MAX;
  if (bf_ptx_has(instruction, "x4"))
    return UINT32_MAX;
  return bf_ptx_has(instruction, "x2") ? 0xffff : 0xff;
}

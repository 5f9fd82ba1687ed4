/* What instructions on shared memory are called in traces, as the emulator calls them. */
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

/* How an atomic operation counts. */
static bf_op atomic_op(const bf_ptx_function *function, const bf_ptx_instruction *instruction) {
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  bool returns = is_result_used(function, instruction);
  unsigned value = instruction->opcode == BF_PTX_OP_ATOM ? 2 : 1;
  bool adds_one = value < instruction->operands &&
                  instruction->operand[value].kind == BF_PTX_INTEGER &&
                  instruction->operand[value].bits == 1;
  if (bf_ptx_type_bytes(type) == 8)
    return type == BF_PTX_F64 ? BF_OP_F64 : BF_OP_ADD64;
  if (type == BF_PTX_F32)
    return returns ? BF_OP_FATOM : BF_OP_REDF;
  if (type == BF_PTX_F16X2 || type == BF_PTX_BF16X2)
    return BF_OP_F16X2;
  if (bf_ptx_has(instruction, "cas"))
    return BF_OP_CAS;
  if (bf_ptx_has(instruction, "exch"))
    return BF_OP_EXCH;
  if (bf_ptx_has(instruction, "inc") || bf_ptx_has(instruction, "dec"))
    return BF_OP_INC;
  if (!bf_ptx_has(instruction, "add"))
    return returns ? BF_OP_MAX : BF_OP_REDMAX;
  return returns ? BF_OP_ATOM : adds_one ? BF_OP_RED : BF_OP_REDV;
}

static bool matrix_op(const bf_ptx_instruction *instruction, bf_op *op) {
  bool stores = instruction->opcode == BF_PTX_OP_STMATRIX;
  if (stores) {
    *op = bf_ptx_has(instruction, "x4") ? BF_OP_STMATRIX4 : BF_OP_ST;
    return true;
  }
  if (bf_ptx_has(instruction, "x4"))
    *op = bf_ptx_has(instruction, "trans") ? BF_OP_LDMATRIXT4 : BF_OP_LDMATRIX4;
  else
    *op = bf_ptx_has(instruction, "x2") ? BF_OP_LDMATRIX2 : BF_OP_LDMATRIX1;
  return true;
}

static bool copy_op(const bf_ptx_instruction *instruction, bf_op *op, unsigned *width) {
  if (!bf_ptx_has(instruction, "async") || bf_ptx_has(instruction, "bulk") ||
      instruction->operands < 3 || instruction->operand[2].kind != BF_PTX_INTEGER)
    return false;
  *width = (unsigned)instruction->operand[2].bits;
  *op = *width == 4 ? BF_OP_CP4 : *width == 8 ? BF_OP_CP8 : BF_OP_CP16;
  return *width == 4 || *width == 8 || *width == 16;
}

bool bf_walk_kind(const bf_ptx_function *function, const bf_ptx_instruction *instruction, bf_op *op,
                  unsigned *width) {
  unsigned bytes = instruction->types ? bf_ptx_type_bytes(instruction->type[0]) : 0;
  *width = bytes * (instruction->vector ? instruction->vector : 1);
  bool is_plain = !bf_ptx_has(instruction, "async");
  switch (instruction->opcode) {
  case BF_PTX_OP_LD:
  case BF_PTX_OP_LDU:
    *op = BF_OP_LD;
    break;
  case BF_PTX_OP_ST:
    *op = BF_OP_ST;
    break;
  case BF_PTX_OP_ATOM:
  case BF_PTX_OP_RED:
    *op = atomic_op(function, instruction);
    return is_plain && *width == bf_op_fixed_width(*op);
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
    *width = 16;
    return matrix_op(instruction, op);
  case BF_PTX_OP_CP:
    return copy_op(instruction, op, width);
  default:
    return false;
  }
  return is_plain && (*width == 1 || *width == 2 || *width == 4 || *width == 8 || *width == 16);
}

uint32_t bf_walk_counted_lanes(const bf_ptx_instruction *instruction) {
  if (instruction->opcode != BF_PTX_OP_LDMATRIX && instruction->opcode != BF_PTX_OP_STMATRIX)
    return UINT32_MAX;
  if (bf_ptx_has(instruction, "x4"))
    return UINT32_MAX;
  return bf_ptx_has(instruction, "x2") ? 0xffff : 0xff;
}

/* Which memory instructions access, and what those on shared memory are called in traces.
 *
 * Where an instruction names no space but a variable, ptxas of CUDA 13.0 takes the variable's: LDS,
 * STS and ATOMS for shared ones, LDL and STL for local ones, LDG, STG and ATOMG for global ones,
 * whatever the width, the order and the operation; ldmatrix and mbarrier are on shared memory
 * anyway. tests/check/spaces_ptxas.py has the table. Constants and parameters it refuses there.
 *
 * Names are those of what ptxas makes of them, found with ptxas of CUDA 13.0 for sm_90 and
 * addresses that differ per lane (docs/merging.md):
 * - Integers of 32 bits are one instruction, ATOMS. Adding the constant 1 to .u32 without using the
 *   result is another, ATOMS.POPC.INC, which .s32 and other constants are not.
 * - exch and cas of 64 bits are one instruction; all other operations of 64 bits are a load of 8
 *   bytes and a loop of ATOMS.CAST.SPIN. add64 stands for all of those.
 * - f32 and pairs of halves are a load of 4 bytes and a loop of ATOMS.CAST.SPIN.
 * - Single halves and cas.b16 are a load of the whole word and a loop of ATOMS.CAS: as the pair
 *   that they are part of.
 * - exch and cas of 128 bits are one instruction, of which nothing was measured.
 * - Vectors are refused: only global memory has them. */
#include "ptx/access_kind.h"

/* An atomic of one element. */
static bool atomic_kind(const bf_ptx_instruction *instruction, bool is_result_used, bf_op *op,
                        unsigned *width) {
  bf_ptx_type type = instruction->type[0];
  unsigned value = instruction->opcode == BF_PTX_OP_ATOM ? 2 : 1;
  bool adds_one = type == BF_PTX_U32 && value < instruction->operands &&
                  instruction->operand[value].kind == BF_PTX_INTEGER &&
                  instruction->operand[value].bits == 1;
  unsigned bytes = bf_ptx_type_bytes(type);
  *width = bytes == 2 ? 4 : bytes;
  if (bytes == 8)
    *op = type == BF_PTX_F64                ? BF_OP_F64
          : bf_ptx_has(instruction, "cas")  ? BF_OP_CAS64
          : bf_ptx_has(instruction, "exch") ? BF_OP_EXCH64
                                            : BF_OP_ADD64;
  else if (bytes == 2 || type == BF_PTX_F16X2 || type == BF_PTX_BF16X2)
    *op = BF_OP_F16X2;
  else if (type == BF_PTX_F32)
    *op = is_result_used ? BF_OP_FATOM : BF_OP_REDF;
  else if (bf_ptx_has(instruction, "cas"))
    *op = BF_OP_CAS;
  else if (bf_ptx_has(instruction, "exch"))
    *op = BF_OP_EXCH;
  else if (bf_ptx_has(instruction, "inc") || bf_ptx_has(instruction, "dec"))
    *op = BF_OP_INC;
  else if (!bf_ptx_has(instruction, "add"))
    *op = is_result_used ? BF_OP_MAX : BF_OP_REDMAX;
  else
    *op = is_result_used ? BF_OP_ATOM : adds_one ? BF_OP_RED : BF_OP_REDV;
  return *width == 4 || *width == 8;
}

/* ldmatrix and stmatrix; each lane gives the address of a row. */
static bf_op matrix_kind(const bf_ptx_instruction *instruction) {
  bool has_four = bf_ptx_has(instruction, "x4");
  if (instruction->opcode == BF_PTX_OP_STMATRIX)
    return has_four ? BF_OP_STMATRIX4 : BF_OP_ST;
  if (has_four)
    return bf_ptx_has(instruction, "trans") ? BF_OP_LDMATRIXT4 : BF_OP_LDMATRIX4;
  return bf_ptx_has(instruction, "x2") ? BF_OP_LDMATRIX2 : BF_OP_LDMATRIX1;
}

/* cp.async. */
static bool copy_kind(const bf_ptx_instruction *instruction, bf_op *op, unsigned *width) {
  if (!bf_ptx_has(instruction, "async") || bf_ptx_has(instruction, "bulk") ||
      instruction->operands < 3 || instruction->operand[2].kind != BF_PTX_INTEGER)
    return false;
  uint64_t bytes = instruction->operand[2].bits;
  *op = bytes == 4 ? BF_OP_CP4 : bytes == 8 ? BF_OP_CP8 : BF_OP_CP16;
  *width = (unsigned)bytes;
  return bytes == 4 || bytes == 8 || bytes == 16;
}

/* The variable that an address is the name of, or NULL. */
static const bf_ptx_variable *variable_of(const bf_ptx_operand *address) {
  const bf_ptx_operand *base =
      address->kind == BF_PTX_ADDRESS && address->count ? &address->item[0] : address;
  bool is_variable = base->kind == BF_PTX_SYMBOL && base->symbol->kind == BF_PTX_SYMBOL_VARIABLE;
  return is_variable ? base->symbol->variable : NULL;
}

bf_ptx_space bf_ptx_address_space(const bf_ptx_instruction *instruction,
                                  const bf_ptx_operand *address) {
  const bf_ptx_variable *variable = variable_of(address);
  if (instruction->space != BF_PTX_SPACE_NONE || !variable)
    return instruction->space;
  return variable->space;
}

bf_ptx_space bf_ptx_access_space(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS && instruction->operand[i].count)
      return bf_ptx_address_space(instruction, &instruction->operand[i]);
  return instruction->space;
}

bool bf_ptx_is_shared_by_name(const bf_ptx_instruction *instruction) {
  return instruction->space == BF_PTX_SPACE_NONE &&
         bf_ptx_access_space(instruction) == BF_PTX_SPACE_SHARED;
}

bool bf_ptx_access_kind(const bf_ptx_instruction *instruction, bool is_result_used, bf_op *op,
                        unsigned *width_bytes) {
  unsigned bytes = instruction->types ? bf_ptx_type_bytes(instruction->type[0]) : 0;
  bool is_plain = bytes && !bf_ptx_has(instruction, "async");
  *width_bytes = bytes * instruction->vector;
  switch (instruction->opcode) {
  case BF_PTX_OP_LD:
  case BF_PTX_OP_LDU:
  case BF_PTX_OP_ST:
    *op = instruction->opcode == BF_PTX_OP_ST ? BF_OP_ST : BF_OP_LD;
    return is_plain && *width_bytes <= 16 && !(*width_bytes & (*width_bytes - 1));
  case BF_PTX_OP_ATOM:
  case BF_PTX_OP_RED:
    return is_plain && instruction->vector == 1 &&
           atomic_kind(instruction, is_result_used, op, width_bytes);
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
    *op = matrix_kind(instruction);
    *width_bytes = 16;
    return true;
  case BF_PTX_OP_CP:
    return copy_kind(instruction, op, width_bytes);
  default:
    return false;
  }
}

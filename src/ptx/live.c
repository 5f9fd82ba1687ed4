/* Which registers matter: those read by an instruction that has an effect, or by one that computes
 * a register that matters. The order of instructions is not looked at. */
#include "ptx/flow.h"

/* Opcodes that may be left out when their result is not read. */
static bool opcode_is_pure(bf_ptx_opcode opcode) {
  switch (opcode) {
  case BF_PTX_OP_ABS:
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_ADDC:
  case BF_PTX_OP_AND:
  case BF_PTX_OP_BFE:
  case BF_PTX_OP_BFI:
  case BF_PTX_OP_BFIND:
  case BF_PTX_OP_BMSK:
  case BF_PTX_OP_BREV:
  case BF_PTX_OP_CLZ:
  case BF_PTX_OP_CNOT:
  case BF_PTX_OP_COPYSIGN:
  case BF_PTX_OP_COS:
  case BF_PTX_OP_CVT:
  case BF_PTX_OP_CVTA:
  case BF_PTX_OP_DIV:
  case BF_PTX_OP_DP2A:
  case BF_PTX_OP_DP4A:
  case BF_PTX_OP_EX2:
  case BF_PTX_OP_FMA:
  case BF_PTX_OP_FNS:
  case BF_PTX_OP_LG2:
  case BF_PTX_OP_LOP3:
  case BF_PTX_OP_MAD:
  case BF_PTX_OP_MAD24:
  case BF_PTX_OP_MADC:
  case BF_PTX_OP_MAX:
  case BF_PTX_OP_MIN:
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_MUL:
  case BF_PTX_OP_MUL24:
  case BF_PTX_OP_NEG:
  case BF_PTX_OP_NOT:
  case BF_PTX_OP_OR:
  case BF_PTX_OP_POPC:
  case BF_PTX_OP_PRMT:
  case BF_PTX_OP_RCP:
  case BF_PTX_OP_REM:
  case BF_PTX_OP_RSQRT:
  case BF_PTX_OP_SAD:
  case BF_PTX_OP_SELP:
  case BF_PTX_OP_SET:
  case BF_PTX_OP_SETP:
  case BF_PTX_OP_SHF:
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_SHR:
  case BF_PTX_OP_SIN:
  case BF_PTX_OP_SLCT:
  case BF_PTX_OP_SQRT:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_SUBC:
  case BF_PTX_OP_SZEXT:
  case BF_PTX_OP_TANH:
  case BF_PTX_OP_TESTP:
  case BF_PTX_OP_XOR:
    return true;
  default:
    return false;
  }
}

bool bf_ptx_is_pure(const bf_ptx_instruction *instruction) {
  return opcode_is_pure(instruction->opcode);
}

/* A load nobody needs may be left out too. */
static bool can_vanish(const bf_ptx_instruction *instruction) {
  bool is_load = instruction->opcode == BF_PTX_OP_LD && !bf_ptx_has(instruction, "volatile");
  return instruction->operands > 0 && (is_load || bf_ptx_is_pure(instruction));
}

/* Whether the operand is or holds a register that matters. */
static bool any_live(const bool *live, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER)
    return live[operand->registers->first + operand->index];
  if (operand->kind != BF_PTX_VECTOR && operand->kind != BF_PTX_PAIR)
    return false;
  for (uint32_t i = 0; i < operand->count; i++)
    if (any_live(live, &operand->item[i]))
      return true;
  return false;
}

/* Marks every register in the operand; whether one was new. */
static bool mark(bool *live, const bf_ptx_operand *operand) {
  bool changed = false;
  if (operand->kind == BF_PTX_REGISTER) {
    bool *one = &live[operand->registers->first + operand->index];
    changed = !*one;
    *one = true;
  } else if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
             operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      changed |= mark(live, &operand->item[i]);
  }
  return changed;
}

/* Marks what an instruction reads where that matters; whether one was new. */
static bool follow(bool *live, const bf_ptx_instruction *instruction) {
  bool vanishes = can_vanish(instruction), changed = false;
  if (vanishes && !any_live(live, &instruction->operand[0]))
    return false;
  for (unsigned i = vanishes ? 1 : 0; i < instruction->operands; i++)
    changed |= mark(live, &instruction->operand[i]);
  if (instruction->guard)
    changed |= mark(live, instruction->guard);
  return changed;
}

bool *bf_ptx_live_registers(const bf_ptx_function *function, bf_arena *arena) {
  bool *live = bf_arena_alloc(arena, (size_t)function->registers + 1);
  if (!live)
    return NULL;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = function->instructions; i-- > 0;)
      changed |= follow(live, function->instruction[i]);
  }
  return live;
}

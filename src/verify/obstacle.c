/* What an instruction does to shared memory, and what no hashed kernel may hold.
 *
 * What is not known here and names shared memory, by .shared or by a variable in its address,
 * stands against the kernel. */
#include "verify/inner.h"

#include <string.h>

/* Whether an instruction on memory names a space other than shared. */
static bool is_elsewhere(const bf_ptx_instruction *instruction) {
  return instruction->space != BF_PTX_SPACE_NONE && instruction->space != BF_PTX_SPACE_SHARED;
}

/* Whether an operand is an address that starts with the name of a shared variable. */
static bool is_by_name(const bf_ptx_operand *operand) {
  if (operand->kind != BF_PTX_ADDRESS || !operand->count)
    return false;
  const bf_ptx_operand *base = &operand->item[0];
  return base->kind == BF_PTX_SYMBOL && base->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
         base->symbol->variable->space == BF_PTX_SPACE_SHARED;
}

bool bf_verify_is_implied(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++)
    if (is_by_name(&instruction->operand[i]))
      return instruction->space == BF_PTX_SPACE_NONE;
  return false;
}

/* ---- What sees how shared memory is laid out ---- */

/* Special registers whose value changes with the size of shared memory, also inside lists. */
static const char *special_obstacle(const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++) {
      const char *obstacle = special_obstacle(&operand->item[i]);
      if (obstacle)
        return obstacle;
    }
  if (operand->kind != BF_PTX_SPECIAL)
    return NULL;
  switch (operand->special) {
  case BF_PTX_SPECIAL_RESERVED_SMEM_BEGIN:
  case BF_PTX_SPECIAL_RESERVED_SMEM_END:
  case BF_PTX_SPECIAL_RESERVED_SMEM_CAP:
  case BF_PTX_SPECIAL_RESERVED_SMEM:
    return "the reserved part of shared memory";
  case BF_PTX_SPECIAL_TOTAL_SMEM_SIZE:
  case BF_PTX_SPECIAL_AGGR_SMEM_SIZE:
  case BF_PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
    return "the size of shared memory in a register";
  default:
    return NULL;
  }
}

const char *bf_verify_sees_layout(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++) {
    const char *obstacle = special_obstacle(&instruction->operand[i]);
    if (obstacle)
      return obstacle;
  }
  return NULL;
}

/* ---- Calls ---- */

const bf_ptx_function *bf_verify_callee(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; instruction->opcode == BF_PTX_OP_CALL && i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_SYMBOL &&
        instruction->operand[i].symbol->kind == BF_PTX_SYMBOL_FUNCTION)
      return instruction->operand[i].symbol->function;
  return NULL;
}

/* Functions of the driver that leave shared memory alone, unless they are given its address. */
static bool is_harmless(const char *name) {
  static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i]))
      return true;
  return false;
}

/* Calls must lead to functions that can be judged. */
static const char *call_obstacle(const bf_ptx_instruction *instruction, bool makes_generic) {
  const bf_ptx_function *callee = bf_verify_callee(instruction);
  if (!callee || instruction->call_prototype)
    return "a call through a register";
  if (callee->is_entry)
    return "a call of a kernel";
  if (callee->has_body)
    return NULL;
  if (!is_harmless(callee->name))
    return "a call of a function that is not in the module";
  return makes_generic ? "a call that may be given a generic address of shared memory" : NULL;
}

/* ---- Instructions ---- */

/* Copies in bulk know of no hash; those that only fetch into a cache or wait touch nothing. */
static const char *copy_obstacle(const bf_ptx_instruction *instruction) {
  if (!bf_ptx_has(instruction, "bulk") && !bf_ptx_has(instruction, "reduce"))
    return NULL;
  if (bf_ptx_has(instruction, "prefetch") || bf_ptx_has(instruction, "commit_group") ||
      bf_ptx_has(instruction, "wait_group"))
    return NULL;
  return "a bulk copy";
}

/* Whether an instruction that knows of no hash may be given an address of shared memory. */
static bool may_be_shared(const bf_ptx_instruction *instruction, bool makes_generic) {
  return !is_elsewhere(instruction) &&
         (makes_generic || instruction->space == BF_PTX_SPACE_SHARED ||
          bf_verify_is_implied(instruction));
}

/* Whether a modifier is .shared, or .shared::cta and the like. */
static bool says_shared(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (!strcmp(instruction->modifier[i], "shared") ||
        !strncmp(instruction->modifier[i], "shared::", 8))
      return true;
  return false;
}

/* Whether the instruction names shared memory in a way that is not understood. */
static bool is_strange(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_CVTA:
  case BF_PTX_OP_ISSPACEP:
  case BF_PTX_OP_FENCE:
  case BF_PTX_OP_MEMBAR:
    return false;
  default:
    return !bf_verify_shared_address(instruction) &&
           (says_shared(instruction) || bf_verify_is_implied(instruction));
  }
}

const char *bf_verify_obstacle(const bf_ptx_instruction *instruction, bool makes_generic) {
  const char *obstacle = bf_verify_sees_layout(instruction);
  if (obstacle || bf_ptx_has(instruction, "shared::cluster"))
    return obstacle ? obstacle : "shared memory of a cluster";
  switch (instruction->opcode) {
  case BF_PTX_OP_CALL:
    return call_obstacle(instruction, makes_generic);
  case BF_PTX_OP_CP:
    obstacle = copy_obstacle(instruction);
    break;
  case BF_PTX_OP_ST:
  case BF_PTX_OP_RED:
    obstacle = bf_ptx_has(instruction, "async") ? "an asynchronous store" : NULL;
    break;
  case BF_PTX_OP_WGMMA:
  case BF_PTX_OP_TCGEN05:
    return "matrix descriptors";
  case BF_PTX_OP_TENSORMAP:
    if (!says_shared(instruction) && !may_be_shared(instruction, makes_generic))
      return NULL;
    return "an instruction that works on shared memory in its own way";
  case BF_PTX_OP_CLUSTERLAUNCHCONTROL:
  case BF_PTX_OP_GETCTARANK:
  case BF_PTX_OP_MAPA:
    return "an instruction that works on shared memory in its own way";
  default:
    break;
  }
  if (!obstacle && is_strange(instruction))
    obstacle = "an instruction on shared memory that is not known";
  return obstacle;
}

const bf_ptx_operand *bf_verify_shared_address(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_WMMA:
    if (!bf_verify_is_tile(instruction))
      return NULL;
    break;
  case BF_PTX_OP_LD:
  case BF_PTX_OP_LDU:
  case BF_PTX_OP_ST:
  case BF_PTX_OP_ATOM:
  case BF_PTX_OP_RED:
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
  case BF_PTX_OP_MBARRIER:
    break;
  case BF_PTX_OP_CP:
    if (bf_ptx_has(instruction, "bulk"))
      return NULL; /* judged by itself (copy.c) */
    break;
  default:
    return NULL;
  }
  for (unsigned i = 0; i < instruction->operands && !is_elsewhere(instruction); i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS)
      return &instruction->operand[i];
  return NULL;
}

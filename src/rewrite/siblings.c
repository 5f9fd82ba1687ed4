/* Arrays that are accessed at the same subscript.
 *
 * With i one register and a and b two arrays, aligned to 2^k bytes from which on the hash H reads
 * nothing, b - a is a multiple of 2^k: wherever shared memory starts, both are so many bytes behind
 * that. So H(b + i) = H(a + i) + (b - a), and the hash is computed once for all arrays. ptxas knows
 * b - a and puts it into the access, as it does where nothing is hashed.
 *
 * Let the instructions S, A and B be the only ones that write i, a + i and b + i, S dominate A and
 * B, and these the access. Then no way leads from S to the access past A or B (hoist.c), so that
 * both are sums of what i is there. */
#include "rewrite/inner.h"

static const uint32_t NONE = UINT32_MAX;

/* The shared variable whose address an operand is; NULL: none, or some bytes further. */
static const bf_ptx_variable *named(const bf_ptx_operand *operand) {
  bool is_plain = operand->kind == BF_PTX_SYMBOL && !operand->generic && !operand->mask &&
                  !operand->offset && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE;
  return is_plain && operand->symbol->variable->space == BF_PTX_SPACE_SHARED
             ? operand->symbol->variable
             : NULL;
}

/* Whether an instruction on one type of 32 bits has no other modifier. */
static bool is_simple(const bf_ptx_instruction *instruction, bf_ptx_opcode opcode) {
  return instruction->opcode == opcode && instruction->modifiers == 1 && instruction->types == 1 &&
         bf_rewrite_is_whole_number(instruction->type[0]) &&
         bf_ptx_type_bytes(instruction->type[0]) == 4;
}

/* Whether an operand is a whole register of 32 bits. */
static bool is_register(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_REGISTER && !operand->component && !operand->selector &&
         !operand->minus && !operand->negated && !operand->registers->vector &&
         bf_ptx_type_bytes(operand->registers->type) == 4;
}

/* The variable whose address an operand holds at an instruction, or NULL. */
static const bf_ptx_variable *held_address(const bf_ptx_function *function,
                                           const bf_rewrite_hoist *hoist,
                                           const bf_ptx_operand *operand, uint32_t at) {
  uint32_t from = is_register(operand) ? bf_rewrite_definition(hoist, operand) : NONE;
  if (from == NONE || from == at || !bf_rewrite_comes_first(hoist, from, at) ||
      !is_simple(function->instruction[from], BF_PTX_OP_MOV))
    return NULL;
  return named(&function->instruction[from]->operand[1]);
}

bool bf_rewrite_split_base(const bf_ptx_function *function, const bf_rewrite_hoist *hoist,
                           const bf_ptx_operand *base, uint32_t instruction,
                           bf_rewrite_split *split) {
  uint32_t at = is_register(base) ? bf_rewrite_definition(hoist, base) : NONE;
  if (at == NONE || at == instruction || !bf_rewrite_comes_first(hoist, at, instruction) ||
      !is_simple(function->instruction[at], BF_PTX_OP_ADD))
    return false;
  for (unsigned i = 1; i < 3; i++) {
    const bf_ptx_operand *other = &function->instruction[at]->operand[3 - i];
    uint32_t from = is_register(other) ? bf_rewrite_definition(hoist, other) : NONE;
    split->variable = held_address(function, hoist, &function->instruction[at]->operand[i], at);
    if (split->variable && from != NONE && from != at && bf_rewrite_comes_first(hoist, from, at)) {
      split->subscript = other->registers->first + other->index;
      return true;
    }
  }
  return false;
}

/* What a static variable is aligned to in a kernel; 0: not known. */
static unsigned alignment_of(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                             const bf_ptx_variable *variable) {
  int found = bf_rewrite_find_variable(plan, variable);
  if (found < 0 || !variable->bytes || variable->linkage != BF_PTX_PRIVATE ||
      !bf_rewrite_use_of(kernel, (unsigned)found))
    return 0;
  return bf_rewrite_alignment(plan, (unsigned)found,
                              bf_rewrite_pads(plan, kernel, (unsigned)found));
}

bool bf_rewrite_are_apart(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                          const bf_ptx_variable *one, const bf_ptx_variable *other,
                          uint64_t bytes) {
  return one != other && alignment_of(plan, kernel, one) >= bytes &&
         alignment_of(plan, kernel, other) >= bytes;
}

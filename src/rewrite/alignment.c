/* Which registers hold multiples of powers of two.
 *
 * Every register starts with all low bits known to be 0; every instruction that writes it takes
 * away what it may set, whatever the order of instructions, until nothing changes. The addresses of
 * shared variables that the kernel hashes count as aligned to rows. */
#include "rewrite/inner.h"

#include <string.h>

typedef struct analysis {
  const bf_rewrite_plan *plan;
  const bf_rewrite_kernel_plan *kernel;
  uint8_t *zeros; /* per register */
} analysis;

/* What is relied on of the address of a variable, in bits: 1024 bytes, which CUDA reserves in front
 * of them on newer GPUs. */
enum { MOST_ALIGNED_BITS = 10 };
enum { MOST_ZEROS = 31, MOST_PASSES = 64 };

static unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }
static unsigned larger(unsigned a, unsigned b) { return a > b ? a : b; }

static unsigned zeros_of_number(uint64_t number) {
  return number ? smaller((unsigned)__builtin_ctzll(number), MOST_ZEROS) : MOST_ZEROS;
}

unsigned bf_rewrite_zeros_of_variable(const bf_rewrite_plan *plan,
                                      const bf_rewrite_kernel_plan *kernel,
                                      const bf_ptx_variable *variable) {
  bool is_padded = false;
  unsigned at = (unsigned)(bf_rewrite_find_variable(plan, variable) + 1);
  for (; at; at = plan->next_placed[at - 1])
    is_padded |= bf_rewrite_pads(plan, kernel, at - 1);
  return smaller(zeros_of_number(bf_rewrite_alignment(variable, is_padded)), MOST_ALIGNED_BITS);
}

static unsigned zeros_of_symbol(const analysis *a, const bf_ptx_operand *operand) {
  if (operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE || operand->generic || operand->mask ||
      operand->symbol->variable->space != BF_PTX_SPACE_SHARED)
    return 0;
  unsigned zeros = bf_rewrite_zeros_of_variable(a->plan, a->kernel, operand->symbol->variable);
  return smaller(zeros, zeros_of_number((uint64_t)operand->offset));
}

static unsigned zeros_of_operand(const analysis *a, const bf_ptx_operand *operand) {
  if (operand->component || operand->selector || operand->minus || operand->negated)
    return 0;
  if (operand->kind == BF_PTX_REGISTER && !operand->registers->vector)
    return a->zeros[operand->registers->first + operand->index];
  if (operand->kind == BF_PTX_INTEGER)
    return zeros_of_number(operand->bits);
  return operand->kind == BF_PTX_SYMBOL ? zeros_of_symbol(a, operand) : 0;
}

/* Types of 32 or 64 bits that count as integers. */
static bool is_integer(bf_ptx_type type) {
  return type == BF_PTX_B32 || type == BF_PTX_U32 || type == BF_PTX_S32 || type == BF_PTX_B64 ||
         type == BF_PTX_U64 || type == BF_PTX_S64;
}

/* Low bits of what the instruction writes that are surely 0. */
static unsigned zeros_of_result(const analysis *a, const bf_ptx_instruction *instruction) {
  unsigned of[4] = {0};
  for (unsigned i = 1; i < 4 && i < instruction->operands; i++)
    of[i] = zeros_of_operand(a, &instruction->operand[i]);
  for (unsigned i = 0; i < instruction->types; i++)
    if (!is_integer(instruction->type[i]))
      return 0;
  if (bf_ptx_has(instruction, "sat") || bf_ptx_has(instruction, "hi"))
    return 0;
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_CVT:
    return of[1];
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_OR:
  case BF_PTX_OP_XOR:
  case BF_PTX_OP_SELP:
    return smaller(of[1], of[2]);
  case BF_PTX_OP_AND:
    return larger(of[1], of[2]);
  case BF_PTX_OP_MUL:
    return smaller(of[1] + of[2], MOST_ZEROS);
  case BF_PTX_OP_MAD:
    return smaller(of[1] + of[2], of[3]);
  case BF_PTX_OP_SHL:
    if (instruction->operand[2].kind != BF_PTX_INTEGER)
      return of[1]; /* a shift to the left never sets low bits */
    return (unsigned)smaller(of[1] + (unsigned)(instruction->operand[2].bits & 63), MOST_ZEROS);
  default:
    return 0;
  }
}

/* Takes away what is not known of the registers in an operand that is written. */
static bool lower(uint8_t *zeros, const bf_ptx_operand *operand, unsigned known) {
  bool changed = false;
  if (operand->kind == BF_PTX_REGISTER) {
    uint8_t *own = &zeros[operand->registers->first + operand->index];
    unsigned least = operand->component || operand->registers->vector ? 0 : known;
    changed = least < *own;
    *own = (uint8_t)smaller(least, *own);
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      changed |= lower(zeros, &operand->item[i], 0);
  }
  return changed;
}

static bool pass(const analysis *a, const bf_ptx_function *function) {
  bool changed = false;
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    if (instruction->operands)
      changed |= lower(a->zeros, &instruction->operand[0], zeros_of_result(a, instruction));
  }
  return changed;
}

/* Marks the registers in an operand that is written. */
static void mark_written(const bf_ptx_operand *operand, bool *is_written) {
  if (operand->kind == BF_PTX_REGISTER)
    is_written[operand->registers->first + operand->index] = true;
  else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
           operand->kind == BF_PTX_ARGUMENTS)
    for (uint32_t i = 0; i < operand->count; i++)
      mark_written(&operand->item[i], is_written);
}

/* Nothing is known of registers that no instruction writes; false when memory is exhausted. */
static bool forget_unwritten(const bf_ptx_function *function, bf_arena *arena, uint8_t *zeros) {
  bool *is_written = bf_arena_alloc(arena, (size_t)function->registers + 1);
  if (!is_written)
    return false;
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->operands)
      mark_written(&function->instruction[i]->operand[0], is_written);
  for (uint32_t i = 0; i < function->registers; i++)
    if (!is_written[i])
      zeros[i] = 0;
  return true;
}

static void forget_parameters(const bf_ptx_variables *list, uint8_t *zeros) {
  for (unsigned i = 0; i < list->count; i++) {
    const bf_ptx_registers *registers = list->item[i].registers;
    for (uint32_t k = 0; registers && k < registers->count; k++)
      zeros[registers->first + k] = 0;
  }
}

uint8_t *bf_rewrite_zeros(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                          const bf_ptx_function *function) {
  size_t count = (size_t)function->registers + 1;
  uint8_t *zeros = bf_arena_alloc(plan->arena, count);
  const analysis a = {plan, kernel, zeros};
  if (!zeros)
    return NULL;
  memset(zeros, MOST_ZEROS, count);
  if (!forget_unwritten(function, plan->arena, zeros))
    return NULL;
  forget_parameters(&function->parameters, zeros);
  forget_parameters(&function->returns, zeros);
  unsigned passes = 0;
  while (passes < MOST_PASSES && pass(&a, function))
    passes++;
  if (passes == MOST_PASSES) /* not settled: nothing is known */
    memset(zeros, 0, count);
  return zeros;
}

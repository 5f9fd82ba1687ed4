/* What registers leave when they are divided by powers of two.
 *
 * sums + (16 * thread | 8) - 4 always ends in the bits 0100: of an address it is then known where
 * it lies inside of 16 bytes, and what is added there does not carry. Of every register it is kept
 * how many of its lowest bits are always the same, and which they are: all of them at first; every
 * instruction that writes it leaves those that agree, whatever the order of instructions, until
 * nothing changes. */
#include "rewrite/inner.h"

typedef bf_rewrite_rest rest;

typedef struct analysis {
  const bf_rewrite_plan *plan;
  const bf_rewrite_kernel_plan *kernel;
  const bf_ptx_function *function;
  const uint64_t *zeros;      /* per register */
  const bf_rewrite_sum *sums; /* per register */
  rest *of;                   /* per register */
  bool is_late;               /* what still changes is not known at all */
} analysis;

enum { UNSEEN = 255 };        /* bits: nothing has written it yet */
enum { PATIENT_PASSES = 16 }; /* loops that need more are not waited for */

static const rest nothing = {0, 0};
static const rest unseen = {UNSEEN, 0};

static uint64_t low_mask(unsigned count) {
  return count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
}

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

static rest make(unsigned bits, uint64_t value) { return (rest){bits, value & low_mask(bits)}; }

/* How many of the lowest bits are known to be 0. */
static unsigned zeros_in(rest a) { return a.value ? (unsigned)__builtin_ctzll(a.value) : a.bits; }

/* What both have in common. */
static rest join(rest a, rest b) {
  if (a.bits == UNSEEN || b.bits == UNSEEN)
    return a.bits == UNSEEN ? b : a;
  uint64_t differs = a.value ^ b.value;
  unsigned bits = least(a.bits, b.bits);
  return make(differs ? least(bits, (unsigned)__builtin_ctzll(differs)) : bits, a.value);
}

/* ---- Operands ---- */

static rest rest_of_register(const analysis *a, uint32_t number) {
  rest own = a->of[number];
  unsigned zeros = bf_rewrite_low_zeros(a->zeros[number]);
  return own.bits != UNSEEN && zeros > own.bits ? make(zeros, 0) : own;
}

static rest rest_of_operand(const analysis *a, const bf_ptx_operand *operand) {
  if (operand->component || operand->selector || operand->minus || operand->negated)
    return nothing;
  if (operand->kind == BF_PTX_INTEGER)
    return make(64, operand->bits);
  if (operand->kind == BF_PTX_REGISTER && !operand->registers->vector)
    return rest_of_register(a, operand->registers->first + operand->index);
  if (operand->kind != BF_PTX_SYMBOL || operand->generic || operand->mask ||
      operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE ||
      operand->symbol->variable->space != BF_PTX_SPACE_SHARED)
    return nothing;
  return make(bf_rewrite_zeros_of_variable(a->plan, a->kernel, operand->symbol->variable),
              (uint64_t)operand->offset);
}

/* ---- Instructions ---- */

static rest rest_of_sum(rest a, rest b) { return make(least(a.bits, b.bits), a.value + b.value); }

static rest rest_of_product(rest a, rest b) {
  unsigned bits = least(a.bits + zeros_in(b), b.bits + zeros_in(a));
  return make(least(bits, 64), a.value * b.value);
}

/* The lowest bits of an AND or OR that are known: those that both say, or that one alone decides.
 */
static rest rest_of_logic(bf_ptx_opcode opcode, rest a, rest b) {
  bool is_and = opcode == BF_PTX_OP_AND;
  uint64_t value = is_and ? a.value & b.value : a.value | b.value;
  unsigned bits = 0;
  for (; bits < 64; bits++) {
    bool decided_a = bits < a.bits && (a.value >> bits & 1) != is_and;
    bool decided_b = bits < b.bits && (b.value >> bits & 1) != is_and;
    if (!decided_a && !decided_b && (bits >= a.bits || bits >= b.bits))
      break;
  }
  return make(bits, value);
}

static rest rest_of_shift(const bf_ptx_operand *by, rest a) {
  if (by->kind != BF_PTX_INTEGER || by->bits > 31)
    return nothing;
  return make(least(a.bits + (unsigned)by->bits, 64), a.value << by->bits);
}

static rest rest_of_arithmetic(const bf_ptx_instruction *instruction, const rest of[4]) {
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_CVT: /* to whole numbers of 32 bits or more: the lowest ones stay */
    return of[1];
  case BF_PTX_OP_ADD:
    return rest_of_sum(of[1], of[2]);
  case BF_PTX_OP_SUB:
    return make(least(of[1].bits, of[2].bits), of[1].value - of[2].value);
  case BF_PTX_OP_XOR:
    return make(least(of[1].bits, of[2].bits), of[1].value ^ of[2].value);
  case BF_PTX_OP_AND:
  case BF_PTX_OP_OR:
    return rest_of_logic(instruction->opcode, of[1], of[2]);
  case BF_PTX_OP_MUL:
    return rest_of_product(of[1], of[2]);
  case BF_PTX_OP_MAD:
    return rest_of_sum(rest_of_product(of[1], of[2]), of[3]);
  case BF_PTX_OP_SHL:
    return rest_of_shift(&instruction->operand[2], of[1]);
  case BF_PTX_OP_SELP:
    return join(of[1], of[2]);
  default:
    return nothing;
  }
}

/* What the instruction writes; unseen where something that it reads is. */
static rest rest_of_result(const analysis *a, const bf_ptx_instruction *instruction) {
  rest of[4] = {nothing, nothing, nothing, nothing};
  unsigned width = 64;
  if (!instruction->types || bf_ptx_has(instruction, "sat") || bf_ptx_has(instruction, "hi"))
    return nothing;
  for (unsigned i = 0; i < instruction->types; i++) {
    if (!bf_rewrite_is_whole_number(instruction->type[i]))
      return nothing;
    width = least(width, 8 * bf_ptx_type_bytes(instruction->type[i]));
  }
  for (unsigned i = 1; i < 4 && i < instruction->operands; i++) {
    of[i] = rest_of_operand(a, &instruction->operand[i]);
    if (of[i].bits == UNSEEN)
      return unseen;
  }
  rest result = rest_of_arithmetic(instruction, of);
  return make(least(result.bits, width), result.value);
}

/* The same of a register that is a sum, where more is known of that. */
static rest rest_of_written(const analysis *a, const bf_ptx_instruction *instruction) {
  const bf_ptx_operand *to = &instruction->operand[0];
  rest own = rest_of_result(a, instruction), total = make(32, 0);
  uint32_t number = to->kind == BF_PTX_REGISTER ? to->registers->first + to->index : 0;
  const bf_rewrite_sum *sum = &a->sums[number];
  if (to->kind != BF_PTX_REGISTER || !sum->parts || sum->part[0].of == number)
    return own;
  total.value = sum->number;
  for (unsigned i = 0; i < sum->parts; i++) {
    rest part = rest_of_register(a, sum->part[i].of);
    if (part.bits == UNSEEN)
      return unseen;
    total = rest_of_sum(total, rest_of_product(part, make(64, sum->part[i].times)));
  }
  return own.bits == UNSEEN || own.bits > total.bits ? own : total;
}

/* ---- Registers ---- */

/* Joins what is written to the registers in an operand; true where they change. */
static bool lower(const analysis *a, const bf_ptx_operand *operand, rest written) {
  bool changed = false;
  if (operand->kind == BF_PTX_REGISTER) {
    rest *own = &a->of[operand->registers->first + operand->index];
    bool is_part = operand->component || operand->registers->vector;
    rest joined = join(*own, is_part ? nothing : written);
    changed = joined.bits != own->bits;
    *own = changed && a->is_late ? nothing : joined;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      changed |= lower(a, &operand->item[i], nothing);
  }
  return changed;
}

static bool pass(const analysis *a) {
  bool changed = false;
  for (uint32_t i = 0; i < a->function->instructions; i++) {
    const bf_ptx_instruction *instruction = a->function->instruction[i];
    if (instruction->operands)
      changed |= lower(a, &instruction->operand[0], rest_of_written(a, instruction));
  }
  return changed;
}

bf_rewrite_rest *bf_rewrite_rests(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                                  const bf_rewrite_function *own, const uint64_t *zeros) {
  size_t count = (size_t)own->function->registers + 1;
  rest *of = bf_arena_alloc(plan->arena, count * sizeof *of);
  analysis a = {.plan = plan,
                .kernel = kernel,
                .function = own->function,
                .zeros = zeros,
                .sums = bf_rewrite_sums(own->function, plan->arena),
                .of = of};
  if (!of || !a.sums)
    return NULL;
  for (size_t i = 0; i < count; i++) /* what nothing writes holds anything: zeros say so too */
    of[i] = zeros[i] ? unseen : nothing;
  for (unsigned passes = 0; pass(&a); passes++)
    a.is_late = passes >= PATIENT_PASSES;
  for (size_t i = 0; i < count; i++)
    of[i] = of[i].bits == UNSEEN ? nothing : rest_of_register(&a, (uint32_t)i);
  return of;
}

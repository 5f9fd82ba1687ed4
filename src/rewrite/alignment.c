/* Which bits of registers are always 0.
 *
 * Of every register it is kept which bits may be 1: none at first; every instruction that writes it
 * adds what it may set, whatever the order of instructions, until nothing changes. The addresses of
 * shared variables that the kernel hashes count as aligned to rows. */
#include "rewrite/inner.h"

typedef struct analysis {
  const bf_rewrite_plan *plan;
  const bf_rewrite_kernel_plan *kernel;
  const bf_ptx_function *function;
  const bool *is_target;  /* per instruction: a label stands before it */
  const uint32_t *writer; /* per register: the only instruction that writes it, or MANY */
  uint64_t *ones;         /* per register: bits that may be 1 */
  bf_rewrite_threads threads;
  bool is_late; /* what still grows, grows without end */
} analysis;

/* What is relied on of the address of a variable, in bits: 1024 bytes, which CUDA reserves in front
 * of them on newer GPUs. */
enum { MOST_ALIGNED_BITS = 10 };
/* Limits of CUDA: CUDA C++ Programming Guide, technical specifications per compute capability. */
enum { MOST_WARPS = 64, WARP_THREADS = 32 };
/* Passes after which a register that still grows is taken for one that can hold anything. */
enum { PATIENT_PASSES = 6 };
/* Instructions in front of a difference among which the mask that it takes away is looked for. */
enum { MOST_BACK = 24 };

static const uint64_t ANY = UINT64_MAX;
static const uint32_t MANY = UINT32_MAX; /* instructions, or none */

static unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }

/* The lowest count bits. */
static uint64_t low_mask(unsigned count) { return count < 64 ? ((uint64_t)1 << count) - 1 : ANY; }

/* All bits that numbers up to `most` may have. */
static uint64_t up_to(uint64_t most) {
  return most ? low_mask(64 - (unsigned)__builtin_clzll(most)) : 0;
}

/* All bits from the lowest one of a value on. */
static uint64_t from_lowest(uint64_t value) { return value ? ~((value & -value) - 1) : 0; }

/* Bits of a + b: those of both, and where the largest sum has carries. */
static uint64_t ones_of_sum(uint64_t a, uint64_t b) { return a | b | ((a + b) ^ a ^ b); }

/* Bits of a * b: not below the sum of low zeros, not beyond the product of the largest. */
static uint64_t ones_of_product(uint64_t a, uint64_t b) {
  if (!a || !b)
    return 0;
  unsigned low = (unsigned)__builtin_ctzll(a) + (unsigned)__builtin_ctzll(b);
  uint64_t most;
  if (__builtin_mul_overflow(a, b, &most))
    most = ANY;
  return up_to(most) & ~low_mask(low);
}

unsigned bf_rewrite_low_zeros(uint64_t zeros) {
  return ~zeros ? (unsigned)__builtin_ctzll(~zeros) : 63;
}

unsigned bf_rewrite_zeros_of_variable(const bf_rewrite_plan *plan,
                                      const bf_rewrite_kernel_plan *kernel,
                                      const bf_ptx_variable *variable) {
  unsigned least = MOST_ALIGNED_BITS, at = (unsigned)(bf_rewrite_find_variable(plan, variable) + 1);
  bool is_used = false;
  for (; at; at = plan->next_placed[at - 1]) {
    if (!bf_rewrite_use_of(kernel, at - 1))
      continue;
    unsigned bytes = bf_rewrite_alignment(plan, at - 1, bf_rewrite_pads(plan, kernel, at - 1));
    if (kernel->starts_at_zero)
      bytes = 1u << MOST_ALIGNED_BITS;
    least = smaller(bytes ? (unsigned)__builtin_ctz(bytes) : 0, least);
    is_used = true;
  }
  return is_used ? least : 0;
}

/* ---- Operands ---- */

static uint64_t ones_of_symbol(const analysis *a, const bf_ptx_operand *operand) {
  if (operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE || operand->generic || operand->mask ||
      operand->symbol->variable->space != BF_PTX_SPACE_SHARED)
    return ANY;
  unsigned zeros = bf_rewrite_zeros_of_variable(a->plan, a->kernel, operand->symbol->variable);
  return ones_of_sum(~low_mask(zeros), (uint64_t)operand->offset);
}

/* Threads of a block in the direction that an operand names, at most. */
static unsigned most_threads(const analysis *a, const bf_ptx_operand *operand) {
  bool is_named = operand->component >= 'x' && operand->component <= 'z';
  return is_named ? smaller(a->threads.of[operand->component - 'x'], a->threads.all)
                  : a->threads.all;
}

static uint64_t ones_of_special(const analysis *a, const bf_ptx_operand *operand) {
  switch (operand->special) {
  case BF_PTX_SPECIAL_TID:
    return up_to(most_threads(a, operand) - 1);
  case BF_PTX_SPECIAL_NTID:
    return up_to(most_threads(a, operand));
  case BF_PTX_SPECIAL_LANEID:
    return up_to(WARP_THREADS - 1);
  case BF_PTX_SPECIAL_WARPID:
    return up_to(MOST_WARPS - 1);
  default:
    return ANY;
  }
}

static uint64_t ones_of_operand(const analysis *a, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SPECIAL)
    return ones_of_special(a, operand);
  if (operand->component || operand->selector || operand->minus || operand->negated)
    return ANY;
  if (operand->kind == BF_PTX_REGISTER && !operand->registers->vector)
    return a->ones[operand->registers->first + operand->index];
  if (operand->kind == BF_PTX_INTEGER)
    return operand->bits;
  return operand->kind == BF_PTX_SYMBOL ? ones_of_symbol(a, operand) : ANY;
}

/* ---- Instructions ---- */

/* Bits of a type that counts as whole number, else 0. */
static unsigned width_of(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_B8:
  case BF_PTX_U8:
  case BF_PTX_S8:
    return 8;
  case BF_PTX_B16:
  case BF_PTX_U16:
  case BF_PTX_S16:
    return 16;
  case BF_PTX_B32:
  case BF_PTX_U32:
  case BF_PTX_S32:
    return 32;
  case BF_PTX_B64:
  case BF_PTX_U64:
  case BF_PTX_S64:
    return 64;
  default:
    return 0;
  }
}

bool bf_rewrite_is_whole_number(bf_ptx_type type) { return width_of(type) >= 32; }

static bool has_sign(bf_ptx_type type) {
  return type == BF_PTX_S8 || type == BF_PTX_S16 || type == BF_PTX_S32 || type == BF_PTX_S64;
}

/* A value of the type as one of 64 bits. */
static uint64_t extended(uint64_t ones, bf_ptx_type type) {
  unsigned width = width_of(type);
  ones &= low_mask(width);
  return has_sign(type) && ones >> (width - 1) & 1 ? ones | ~low_mask(width) : ones;
}

static uint64_t ones_of_shift(const bf_ptx_instruction *instruction, uint64_t value) {
  bf_ptx_type type = instruction->type[0];
  const bf_ptx_operand *by = &instruction->operand[2];
  bool is_left = instruction->opcode == BF_PTX_OP_SHL;
  value = is_left ? value & low_mask(width_of(type)) : extended(value, type);
  bool is_negative = !is_left && has_sign(type) && value >> 63;
  if (by->kind != BF_PTX_INTEGER)
    return is_left ? from_lowest(value) : is_negative ? ANY : up_to(value);
  uint64_t places = by->bits & UINT32_MAX;
  if (places >= width_of(type))
    return is_negative ? ANY : 0;
  if (is_left)
    return value << places;
  return is_negative ? value >> places | ~(ANY >> places) : value >> places;
}

static uint64_t ones_of_multiplication(const bf_ptx_instruction *instruction, uint64_t x,
                                       uint64_t y, uint64_t z) {
  bf_ptx_type type = instruction->type[0];
  bool is_wide = bf_ptx_has(instruction, "wide");
  uint64_t product =
      is_wide ? ones_of_product(extended(x, type), extended(y, type))
              : ones_of_product(x & low_mask(width_of(type)), y & low_mask(width_of(type)));
  return instruction->opcode == BF_PTX_OP_MAD ? ones_of_sum(product, z) : product;
}

/* Division and remainder of numbers that are not negative, by a number. */
static uint64_t ones_of_division(const bf_ptx_instruction *instruction, uint64_t value) {
  bf_ptx_type type = instruction->type[0];
  const bf_ptx_operand *by = &instruction->operand[2];
  value = extended(value, type);
  if (by->kind != BF_PTX_INTEGER || (has_sign(type) && (value >> 63 || by->bits >> 63)))
    return ANY;
  uint64_t divisor = by->bits & low_mask(width_of(type));
  if (!divisor)
    return ANY;
  uint64_t most = up_to(value);
  return instruction->opcode == BF_PTX_OP_DIV ? up_to(most / divisor) : up_to(divisor - 1) & most;
}

/* bfe at a place that is a number. */
static uint64_t ones_of_field(const bf_ptx_instruction *instruction, uint64_t value) {
  const bf_ptx_operand *at = &instruction->operand[2], *size = &instruction->operand[3];
  if (has_sign(instruction->type[0]) || at->kind != BF_PTX_INTEGER ||
      size->kind != BF_PTX_INTEGER || at->bits > 31 || size->bits > 31)
    return ANY;
  return (value & low_mask(width_of(instruction->type[0]))) >> at->bits &
         low_mask((unsigned)size->bits);
}

/* bfi at a place that is a number: the lowest bits of one number in place of some of another. */
static uint64_t ones_of_insertion(const bf_ptx_instruction *instruction, uint64_t value,
                                  uint64_t into) {
  const bf_ptx_operand *at = &instruction->operand[3], *size = &instruction->operand[4];
  if (at->kind != BF_PTX_INTEGER || size->kind != BF_PTX_INTEGER || at->bits > 31 ||
      size->bits > 31)
    return ANY;
  uint64_t taken = low_mask((unsigned)size->bits) << at->bits;
  return (value << at->bits & taken) | (into & ~taken);
}

/* Bits of a conversion between whole numbers. */
static uint64_t ones_of_conversion(const bf_ptx_instruction *instruction, uint64_t value) {
  if (instruction->types != 2 || !width_of(instruction->type[0]) || !width_of(instruction->type[1]))
    return ANY;
  return extended(extended(value, instruction->type[1]), instruction->type[0]);
}

/* The least of both where neither is negative, else one of them. */
static uint64_t ones_of_least(const bf_ptx_instruction *instruction, uint64_t x, uint64_t y) {
  bf_ptx_type type = instruction->type[0];
  uint64_t a = extended(x, type), b = extended(y, type), either = a | b;
  if (has_sign(type) && either >> 63)
    return either;
  return either & up_to(a < b ? a : b);
}

/* ---- Differences ---- */

static bool is_same_register(const bf_ptx_operand *a, const bf_ptx_operand *b) {
  return a->kind == BF_PTX_REGISTER && b->kind == BF_PTX_REGISTER && !a->component &&
         !b->component && !a->negated && !b->negated && !a->minus && !b->minus &&
         a->registers->first + a->index == b->registers->first + b->index;
}

/* Whether the operand, which is written, holds the register. */
static bool holds(const bf_ptx_operand *operand, const bf_ptx_operand *what) {
  if (operand->kind == BF_PTX_REGISTER)
    return operand->registers->first + operand->index == what->registers->first + what->index;
  bool has_items = operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
                   operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (holds(&operand->item[i], what))
      return true;
  return false;
}

/* The instruction that wrote the register, for one that reads it: further up in the same block, and
 * nothing has written `kept` since. NULL: not found. */
static const bf_ptx_instruction *written_by(const analysis *a, uint32_t *at,
                                            const bf_ptx_operand *what,
                                            const bf_ptx_operand *kept) {
  for (uint32_t i = *at, left = MOST_BACK; i > 0 && left > 0 && !a->is_target[i]; left--) {
    const bf_ptx_instruction *instruction = a->function->instruction[--i];
    if (!instruction->operands)
      continue;
    if (holds(&instruction->operand[0], what)) {
      *at = i;
      return instruction->guard || instruction->operand[0].kind != BF_PTX_REGISTER ? NULL
                                                                                   : instruction;
    }
    if (holds(&instruction->operand[0], kept))
      return NULL;
  }
  return NULL;
}

/* Whether `what`, read by instruction `at`, is `value` still or again: itself, or with 0 added. */
static bool is_value(const analysis *a, uint32_t at, const bf_ptx_operand *what,
                     const bf_ptx_operand *value) {
  if (is_same_register(what, value))
    return true;
  if (what->kind != BF_PTX_REGISTER || what->component || what->negated || what->minus)
    return false;
  const bf_ptx_instruction *made = written_by(a, &at, what, value);
  if (!made || made->types != 1 || bf_ptx_has(made, "sat") ||
      width_of(made->type[0]) != 8 * bf_ptx_type_bytes(value->registers->type))
    return false;
  const bf_ptx_operand *in = made->operand;
  if (made->opcode == BF_PTX_OP_MOV)
    return is_same_register(&in[1], value);
  return made->opcode == BF_PTX_OP_ADD &&
         ((is_same_register(&in[1], value) && !ones_of_operand(a, &in[2])) ||
          (is_same_register(&in[2], value) && !ones_of_operand(a, &in[1])));
}

/* The instruction that alone writes a register, always and as a whole, of that width; NULL: none.
 */
static const bf_ptx_instruction *only_writer(const analysis *a, const bf_ptx_operand *what,
                                             bf_ptx_opcode opcode, unsigned width) {
  uint32_t at =
      is_same_register(what, what) ? a->writer[what->registers->first + what->index] : MANY;
  const bf_ptx_instruction *made = at == MANY ? NULL : a->function->instruction[at];
  return made && made->opcode == opcode && !made->guard && made->types == 1 &&
                 width_of(made->type[0]) == width && made->operands == 3
             ? made
             : NULL;
}

/* Whether control can go elsewhere than to the next instruction. */
static bool goes_elsewhere(const bf_ptx_instruction *instruction) {
  static const bf_ptx_opcode leaving[] = {BF_PTX_OP_BRA, BF_PTX_OP_BRX, BF_PTX_OP_RET,
                                          BF_PTX_OP_EXIT, BF_PTX_OP_TRAP};
  for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++)
    if (instruction->opcode == leaving[i])
      return true;
  return false;
}

/* Whether a register is written once, before control can go anywhere else, so that it holds the
 * same at every instruction behind that. */
static bool is_set_first(const analysis *a, const bf_ptx_operand *what, const uint32_t behind[2]) {
  uint32_t at =
      is_same_register(what, what) ? a->writer[what->registers->first + what->index] : MANY;
  if (at == MANY || at >= behind[0] || at >= behind[1] || !a->function->is_entry ||
      a->function->instruction[at]->guard)
    return false;
  for (uint32_t i = 0; i <= at; i++)
    if (a->is_target[i] || (i < at && goes_elsewhere(a->function->instruction[i])))
      return false;
  return true;
}

/* 2 x - (x & mask), with the lowest bits in mask, is ((x & ~mask) << 1) | (x & mask): where the bit
 * above the mask is put in. */
static uint64_t ones_of_gap(const analysis *a, const bf_ptx_instruction *difference) {
  unsigned width = width_of(difference->type[0]);
  const bf_ptx_operand *from = &difference->operand[1], *less = &difference->operand[2];
  const bf_ptx_instruction *twice = only_writer(a, from, BF_PTX_OP_SHL, width);
  const bf_ptx_instruction *masked = only_writer(a, less, BF_PTX_OP_AND, width);
  if (!twice || !masked || !is_same_register(&twice->operand[1], &masked->operand[1]) ||
      twice->operand[2].kind != BF_PTX_INTEGER || twice->operand[2].bits != 1 ||
      masked->operand[2].kind != BF_PTX_INTEGER ||
      8 * bf_ptx_type_bytes(twice->operand[1].registers->type) != width)
    return ANY;
  uint64_t mask = masked->operand[2].bits, x = ones_of_operand(a, &twice->operand[1]);
  uint32_t behind[2] = {a->writer[from->registers->first + from->index],
                        a->writer[less->registers->first + less->index]};
  if (mask & (mask + 1) || !is_set_first(a, &twice->operand[1], behind))
    return ANY;
  return ((x & ~mask) << 1 | (x & mask)) & low_mask(width);
}

/* x - (x & mask) = x & ~mask; any other difference can have all bits from the lowest on. */
static uint64_t ones_of_difference(const analysis *a, uint32_t index, const uint64_t of[4]) {
  const bf_ptx_instruction *instruction = a->function->instruction[index];
  const bf_ptx_operand *from = &instruction->operand[1], *less = &instruction->operand[2];
  uint64_t any = from_lowest(of[1] | of[2]);
  uint32_t at = index;
  if (from->kind != BF_PTX_REGISTER || less->kind != BF_PTX_REGISTER ||
      !is_same_register(from, from) || !is_same_register(less, less))
    return any;
  any &= ones_of_gap(a, instruction);
  const bf_ptx_instruction *masked = written_by(a, &at, less, from);
  if (!masked || masked->opcode != BF_PTX_OP_AND || masked->types != 1 ||
      width_of(masked->type[0]) != width_of(instruction->type[0]))
    return any;
  const bf_ptx_operand *value = &masked->operand[1], *mask = &masked->operand[2];
  return mask->kind == BF_PTX_INTEGER && is_value(a, at, value, from) ? any & of[1] & ~mask->bits
                                                                      : any;
}

/* Bits that instructions on whole numbers of 32 or 64 bits may set. */
static uint64_t ones_of_arithmetic(const analysis *a, uint32_t index, const uint64_t of[4]) {
  const bf_ptx_instruction *instruction = a->function->instruction[index];
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
    return of[1];
  case BF_PTX_OP_ADD:
    return ones_of_sum(of[1], of[2]);
  case BF_PTX_OP_SUB:
    return ones_of_difference(a, index, of);
  case BF_PTX_OP_OR:
  case BF_PTX_OP_XOR:
  case BF_PTX_OP_SELP:
  case BF_PTX_OP_MAX:
    return instruction->operands > 3 && instruction->opcode == BF_PTX_OP_MAX ? ANY : of[1] | of[2];
  case BF_PTX_OP_MIN:
    return instruction->operands > 3 ? ANY : ones_of_least(instruction, of[1], of[2]);
  case BF_PTX_OP_AND:
    return of[1] & of[2];
  case BF_PTX_OP_MUL:
  case BF_PTX_OP_MAD:
    return ones_of_multiplication(instruction, of[1], of[2], of[3]);
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_SHR:
    return ones_of_shift(instruction, of[1]);
  case BF_PTX_OP_BFE:
    return ones_of_field(instruction, of[1]);
  case BF_PTX_OP_BFI:
    return ones_of_insertion(instruction, of[1], of[2]);
  case BF_PTX_OP_DIV:
  case BF_PTX_OP_REM:
    return ones_of_division(instruction, of[1]);
  case BF_PTX_OP_POPC:
    return up_to(width_of(instruction->type[0]));
  default:
    return ANY;
  }
}

/* Bits of what the instruction writes that may be 1. */
static uint64_t ones_of_result(const analysis *a, uint32_t index) {
  const bf_ptx_instruction *instruction = a->function->instruction[index];
  uint64_t of[4] = {0};
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  for (unsigned i = 1; i < 4 && i < instruction->operands; i++)
    of[i] = ones_of_operand(a, &instruction->operand[i]);
  if (bf_ptx_has(instruction, "sat") || bf_ptx_has(instruction, "hi") || !width_of(type))
    return ANY;
  if (instruction->opcode == BF_PTX_OP_CVT)
    return ones_of_conversion(instruction, of[1]);
  if (instruction->opcode == BF_PTX_OP_LD)
    return has_sign(type) ? ANY : low_mask(width_of(type));
  for (unsigned i = 0; i < instruction->types; i++)
    if (width_of(instruction->type[i]) < 32)
      return ANY;
  return ones_of_arithmetic(a, index, of);
}

/* ---- Registers ---- */

/* Adds to the registers in an operand that is written what they may hold. */
static bool raise(const analysis *a, const bf_ptx_operand *operand, uint64_t ones) {
  bool changed = false;
  if (operand->kind == BF_PTX_REGISTER) {
    uint64_t *own = &a->ones[operand->registers->first + operand->index];
    unsigned bytes = bf_ptx_type_bytes(operand->registers->type);
    bool is_part = operand->component || operand->registers->vector;
    uint64_t added = (is_part ? ANY : ones) & low_mask(bytes ? 8 * bytes : 64) & ~*own;
    *own |= a->is_late ? from_lowest(added) : added;
    changed = added;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      changed |= raise(a, &operand->item[i], ANY);
  }
  return changed;
}

static bool pass(const analysis *a) {
  bool changed = false;
  for (uint32_t i = 0; i < a->function->instructions; i++) {
    const bf_ptx_instruction *instruction = a->function->instruction[i];
    if (instruction->operands)
      changed |= raise(a, &instruction->operand[0], ones_of_result(a, i));
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

/* Notes that an instruction writes the registers in an operand. */
static void note_writer(const bf_ptx_operand *operand, uint32_t index, uint32_t *writer,
                        bool *is_written) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = operand->registers->first + operand->index;
    bool is_whole = !operand->component && !operand->registers->vector;
    writer[number] = is_written[number] || !is_whole ? MANY : index;
    is_written[number] = true;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      note_writer(&operand->item[i], index, writer, is_written);
  }
}

/* Per register, the only instruction that writes it; NULL when memory is exhausted. */
static const uint32_t *find_writers(const bf_ptx_function *function, bf_arena *arena) {
  size_t count = (size_t)function->registers + 1;
  uint32_t *writer = bf_arena_alloc(arena, count * sizeof *writer);
  bool *is_written = bf_arena_alloc(arena, count);
  if (!writer || !is_written)
    return NULL;
  for (size_t i = 0; i < count; i++)
    writer[i] = MANY;
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->operands)
      note_writer(&function->instruction[i]->operand[0], i, writer, is_written);
  return writer;
}

/* Registers that no instruction writes hold anything; false when memory is exhausted. */
static bool start_unwritten(const bf_ptx_function *function, bf_arena *arena, uint64_t *ones) {
  bool *is_written = bf_arena_alloc(arena, (size_t)function->registers + 1);
  if (!is_written)
    return false;
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->operands)
      mark_written(&function->instruction[i]->operand[0], is_written);
  for (uint32_t i = 0; i < function->registers; i++)
    if (!is_written[i])
      ones[i] = ANY;
  return true;
}

static void start_parameters(const bf_ptx_variables *list, uint64_t *ones) {
  for (unsigned i = 0; i < list->count; i++) {
    const bf_ptx_registers *registers = list->item[i].registers;
    for (uint32_t k = 0; registers && k < registers->count; k++)
      ones[registers->first + k] = ANY;
  }
}

/* Marks the instructions behind labels; returns the next instruction. */
static uint32_t mark_targets(const bf_ptx_statement *statement, bool *is_target, uint32_t next) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_INSTRUCTION)
      next++;
    else if (statement->kind == BF_PTX_STATEMENT_LABEL)
      is_target[next] = true;
    else if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      next = mark_targets(statement->scope, is_target, next);
  return next;
}

uint64_t *bf_rewrite_zeros(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                           const bf_rewrite_function *own) {
  const bf_ptx_function *function = own->function;
  size_t count = (size_t)function->registers + 1;
  uint64_t *ones = bf_arena_alloc(plan->arena, count * sizeof *ones);
  bool *is_target = bf_arena_alloc(plan->arena, (size_t)function->instructions + 1);
  analysis a = {.plan = plan,
                .kernel = kernel,
                .function = function,
                .is_target = is_target,
                .writer = find_writers(function, plan->arena),
                .ones = ones};
  if (!ones || !is_target || !a.writer || !start_unwritten(function, plan->arena, ones) ||
      !bf_rewrite_threads_find(plan, own, &a.threads))
    return NULL;
  mark_targets(function->body, is_target, 0);
  start_parameters(&function->parameters, ones);
  start_parameters(&function->returns, ones);
  for (unsigned passes = 0; pass(&a); passes++)
    a.is_late = passes >= PATIENT_PASSES;
  for (size_t i = 0; i < count; i++)
    ones[i] = ~ones[i];
  return ones;
}

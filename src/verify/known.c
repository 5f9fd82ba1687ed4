/* Which bits of the registers of a function are 0 whenever they are read, whatever the order in
 * which its instructions run.
 *
 * Of every register it is kept which bits may be 1. They start empty and grow with what every
 * instruction that writes the register may set, until nothing changes. All rules are monotone: more
 * ones in, more ones out. */
#include "verify/inner.h"

#include <string.h>

/* Limits of CUDA on warps, from its programming guide. */
enum { MOST_WARPS = 64, WARP_THREADS = 32 };

/* Alignments count up to 1024 bytes: CUDA reserves so many in front of the variables on newer GPUs,
 * and whether larger ones are those of the absolute address is not said anywhere. */
enum { MOST_ALIGNMENT_BITS = 10 };

static const uint64_t anything = UINT64_MAX;

/* What is known while it is found out. */
typedef struct knowledge {
  uint64_t *ones; /* per register */
  const bf_verify_threads *threads;
  const bf_verify_difference *differences; /* per instruction */
} knowledge;

/* All bits up to the highest one of value. */
static uint64_t filled(uint64_t value) {
  return value ? bf_gf2_low_bits(64 - (unsigned)__builtin_clzll(value)) : 0;
}

/* The bits below the lowest one of value. */
static uint64_t below(uint64_t value) { return value ? (value & -value) - 1 : anything; }

unsigned bf_verify_variable_zero_bits(const bf_ptx_variable *variable) {
  unsigned bytes = variable->alignment_bytes;
  if (!bytes)
    bytes = bf_ptx_type_bytes(variable->type) * (variable->vector ? variable->vector : 1);
  return bytes ? (unsigned)__builtin_ctz(bytes) : 0;
}

uint64_t bf_verify_variable_zeros(const bf_ptx_variable *variable) {
  unsigned bits = bf_verify_variable_zero_bits(variable);
  return bf_gf2_low_bits(bits < MOST_ALIGNMENT_BITS ? bits : MOST_ALIGNMENT_BITS);
}

/* ---- Operands ---- */

/* Threads in the direction of a component of a special register, at most. */
static uint64_t threads_in(const bf_verify_threads *threads, char component) {
  bool is_axis = component == 'x' || component == 'y' || component == 'z';
  uint64_t in = is_axis ? threads->in[component - 'x'] : threads->all;
  return in < threads->all ? in : threads->all;
}

static uint64_t special_ones(const knowledge *known, const bf_ptx_operand *operand) {
  switch (operand->special) {
  case BF_PTX_SPECIAL_TID:
    return filled(threads_in(known->threads, operand->component) - 1);
  case BF_PTX_SPECIAL_NTID:
    return filled(threads_in(known->threads, operand->component));
  case BF_PTX_SPECIAL_LANEID:
    return filled(WARP_THREADS - 1);
  case BF_PTX_SPECIAL_WARPID:
    return filled(MOST_WARPS - 1);
  default:
    return anything;
  }
}

/* The sum of two values: carries may come from wherever both may have ones. */
static uint64_t sum_ones(uint64_t a, uint64_t b) { return a | b | ((a + b) ^ a ^ b); }

/* What an operand that is read may hold. */
static uint64_t operand_ones(const knowledge *known, const bf_ptx_operand *operand) {
  if (operand->minus || operand->negated || operand->selector)
    return anything;
  if (operand->kind == BF_PTX_INTEGER)
    return operand->bits;
  if (operand->kind == BF_PTX_SPECIAL)
    return special_ones(known, operand);
  if (operand->kind == BF_PTX_REGISTER && !operand->component && !operand->registers->vector)
    return known->ones[bf_verify_number(operand)];
  if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE)
    return sum_ones(~bf_verify_variable_zeros(operand->symbol->variable),
                    (uint64_t)operand->offset);
  return anything;
}

/* ---- Instructions ---- */

/* Bits of a type of whole numbers, 0 for others. */
static unsigned number_width(bf_ptx_type type) {
  const char *name = bf_ptx_type_name(type);
  bool is_plain = strchr("bus", name[0]) && !strchr(name, 'x') && strncmp(name, "bf", 2);
  unsigned bytes = bf_ptx_type_bytes(type);
  return is_plain && bytes <= 8 ? 8 * bytes : 0;
}

static bool is_signed(bf_ptx_type type) { return bf_ptx_type_name(type)[0] == 's'; }

/* A value of width bits in a wider register: the sign may fill the rest. */
static uint64_t widened(uint64_t ones, unsigned width, bool has_sign) {
  ones &= bf_gf2_low_bits(width);
  return has_sign && ones >> (width - 1) & 1 ? ones | ~bf_gf2_low_bits(width) : ones;
}

/* The product: low zeros add up, and none is larger than that of the largest factors. */
static uint64_t product_ones(uint64_t a, uint64_t b) {
  if (!a || !b)
    return 0;
  unsigned zeros = (unsigned)__builtin_ctzll(a) + (unsigned)__builtin_ctzll(b);
  uint64_t largest = a > anything / b ? anything : a * b;
  return filled(largest) & ~bf_gf2_low_bits(zeros);
}

/* mul and mad, low half or wide. */
static uint64_t multiply_ones(const bf_ptx_instruction *instruction, const uint64_t in[4]) {
  bool wide = bf_ptx_has(instruction, "wide"), adds = instruction->opcode == BF_PTX_OP_MAD;
  unsigned width = number_width(instruction->type[0]);
  bool has_sign = wide && is_signed(instruction->type[0]);
  if (bf_ptx_has(instruction, "hi"))
    return anything;
  uint64_t a = widened(in[1], width, has_sign), b = widened(in[2], width, has_sign);
  uint64_t product = product_ones(a, b);
  return adds ? sum_ones(product, in[3]) : product;
}

/* Shifts by a number; others keep what they surely keep. */
static uint64_t shift_ones(const bf_ptx_instruction *instruction, const uint64_t in[4]) {
  unsigned width = number_width(instruction->type[0]);
  bool left = instruction->opcode == BF_PTX_OP_SHL;
  bool copies = !left && is_signed(instruction->type[0]);
  uint64_t value = widened(in[1], width, copies);
  if (instruction->operand[2].kind != BF_PTX_INTEGER)
    return left ? ~below(value) : copies ? anything : filled(value);
  uint64_t by = instruction->operand[2].bits & UINT32_MAX;
  if (by >= width)
    return copies ? anything : 0;
  if (left)
    return value << by;
  return copies && value >> 63 ? value >> by | ~(anything >> by) : value >> by;
}

/* lop3: what some assignment of bits that the inputs may have leads to. */
static uint64_t table_ones(const bf_ptx_instruction *instruction, const uint64_t in[4]) {
  const bf_ptx_operand *table = &instruction->operand[4];
  uint64_t ones = 0;
  if (instruction->operands != 5 || table->kind != BF_PTX_INTEGER)
    return anything;
  for (unsigned x = 0; x < 8; x++)
    if (table->bits >> x & 1)
      ones |= (x & 4 ? in[1] : anything) & (x & 2 ? in[2] : anything) & (x & 1 ? in[3] : anything);
  return ones;
}

/* bfe of whole numbers without sign, at a place that is a number. */
static uint64_t field_ones(const bf_ptx_instruction *instruction, const uint64_t in[4]) {
  const bf_ptx_operand *at = &instruction->operand[2], *size = &instruction->operand[3];
  if (is_signed(instruction->type[0]) || at->kind != BF_PTX_INTEGER ||
      size->kind != BF_PTX_INTEGER || at->bits > 63 || size->bits > 63)
    return anything;
  return in[1] >> at->bits & bf_gf2_low_bits((unsigned)size->bits);
}

/* bfi at a place that is a number: the lowest bits of the first number in place of some of the
 * second. */
static uint64_t insert_ones(const bf_ptx_instruction *instruction, const uint64_t in[4]) {
  const bf_ptx_operand *at = &instruction->operand[3], *size = &instruction->operand[4];
  if (instruction->operands != 5 || at->kind != BF_PTX_INTEGER || size->kind != BF_PTX_INTEGER ||
      at->bits > 63 || size->bits > 63)
    return anything;
  uint64_t field = bf_gf2_low_bits((unsigned)size->bits) << at->bits;
  return (in[1] << at->bits & field) | (in[2] & ~field);
}

/* Whether a value of the instruction's type may be negative. */
static bool may_be_negative(const bf_ptx_instruction *instruction, uint64_t ones) {
  bf_ptx_type type = instruction->type[0];
  return is_signed(type) && ones >> (number_width(type) - 1) & 1;
}

/* Division and remainder of numbers that have no sign. */
static uint64_t divide_ones(const bf_ptx_instruction *instruction, const uint64_t in[4]) {
  const bf_ptx_operand *by = &instruction->operand[2];
  uint64_t all = bf_gf2_low_bits(number_width(instruction->type[0]));
  if (by->kind != BF_PTX_INTEGER || !(by->bits & all) || may_be_negative(instruction, by->bits) ||
      may_be_negative(instruction, in[1]))
    return anything;
  uint64_t divisor = by->bits & all, largest = filled(in[1] & all);
  return instruction->opcode == BF_PTX_OP_REM ? filled(divisor - 1) & largest
                                              : filled(largest / divisor);
}

/* The smaller or larger of two: one of them, and no smaller one is longer than either. */
static uint64_t choice_ones(const bf_ptx_instruction *instruction, const uint64_t in[4]) {
  uint64_t all = bf_gf2_low_bits(number_width(instruction->type[0])),
           either = (in[1] | in[2]) & all;
  if (instruction->operands != 3)
    return anything;
  if (instruction->opcode == BF_PTX_OP_MAX || may_be_negative(instruction, either))
    return either;
  return either & filled(in[1] & all) & filled(in[2] & all);
}

/* Loads fill what the type leaves with zeros or the sign. */
static uint64_t loaded_ones(const bf_ptx_instruction *instruction) {
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  unsigned width = number_width(type);
  return width && !is_signed(type) ? bf_gf2_low_bits(width) : anything;
}

/* Instructions whose types are all whole numbers of 32 bits or more. */
static uint64_t arithmetic_ones(const bf_ptx_instruction *instruction, const uint64_t in[4]) {
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
    return in[1];
  case BF_PTX_OP_CVTA:
    return instruction->space == BF_PTX_SPACE_SHARED
               ? in[1] | ~bf_gf2_low_bits(BF_VERIFY_WINDOW_BITS)
               : anything;
  case BF_PTX_OP_ADD:
    return sum_ones(in[1], in[2]);
  case BF_PTX_OP_SUB:
    return ~(below(in[1]) & below(in[2]));
  case BF_PTX_OP_OR:
  case BF_PTX_OP_XOR:
  case BF_PTX_OP_SELP:
    return in[1] | in[2];
  case BF_PTX_OP_AND:
    return in[1] & in[2];
  case BF_PTX_OP_LOP3:
    return table_ones(instruction, in);
  case BF_PTX_OP_MUL:
  case BF_PTX_OP_MAD:
    return multiply_ones(instruction, in);
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_SHR:
    return shift_ones(instruction, in);
  case BF_PTX_OP_BFE:
    return field_ones(instruction, in);
  case BF_PTX_OP_BFI:
    return insert_ones(instruction, in);
  case BF_PTX_OP_DIV:
  case BF_PTX_OP_REM:
    return divide_ones(instruction, in);
  case BF_PTX_OP_MIN:
  case BF_PTX_OP_MAX:
    return choice_ones(instruction, in);
  case BF_PTX_OP_POPC:
    return filled(number_width(instruction->type[0]));
  default:
    return anything;
  }
}

/* cvt between whole numbers. */
static uint64_t convert_ones(const bf_ptx_instruction *instruction, uint64_t in) {
  if (instruction->types != 2 || bf_ptx_has(instruction, "sat"))
    return anything;
  unsigned to = number_width(instruction->type[0]), from = number_width(instruction->type[1]);
  if (!to || !from)
    return anything;
  uint64_t value = widened(in, from, is_signed(instruction->type[1]));
  return widened(value, to, is_signed(instruction->type[0]));
}

/* What the instruction may write into a register of width bits. */
static uint64_t result_ones(const knowledge *known, const bf_ptx_instruction *instruction,
                            const bf_verify_difference *difference) {
  uint64_t in[4] = {0};
  for (unsigned i = 1; i < instruction->operands && i < 4; i++)
    in[i] = operand_ones(known, &instruction->operand[i]);
  if (instruction->opcode == BF_PTX_OP_CVT)
    return convert_ones(instruction, in[1]);
  if (instruction->opcode == BF_PTX_OP_LD || instruction->opcode == BF_PTX_OP_LDU)
    return loaded_ones(instruction);
  if (bf_ptx_has(instruction, "sat") || !instruction->types)
    return anything;
  for (unsigned i = 0; i < instruction->types; i++)
    if (number_width(instruction->type[i]) < 32)
      return anything;
  uint64_t ones = arithmetic_ones(instruction, in);
  if (difference->is_masked && (!difference->nothing || !operand_ones(known, difference->nothing)))
    ones &= in[1] & ~difference->mask;
  if (difference->doubled) {
    uint64_t x = operand_ones(known, difference->doubled);
    ones &= (x & difference->gap_mask) | (x & ~difference->gap_mask) << 1;
  }
  return ones;
}

/* Adds what may be written to the registers of the operand. */
static bool grow(uint64_t *all, const bf_ptx_operand *operand, uint64_t ones) {
  bool changed = false;
  if (operand->kind == BF_PTX_REGISTER) {
    uint64_t *own = &all[bf_verify_number(operand)];
    unsigned bytes = bf_ptx_type_bytes(operand->registers->type);
    uint64_t added = operand->component || operand->registers->vector
                         ? anything
                         : ones & bf_gf2_low_bits(bytes ? 8 * bytes : 64);
    changed = added & ~*own;
    *own |= added;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (unsigned i = 0; i < operand->count; i++)
      changed |= grow(all, &operand->item[i], anything);
  }
  return changed;
}

/* One pass over all instructions; true where a register may have more ones than before. */
static bool grow_all(const bf_ptx_function *function, const knowledge *known) {
  bool changed = false;
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    if (instruction->operands)
      changed |= grow(known->ones, &instruction->operand[0],
                      result_ones(known, instruction, &known->differences[i]));
  }
  return changed;
}

/* Registers that are parameters hold anything. */
static void start_parameters(const bf_ptx_function *function, uint64_t *ones) {
  for (unsigned list = 0; list < 2; list++) {
    const bf_ptx_variables *variables = list ? &function->parameters : &function->returns;
    for (unsigned i = 0; i < variables->count; i++) {
      const bf_ptx_registers *registers = variables->item[i].registers;
      for (uint32_t j = 0; registers && j < registers->count; j++)
        ones[registers->first + j] = anything;
    }
  }
}

/* Marks the registers that an operand writes. */
static void mark_written(bool *is_written, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER)
    is_written[bf_verify_number(operand)] = true;
  else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
           operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      mark_written(is_written, &operand->item[i]);
}

/* Registers that nothing writes hold anything. */
static bool start_unwritten(const bf_ptx_function *function, bf_arena *arena, uint64_t *ones) {
  bool *is_written = bf_arena_alloc(arena, function->registers + 1);
  if (!is_written)
    return false;
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->operands)
      mark_written(is_written, &function->instruction[i]->operand[0]);
  for (uint32_t i = 0; i < function->registers; i++)
    if (!is_written[i])
      ones[i] = anything;
  return true;
}

uint64_t *bf_verify_known_zeros(const bf_ptx_function *function, const bf_verify_threads *threads,
                                bf_arena *arena) {
  knowledge known = {bf_arena_alloc(arena, (function->registers + 1) * sizeof *known.ones), threads,
                     bf_verify_differences(function, arena)};
  if (!known.ones || !known.differences || !start_unwritten(function, arena, known.ones))
    return NULL;
  start_parameters(function, known.ones);
  while (grow_all(function, &known)) {
  }
  for (uint32_t i = 0; i < function->registers; i++)
    known.ones[i] = ~known.ones[i];
  return known.ones;
}

/* What one instruction makes of the values of registers. Only integers are followed; the result of
 * everything else, and what is read from memory, is an unknown that is named after its line. */
#include "analyze/walk.h"

#include <string.h>

/* ---- Types ---- */

static bool is_integer(bf_ptx_type type) {
  return type >= BF_PTX_B8 && type <= BF_PTX_S64 && type != BF_PTX_B128;
}

static bool is_signed(bf_ptx_type type) { return type >= BF_PTX_S8 && type <= BF_PTX_S64; }

static unsigned type_bits(bf_ptx_type type) {
  return type == BF_PTX_PRED ? 1 : bf_ptx_type_bytes(type) * 8;
}

/* ---- Arithmetic ---- */

/* An instruction with its operands being followed. */
typedef struct step {
  bf_walk *walk;
  bf_expressions *values;
  const bf_ptx_instruction *instruction;
  bf_place place;
  bf_ptx_type type;
  unsigned bits;
  bool is_signed;
} step;

static bf_expression operand(const step *s, unsigned index, unsigned bits) {
  return bf_walk_read(s->walk, &s->instruction->operand[index], s->place, bits);
}

static bf_expression operate(const step *s, bf_operation operation, bf_expression a,
                             bf_expression b) {
  return bf_expression_operate(s->values, operation, s->bits, a, b, 0);
}

static bf_expression constant(const step *s, unsigned bits, uint64_t number) {
  return bf_expression_constant(s->values, bits, number);
}

static bool has(const step *s, const char *modifier) {
  return bf_ptx_has(s->instruction, modifier);
}

static bf_expression multiply(const step *s) {
  bool wide = has(s, "wide");
  unsigned bits = wide ? s->bits * 2 : s->bits;
  bf_expression a = operand(s, 1, s->bits), b = operand(s, 2, s->bits);
  if (bits > 64)
    return 0;
  if (has(s, "hi"))
    return operate(s, s->is_signed ? BF_DO_MUL_HIGH_S : BF_DO_MUL_HIGH_U, a, b);
  return bf_expression_multiply(s->values, bf_expression_convert(s->values, a, bits, s->is_signed),
                                bf_expression_convert(s->values, b, bits, s->is_signed));
}

static bf_expression multiply_add(const step *s) {
  bf_expression product = multiply(s);
  if (product == 0 || has(s, "cc") || has(s, "sat"))
    return 0;
  return bf_expression_add(s->values, product, operand(s, 3, bf_node_of(s->values, product)->bits),
                           1);
}

/* a < b, a <= b and so on as LESS and EQUAL, perhaps negated; 0 where it is no comparison of
 * integers. */
static bf_expression compare(const step *s, bf_expression a, bf_expression b) {
  static const struct {
    const char *name;
    bool swaps, negates, is_equal;
    char sign; /* u: always unsigned */
  } comparisons[] = {
      {"eq", false, false, true, 0},    {"ne", false, true, true, 0},
      {"lt", false, false, false, 0},   {"le", true, true, false, 0},
      {"gt", true, false, false, 0},    {"ge", false, true, false, 0},
      {"lo", false, false, false, 'u'}, {"ls", true, true, false, 'u'},
      {"hi", true, false, false, 'u'},  {"hs", false, true, false, 'u'},
  };
  for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
    if (s->instruction->modifiers == 0 ||
        strcmp(s->instruction->modifier[0], comparisons[i].name) != 0)
      continue;
    bool is_signed_less = s->is_signed && comparisons[i].sign != 'u';
    bf_operation operation = comparisons[i].is_equal ? BF_DO_EQUAL
                             : is_signed_less        ? BF_DO_LESS_S
                                                     : BF_DO_LESS_U;
    bf_expression result = bf_expression_operate(
        s->values, operation, 1, comparisons[i].swaps ? b : a, comparisons[i].swaps ? a : b, 0);
    return comparisons[i].negates ? bf_expression_not(s->values, result) : result;
  }
  return 0;
}

/* The predicate of setp and set: a comparison, perhaps combined with operand 3. */
static bf_expression predicate_of(const step *s, bf_ptx_type type) {
  step with = *s;
  with.type = type;
  with.bits = type_bits(type);
  with.is_signed = is_signed(type);
  if (!is_integer(type))
    return 0;
  bf_expression result = compare(&with, operand(s, 1, with.bits), operand(s, 2, with.bits));
  if (result == 0 || s->instruction->operands < 4)
    return result;
  bf_expression other = operand(s, 3, 1);
  if (s->instruction->operand[3].negated)
    other = bf_expression_not(s->values, other);
  bf_operation operation = has(s, "and") ? BF_DO_AND : has(s, "or") ? BF_DO_OR : BF_DO_XOR;
  return bf_expression_operate(s->values, operation, 1, result, other, 0);
}

static bf_expression choose(const step *s) {
  bf_expression predicate = operand(s, 3, 1);
  if (s->instruction->operand[3].negated)
    predicate = bf_expression_not(s->values, predicate);
  bf_expression a = operand(s, 1, s->bits), b = operand(s, 2, s->bits);
  bf_split split = bf_walk_split(s->walk, predicate, s->place, s->instruction->line);
  if (split.yes.mask == 0)
    return b;
  return split.no.mask == 0 ? a : bf_expression_select(s->values, predicate, a, b);
}

static bf_expression insert_field(const step *s) {
  bf_expression a = operand(s, 1, s->bits), b = operand(s, 2, s->bits);
  bf_expression position = operand(s, 3, 32), length = operand(s, 4, 32);
  bf_expression mask =
      bf_expression_operate(s->values, BF_DO_BFI_MASK, s->bits, position, length, 0);
  bf_expression low =
      bf_expression_operate(s->values, BF_DO_AND, 32, position, constant(s, 32, 255), 0);
  bf_expression moved =
      operate(s, BF_DO_SHL, a, bf_expression_convert(s->values, low, s->bits, false));
  bf_expression kept = operate(s, BF_DO_AND, b, bf_expression_not(s->values, mask));
  return operate(s, BF_DO_OR, kept, operate(s, BF_DO_AND, moved, mask));
}

/* x ? yes : no, bit by bit. */
static bf_expression choose_bits(const step *s, bf_expression x, bf_expression yes,
                                 bf_expression no) {
  if (yes == no)
    return yes;
  return operate(s, BF_DO_OR, operate(s, BF_DO_AND, x, yes),
                 operate(s, BF_DO_AND, bf_expression_not(s->values, x), no));
}

/* The bitwise function of inputs first to 2 that the low 2^(3-first) bits of table give. */
static bf_expression look_up(const step *s, const bf_expression *input, unsigned first,
                             unsigned table) {
  if (first == 3)
    return constant(s, s->bits, table & 1 ? UINT64_MAX : 0);
  unsigned half = 1u << (2 - first);
  return choose_bits(s, input[first], look_up(s, input, first + 1, table >> half),
                     look_up(s, input, first + 1, table & ((1u << half) - 1)));
}

/* lop3: the common functions as they are, the others by their table. */
static bf_expression three_inputs(const step *s) {
  uint64_t table;
  if (s->instruction->operands != 5 ||
      !bf_expression_is_constant(s->values, operand(s, 4, 32), &table))
    return 0;
  bf_expression in[3] = {operand(s, 1, s->bits), operand(s, 2, s->bits), operand(s, 3, s->bits)};
  switch (table & 255) {
  case 0x96:
    return operate(s, BF_DO_XOR, operate(s, BF_DO_XOR, in[0], in[1]), in[2]);
  case 0x80:
    return operate(s, BF_DO_AND, operate(s, BF_DO_AND, in[0], in[1]), in[2]);
  case 0xfe:
    return operate(s, BF_DO_OR, operate(s, BF_DO_OR, in[0], in[1]), in[2]);
  case 0x78:
    return operate(s, BF_DO_XOR, in[0], operate(s, BF_DO_AND, in[1], in[2]));
  case 0x6a:
    return operate(s, BF_DO_XOR, operate(s, BF_DO_AND, in[0], in[1]), in[2]);
  case 0xea:
    return operate(s, BF_DO_OR, operate(s, BF_DO_AND, in[0], in[1]), in[2]);
  case 0xf8:
    return operate(s, BF_DO_OR, in[0], operate(s, BF_DO_AND, in[1], in[2]));
  default:
    return look_up(s, in, 0, (unsigned)table & 255);
  }
}

/* shf: operand 2 : operand 1 shifted as one number of 64 bits. */
static bf_expression funnel(const step *s) {
  bf_expressions *values = s->values;
  bf_expression low = bf_expression_convert(values, operand(s, 1, 32), 64, false);
  bf_expression high = bf_expression_convert(values, operand(s, 2, 32), 64, false);
  bf_expression both = bf_expression_add(values, low, high, (int64_t)1 << 32);
  bf_expression count = operand(s, 3, 32);
  count = has(s, "wrap")
              ? bf_expression_operate(values, BF_DO_AND, 32, count, constant(s, 32, 31), 0)
              : bf_expression_operate(values, BF_DO_MIN_U, 32, count, constant(s, 32, 32), 0);
  count = bf_expression_convert(values, count, 64, false);
  bf_expression shifted = has(s, "l")
                              ? bf_expression_operate(values, BF_DO_SHL, 64, both, count, 0)
                              : bf_expression_operate(values, BF_DO_SHR_U, 64, both, count, 0);
  if (has(s, "l"))
    shifted = bf_expression_operate(values, BF_DO_SHR_U, 64, shifted, constant(s, 64, 32), 0);
  return bf_expression_convert(values, shifted, 32, false);
}

static bf_expression convert(const step *s) {
  if (s->instruction->types < 2 || !is_integer(s->instruction->type[0]) ||
      !is_integer(s->instruction->type[1]) || has(s, "sat"))
    return 0;
  bf_ptx_type from = s->instruction->type[1];
  bf_expression value = operand(s, 1, type_bits(from));
  return bf_expression_convert(s->values, value, s->bits, is_signed(from));
}

static bf_expression convert_address(const step *s) {
  bf_expression address = operand(s, 1, s->bits);
  if (s->instruction->space == BF_PTX_SPACE_GLOBAL)
    return address;
  if (s->instruction->space != BF_PTX_SPACE_SHARED)
    return 0;
  return bf_expression_add(s->values, address,
                           bf_expression_convert(s->values, s->walk->window, s->bits, false),
                           has(s, "to") ? -1 : 1);
}

/* Several registers as one, lowest first. */
static bf_expression pack(const step *s, const bf_ptx_operand *list) {
  unsigned part = list->count ? s->bits / list->count : 0;
  bf_expression sum = constant(s, s->bits, 0);
  if (part != 8 && part != 16 && part != 32)
    return 0;
  for (uint32_t i = 0; i < list->count; i++) {
    bf_expression item = bf_walk_read(s->walk, &list->item[i], s->place, part);
    sum = bf_expression_add(s->values, sum, bf_expression_convert(s->values, item, s->bits, false),
                            (int64_t)((uint64_t)1 << part * i));
  }
  return sum;
}

static bf_expression move(const step *s) {
  const bf_ptx_operand *from = &s->instruction->operand[1];
  if (s->bits > 64)
    return 0;
  return from->kind == BF_PTX_VECTOR ? pack(s, from) : operand(s, 1, s->bits);
}

/* The sign of a shift amount or field does not matter, its 32 bits do. */
static bf_expression shift(const step *s) {
  bf_expression count = bf_expression_convert(s->values, operand(s, 2, 32), s->bits, false);
  if (s->bits < 32) {
    bf_expression least = bf_expression_operate(s->values, BF_DO_MIN_U, 32, operand(s, 2, 32),
                                                constant(s, 32, s->bits), 0);
    count = bf_expression_convert(s->values, least, s->bits, false);
  }
  bf_operation operation = s->instruction->opcode == BF_PTX_OP_SHL ? BF_DO_SHL
                           : s->is_signed                          ? BF_DO_SHR_S
                                                                   : BF_DO_SHR_U;
  return operate(s, operation, operand(s, 1, s->bits), count);
}

/* Instructions on any type. */
static bf_expression follow_any(const step *s) {
  switch (s->instruction->opcode) {
  case BF_PTX_OP_MOV:
    return move(s);
  case BF_PTX_OP_SELP:
    return s->bits <= 64 ? choose(s) : 0;
  case BF_PTX_OP_SETP:
    return predicate_of(s, s->type);
  case BF_PTX_OP_CVT:
    return convert(s);
  case BF_PTX_OP_CVTA:
    return convert_address(s);
  default:
    return 0;
  }
}

/* a + b or a - b without carry or saturation. */
static bf_expression add(const step *s, int64_t sign) {
  if (has(s, "cc") || has(s, "sat"))
    return 0;
  return bf_expression_add(s->values, operand(s, 1, s->bits), operand(s, 2, s->bits), sign);
}

static bf_expression two(const step *s, bf_operation if_signed, bf_operation if_unsigned) {
  return operate(s, s->is_signed ? if_signed : if_unsigned, operand(s, 1, s->bits),
                 operand(s, 2, s->bits));
}

/* One operand of the instruction's type, a result of 32 bits. */
static bf_expression count_bits(const step *s, bf_operation operation) {
  return bf_expression_operate(s->values, operation, 32, operand(s, 1, s->bits), 0, 0);
}

static bf_expression extract_field(const step *s) {
  return bf_expression_operate(s->values, s->is_signed ? BF_DO_BFE_S : BF_DO_BFE_U, s->bits,
                               operand(s, 1, s->bits), operand(s, 2, 32), operand(s, 3, 32));
}

static bf_expression follow_set(const step *s) {
  bf_ptx_type compared = s->instruction->types > 1 ? s->instruction->type[1] : s->type;
  bf_expression predicate = predicate_of(s, compared);
  return predicate ? bf_expression_select(s->values, predicate, constant(s, s->bits, UINT64_MAX),
                                          constant(s, s->bits, 0))
                   : 0;
}

/* Instructions on integers and predicates. */
static bf_expression follow_integer(const step *s) {
  switch (s->instruction->opcode) {
  case BF_PTX_OP_ADD:
    return add(s, 1);
  case BF_PTX_OP_SUB:
    return add(s, -1);
  case BF_PTX_OP_MUL:
    return multiply(s);
  case BF_PTX_OP_MAD:
    return multiply_add(s);
  case BF_PTX_OP_NEG:
    return bf_expression_scale(s->values, operand(s, 1, s->bits), -1);
  case BF_PTX_OP_NOT:
    return bf_expression_not(s->values, operand(s, 1, s->bits));
  case BF_PTX_OP_ABS:
    return operate(s, BF_DO_ABS, operand(s, 1, s->bits), 0);
  case BF_PTX_OP_DIV:
    return two(s, BF_DO_DIV_S, BF_DO_DIV_U);
  case BF_PTX_OP_REM:
    return two(s, BF_DO_REM_S, BF_DO_REM_U);
  case BF_PTX_OP_MIN:
    return s->instruction->operands == 3 ? two(s, BF_DO_MIN_S, BF_DO_MIN_U) : 0;
  case BF_PTX_OP_MAX:
    return s->instruction->operands == 3 ? two(s, BF_DO_MAX_S, BF_DO_MAX_U) : 0;
  case BF_PTX_OP_AND:
    return two(s, BF_DO_AND, BF_DO_AND);
  case BF_PTX_OP_OR:
    return two(s, BF_DO_OR, BF_DO_OR);
  case BF_PTX_OP_XOR:
    return two(s, BF_DO_XOR, BF_DO_XOR);
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_SHR:
    return shift(s);
  case BF_PTX_OP_SHF:
    return funnel(s);
  case BF_PTX_OP_BFE:
    return extract_field(s);
  case BF_PTX_OP_BFI:
    return insert_field(s);
  case BF_PTX_OP_LOP3:
    return three_inputs(s);
  case BF_PTX_OP_PRMT:
    return s->instruction->modifiers > 1
               ? 0
               : bf_expression_operate(s->values, BF_DO_PRMT, 32, operand(s, 1, 32),
                                       operand(s, 2, 32), operand(s, 3, 32));
  case BF_PTX_OP_POPC:
    return count_bits(s, BF_DO_POPC);
  case BF_PTX_OP_CLZ:
    return count_bits(s, BF_DO_CLZ);
  case BF_PTX_OP_BFIND:
    return has(s, "shiftamt") ? 0 : count_bits(s, s->is_signed ? BF_DO_BFIND_S : BF_DO_BFIND_U);
  case BF_PTX_OP_BREV:
    return operate(s, BF_DO_BREV, operand(s, 1, s->bits), 0);
  case BF_PTX_OP_SET:
    return follow_set(s);
  default:
    return 0;
  }
}

/* What operand 0 gets, or 0 where that is not followed. */
static bf_expression follow(const step *s) {
  if (s->instruction->types == 0)
    return 0;
  bf_expression value = follow_any(s);
  if (value == 0 && (is_integer(s->type) || s->type == BF_PTX_PRED))
    value = follow_integer(s);
  return value;
}

/* ---- Results that are not followed ---- */

/* Whether all lanes of a warp read from the same address. */
static bool has_uniform_address(bf_walk *walk, const bf_ptx_instruction *instruction,
                                bf_place place) {
  for (unsigned i = 1; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS && instruction->operand[i].count) {
      uint32_t number;
      const bf_ptx_operand *item = &instruction->operand[i].item[0];
      if (!bf_operand_register(item, &number))
        return item->kind == BF_PTX_SYMBOL;
      return bf_node_of(&walk->values, bf_walk_register(walk, number, 64, place))->is_uniform;
    }
  return false;
}

/* Whether every register that the instruction reads is the same in all lanes. */
static bool has_uniform_operands(bf_walk *walk, const bf_ptx_instruction *instruction,
                                 bf_place place) {
  for (unsigned i = 1; i < instruction->operands; i++) {
    const bf_ptx_operand *o = &instruction->operand[i];
    uint32_t number;
    if (o->kind == BF_PTX_INTEGER || o->kind == BF_PTX_FLOAT32 || o->kind == BF_PTX_FLOAT64)
      continue;
    if (!bf_operand_register(o, &number) ||
        !bf_node_of(&walk->values, bf_walk_register(walk, number, 64, place))->is_uniform)
      return false;
  }
  return true;
}

/* Instructions whose result depends on nothing but their operands. */
static bool is_pure(bf_ptx_opcode opcode) {
  switch (opcode) {
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_MUL:
  case BF_PTX_OP_MAD:
  case BF_PTX_OP_FMA:
  case BF_PTX_OP_DIV:
  case BF_PTX_OP_CVT:
  case BF_PTX_OP_SETP:
  case BF_PTX_OP_SELP:
  case BF_PTX_OP_MIN:
  case BF_PTX_OP_MAX:
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_NEG:
  case BF_PTX_OP_ABS:
  case BF_PTX_OP_EX2:
  case BF_PTX_OP_LG2:
  case BF_PTX_OP_SQRT:
  case BF_PTX_OP_RCP:
    return true;
  default:
    return false;
  }
}

/* ---- Writing results ---- */

/* Where a result goes, register by register. */
typedef struct target {
  bf_walk *walk;
  const bf_ptx_instruction *instruction;
  bf_place place;
  bf_atom_kind kind;
  bool is_uniform;
} target;

/* Gives a register a value of its own that is not known. */
static void write_unknown(void *context, const bf_ptx_operand *to) {
  target *t = context;
  uint32_t number;
  if (bf_operand_register(to, &number))
    bf_walk_write(t->walk, number,
                  bf_walk_unknown(t->walk, t->kind, bf_register_bits(to->registers), t->is_uniform,
                                  t->instruction),
                  t->place);
}

static void visit_registers(const bf_ptx_operand *to,
                            void (*visit)(void *context, const bf_ptx_operand *operand),
                            void *context) {
  if (to->kind == BF_PTX_REGISTER)
    visit(context, to);
  else if (to->kind == BF_PTX_VECTOR || to->kind == BF_PTX_PAIR || to->kind == BF_PTX_ARGUMENTS)
    for (uint32_t i = 0; i < to->count; i++)
      visit_registers(&to->item[i], visit, context);
}

void bf_walk_written(const bf_ptx_instruction *instruction,
                     void (*visit)(void *context, const bf_ptx_operand *operand), void *context) {
  if (instruction->operands == 0)
    return;
  bf_ptx_opcode opcode = instruction->opcode;
  bool is_barrier = opcode == BF_PTX_OP_BAR || opcode == BF_PTX_OP_BARRIER;
  if (is_barrier && !bf_ptx_has(instruction, "red"))
    return;
  if (opcode == BF_PTX_OP_BRA || opcode == BF_PTX_OP_BRX || opcode == BF_PTX_OP_ST ||
      opcode == BF_PTX_OP_RED)
    return;
  visit_registers(&instruction->operand[0], visit, context);
}

static void write_scalar(const step *s, const bf_ptx_operand *to, bf_expression value) {
  uint32_t number;
  if (!bf_operand_register(to, &number))
    return;
  unsigned bits = bf_register_bits(to->registers);
  bf_walk_write(s->walk, number, bf_expression_convert(s->values, value, bits, s->is_signed),
                s->place);
}

/* A value into the registers of a list, lowest bits first. */
static void write_parts(const step *s, const bf_ptx_operand *list, bf_expression value) {
  unsigned total = bf_node_of(s->values, value)->bits, part = list->count ? total / list->count : 0;
  for (uint32_t i = 0; i < list->count && part >= 8; i++) {
    bf_expression shifted =
        bf_expression_operate(s->values, BF_DO_SHR_U, total, value,
                              bf_expression_constant(s->values, total, part * i), 0);
    write_scalar(s, &list->item[i], bf_expression_convert(s->values, shifted, part, false));
  }
}

/* setp p|q: q is the comparison negated, before it is combined; only known without a third. */
static void write_pair(const step *s, const bf_ptx_operand *pair, bf_expression value) {
  if (pair->count != 2)
    return;
  write_scalar(s, &pair->item[0], value);
  if (s->instruction->operands == 3) {
    write_scalar(s, &pair->item[1], bf_expression_not(s->values, value));
  } else {
    target t = {s->walk, s->instruction, s->place, BF_ATOM_COMPUTED, false};
    visit_registers(&pair->item[1], write_unknown, &t);
  }
}

static void write_result(const step *s, bf_expression value) {
  const bf_ptx_operand *to = &s->instruction->operand[0];
  if (to->kind == BF_PTX_VECTOR)
    write_parts(s, to, value);
  else if (to->kind == BF_PTX_PAIR)
    write_pair(s, to, value);
  else
    write_scalar(s, to, value);
}

static void load_parameter(const step *s, unsigned index, int64_t offset) {
  const bf_ptx_operand *to = &s->instruction->operand[0];
  unsigned count = to->kind == BF_PTX_VECTOR ? to->count : 1;
  for (unsigned i = 0; i < count; i++) {
    bf_expression value = bf_walk_parameter(s->walk, index, offset + s->bits / 8 * i, s->bits);
    write_scalar(s, to->kind == BF_PTX_VECTOR ? &to->item[i] : to, value);
  }
}

static void follow_and_write(const step *s) {
  const bf_ptx_instruction *instruction = s->instruction;
  unsigned index;
  int64_t offset;
  if (bf_walk_is_parameter(s->walk, instruction, &index, &offset) && s->bits >= 8 &&
      s->bits <= 64) {
    load_parameter(s, index, offset);
    return;
  }
  bf_expression value = follow(s);
  if (value != 0) {
    write_result(s, value);
    return;
  }
  bool loads = bf_ptx_op_get(instruction->opcode)->access != BF_PTX_NO_ACCESS;
  bool is_atomic = instruction->opcode == BF_PTX_OP_ATOM;
  target t = {.walk = s->walk, .instruction = instruction, .place = s->place};
  t.kind = loads ? BF_ATOM_LOADED : BF_ATOM_COMPUTED;
  t.is_uniform =
      loads ? !is_atomic && has_uniform_address(s->walk, instruction, s->place)
            : is_pure(instruction->opcode) && has_uniform_operands(s->walk, instruction, s->place);
  bf_walk_written(instruction, write_unknown, &t);
}

void bf_walk_execute(bf_walk *walk, uint32_t index, bf_place place) {
  const bf_ptx_instruction *instruction = walk->function->instruction[index];
  walk->steps++;
  if (instruction->opcode == BF_PTX_OP_CALL)
    walk->is_called[index] = true;
  if (!walk->is_needed[index] || walk->values.failed)
    return;
  if (instruction->guard) {
    bf_expression guard = bf_walk_guard(walk, instruction->guard, place);
    place = bf_walk_split(walk, guard, place, instruction->line).yes;
    if (place.mask == 0)
      return;
  }
  if (!walk->muted && bf_may_be_shared(instruction))
    bf_walk_record(walk, index, place);
  if (instruction->operands == 0)
    return;
  step s = {.walk = walk, .values = &walk->values, .instruction = instruction, .place = place};
  s.type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  s.bits = type_bits(s.type);
  s.is_signed = is_signed(s.type);
  follow_and_write(&s);
}

/* What one instruction makes of the values of registers. Only integers are followed; the result of
 * everything else, and what is read from memory, is an unknown that is named after its line. */
#include "analyze/walk.h"

#include <stdlib.h>
#include <string.h>

/* ---- Registers ---- */

unsigned bf_register_bits(const bf_ptx_registers *registers) {
  if (registers->type == BF_PTX_PRED)
    return 1;
  unsigned bytes = bf_ptx_type_bytes(registers->type);
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? bytes * 8 : 64;
}

bool bf_operand_register(const bf_ptx_operand *operand, uint32_t *number) {
  if (operand->kind != BF_PTX_REGISTER || operand->registers->vector || operand->component ||
      bf_ptx_type_bytes(operand->registers->type) > 8)
    return false;
  *number = operand->registers->first + operand->index;
  return true;
}

/* What the conditions say about a predicate: 1 true, 0 false, -1 nothing. */
static int told(const bf_condition *condition, bf_expression predicate) {
  for (; condition; condition = condition->up)
    if (condition->predicate == predicate)
      return condition->is_true;
  return -1;
}

/* The part of value that counts for the threads of place. */
static bf_expression resolve(const bf_walk *walk, bf_expression value, bf_place place) {
  const bf_expressions *values = &walk->values;
  for (;;) {
    const bf_node *node = bf_node_of(values, value);
    if (node->kind == BF_EXPRESSION_BLEND &&
        bf_mask_contains(values, (uint32_t)node->number, place.mask))
      value = node->a;
    else if (node->kind == BF_EXPRESSION_BLEND &&
             !bf_mask_meets(values, (uint32_t)node->number, place.mask))
      value = node->b;
    else if (node->kind == BF_EXPRESSION_SELECT && told(place.conditions, node->a) >= 0)
      value = told(place.conditions, node->a) ? node->b : node->c;
    else
      return value;
  }
}

static bf_expression unknown(bf_walk *walk, bf_atom_kind kind, unsigned bits, bool is_uniform,
                             const bf_ptx_instruction *instruction) {
  bf_atom atom = {.kind = kind, .bits = bits, .is_uniform = is_uniform};
  atom.line = instruction ? instruction->line : 0;
  unsigned long long line = (unsigned long long)atom.line;
  if (kind == BF_ATOM_LOADED) {
    snprintf(atom.name, sizeof atom.name, "loaded@%llu", line);
    snprintf(atom.why, sizeof atom.why, "the value loaded at line %llu", line);
  } else if (instruction) {
    const char *name = bf_ptx_op_get(instruction->opcode)->name;
    snprintf(atom.name, sizeof atom.name, "%s@%llu", name, line);
    snprintf(atom.why, sizeof atom.why, "the result of %s at line %llu", name, line);
  } else {
    snprintf(atom.name, sizeof atom.name, "?");
    snprintf(atom.why, sizeof atom.why, "a register that is read before it is written");
  }
  return bf_expression_atom(&walk->values, &atom);
}

bf_expression bf_walk_register(bf_walk *walk, uint32_t number, unsigned bits, bf_place place) {
  bf_expression value = resolve(walk, walk->reg[number], place);
  return value == BF_UNDEFINED ? unknown(walk, BF_ATOM_COMPUTED, bits, false, NULL) : value;
}

/* Gives a register a value in the threads of place. */
static void write_register(bf_walk *walk, uint32_t number, bf_expression value, bf_place place) {
  bf_expressions *values = &walk->values;
  bf_expression old = walk->reg[number];
  for (const bf_condition *c = place.conditions; c; c = c->up)
    value = c->is_true ? bf_expression_select(values, c->predicate, value, old)
                       : bf_expression_select(values, c->predicate, old, value);
  walk->reg[number] = bf_expression_blend(values, place.mask, value, old);
}

/* ---- Operands ---- */

static bool is_integer(bf_ptx_type type) {
  return type >= BF_PTX_B8 && type <= BF_PTX_S64 && type != BF_PTX_B128;
}

static bool is_signed(bf_ptx_type type) { return type >= BF_PTX_S8 && type <= BF_PTX_S64; }

static unsigned type_bits(bf_ptx_type type) {
  return type == BF_PTX_PRED ? 1 : bf_ptx_type_bytes(type) * 8;
}

/* tid.x + ntid.x * (tid.y + ntid.y * tid.z) */
static bf_expression linear_thread(bf_walk *walk) {
  bf_expressions *values = &walk->values;
  bf_expression plane =
      bf_expression_add(values, values->thread[1], values->thread[2], values->block[1]);
  return bf_expression_add(values, values->thread[0], plane, values->block[0]);
}

/* 1 << lane, and the masks made of it. */
static bf_expression lane_mask(bf_walk *walk, bf_ptx_special special) {
  bf_expressions *values = &walk->values;
  bf_expression lane = bf_expression_operate(values, BF_DO_AND, 32, linear_thread(walk),
                                             bf_expression_constant(values, 32, 31), 0);
  bf_expression bit =
      bf_expression_operate(values, BF_DO_SHL, 32, bf_expression_constant(values, 32, 1), lane, 0);
  bf_expression ones = bf_expression_constant(values, 32, UINT32_MAX);
  bf_expression below = bf_expression_add(values, bit, ones, 1);
  bf_expression up_to = bf_expression_add(values, bf_expression_scale(values, bit, 2), ones, 1);
  switch (special) {
  case BF_PTX_SPECIAL_LANEMASK_EQ:
    return bit;
  case BF_PTX_SPECIAL_LANEMASK_LT:
    return below;
  case BF_PTX_SPECIAL_LANEMASK_LE:
    return up_to;
  case BF_PTX_SPECIAL_LANEMASK_GE:
    return bf_expression_not(values, below);
  default:
    return bf_expression_not(values, up_to);
  }
}

static bf_expression read_special(bf_walk *walk, const bf_ptx_operand *operand) {
  bf_expressions *values = &walk->values;
  unsigned dimension = operand->component == 'y' ? 1 : operand->component == 'z' ? 2 : 0;
  bool has_dimension = operand->component >= 'x' && operand->component <= 'z';
  switch (operand->special) {
  case BF_PTX_SPECIAL_TID:
    return has_dimension ? values->thread[dimension] : 0;
  case BF_PTX_SPECIAL_NTID:
    return has_dimension ? bf_expression_constant(values, 32, values->block[dimension]) : 0;
  case BF_PTX_SPECIAL_CTAID:
    return has_dimension ? walk->block_index[dimension] : 0;
  case BF_PTX_SPECIAL_NCTAID:
    return has_dimension ? walk->grid[dimension] : 0;
  case BF_PTX_SPECIAL_WARP_SZ:
    return bf_expression_constant(values, 32, 32);
  case BF_PTX_SPECIAL_LANEID:
    return bf_expression_operate(values, BF_DO_AND, 32, linear_thread(walk),
                                 bf_expression_constant(values, 32, 31), 0);
  case BF_PTX_SPECIAL_WARPID:
    return bf_expression_operate(values, BF_DO_SHR_U, 32, linear_thread(walk),
                                 bf_expression_constant(values, 32, 5), 0);
  case BF_PTX_SPECIAL_LANEMASK_EQ:
  case BF_PTX_SPECIAL_LANEMASK_LE:
  case BF_PTX_SPECIAL_LANEMASK_LT:
  case BF_PTX_SPECIAL_LANEMASK_GE:
  case BF_PTX_SPECIAL_LANEMASK_GT:
    return lane_mask(walk, operand->special);
  default:
    return 0;
  }
}

/* The address of a variable, in its own space. */
static bf_expression read_symbol(bf_walk *walk, const bf_ptx_operand *operand) {
  if (operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE)
    return 0;
  const bf_ptx_variable *variable = operand->symbol->variable;
  for (unsigned i = 0; i < walk->variables; i++)
    if (walk->variable[i].variable->name == variable->name &&
        walk->variable[i].variable->line == variable->line)
      return bf_expression_add(&walk->values, walk->variable[i].value,
                               bf_expression_constant(&walk->values, 32, (uint64_t)operand->offset),
                               1);
  return 0;
}

/* The operand's value, or 0 where it is nothing that is followed. */
static bf_expression read_known(bf_walk *walk, const bf_ptx_operand *operand, bf_place place) {
  uint32_t number;
  switch (operand->kind) {
  case BF_PTX_REGISTER:
    if (!bf_operand_register(operand, &number))
      return 0;
    return bf_walk_register(walk, number, bf_register_bits(operand->registers), place);
  case BF_PTX_INTEGER:
  case BF_PTX_FLOAT32:
  case BF_PTX_FLOAT64:
    return bf_expression_constant(&walk->values, 64, operand->bits);
  case BF_PTX_SPECIAL:
    return read_special(walk, operand);
  case BF_PTX_SYMBOL:
    return read_symbol(walk, operand);
  default:
    return 0;
  }
}

bf_expression bf_walk_read(bf_walk *walk, const bf_ptx_operand *operand, bf_place place,
                           unsigned bits) {
  bf_expression value = read_known(walk, operand, place);
  if (value == 0) {
    bool is_symbol = operand->kind == BF_PTX_SYMBOL;
    bf_atom atom = {.kind = BF_ATOM_COMPUTED, .bits = bits, .is_uniform = is_symbol};
    snprintf(atom.name, sizeof atom.name, "%s", is_symbol ? operand->symbol->name : "?");
    snprintf(atom.why, sizeof atom.why, "%s%s at line %u",
             is_symbol ? "the address of " : "an operand",
             is_symbol ? operand->symbol->name : " that is not followed", operand->line);
    return bf_expression_atom(&walk->values, &atom);
  }
  return bf_expression_convert(&walk->values, value, bits, false);
}

bf_expression bf_walk_guard(bf_walk *walk, const bf_ptx_operand *guard, bf_place place) {
  bf_expression predicate = bf_walk_read(walk, guard, place, 1);
  return guard->negated ? bf_expression_not(&walk->values, predicate) : predicate;
}

/* ---- Splitting threads ---- */

static bf_place on_condition(bf_walk *walk, bf_place place, const uint64_t *threads,
                             bf_expression predicate, bool is_true, bool is_unknown,
                             uint64_t line) {
  bf_place result = {bf_mask_intern(&walk->values, threads), place.conditions};
  if (!is_unknown || result.mask == 0)
    return result;
  bf_condition *condition = bf_arena_alloc(&walk->arena, sizeof *condition);
  if (!condition) {
    walk->values.failed = true;
    return result;
  }
  *condition = (bf_condition){place.conditions, predicate, is_true, line};
  result.conditions = condition;
  return result;
}

bf_split bf_walk_split(bf_walk *walk, bf_expression predicate, bf_place place, uint64_t line) {
  bf_expressions *values = &walk->values;
  bool positive = true;
  uint64_t one;
  const bf_node *node = bf_node_of(values, predicate);
  if (node->kind == BF_EXPRESSION_OPERATION && node->operation == BF_DO_XOR &&
      bf_expression_is_constant(values, node->b, &one) && one == 1) {
    positive = false;
    predicate = node->a;
  }
  bf_place none = {0, place.conditions};
  int known = told(place.conditions, predicate);
  if (known >= 0)
    return known == positive ? (bf_split){place, none, false} : (bf_split){none, place, false};
  const bf_lanes *lanes = bf_expression_evaluate(values, predicate);
  if (!lanes)
    return (bf_split){none, none, false};
  uint64_t yes[BF_MASK_WORDS] = {0}, no[BF_MASK_WORDS] = {0}, open = 0;
  for (unsigned i = 0; i < values->threads; i++) {
    uint64_t bit = (uint64_t)1 << i % 64 & bf_mask_of(values, place.mask)[i / 64];
    bool is_known = bf_mask_has(lanes->known, i);
    open |= is_known ? 0 : bit;
    if (!is_known || lanes->value[i])
      yes[i / 64] |= bit;
    if (!is_known || !lanes->value[i])
      no[i / 64] |= bit;
  }
  bf_split split = {.is_unknown = open != 0};
  split.yes = on_condition(walk, place, positive ? yes : no, predicate, positive, open != 0, line);
  split.no = on_condition(walk, place, positive ? no : yes, predicate, !positive, open != 0, line);
  return split;
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

/* ---- Loads ---- */

static bool is_own_parameter(const bf_walk *walk, const bf_ptx_instruction *instruction,
                             unsigned *index, int64_t *offset) {
  if (instruction->opcode != BF_PTX_OP_LD || instruction->space != BF_PTX_SPACE_PARAM ||
      instruction->operand[1].kind != BF_PTX_ADDRESS || instruction->operand[1].count == 0 ||
      instruction->operand[1].item[0].kind != BF_PTX_SYMBOL)
    return false;
  const bf_ptx_operand *symbol = &instruction->operand[1].item[0];
  for (unsigned i = 0; i < walk->function->parameters.count; i++)
    if (walk->function->parameters.item[i].name == symbol->symbol->name) {
      *index = i;
      *offset = instruction->operand[1].offset + symbol->offset;
      return true;
    }
  return false;
}

/* nvcc numbers parameters: kernel_param_2 is shown as param 2. */
static void name_parameter(const char *name, int64_t offset, bf_atom *atom) {
  const char *number = strstr(name, "_param_");
  char shown[48];
  if (number)
    snprintf(shown, sizeof shown, "param%s", number + strlen("_param_"));
  else
    snprintf(shown, sizeof shown, "%s", name);
  const char *form = offset ? "%s+%lld" : "%s";
  snprintf(atom->name, sizeof atom->name, form, shown, (long long)offset);
  char full[sizeof shown + 24];
  snprintf(full, sizeof full, form, number ? number + strlen("_param_") : shown, (long long)offset);
  snprintf(atom->why, sizeof atom->why, "parameter %s", full);
}

struct bf_seen_parameter {
  struct bf_seen_parameter *up;
  unsigned index, bits;
  int64_t offset;
  bf_expression value;
};

/* bits of a parameter from its byte offset on. */
static bf_expression read_parameter(bf_walk *walk, unsigned index, int64_t offset, unsigned bits) {
  const bf_analyze_options *o = walk->options;
  uint64_t start, bytes, number = 0;
  bf_analyze_parameter(walk->function, index, &start, &bytes);
  bool is_inside = offset >= 0 && (uint64_t)offset + bits / 8 <= bytes;
  bool is_known =
      is_inside && o->parameter && start + (uint64_t)offset + bits / 8 <= o->parameter_bytes;
  for (unsigned i = 0; is_known && i < bits / 8; i++) {
    is_known = o->is_known[start + (uint64_t)offset + i];
    number |= (uint64_t)o->parameter[start + (uint64_t)offset + i] << 8 * i;
  }
  if (is_known)
    return bf_expression_constant(&walk->values, bits, number);
  for (struct bf_seen_parameter *seen = walk->parameter; seen; seen = seen->up)
    if (seen->index == index && seen->offset == offset && seen->bits == bits)
      return seen->value;
  bf_atom atom = {.kind = BF_ATOM_PARAM, .bits = bits, .is_uniform = true};
  name_parameter(walk->function->parameters.item[index].name, offset, &atom);
  struct bf_seen_parameter *seen = bf_arena_alloc(&walk->arena, sizeof *seen);
  if (!seen) {
    walk->values.failed = true;
    return BF_UNDEFINED;
  }
  *seen = (struct bf_seen_parameter){walk->parameter, index, bits, offset, 0};
  seen->value = bf_expression_atom(&walk->values, &atom);
  walk->parameter = seen;
  return seen->value;
}

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
    write_register(
        t->walk, number,
        unknown(t->walk, t->kind, bf_register_bits(to->registers), t->is_uniform, t->instruction),
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
  write_register(s->walk, number, bf_expression_convert(s->values, value, bits, s->is_signed),
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
    bf_expression value = read_parameter(s->walk, index, offset + s->bits / 8 * i, s->bits);
    write_scalar(s, to->kind == BF_PTX_VECTOR ? &to->item[i] : to, value);
  }
}

static void follow_and_write(const step *s) {
  const bf_ptx_instruction *instruction = s->instruction;
  unsigned index;
  int64_t offset;
  if (is_own_parameter(s->walk, instruction, &index, &offset) && s->bits >= 8 && s->bits <= 64) {
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

/* ---- Shared accesses ---- */

static const bf_ptx_operand *address_of(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS && instruction->operand[i].count)
      return &instruction->operand[i];
  return NULL;
}

/* Whether an instruction may touch shared memory: it says so, or its address is generic. */
static bool may_be_shared(const bf_ptx_instruction *instruction) {
  if (bf_ptx_op_get(instruction->opcode)->access == BF_PTX_NO_ACCESS || !address_of(instruction))
    return false;
  return instruction->space == BF_PTX_SPACE_SHARED || instruction->space == BF_PTX_SPACE_NONE;
}

/* Whether a generic address lies in shared memory whatever its unknowns are: the start of the
 * window plus something, on every way that it was chosen. looks bounds the work. */
static bool is_in_window(const bf_walk *walk, bf_expression address, unsigned *looks) {
  const bf_node *node = bf_node_of(&walk->values, address);
  if (!node->is_named || *looks == 0)
    return false;
  --*looks;
  if (node->kind == BF_EXPRESSION_SELECT)
    return is_in_window(walk, node->b, looks) && is_in_window(walk, node->c, looks);
  if (node->kind == BF_EXPRESSION_BLEND)
    return is_in_window(walk, node->a, looks) && is_in_window(walk, node->b, looks);
  for (uint32_t i = 0; i < node->terms; i++)
    if (node->term[i].coefficient == 1 && is_in_window(walk, node->term[i].value, looks))
      return true;
  return address == walk->window;
}

static void add_record(bf_walk *walk, uint32_t index, bf_place place, bf_expression address) {
  if (walk->records == walk->record_capacity) {
    uint32_t wanted = walk->record_capacity ? walk->record_capacity * 2 : 256;
    bf_record *larger = realloc(walk->record, wanted * sizeof *larger);
    if (!larger) {
      walk->values.failed = true;
      return;
    }
    walk->record = larger;
    walk->record_capacity = wanted;
  }
  walk->record[walk->records++] = (bf_record){index, place, walk->repeats, address};
}

static void record_access(bf_walk *walk, uint32_t index, bf_place place) {
  const bf_ptx_instruction *instruction = walk->function->instruction[index];
  const bf_ptx_operand *address = address_of(instruction);
  bool is_generic = instruction->space != BF_PTX_SPACE_SHARED;
  uint32_t number;
  unsigned bits = is_generic ? 64 : 32;
  if (bf_operand_register(&address->item[0], &number))
    bits = bf_register_bits(address->item[0].registers);
  if (bits < 32)
    bits = 32;
  bf_expression value = bf_walk_read(walk, &address->item[0], place, bits);
  value =
      bf_expression_add(&walk->values, value,
                        bf_expression_constant(&walk->values, bits, (uint64_t)address->offset), 1);
  if (walk->values.failed || (is_generic && !bf_node_of(&walk->values, value)->is_named))
    return;
  unsigned looks = 1000;
  if (is_generic && !is_in_window(walk, value, &looks))
    value = walk->values.too_large[3]; /* it may be shared memory */
  add_record(walk, index, place, bf_expression_convert(&walk->values, value, 32, false));
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
  if (!walk->muted && may_be_shared(instruction))
    record_access(walk, index, place);
  if (instruction->operands == 0)
    return;
  step s = {.walk = walk, .values = &walk->values, .instruction = instruction, .place = place};
  s.type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  s.bits = type_bits(s.type);
  s.is_signed = is_signed(s.type);
  follow_and_write(&s);
}

/* ---- What matters ---- */

/* One pass per jump that an address goes through backwards; then everything matters. */
enum { MOST_MARK_PASSES = 100 };

typedef struct marker {
  bf_walk *walk;
  bool *is_wanted; /* per register */
  bool changed, writes_wanted;
} marker;

static void want(marker *m, const bf_ptx_operand *operand_read) {
  uint32_t number;
  if (bf_operand_register(operand_read, &number)) {
    m->changed |= !m->is_wanted[number];
    m->is_wanted[number] = true;
    return;
  }
  bool has_items = operand_read->kind == BF_PTX_ADDRESS || operand_read->kind == BF_PTX_VECTOR ||
                   operand_read->kind == BF_PTX_PAIR || operand_read->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand_read->count; i++)
    want(m, &operand_read->item[i]);
}

static void check_written(void *context, const bf_ptx_operand *to) {
  marker *m = context;
  uint32_t number;
  if (bf_operand_register(to, &number) && m->is_wanted[number])
    m->writes_wanted = true;
}

static bool is_branch(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_BRA:
  case BF_PTX_OP_BRX:
  case BF_PTX_OP_RET:
  case BF_PTX_OP_EXIT:
  case BF_PTX_OP_TRAP:
    return true;
  default:
    return false;
  }
}

/* Looks at one instruction: wants what it reads if it matters itself. */
static void mark(marker *m, uint32_t index) {
  const bf_ptx_instruction *instruction = m->walk->function->instruction[index];
  m->writes_wanted = false;
  bf_walk_written(instruction, check_written, m);
  bool touches = may_be_shared(instruction), branches = is_branch(instruction);
  if (!touches && !branches && !m->writes_wanted)
    return;
  m->walk->is_needed[index] = true;
  if (instruction->guard)
    want(m, instruction->guard);
  if (touches)
    want(m, address_of(instruction));
  for (unsigned i = 0;
       (m->writes_wanted || instruction->opcode == BF_PTX_OP_BRX) && i < instruction->operands; i++)
    if (i > 0 || instruction->opcode == BF_PTX_OP_BRX)
      want(m, &instruction->operand[i]);
}

int bf_walk_mark(bf_walk *walk) {
  const bf_ptx_function *function = walk->function;
  marker m = {.walk = walk, .changed = true};
  m.is_wanted = calloc((size_t)function->registers + 1, sizeof *m.is_wanted);
  if (!m.is_wanted)
    return BF_NO_MEMORY;
  for (unsigned pass = 0; m.changed && pass < MOST_MARK_PASSES; pass++) {
    m.changed = false;
    for (uint32_t i = function->instructions; i-- > 0;)
      mark(&m, i);
  }
  for (uint32_t i = 0; m.changed && i < function->instructions; i++)
    walk->is_needed[i] = true;
  free(m.is_wanted);
  return BF_OK;
}

/* Reading and writing registers, parameters and other operands, and parting threads by a predicate.
 */
#include "analyze/walk.h"

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

bf_expression bf_walk_unknown(bf_walk *walk, bf_atom_kind kind, unsigned bits, bool is_uniform,
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
  return value == BF_UNDEFINED ? bf_walk_unknown(walk, BF_ATOM_COMPUTED, bits, false, NULL) : value;
}

void bf_walk_write(bf_walk *walk, uint32_t number, bf_expression value, bf_place place) {
  bf_expressions *values = &walk->values;
  bf_expression old = walk->reg[number];
  for (const bf_condition *c = place.conditions; c; c = c->up)
    value = c->is_true ? bf_expression_select(values, c->predicate, value, old)
                       : bf_expression_select(values, c->predicate, old, value);
  walk->reg[number] = bf_expression_blend(values, place.mask, value, old);
}

/* ---- Operands ---- */

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

/* ---- Parameters ---- */

bool bf_walk_is_parameter(const bf_walk *walk, const bf_ptx_instruction *instruction,
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
bf_expression bf_walk_parameter(bf_walk *walk, unsigned index, int64_t offset, unsigned bits) {
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

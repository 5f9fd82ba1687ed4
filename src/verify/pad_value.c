/* What registers hold, as sums.
 *
 * Registers are followed to the one instruction that wrote them, or to the block where paths meet
 * on which different instructions did: static single assignment form, found where it is asked for.
 * There an equation between values holds wherever both have one: what defines them was executed
 * before on every path, and the one that depends on the other is executed anew after it. */
#include "verify/pad.h"

#include <string.h>

static const bf_pad_range any_number = {INT32_MIN, INT32_MAX};

/* ---- Where registers are written ---- */

/* The last instruction in [first, end) that writes the register, or UINT32_MAX. */
static uint32_t last_write(const bf_pad *pad, uint32_t number, uint32_t first, uint32_t end) {
  uint32_t low = pad->first_write[number], high = pad->first_write[number + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (pad->write[middle] < end)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == pad->first_write[number] || pad->write[low - 1] < first)
    return UINT32_MAX;
  return pad->write[low - 1];
}

/* The only block that leads to a block, or UINT32_MAX. */
static uint32_t only_predecessor(const bf_pad *pad, uint32_t block) {
  uint32_t first = pad->tree.first_predecessor[block];
  return block && pad->tree.first_predecessor[block + 1] == first + 1 ? pad->tree.predecessor[first]
                                                                      : UINT32_MAX;
}

/* The instruction that wrote what a register holds at the start of a block; else UINT32_MAX, and
 * *block is where paths meet, or the first one. */
static uint32_t find_before(const bf_pad *pad, uint32_t number, uint32_t *block) {
  uint32_t first = pad->first_write[number], end = pad->first_write[number + 1];
  uint32_t found = UINT32_MAX;
  if (end > first) { /* where one block has all that write it, the last of them counts */
    uint32_t home = pad->flow->block_of[pad->write[first]];
    if (home == pad->flow->block_of[pad->write[end - 1]] && home != *block &&
        bf_ptx_dominates(&pad->tree, home, *block))
      return pad->write[end - 1];
  }
  for (uint32_t steps = 0; steps < pad->flow->blocks && found == UINT32_MAX; steps++) {
    uint32_t from = only_predecessor(pad, *block);
    if (from == UINT32_MAX)
      return UINT32_MAX;
    *block = from;
    found = last_write(pad, number, pad->flow->block[from].first, pad->flow->block[from].end);
  }
  return found;
}

uint32_t bf_pad_writer(bf_pad *pad, uint32_t number, uint32_t block) {
  const bf_ptx_block *own = &pad->flow->block[block];
  uint32_t found = last_write(pad, number, own->first, own->end);
  return found != UINT32_MAX ? found : find_before(pad, number, &block);
}

/* ---- Atoms ---- */

/* What an instruction wrote to a register, in a range. */
static bf_pad_sum opaque(bf_pad *pad, uint32_t instruction, uint32_t number, bf_pad_range range) {
  bf_pad_atom key = {.kind = BF_PAD_OPAQUE,
                     .number = instruction,
                     .other = number,
                     .ranged = BF_PAD_DONE,
                     .range = range};
  return bf_pad_one(bf_pad_atom_of(pad, &key));
}

/* What an operand of which nothing is known holds when it is read. */
static bf_pad_sum unknown(bf_pad *pad, const bf_ptx_operand *operand, uint32_t instruction) {
  bf_pad_atom key = {.kind = BF_PAD_OPAQUE,
                     .number = instruction,
                     .other = UINT32_MAX,
                     .operand = operand,
                     .ranged = BF_PAD_DONE,
                     .range = any_number};
  return bf_pad_one(bf_pad_atom_of(pad, &key));
}

/* What a special register holds. */
static bf_pad_sum special(bf_pad *pad, const bf_ptx_operand *operand, uint32_t instruction) {
  bf_pad_atom key = {.kind = BF_PAD_SPECIAL,
                     .number = operand->special,
                     .other = (unsigned char)operand->component,
                     .ranged = BF_PAD_DONE,
                     .range = {0, INT32_MAX}};
  unsigned axis = operand->component == 'y' ? 1 : operand->component == 'z' ? 2 : 0;
  switch (operand->special) {
  case BF_PTX_SPECIAL_TID:
    key.range.high = (int64_t)pad->threads[axis] - 1;
    break;
  case BF_PTX_SPECIAL_NTID:
    key.range = (bf_pad_range){1, (int64_t)pad->threads[axis]};
    break;
  case BF_PTX_SPECIAL_LANEID:
    key.range.high = 31;
    break;
  case BF_PTX_SPECIAL_CTAID:
  case BF_PTX_SPECIAL_NCTAID:
    break;
  default: /* may be another one each time */
    return unknown(pad, operand, instruction);
  }
  return bf_pad_one(bf_pad_atom_of(pad, &key));
}

/* What stands for the address of a shared variable: of dynamic shared memory, which is the same
 * whatever the kernel calls it, the first name. */
static const bf_ptx_variable *named(const bf_pad *pad, const bf_ptx_variable *variable) {
  const bf_verify_scheme *scheme = pad->body->scheme;
  if (variable->bytes || !scheme || scheme->dynamic == BF_VERIFY_NO_HOME ||
      scheme->array[scheme->dynamic].variable->bytes)
    return variable;
  for (unsigned i = 0; i < scheme->arrays; i++)
    if (bf_verify_twin_of(pad->body, scheme->array[i].variable) == variable)
      return bf_verify_twin_of(pad->body, scheme->array[scheme->dynamic].variable);
  return variable;
}

/* The address of a shared variable. */
static bf_pad_sum symbol(bf_pad *pad, const bf_ptx_operand *operand, uint32_t instruction) {
  if (operand->generic || operand->mask || operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE ||
      operand->symbol->variable->space != BF_PTX_SPACE_SHARED)
    return unknown(pad, operand, instruction);
  bf_pad_atom key = {.kind = BF_PAD_SYMBOL,
                     .variable = named(pad, operand->symbol->variable),
                     .ranged = BF_PAD_DONE,
                     .range = {0, (1 << 24) - 1}};
  bf_pad_sum sum = bf_pad_one(bf_pad_atom_of(pad, &key)), offset = bf_pad_number(operand->offset);
  bf_pad_add(&sum, &offset, 1);
  return sum;
}

/* Where shared memory begins among generic addresses. */
static bf_pad_sum window(bf_pad *pad) {
  bf_pad_atom key = {.kind = BF_PAD_WINDOW, .ranged = BF_PAD_DONE, .range = any_number};
  return bf_pad_one(bf_pad_atom_of(pad, &key));
}

/* A sum under a mask. Factors that the mask does not see are left out, low zeros stand before. */
static bf_pad_sum masked(bf_pad *pad, const bf_pad_sum *sum, uint32_t mask) {
  bf_pad_range range = bf_pad_range_of(pad, sum);
  unsigned zeros = bf_pad_zero_bits(sum);
  bf_pad_sum inner = {0}, result = {0};
  if (range.low >= 0 && range.high <= UINT32_MAX && range.high > 0)
    mask &= (uint32_t)bf_gf2_low_bits(64 - (unsigned)__builtin_clzll((uint64_t)range.high));
  if (range.low >= 0 && range.high <= UINT32_MAX &&
      (range.high == 0 ||
       mask == bf_gf2_low_bits(64 - (unsigned)__builtin_clzll((uint64_t)range.high))))
    return *sum;
  if (zeros >= 32 || !(mask >> zeros))
    return bf_pad_number(0);
  mask >>= zeros;
  uint64_t seen = bf_gf2_low_bits(64 - (unsigned)__builtin_clzll(mask));
  inner.constant = (int64_t)((uint64_t)(sum->constant >> zeros) & seen);
  for (uint32_t i = 0; i < sum->terms; i++)
    if ((uint64_t)(sum->term[i].factor >> zeros) & seen) {
      inner.term[inner.terms] = sum->term[i];
      inner.term[inner.terms++].factor >>= zeros;
    }
  if (!inner.terms)
    return bf_pad_number((inner.constant & mask) << zeros);
  bf_pad_atom key = {.kind = BF_PAD_MASKED, .number = mask, .inner = bf_pad_keep(pad, &inner)};
  bf_pad_sum one = bf_pad_one(bf_pad_atom_of(pad, &key));
  bf_pad_add(&result, &one, (int64_t)1 << zeros);
  return result;
}

/* A number with a sign shifted to the right, of which no more is known than that. */
static bf_pad_sum floored(bf_pad *pad, const bf_pad_sum *sum, unsigned by) {
  bf_pad_atom key = {.kind = BF_PAD_FLOORED, .number = by, .inner = bf_pad_keep(pad, sum)};
  return bf_pad_one(bf_pad_atom_of(pad, &key));
}

/* A sum shifted to the right; where it may be negative or wrap around, it is known by its name
 * only, and without a sign not at all. */
static bool shifted(bf_pad *pad, const bf_pad_sum *sum, unsigned by, bool has_sign,
                    bf_pad_sum *result) {
  bf_pad_range range = bf_pad_range_of(pad, sum);
  if (range.low < 0 || range.high > (has_sign ? INT32_MAX : (int64_t)UINT32_MAX)) {
    if (has_sign)
      *result = floored(pad, sum, by);
    return has_sign;
  }
  *result = bf_pad_number(range.low >> by);
  if (range.low >> by == range.high >> by)
    return true;
  if (bf_pad_zero_bits(sum) >= by) {
    *result = *sum;
    result->constant >>= by;
    for (uint32_t i = 0; i < sum->terms; i++)
      result->term[i].factor >>= by;
    return true;
  }
  bf_pad_atom key = {.kind = BF_PAD_SHIFTED, .number = by, .inner = bf_pad_keep(pad, sum)};
  *result = bf_pad_one(bf_pad_atom_of(pad, &key));
  return true;
}

/* ---- Operands ---- */

static void evaluate_one(bf_pad *pad, uint32_t number);

/* What an instruction wrote to a register. */
static bf_pad_sum written(bf_pad *pad, uint32_t instruction, uint32_t number) {
  if (!pad->result[instruction] && pad->depth < BF_PAD_DEPTH) {
    pad->depth++;
    evaluate_one(pad, instruction);
    pad->depth--;
  }
  return pad->result[instruction] ? *pad->result[instruction]
                                  : opaque(pad, instruction, number, any_number);
}

/* What a register holds at the start of a block. */
static bf_pad_sum at_start(bf_pad *pad, uint32_t number, uint32_t block) {
  uint32_t found = find_before(pad, number, &block);
  if (found != UINT32_MAX)
    return written(pad, found, number);
  bf_pad_atom key = {.kind = BF_PAD_MERGE, .number = block, .other = number};
  return bf_pad_one(bf_pad_atom_of(pad, &key));
}

/* What a register holds before an instruction. */
static bf_pad_sum at(bf_pad *pad, uint32_t number, uint32_t before) {
  uint32_t block = pad->flow->block_of[before];
  uint32_t found = last_write(pad, number, pad->flow->block[block].first, before);
  if (found == UINT32_MAX)
    return at_start(pad, number, block);
  return written(pad, found, number);
}

bf_pad_sum bf_pad_at_end(bf_pad *pad, uint32_t number, uint32_t block) {
  const bf_ptx_block *own = &pad->flow->block[block];
  uint32_t found = last_write(pad, number, own->first, own->end);
  if (found == UINT32_MAX)
    return at_start(pad, number, block);
  return written(pad, found, number);
}

bf_pad_sum bf_pad_operand(bf_pad *pad, const bf_ptx_operand *operand, uint32_t before) {
  bool is_plain = !operand->component && !operand->selector && !operand->minus && !operand->negated;
  switch (operand->kind) {
  case BF_PTX_REGISTER:
    if (is_plain && !operand->registers->vector && bf_ptx_type_bytes(operand->registers->type) >= 4)
      return at(pad, bf_verify_number(operand), before);
    break;
  case BF_PTX_INTEGER:
    return bf_pad_number((int64_t)operand->bits);
  case BF_PTX_SPECIAL:
    return special(pad, operand, before);
  case BF_PTX_SYMBOL:
    return symbol(pad, operand, before);
  default:
    break;
  }
  return unknown(pad, operand, before);
}

/* ---- Instructions ---- */

static bool is_word(bf_ptx_type type) {
  return type == BF_PTX_B32 || type == BF_PTX_U32 || type == BF_PTX_S32;
}

/* Whether the sum is a number. */
static bool is_number(const bf_pad_sum *sum) { return !sum->terms; }

/* a + b, or with factor -1 a - b. a - (a & mask) is a & ~mask. */
static bool add(bf_pad *pad, bf_pad_sum a, const bf_pad_sum *b, int64_t factor,
                bf_pad_sum *result) {
  const bf_pad_atom *last = b->terms == 1 ? pad->atom[b->term[0].atom] : NULL;
  *result = a;
  if (factor == -1 && last && last->kind == BF_PAD_MASKED && !b->constant &&
      b->term[0].factor > 0) {
    uint64_t mask = (uint64_t)last->number * (uint64_t)b->term[0].factor;
    bf_pad_sum again = masked(pad, &a, (uint32_t)mask);
    if (mask <= UINT32_MAX && bf_pad_same(&again, b)) {
      *result = masked(pad, &a, ~(uint32_t)mask);
      return true;
    }
  }
  return bf_pad_add(result, b, factor);
}

/* a * b, where one of them is a number. */
static bool multiply(const bf_pad_sum *a, const bf_pad_sum *b, bf_pad_sum *result) {
  *result = bf_pad_number(0);
  if (is_number(b))
    return bf_pad_add(result, a, b->constant);
  return is_number(a) && bf_pad_add(result, b, a->constant);
}

/* a | b or a ^ b, where no bit is 1 in both. */
static bool join(bf_pad *pad, const bf_pad_sum *a, const bf_pad_sum *b, bf_pad_sum *result) {
  for (unsigned swap = 0; swap < 2; swap++) {
    const bf_pad_sum *high = swap ? b : a, *low = swap ? a : b;
    bf_pad_range range = bf_pad_range_of(pad, low);
    if (range.low >= 0 && range.high < (int64_t)1 << bf_pad_zero_bits(high)) {
      *result = *high;
      return bf_pad_add(result, low, 1);
    }
  }
  return false;
}

/* bfi: the low bits of one number above those of another. */
static bool insert(bf_pad *pad, const bf_pad_sum in[4], bf_pad_sum *result) {
  bf_pad_range low = bf_pad_range_of(pad, &in[1]);
  if (!is_number(&in[2]) || !is_number(&in[3]) || in[2].constant < 0 || in[3].constant < 1 ||
      in[2].constant + in[3].constant > 32)
    return false;
  unsigned at = (unsigned)in[2].constant, bits = (unsigned)in[3].constant;
  if (low.low < 0 || low.high >= (int64_t)1 << at)
    return false; /* bits that are replaced, or stay above */
  bf_pad_sum high = bits == 32 - at ? in[0] : masked(pad, &in[0], (uint32_t)bf_gf2_low_bits(bits));
  *result = in[1];
  return bf_pad_add(result, &high, (int64_t)1 << at);
}

/* Whether the instruction has that many modifiers, all operands and one type of 32 bits. */
static bool has_form(const bf_ptx_instruction *instruction, unsigned modifiers, unsigned operands) {
  return instruction->modifiers == modifiers && instruction->operands == operands &&
         instruction->types == 1 && is_word(instruction->type[0]);
}

/* What a shift gives. */
static bool shift(bf_pad *pad, const bf_ptx_instruction *instruction, const bf_pad_sum in[3],
                  bf_pad_sum *result) {
  if (!is_number(&in[1]) || in[1].constant < 0 || in[1].constant > 31)
    return false;
  unsigned by = (unsigned)in[1].constant;
  if (instruction->opcode == BF_PTX_OP_SHL) {
    *result = bf_pad_number(0);
    return bf_pad_add(result, &in[0], (int64_t)1 << by);
  }
  return shifted(pad, &in[0], by, instruction->type[0] == BF_PTX_S32, result);
}

static bool is_wide(bf_ptx_type type) {
  return type == BF_PTX_B64 || type == BF_PTX_U64 || type == BF_PTX_S64;
}

/* The lower half of what an instruction on 64 bits, or between 32 and 64 bits, writes: no operation
 * here carries from the upper half to the lower. */
static bool evaluate_wide(bf_pad *pad, const bf_ptx_instruction *instruction,
                          const bf_pad_sum in[4], bf_pad_sum *result) {
  bf_ptx_type to = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  bf_ptx_type from = instruction->types == 2 ? instruction->type[1] : to;
  unsigned modifiers = instruction->modifiers, operands = instruction->operands;
  bool multiplies = (is_wide(to) && bf_ptx_has(instruction, "lo")) ||
                    (is_word(to) && bf_ptx_has(instruction, "wide"));
  bool is_plain = is_wide(to) && instruction->types == 1 && modifiers == 1;
  *result = in[0];
  switch (instruction->opcode) {
  case BF_PTX_OP_CVT:
    return modifiers == 2 && operands == 2 && (is_word(to) || is_wide(to)) &&
           (is_word(from) || is_wide(from));
  case BF_PTX_OP_CVTA: {
    const bf_pad_sum start = window(pad);
    bool is_back = bf_ptx_has(instruction, "to");
    return instruction->space == BF_PTX_SPACE_SHARED && is_wide(to) && operands == 2 &&
           modifiers == (is_back ? 3 : 2) && bf_pad_add(result, &start, is_back ? -1 : 1);
  }
  case BF_PTX_OP_MOV:
    return is_plain && operands == 2;
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
    return is_plain && operands == 3 &&
           bf_pad_add(result, &in[1], instruction->opcode == BF_PTX_OP_ADD ? 1 : -1);
  case BF_PTX_OP_SHL:
    *result = bf_pad_number(0);
    return is_plain && operands == 3 && is_number(&in[1]) && in[1].constant >= 0 &&
           in[1].constant < 32 && bf_pad_add(result, &in[0], (int64_t)1 << in[1].constant);
  case BF_PTX_OP_MUL:
    return multiplies && modifiers == 2 && operands == 3 && multiply(&in[0], &in[1], result);
  case BF_PTX_OP_MAD:
    return multiplies && modifiers == 2 && operands == 4 && multiply(&in[0], &in[1], result) &&
           bf_pad_add(result, &in[2], 1);
  default:
    return false;
  }
}

/* What an instruction without a guard writes, as a sum; false where that is not known. */
static bool evaluate(bf_pad *pad, const bf_ptx_instruction *instruction, uint32_t number,
                     bf_pad_sum *result) {
  bf_pad_sum in[4] = {0};
  for (unsigned i = 0; i < 4 && i + 1 < instruction->operands; i++)
    in[i] = bf_pad_expand(pad, bf_pad_operand(pad, &instruction->operand[i + 1], number));
  if (evaluate_wide(pad, instruction, in, result))
    return true;
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
    *result = in[0];
    return has_form(instruction, 1, 2);
  case BF_PTX_OP_ADD:
    return has_form(instruction, 1, 3) && add(pad, in[0], &in[1], 1, result);
  case BF_PTX_OP_SUB:
    return has_form(instruction, 1, 3) && add(pad, in[0], &in[1], -1, result);
  case BF_PTX_OP_NEG:
  case BF_PTX_OP_NOT: /* -x - 1 */
    *result = bf_pad_number(instruction->opcode == BF_PTX_OP_NOT ? -1 : 0);
    return has_form(instruction, 1, 2) && bf_pad_add(result, &in[0], -1);
  case BF_PTX_OP_MUL:
    return has_form(instruction, 2, 3) && bf_ptx_has(instruction, "lo") &&
           multiply(&in[0], &in[1], result);
  case BF_PTX_OP_MAD:
    return has_form(instruction, 2, 4) && bf_ptx_has(instruction, "lo") &&
           multiply(&in[0], &in[1], result) && bf_pad_add(result, &in[2], 1);
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_SHR:
    return has_form(instruction, 1, 3) && shift(pad, instruction, in, result);
  case BF_PTX_OP_AND:
    if (!has_form(instruction, 1, 3) || (!is_number(&in[0]) && !is_number(&in[1])))
      return false;
    *result = is_number(&in[1]) ? masked(pad, &in[0], (uint32_t)in[1].constant)
                                : masked(pad, &in[1], (uint32_t)in[0].constant);
    return true;
  case BF_PTX_OP_BFI:
    return has_form(instruction, 1, 5) && insert(pad, in, result);
  case BF_PTX_OP_OR:
  case BF_PTX_OP_XOR:
    return has_form(instruction, 1, 3) && join(pad, &in[0], &in[1], result);
  default:
    return false;
  }
}

/* Between which numbers the result of an instruction lies of which no more is known. */
static bf_pad_range result_range(bf_pad *pad, const bf_ptx_instruction *instruction,
                                 uint32_t number) {
  bool is_load = bf_ptx_op_get(instruction->opcode)->access != BF_PTX_NO_ACCESS;
  if (instruction->guard)
    return any_number;
  if (instruction->opcode == BF_PTX_OP_REM && has_form(instruction, 1, 3) &&
      instruction->type[0] == BF_PTX_U32) {
    bf_pad_sum by = bf_pad_operand(pad, &instruction->operand[2], number);
    if (is_number(&by) && by.constant > 0)
      return (bf_pad_range){0, by.constant - 1};
  }
  if (is_load && instruction->types == 1 && instruction->type[0] == BF_PTX_U8)
    return (bf_pad_range){0, UINT8_MAX};
  if (is_load && instruction->types == 1 && instruction->type[0] == BF_PTX_U16)
    return (bf_pad_range){0, UINT16_MAX};
  return any_number;
}

/* Notes what an instruction writes, where that is one register of 32 or 64 bits. */
static void evaluate_one(bf_pad *pad, uint32_t number) {
  const bf_ptx_instruction *instruction = pad->function->instruction[number];
  const bf_ptx_operand *to = instruction->operands ? &instruction->operand[0] : NULL;
  bf_pad_sum sum;
  if (!to || to->kind != BF_PTX_REGISTER || to->component || to->registers->vector ||
      bf_ptx_type_bytes(to->registers->type) < 4 || instruction->opcode == BF_PTX_OP_CALL)
    return;
  if (instruction->guard || !evaluate(pad, instruction, number, &sum))
    sum = opaque(pad, number, bf_verify_number(to), result_range(pad, instruction, number));
  if (!pad->result[number])
    pad->result[number] = bf_pad_keep(pad, &sum);
}

/* ---- Merges ---- */

/* Whether a merge is the same on all paths, but for those on which it stays what it was. */
static bool is_steady(const bf_pad_sum *in, uint32_t count, uint32_t atom, bf_pad_sum *sum) {
  const bf_pad_sum own = bf_pad_one(atom);
  const bf_pad_sum *only = NULL;
  for (uint32_t i = 0; i < count; i++) {
    if (bf_pad_same(&in[i], &own))
      continue;
    if (only ? !bf_pad_same(only, &in[i]) : bf_pad_factor(&in[i], atom) != 0)
      return false;
    only = &in[i];
  }
  if (only)
    *sum = *only;
  return only;
}

/* Whether a merge at the start of a loop grows by a number each time: start + turns * step. */
static bool is_induction(bf_pad *pad, const bf_pad_sum *in, uint32_t block, uint32_t atom,
                         bf_pad_sum *sum) {
  uint32_t first = pad->tree.first_predecessor[block];
  uint32_t count = pad->tree.first_predecessor[block + 1] - first;
  const bf_pad_sum *start = NULL, *step = NULL;
  bf_pad_sum steps[2] = {0};
  for (uint32_t i = 0; i < count; i++) {
    if (!bf_ptx_dominates(&pad->tree, block, pad->tree.predecessor[first + i])) {
      if ((start && !bf_pad_same(start, &in[i])) || bf_pad_factor(&in[i], atom))
        return false;
      start = &in[i];
      continue;
    }
    bf_pad_sum own = bf_pad_one(atom);
    steps[1] = in[i];
    if (!bf_pad_add(&steps[1], &own, -1) || !is_number(&steps[1]) ||
        (step && !bf_pad_same(step, &steps[1])))
      return false;
    steps[0] = steps[1];
    step = &steps[0];
  }
  if (!start || !step)
    return false;
  bf_pad_atom key = {.kind = BF_PAD_TURN, .number = block};
  bf_pad_sum turn = bf_pad_one(bf_pad_atom_of(pad, &key));
  *sum = *start;
  return bf_pad_add(sum, &turn, step->constant);
}

/* Finds out what a merge always is, if anything. */
static void resolve(bf_pad *pad, uint32_t number) {
  bf_pad_atom *atom = pad->atom[number];
  enum { MOST_PATHS = 8 };
  bf_pad_sum in[MOST_PATHS], sum;
  uint32_t first = pad->tree.first_predecessor[atom->number];
  uint32_t count = pad->tree.first_predecessor[atom->number + 1] - first;
  if (atom->resolved != BF_PAD_NEW || pad->depth == BF_PAD_DEPTH)
    return;
  atom->resolved = BF_PAD_BUSY;
  pad->depth++;
  if (atom->number && count && count <= MOST_PATHS) {
    for (uint32_t i = 0; i < count; i++)
      in[i] = bf_pad_expand(pad, bf_pad_at_end(pad, atom->other, pad->tree.predecessor[first + i]));
    if (is_steady(in, count, number, &sum) || is_induction(pad, in, atom->number, number, &sum))
      atom->meaning = bf_pad_keep(pad, &sum);
  }
  pad->depth--;
  atom->resolved = BF_PAD_DONE;
}

bf_pad_sum bf_pad_expand(bf_pad *pad, bf_pad_sum sum) {
  enum { MOST_STEPS = 64 };
  for (unsigned steps = 0; steps < MOST_STEPS; steps++) {
    uint32_t i = 0;
    for (; i < sum.terms; i++) {
      const bf_pad_atom *atom = pad->atom[sum.term[i].atom];
      if (atom->kind == BF_PAD_MERGE)
        resolve(pad, sum.term[i].atom);
      if (atom->kind == BF_PAD_MERGE && atom->meaning)
        break;
    }
    if (i == sum.terms)
      return sum;
    bf_pad_sum expanded = bf_pad_without(&sum, sum.term[i].atom);
    if (!bf_pad_add(&expanded, pad->atom[sum.term[i].atom]->meaning, sum.term[i].factor))
      return sum;
    sum = expanded;
  }
  return sum;
}

/* ---- Functions ---- */

/* Counts the registers that an operand writes, or with write set notes them. */
static void list_written(bf_pad *pad, const bf_ptx_operand *operand, uint32_t instruction,
                         uint32_t *next) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = bf_verify_number(operand);
    if (pad->write)
      pad->write[next[number]++] = instruction;
    else
      pad->first_write[number + 1]++;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      list_written(pad, &operand->item[i], instruction, next);
}

/* Lists what writes each register. */
static bool list_writes(bf_pad *pad) {
  size_t registers = (size_t)pad->function->registers + 2;
  uint32_t *next = bf_arena_alloc(pad->arena, registers * sizeof *next);
  pad->first_write = bf_arena_alloc(pad->arena, registers * sizeof *pad->first_write);
  if (!next || !pad->first_write)
    return false;
  for (unsigned round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < pad->function->instructions; i++)
      if (pad->function->instruction[i]->operands)
        list_written(pad, &pad->function->instruction[i]->operand[0], i, next);
    if (round)
      return true;
    for (uint32_t i = 0; i < pad->function->registers; i++)
      pad->first_write[i + 1] += pad->first_write[i];
    memcpy(next, pad->first_write, registers * sizeof *next);
    size_t writes = (size_t)pad->first_write[pad->function->registers] + 1;
    pad->write = bf_arena_alloc(pad->arena, writes * sizeof *pad->write);
    if (!pad->write)
      return false;
  }
  return true;
}

bool bf_pad_evaluate_all(bf_pad *pad) {
  size_t instructions = (size_t)pad->function->instructions + 1;
  pad->result = bf_arena_alloc(pad->arena, instructions * sizeof *pad->result);
  if (!pad->result || !list_writes(pad))
    return false;
  for (uint32_t i = 0; i < pad->tree.ordered && !pad->no_memory; i++) {
    const bf_ptx_block *block = &pad->flow->block[pad->tree.order[i]];
    for (uint32_t k = block->first; k < block->end && !pad->no_memory; k++)
      evaluate_one(pad, k);
  }
  return !pad->no_memory;
}

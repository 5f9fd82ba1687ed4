/* What added instructions compute. Each writes one new register from constants, addresses and other
 * new registers; anything that cannot be followed makes the register unknown, which matters only
 * where an access uses it. */
#include "verify/inner.h"

#include <string.h>

static const bf_verify_guard no_guard = {UINT32_MAX, false};

bf_verify_guard bf_verify_guard_of(const bf_ptx_operand *guard) {
  return guard ? (bf_verify_guard){bf_verify_number(guard), guard->negated} : no_guard;
}

bool bf_verify_same_guard(bf_verify_guard a, bf_verify_guard b) {
  return a.number == b.number && a.negated == b.negated;
}

/* One case of two values. */
static bool same_case(const bf_verify_bits *a, const bf_verify_bits *b) {
  if (a->unknown || b->unknown)
    return a->unknown && b->unknown;
  return bf_verify_same_bits(a, b) && a->only_shared == b->only_shared;
}

bool bf_verify_same_value(const bf_verify_value *a, const bf_verify_value *b) {
  if (a->is_predicate != b->is_predicate || !a->test != !b->test ||
      (a->test && !bf_verify_same_bits(a->test, b->test)) ||
      !bf_verify_same_guard(a->guard, b->guard))
    return false;
  return same_case(&a->when[0], &b->when[0]) && same_case(&a->when[1], &b->when[1]);
}

/* The same in both cases. */
static bf_verify_value plain(bf_verify_bits bits) {
  return (bf_verify_value){.guard = no_guard, .when = {bits, bits}};
}

static bf_verify_value unknown(const char *why) { return plain(bf_verify_unknown(why)); }

/* ---- Operands ---- */

/* Bits of a register of type, 0 for predicates and the like. */
static unsigned register_width(const bf_ptx_operand *operand) {
  return operand->registers->vector ? 0 : 8 * bf_ptx_type_bytes(operand->registers->type);
}

/* A register of the original: an address of its own, that is the register without its residue,
 * whose lowest bits are 0, and the residue. */
static bf_verify_value original_register(const bf_verify_body *body, uint32_t number,
                                         unsigned width) {
  bf_verify_residue residue = body->facts.residue[number];
  bf_verify_atom atom = {.base = BF_VERIFY_REGISTER,
                         .number = number,
                         .width = width,
                         .zeros = body->facts.zeros[number] | bf_gf2_low_bits(residue.bits)};
  bf_verify_bits even = bf_verify_atom_bits(&atom);
  return plain(bf_verify_add(&even, residue.value));
}

static bf_verify_value register_value(const bf_verify_body *body, const bf_ptx_operand *operand,
                                      unsigned width) {
  uint32_t number = bf_verify_number(operand);
  if (operand->component || operand->selector || operand->minus || operand->negated)
    return unknown("part of a register");
  if (!body->is_new[number]) {
    if (register_width(operand) != width)
      return unknown("a register of another width");
    return original_register(body, number, width);
  }
  const bf_verify_value *value = bf_verify_get(body, number);
  if (register_width(operand) != width && !value->is_predicate)
    return unknown("a register of another width");
  return *value;
}

static bf_verify_value symbol_value(const bf_ptx_operand *operand, unsigned width) {
  if (operand->generic || operand->mask || operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE ||
      operand->symbol->variable->space != BF_PTX_SPACE_SHARED)
    return unknown("the address of something that is not in shared memory");
  bf_verify_atom atom = {.base = BF_VERIFY_VARIABLE,
                         .variable = operand->symbol->variable,
                         .width = width,
                         .zeros = bf_verify_variable_zeros(operand->symbol->variable)};
  bf_verify_bits bits = bf_verify_atom_bits(&atom);
  return plain(bf_verify_add(&bits, (uint64_t)operand->offset));
}

bf_verify_value bf_verify_operand(const bf_verify_body *body, const bf_ptx_operand *operand,
                                  unsigned width) {
  switch (operand->kind) {
  case BF_PTX_REGISTER:
    return register_value(body, operand, width);
  case BF_PTX_INTEGER:
    return plain(bf_verify_constant(operand->bits, width));
  case BF_PTX_SYMBOL:
    return symbol_value(operand, width);
  default:
    return unknown("an operand that is neither register, number nor variable");
  }
}

/* ---- Forms of instructions ---- */

/* 32 or 64 for a type of whole numbers or bits of that size, else 0. */
static unsigned type_width(bf_ptx_type type) {
  unsigned bytes = bf_ptx_type_bytes(type);
  const char *name = bf_ptx_type_name(type);
  bool is_plain = strchr("bus", name[0]) && !strchr(name, 'x');
  return is_plain && (bytes == 4 || bytes == 8) ? 8 * bytes : 0;
}

/* Whether the instruction has so many modifiers, the last of which are its types. */
static bool has_shape(const bf_ptx_instruction *instruction, unsigned modifiers, unsigned types) {
  if (instruction->modifiers != modifiers || instruction->types != types)
    return false;
  for (unsigned i = 0; i < types; i++)
    if (!type_width(instruction->type[i]))
      return false;
  return true;
}

bool bf_verify_may_be_added(const bf_ptx_instruction *instruction) {
  if (!instruction->operands || instruction->operand[0].kind != BF_PTX_REGISTER)
    return false;
  switch (instruction->opcode) {
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_SHR:
  case BF_PTX_OP_AND:
  case BF_PTX_OP_OR:
  case BF_PTX_OP_XOR:
  case BF_PTX_OP_SELP:
  case BF_PTX_OP_LOP3:
    return has_shape(instruction, 1, 1);
  case BF_PTX_OP_MUL:
    return has_shape(instruction, 2, 1) &&
           (bf_ptx_has(instruction, "lo") || bf_ptx_has(instruction, "hi"));
  case BF_PTX_OP_MAD:
    return has_shape(instruction, 2, 1) && bf_ptx_has(instruction, "lo");
  case BF_PTX_OP_CVT:
    return has_shape(instruction, 2, 2);
  case BF_PTX_OP_SETP:
    return has_shape(instruction, 2, 1);
  case BF_PTX_OP_CVTA:
    return instruction->space == BF_PTX_SPACE_SHARED &&
           has_shape(instruction, bf_ptx_has(instruction, "to") ? 3 : 2, 1);
  case BF_PTX_OP_ISSPACEP:
    return has_shape(instruction, 1, 0);
  default:
    return false;
  }
}

/* ---- Evaluation ---- */

/* The width of what the instruction reads; the last type says it. */
static unsigned source_width(const bf_ptx_instruction *instruction) {
  return instruction->types ? type_width(instruction->type[instruction->types - 1]) : 64;
}

static bf_verify_bits evaluate_add(const bf_verify_bits in[3]) {
  if (bf_verify_is_constant(&in[1]))
    return bf_verify_add(&in[0], in[1].constant);
  if (bf_verify_is_constant(&in[0]))
    return bf_verify_add(&in[1], in[0].constant);
  if (bf_verify_is_distance(&in[1]))
    return bf_verify_move(&in[0], &in[1]);
  return bf_verify_unknown("a sum of two registers");
}

static bf_verify_bits evaluate_shift(const bf_ptx_instruction *instruction,
                                     const bf_verify_bits in[3]) {
  if (!bf_verify_is_constant(&in[1]) || in[1].constant >= in[0].width)
    return bf_verify_unknown("a shift by a register, or by too much");
  int by = (int)in[1].constant;
  if (instruction->opcode == BF_PTX_OP_SHL)
    return bf_verify_shift(&in[0], by);
  if (bf_ptx_type_name(instruction->type[0])[0] == 's')
    return bf_verify_unknown("a shift that copies the sign");
  return bf_verify_shift(&in[0], -by);
}

static bf_verify_bits evaluate_multiply(const bf_ptx_instruction *instruction,
                                        const bf_verify_bits in[3]) {
  if (!bf_ptx_has(instruction, "hi") || bf_ptx_type_name(instruction->type[0])[0] != 'u' ||
      in[0].width != 32 || !bf_verify_is_constant(&in[1]))
    return bf_verify_unknown("a product that is not the upper half of one with a number");
  return bf_verify_multiply_high(&in[0], in[1].constant);
}

static bf_verify_bits evaluate_cvt(const bf_ptx_instruction *instruction,
                                   const bf_verify_bits *in) {
  unsigned to = type_width(instruction->type[0]);
  if (to > in->width && bf_ptx_type_name(instruction->type[1])[0] == 's')
    return bf_verify_unknown("a conversion that copies the sign");
  return bf_verify_resize(in, to);
}

static bf_verify_bits evaluate_lop3(const bf_ptx_instruction *instruction,
                                    const bf_verify_bits in[3]) {
  const bf_ptx_operand *table = &instruction->operand[4];
  if (instruction->operands != 5 || table->kind != BF_PTX_INTEGER || table->bits > 255)
    return bf_verify_unknown("a lop3 without a plain table");
  return bf_verify_table(&in[0], &in[1], &in[2], (unsigned)table->bits);
}

/* One case of an instruction without predicates. */
static bf_verify_bits evaluate_case(const bf_ptx_instruction *instruction,
                                    const bf_verify_bits in[3]) {
  const bf_verify_bits zero = bf_verify_constant(0, in[0].width);
  enum { AND = 0xc0, OR = 0xfc, XOR = 0x3c }; /* tables of lop3 on its first two inputs */
  for (unsigned i = 0; i < 3; i++)
    if (in[i].unknown)
      return in[i];
  switch (instruction->opcode) {
  case BF_PTX_OP_ADD:
    return evaluate_add(in);
  case BF_PTX_OP_SUB:
    return bf_verify_distance(&in[0], &in[1]);
  case BF_PTX_OP_MOV:
    return in[0];
  case BF_PTX_OP_MUL:
    return evaluate_multiply(instruction, in);
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_SHR:
    return evaluate_shift(instruction, in);
  case BF_PTX_OP_AND:
    return bf_verify_table(&in[0], &in[1], &zero, AND);
  case BF_PTX_OP_OR:
    return bf_verify_table(&in[0], &in[1], &zero, OR);
  case BF_PTX_OP_XOR:
    return bf_verify_table(&in[0], &in[1], &zero, XOR);
  case BF_PTX_OP_LOP3:
    return evaluate_lop3(instruction, in);
  case BF_PTX_OP_CVT:
    return evaluate_cvt(instruction, &in[0]);
  case BF_PTX_OP_CVTA:
    return bf_ptx_has(instruction, "to") ? bf_verify_to_offset(&in[0])
                                         : bf_verify_to_generic(&in[0]);
  default:
    return bf_verify_unknown("an instruction that computes no address");
  }
}

/* Takes over guard and test of an input; false where they contradict those of the result. */
static bool join(bf_verify_value *result, const bf_verify_value *input) {
  if (input->guard.number != UINT32_MAX) {
    if (result->guard.number != UINT32_MAX && !bf_verify_same_guard(result->guard, input->guard))
      return false;
    result->guard = input->guard;
  }
  if (input->test) {
    if (result->test && !bf_verify_same_bits(result->test, input->test))
      return false;
    result->test = input->test;
  }
  return true;
}

static const char *const two_conditions = "values computed under two conditions";

/* An instruction whose operands are values. */
static bf_verify_value evaluate_plain(const bf_verify_body *body,
                                      const bf_ptx_instruction *instruction) {
  unsigned width = source_width(instruction);
  bool is_shift = instruction->opcode == BF_PTX_OP_SHL || instruction->opcode == BF_PTX_OP_SHR;
  bf_verify_value result = {.guard = no_guard}, in[3];
  for (unsigned i = 0; i < 3; i++) {
    in[i] = plain(bf_verify_constant(0, width));
    if (i + 1 < instruction->operands)
      in[i] =
          bf_verify_operand(body, &instruction->operand[i + 1], is_shift && i == 1 ? 32 : width);
    if (in[i].is_predicate || !join(&result, &in[i]))
      return unknown(two_conditions);
  }
  for (unsigned c = 0; c < 2; c++)
    result.when[c] =
        c && !result.test
            ? result.when[0]
            : evaluate_case(instruction,
                            (const bf_verify_bits[3]){in[0].when[c], in[1].when[c], in[2].when[c]});
  return result;
}

/* isspacep.shared: a predicate, known by the address it asks about. */
static bf_verify_value evaluate_test(bf_verify_body *body, const bf_ptx_instruction *instruction) {
  bf_verify_value address = bf_verify_operand(body, &instruction->operand[1], 64);
  if (instruction->space != BF_PTX_SPACE_SHARED || bf_ptx_has(instruction, "shared::cluster"))
    return unknown("a question about another space than shared memory");
  if (address.when[0].unknown || address.test || address.guard.number != UINT32_MAX)
    return unknown("a question about an address that is not known");
  bf_verify_bits *test = bf_arena_alloc(&body->scratch, sizeof *test);
  if (!test) {
    body->no_memory = true;
    return unknown("no memory");
  }
  *test = address.when[0];
  return (bf_verify_value){.is_predicate = true, .test = test, .guard = no_guard};
}

/* yes where the predicate holds, else no. */
static bf_verify_value choose(const bf_verify_value *predicate, bool negated,
                              const bf_verify_value *yes, const bf_verify_value *no) {
  bf_verify_value result = {.guard = no_guard};
  if (!join(&result, predicate) || !join(&result, yes) || !join(&result, no))
    return unknown(two_conditions);
  result.when[1] = negated ? no->when[1] : yes->when[1];
  result.when[0] = negated ? yes->when[0] : no->when[0];
  return result;
}

/* The value of a predicate that answers isspacep; false for any other. */
static bool is_answer(const bf_verify_body *body, const bf_ptx_operand *operand,
                      bf_verify_value *answer) {
  if (operand->kind != BF_PTX_REGISTER)
    return false;
  bf_ptx_operand positive = *operand;
  positive.negated = false;
  *answer = bf_verify_operand(body, &positive, 0);
  return answer->is_predicate;
}

static bf_verify_value evaluate_selp(const bf_verify_body *body,
                                     const bf_ptx_instruction *instruction) {
  unsigned width = source_width(instruction);
  bf_verify_value yes = bf_verify_operand(body, &instruction->operand[1], width);
  bf_verify_value no = bf_verify_operand(body, &instruction->operand[2], width);
  bf_verify_value answer;
  if (!is_answer(body, &instruction->operand[3], &answer) || yes.is_predicate || no.is_predicate)
    return unknown("a choice by a predicate that isspacep.shared did not write");
  return choose(&answer, instruction->operand[3].negated, &yes, &no);
}

/* Where a guard decides whether value is written: by isspacep it becomes a case, any other guard
 * must be that of the access. */
static bf_verify_value apply_guard(const bf_verify_body *body,
                                   const bf_ptx_instruction *instruction,
                                   const bf_verify_value *value) {
  const bf_ptx_operand *guard = instruction->guard;
  bf_verify_value answer;
  if (!guard)
    return *value;
  if (value->is_predicate)
    return unknown("a question asked under a guard");
  if (is_answer(body, guard, &answer)) {
    const bf_ptx_operand *to = &instruction->operand[0];
    bf_verify_value before = bf_verify_operand(body, to, register_width(to));
    return choose(&answer, guard->negated, value, &before);
  }
  if (body->is_new[bf_verify_number(guard)])
    return unknown("a guard that isspacep.shared did not write");
  bf_verify_value result = *value;
  bf_verify_value under = {.guard = bf_verify_guard_of(guard)};
  return join(&result, &under) ? result : unknown(two_conditions);
}

/* Whether a register of the result's type can hold it. */
static bool fits(const bf_ptx_instruction *instruction) {
  const bf_ptx_operand *to = &instruction->operand[0];
  if (instruction->opcode == BF_PTX_OP_ISSPACEP || instruction->opcode == BF_PTX_OP_SETP)
    return to->registers->type == BF_PTX_PRED;
  return register_width(to) == type_width(instruction->type[0]);
}

/* Keeps a result; where it is what the instruction gave before, nothing is added. */
static const bf_verify_value *keep(bf_verify_body *body, uint32_t instruction,
                                   const bf_verify_value *result) {
  const bf_verify_value *before = body->result[instruction];
  if (before && bf_verify_same_value(before, result))
    return before;
  bf_verify_value *copy = bf_arena_alloc(&body->scratch, sizeof *copy);
  if (copy)
    *copy = *result;
  else
    body->no_memory = true;
  return body->result[instruction] = copy;
}

void bf_verify_evaluate(bf_verify_body *body, uint32_t number) {
  const bf_ptx_instruction *instruction = body->rewritten->instruction[number];
  bf_verify_value result;
  if (!fits(instruction))
    result = unknown("an instruction of another width than its register");
  else if (instruction->opcode == BF_PTX_OP_ISSPACEP)
    result = evaluate_test(body, instruction);
  else if (instruction->opcode == BF_PTX_OP_SELP)
    result = evaluate_selp(body, instruction);
  else
    result = evaluate_plain(body, instruction);
  result = apply_guard(body, instruction, &result);
  bf_verify_set(body, bf_verify_number(&instruction->operand[0]), keep(body, number, &result));
}

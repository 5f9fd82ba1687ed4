/* Registers of the start of a function as sums.
 *
 * Up to the first label nothing is executed twice. What is written there by one instruction, and
 * nowhere else, is fixed from then on, so that b = a + 16 t and c = b + 16 t make c = a + 32 t:
 * more is known of the lowest bits of c than of those of b and 16 t. */
#include "rewrite/inner.h"

typedef bf_rewrite_sum sum;

typedef struct start {
  const bf_ptx_function *function;
  uint32_t instructions; /* of the start */
  bool *is_written, *is_again;
  bool *is_fixed; /* per register */
  sum *of;
} start;

static uint32_t measure(const bf_ptx_statement *statement, uint32_t count, bool *has_label) {
  while (statement && !*has_label) {
    *has_label = statement->kind == BF_PTX_STATEMENT_LABEL;
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      count = measure(statement->scope, count, has_label);
    count += statement->kind == BF_PTX_STATEMENT_INSTRUCTION;
    statement = statement->next;
  }
  return count;
}

static void mark(const start *s, uint32_t number) {
  s->is_again[number] |= s->is_written[number];
  s->is_written[number] = true;
}

static void mark_written(const start *s, const bf_ptx_operand *operand) {
  bool has_items = operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
                   operand->kind == BF_PTX_ARGUMENTS;
  if (operand->kind == BF_PTX_REGISTER)
    mark(s, operand->registers->first + operand->index);
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    mark_written(s, &operand->item[i]);
}

static void mark_parameters(const start *s, const bf_ptx_variables *list) {
  for (unsigned i = 0; i < list->count; i++) {
    const bf_ptx_registers *registers = list->item[i].registers;
    for (uint32_t k = 0; registers && k < registers->count; k++)
      s->is_again[registers->first + k] = true;
  }
}

/* Adds times x to *to; false where there is no room for it. */
static bool add(sum *to, const sum *x, uint32_t times) {
  to->number += times * x->number;
  for (unsigned i = 0; i < x->parts; i++) {
    unsigned at = 0;
    for (; at < to->parts && to->part[at].of != x->part[i].of; at++)
      ;
    if (at == BF_REWRITE_PARTS)
      return false;
    if (at == to->parts)
      to->part[to->parts++].of = x->part[i].of;
    to->part[at].times += times * x->part[i].times;
  }
  return true;
}

/* Bits that are 0 in a sum of anything. */
static uint32_t zeros_of(const sum *x) {
  uint32_t zeros = ~x->number;
  for (unsigned i = 0; i < x->parts; i++)
    if (x->part[i].times)
      zeros &= (x->part[i].times & -x->part[i].times) - 1;
  return zeros;
}

static bool read(const start *s, const bf_ptx_operand *operand, sum *x) {
  *x = (sum){0};
  if (operand->component || operand->minus || operand->negated || operand->selector)
    return false;
  if (operand->kind == BF_PTX_INTEGER)
    x->number = (uint32_t)operand->bits;
  else if (operand->kind == BF_PTX_REGISTER &&
           s->is_fixed[operand->registers->first + operand->index])
    *x = s->of[operand->registers->first + operand->index];
  else
    return false;
  return true;
}

/* The sum that an instruction computes; false: it is none. */
static bool compute(const start *s, const bf_ptx_instruction *instruction, sum *x) {
  sum in[3] = {{0}};
  for (unsigned i = 0; i < 3 && i + 1 < instruction->operands; i++)
    if (!read(s, &instruction->operand[i + 1], &in[i]))
      return false;
  bool is_number = !in[1].parts;
  uint32_t number = in[1].number;
  *x = (sum){0};
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
    return add(x, &in[0], 1);
  case BF_PTX_OP_ADD:
    return add(x, &in[0], 1) && add(x, &in[1], 1);
  case BF_PTX_OP_OR:
    return is_number && !(number & ~zeros_of(&in[0])) && add(x, &in[0], 1) && add(x, &in[1], 1);
  case BF_PTX_OP_SHL:
    return is_number && number < 32 && add(x, &in[0], (uint32_t)1 << number);
  case BF_PTX_OP_MUL:
    return is_number && add(x, &in[0], number);
  case BF_PTX_OP_MAD:
    return is_number && add(x, &in[0], number) && add(x, &in[2], 1);
  default:
    return false;
  }
}

/* Whether the instruction computes one whole number of 32 bits, modulo 2^32. */
static bool is_plain(const bf_ptx_instruction *instruction) {
  return instruction->types == 1 && bf_rewrite_is_whole_number(instruction->type[0]) &&
         bf_ptx_type_bytes(instruction->type[0]) == 4 && !bf_ptx_has(instruction, "sat") &&
         !bf_ptx_has(instruction, "hi") && !bf_ptx_has(instruction, "wide");
}

static void go_through(const start *s) {
  for (uint32_t i = 0; i < s->instructions; i++) {
    const bf_ptx_instruction *instruction = s->function->instruction[i];
    const bf_ptx_operand *to = instruction->operand;
    if (!instruction->operands || instruction->guard || to->kind != BF_PTX_REGISTER ||
        to->component || to->registers->vector || bf_ptx_type_bytes(to->registers->type) != 4 ||
        s->is_again[to->registers->first + to->index])
      continue;
    uint32_t number = to->registers->first + to->index;
    if (!is_plain(instruction) || !compute(s, instruction, &s->of[number]))
      s->of[number] = (sum){.parts = 1, .part = {{number, 1}}};
    s->is_fixed[number] = true;
  }
}

bf_rewrite_sum *bf_rewrite_sums(const bf_ptx_function *function, bf_arena *arena) {
  size_t count = (size_t)function->registers + 1;
  bool has_label = false;
  start s = {.function = function,
             .instructions = measure(function->body, 0, &has_label),
             .is_written = bf_arena_alloc(arena, count),
             .is_again = bf_arena_alloc(arena, count),
             .is_fixed = bf_arena_alloc(arena, count),
             .of = bf_arena_alloc(arena, count * sizeof *s.of)};
  if (!s.is_written || !s.is_again || !s.is_fixed || !s.of)
    return NULL;
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->operands)
      mark_written(&s, &function->instruction[i]->operand[0]);
  mark_parameters(&s, &function->parameters);
  mark_parameters(&s, &function->returns);
  go_through(&s);
  return s.of;
}

/* Registers as sums of others.
 *
 * Code in front of the first label is executed once and in order. A register that one instruction
 * there writes, always, and nothing else holds the same from then on; so sums of such registers
 * times numbers can be added up: with b = s + 16 t and c = b + 16 t + 8, c is s + 32 t + 8, and
 * what it leaves modulo 32 follows from s alone. Everything is modulo 2^32. */
#include "verify/inner.h"

#include <string.h>

typedef bf_verify_linear linear;

typedef struct gathering {
  const bf_ptx_function *function;
  uint32_t end;   /* the first instruction behind a label */
  uint8_t *times; /* per register: how often it is written, at most 2 */
  uint8_t *whole; /* per register: 1 where one instruction of the part wrote it */
  linear *of;     /* per register */
} gathering;

/* The number of instructions before the first label; *is_over where there was one. */
static uint32_t before_label(const bf_ptx_statement *statement, uint32_t next, bool *is_over) {
  for (; statement && !*is_over; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_LABEL)
      *is_over = true;
    else if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      next = before_label(statement->scope, next, is_over);
    else if (statement->kind == BF_PTX_STATEMENT_INSTRUCTION)
      next++;
  return next;
}

static void count_writes(uint8_t *times, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint8_t *own = &times[bf_verify_number(operand)];
    *own = *own ? 2 : 1;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (unsigned i = 0; i < operand->count; i++)
      count_writes(times, &operand->item[i]);
  }
}

static void count_parameters(uint8_t *times, const bf_ptx_variables *list) {
  for (unsigned i = 0; i < list->count; i++) {
    const bf_ptx_registers *registers = list->item[i].registers;
    if (registers)
      memset(times + registers->first, 2, registers->count);
  }
}

/* ---- Sums ---- */

/* a + factor * b, in *sum; false where it has too many terms. */
static bool add_multiple(const linear *a, const linear *b, uint32_t factor, linear *sum) {
  *sum = *a;
  sum->constant += factor * b->constant;
  for (unsigned i = 0; i < b->terms; i++) {
    unsigned k = 0;
    while (k < sum->terms && sum->term[k].number != b->term[i].number)
      k++;
    if (k == BF_VERIFY_TERMS)
      return false;
    if (k == sum->terms)
      sum->term[sum->terms++] = (bf_verify_term){b->term[i].number, 0};
    sum->term[k].factor += factor * b->term[i].factor;
  }
  return true;
}

/* Whether all bits of a number meet zeros, whatever the registers hold. */
static bool meets_zeros(const linear *sum, uint32_t number) {
  uint32_t any = sum->constant;
  for (unsigned i = 0; i < sum->terms; i++)
    any |= -(sum->term[i].factor & -sum->term[i].factor);
  return !(any & number);
}

/* An operand as a sum; false where it is none. */
static bool operand_sum(const gathering *g, const bf_ptx_operand *operand, linear *sum) {
  *sum = (linear){0};
  if (operand->component || operand->minus || operand->negated || operand->selector)
    return false;
  if (operand->kind == BF_PTX_INTEGER) {
    sum->constant = (uint32_t)operand->bits;
    return true;
  }
  if (operand->kind != BF_PTX_REGISTER || !g->whole[bf_verify_number(operand)])
    return false;
  *sum = g->of[bf_verify_number(operand)];
  return true;
}

/* What an instruction on numbers of 32 bits computes, in *sum; false where that is no sum. */
static bool instruction_sum(const gathering *g, const bf_ptx_instruction *instruction,
                            linear *sum) {
  linear in[3] = {{0}};
  const linear zero = {0};
  const char *type = instruction->types == 1 ? bf_ptx_type_name(instruction->type[0]) : "";
  if (!type[0] || bf_ptx_type_bytes(instruction->type[0]) != 4 || !strchr("bus", type[0]) ||
      strchr(type, 'x') || bf_ptx_has(instruction, "sat") || bf_ptx_has(instruction, "hi") ||
      bf_ptx_has(instruction, "wide"))
    return false;
  for (unsigned i = 0; i < 3 && i + 1 < instruction->operands; i++)
    if (!operand_sum(g, &instruction->operand[i + 1], &in[i]))
      return false;
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
    *sum = in[0];
    return true;
  case BF_PTX_OP_ADD:
    return add_multiple(&in[0], &in[1], 1, sum);
  case BF_PTX_OP_OR:
    return !in[1].terms && meets_zeros(&in[0], in[1].constant) &&
           add_multiple(&in[0], &in[1], 1, sum);
  case BF_PTX_OP_SHL:
    return !in[1].terms && in[1].constant < 32 &&
           add_multiple(&zero, &in[0], (uint32_t)1 << in[1].constant, sum);
  case BF_PTX_OP_MUL:
    return !in[1].terms && add_multiple(&zero, &in[0], in[1].constant, sum);
  case BF_PTX_OP_MAD:
    return !in[1].terms && add_multiple(&in[2], &in[0], in[1].constant, sum);
  default:
    return false;
  }
}

/* ---- Functions ---- */

static void gather(gathering *g) {
  for (uint32_t i = 0; i < g->end; i++) {
    const bf_ptx_instruction *instruction = g->function->instruction[i];
    const bf_ptx_operand *to = instruction->operand;
    if (!instruction->operands || instruction->guard || to->kind != BF_PTX_REGISTER ||
        to->component || to->registers->vector || bf_ptx_type_bytes(to->registers->type) != 4 ||
        g->times[bf_verify_number(to)] != 1)
      continue;
    uint32_t number = bf_verify_number(to);
    if (!instruction_sum(g, instruction, &g->of[number]))
      g->of[number] = (linear){.terms = 1, .term = {{number, 1}}};
    g->whole[number] = 1;
  }
}

linear *bf_verify_linears(const bf_ptx_function *function, bf_arena *arena) {
  bool is_over = false;
  size_t count = (size_t)function->registers + 1;
  gathering g = {.function = function,
                 .end = before_label(function->body, 0, &is_over),
                 .times = bf_arena_alloc(arena, count),
                 .whole = bf_arena_alloc(arena, count),
                 .of = bf_arena_alloc(arena, count * sizeof *g.of)};
  if (!g.times || !g.whole || !g.of)
    return NULL;
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->operands)
      count_writes(g.times, &function->instruction[i]->operand[0]);
  count_parameters(g.times, &function->parameters);
  count_parameters(g.times, &function->returns);
  gather(&g);
  return g.of;
}

/* How many threads a block can have in each direction.
 *
 * Directives of the kernel say so, and so do its stores. Let every thread store to array + a * x +
 * b * y + c, where x and y are its indices and the numbers are not negative. Programs do not leave
 * the bounds of arrays (docs/verifier.md), so that a * x <= bytes - width - c. Of a register that
 * one instruction writes, and that is such a sum, all threads hold the sum wherever they read it;
 * and every thread that ends passes the blocks that post-dominate the first one. */
#include "rewrite/inner.h"

#include <string.h>

/* Limits of CUDA: CUDA C++ Programming Guide, technical specifications per compute capability. */
enum { MOST_THREADS = 1024, MOST_THREADS_Z = 64 };
/* Sums of numbers up to these do not wrap in 32 bits. */
enum { MOST_FACTOR = 1 << 16, MOST_CONSTANT = 1 << 24 };

/* variable + factor[0] * tid.x + factor[1] * tid.y + factor[2] * tid.z + constant. */
typedef struct sum {
  bool is_known;
  const bf_ptx_variable *variable; /* or NULL */
  uint64_t factor[3], constant;
} sum;

typedef struct search {
  const bf_rewrite_function *function;
  sum *of;         /* per register */
  uint8_t *writes; /* per register: instructions that write it, at most 2 */
} search;

/* ---- Directives ---- */

static unsigned smaller(uint64_t a, unsigned b) { return a < b ? (unsigned)a : b; }

/* What .maxntid and .reqntid say. */
static bf_rewrite_threads take_directives(const bf_ptx_function *function) {
  bf_rewrite_threads threads = {MOST_THREADS, {MOST_THREADS, MOST_THREADS, MOST_THREADS_Z}};
  for (unsigned i = 0; i < function->directives.count; i++) {
    const bf_ptx_directive *directive = &function->directives.item[i];
    bool is_exact = !strcmp(directive->name, "reqntid");
    if (strcmp(directive->name, "maxntid") && !is_exact)
      continue;
    uint64_t product = 1;
    for (unsigned k = 0; k < directive->numbers && product <= MOST_THREADS; k++)
      product *= directive->number[k];
    if (product)
      threads.all = smaller(product, threads.all);
    for (unsigned k = 0; k < 3 && is_exact && product; k++)
      threads.of[k] = smaller(k < directive->numbers ? directive->number[k] : 1, threads.of[k]);
  }
  return threads;
}

/* ---- Sums ---- */

static const sum unknown;

static sum constant_sum(uint64_t value) {
  return value <= MOST_CONSTANT ? (sum){.is_known = true, .constant = value} : unknown;
}

static sum symbol_sum(const bf_ptx_operand *operand) {
  if (operand->symbol->kind != BF_PTX_SYMBOL_VARIABLE || operand->generic || operand->mask ||
      operand->symbol->variable->space != BF_PTX_SPACE_SHARED)
    return unknown;
  sum made = constant_sum((uint64_t)operand->offset);
  made.variable = operand->symbol->variable;
  return made;
}

static sum operand_sum(const search *s, const bf_ptx_operand *operand) {
  if (operand->selector || operand->minus || operand->negated)
    return unknown;
  if (operand->kind == BF_PTX_SPECIAL && operand->special == BF_PTX_SPECIAL_TID &&
      operand->component >= 'x' && operand->component <= 'z') {
    sum made = {.is_known = true};
    made.factor[operand->component - 'x'] = 1;
    return made;
  }
  if (operand->kind == BF_PTX_INTEGER)
    return constant_sum(operand->bits);
  if (operand->kind == BF_PTX_SYMBOL)
    return symbol_sum(operand);
  if (operand->kind != BF_PTX_REGISTER || operand->component || operand->registers->vector)
    return unknown;
  return s->of[operand->registers->first + operand->index];
}

/* What is left of a sum whose numbers must stay small. */
static sum bounded(sum made) {
  bool fits = made.is_known && made.constant <= MOST_CONSTANT;
  for (unsigned i = 0; i < 3; i++)
    fits &= made.factor[i] <= MOST_FACTOR;
  return fits ? made : unknown;
}

static sum add(sum a, sum b) {
  if (!a.is_known || !b.is_known || (a.variable && b.variable))
    return unknown;
  for (unsigned i = 0; i < 3; i++)
    a.factor[i] += b.factor[i];
  a.constant += b.constant;
  a.variable = a.variable ? a.variable : b.variable;
  return bounded(a);
}

static bool is_number(sum a) {
  return a.is_known && !a.variable && !a.factor[0] && !a.factor[1] && !a.factor[2];
}

static sum multiply(sum a, sum b) {
  if (is_number(a)) {
    sum other = a;
    a = b;
    b = other;
  }
  if (!a.is_known || a.variable || !is_number(b) || b.constant > MOST_FACTOR)
    return unknown;
  for (unsigned i = 0; i < 3; i++)
    a.factor[i] *= b.constant;
  a.constant *= b.constant;
  return bounded(a);
}

/* What an instruction writes. Its types are whole numbers of 32 or 64 bits, in which nothing wraps
 * and signs do not matter. */
static sum result_sum(const search *s, const bf_ptx_instruction *instruction) {
  sum of[4] = {0};
  for (unsigned i = 1; i < 4 && i < instruction->operands; i++)
    of[i] = operand_sum(s, &instruction->operand[i]);
  if (bf_ptx_has(instruction, "sat") || bf_ptx_has(instruction, "hi") ||
      bf_ptx_has(instruction, "cc") || !instruction->types)
    return unknown;
  for (unsigned i = 0; i < instruction->types; i++)
    if (!bf_rewrite_is_whole_number(instruction->type[i]))
      return unknown;
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_CVT:
    return of[1];
  case BF_PTX_OP_ADD:
    return add(of[1], of[2]);
  case BF_PTX_OP_SHL:
    return is_number(of[2]) && of[2].constant <= 16
               ? multiply(of[1], constant_sum((uint64_t)1 << of[2].constant))
               : unknown;
  case BF_PTX_OP_MUL:
    return multiply(of[1], of[2]);
  case BF_PTX_OP_MAD:
    return add(multiply(of[1], of[2]), of[3]);
  default:
    return unknown;
  }
}

/* ---- Registers ---- */

static void count_writes(const bf_ptx_operand *operand, uint8_t *writes) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint8_t *own = &writes[operand->registers->first + operand->index];
    *own = *own ? 2 : 1;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      count_writes(&operand->item[i], writes);
  }
}

/* Finds the registers that are sums: one instruction writes each, without a guard. */
static void find_sums(search *s) {
  const bf_ptx_function *function = s->function->function;
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->operands)
      count_writes(&function->instruction[i]->operand[0], s->writes);
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    const bf_ptx_operand *to = &instruction->operand[0];
    if (!instruction->operands || instruction->guard || to->kind != BF_PTX_REGISTER ||
        to->component || to->registers->vector)
      continue;
    uint32_t number = to->registers->first + to->index;
    if (s->writes[number] == 1)
      s->of[number] = result_sum(s, instruction);
  }
}

/* ---- Stores ---- */

static bool stores(bf_ptx_opcode opcode) {
  return opcode == BF_PTX_OP_ST || opcode == BF_PTX_OP_ATOM || opcode == BF_PTX_OP_RED;
}

/* Takes what a store that every thread executes says. */
static void take_store(const search *s, uint32_t index, bf_rewrite_threads *threads) {
  const bf_ptx_instruction *instruction = s->function->function->instruction[index];
  bf_touch touch = s->function->touch[index];
  if (touch.kind != BF_TOUCH_SHARED || !stores(instruction->opcode) || instruction->guard)
    return;
  const bf_ptx_operand *address = &instruction->operand[touch.operand];
  if (address->count != 1 || address->offset < 0)
    return;
  sum at = add(operand_sum(s, &address->item[0]), constant_sum((uint64_t)address->offset));
  if (!at.is_known || !at.variable || at.variable->bytes < at.constant + touch.width_bytes)
    return;
  uint64_t room = at.variable->bytes - touch.width_bytes - at.constant;
  for (unsigned i = 0; i < 3; i++)
    if (at.factor[i])
      threads->of[i] = smaller(room / at.factor[i] + 1, threads->of[i]);
}

/* Whether every thread that starts the function comes to its end by its own blocks. */
static bool leaves_by_blocks(const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->opcode == BF_PTX_OP_CALL)
      return false;
  return true;
}

/* Takes what the stores in blocks that every thread passes say; false when memory is exhausted. */
static bool take_stores(const search *s, bf_rewrite_threads *threads) {
  bf_ptx_flow *flow;
  if (bf_ptx_flow_create(s->function->function, &flow, NULL) != BF_OK)
    return false;
  for (uint32_t b = 0; b < flow->blocks; b = flow->block[b].post_dominator)
    for (uint32_t i = flow->block[b].first; i < flow->block[b].end; i++)
      take_store(s, i, threads);
  bf_ptx_flow_free(flow);
  return true;
}

bool bf_rewrite_threads_find(const bf_rewrite_plan *plan, const bf_rewrite_function *own,
                             bf_rewrite_threads *threads) {
  const bf_ptx_function *function = own->function;
  size_t registers = (size_t)function->registers + 1;
  *threads = take_directives(function);
  if (!function->is_entry || !leaves_by_blocks(function))
    return true;
  search s = {.function = own,
              .of = bf_arena_alloc(plan->arena, registers * sizeof *s.of),
              .writes = bf_arena_alloc(plan->arena, registers)};
  if (!s.of || !s.writes)
    return false;
  find_sums(&s);
  return take_stores(&s, threads);
}

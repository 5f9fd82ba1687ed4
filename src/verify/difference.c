/* Differences x - (x & mask), which are x & ~mask: the remainder of a division by a power of two
 * taken away. Both reads of x must find the same value: x, the masked value and the difference are
 * written and read one behind the other, with no label in between and no other write to x. The
 * compiler may add what rounds negative numbers before it masks; where that is always 0, it is x
 * all the same. */
#include "verify/inner.h"

/* Behind which instruction each register was last written, since the last label. */
typedef struct history {
  const bf_ptx_function *function;
  uint32_t *behind; /* per register: 1 more than the instruction, 0: none */
  uint32_t start;   /* the instruction behind the last label */
} history;

static const bf_ptx_instruction *last_writer(const history *h, const bf_ptx_operand *operand,
                                             uint32_t *number) {
  uint32_t behind = h->behind[bf_verify_number(operand)];
  if (behind <= h->start)
    return NULL;
  *number = behind - 1;
  return h->function->instruction[*number];
}

/* Whether the register was not written by instruction `since` or behind it. */
static bool is_older(const history *h, const bf_ptx_operand *operand, uint32_t since) {
  return h->behind[bf_verify_number(operand)] <= since;
}

static bool is_plain(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_REGISTER && !operand->component && !operand->selector &&
         !operand->minus && !operand->negated && !operand->registers->vector;
}

static bool is_register(const bf_ptx_operand *operand, const bf_ptx_operand *other) {
  return is_plain(operand) && bf_verify_number(operand) == bf_verify_number(other);
}

/* Whether the instruction works on whole registers of the width of x and always. */
static bool fits(const bf_ptx_instruction *instruction, const bf_ptx_operand *x) {
  return !instruction->guard && instruction->types == 1 && instruction->modifiers == 1 &&
         bf_ptx_type_bytes(instruction->type[0]) == bf_ptx_type_bytes(x->registers->type) &&
         is_plain(&instruction->operand[0]);
}

/* Finds out how `value`, which instruction `at` masks, was made of x. */
static bool find_source(const history *h, const bf_ptx_operand *value, const bf_ptx_operand *x,
                        uint32_t at, bf_verify_difference *found) {
  uint32_t copied;
  if (is_register(value, x))
    return is_older(h, x, at);
  if (!is_plain(value) || !is_older(h, value, at))
    return false;
  const bf_ptx_instruction *copy = last_writer(h, value, &copied);
  if (!copy || !fits(copy, x) || !is_older(h, x, copied))
    return false;
  const bf_ptx_operand *in = copy->operand;
  if (copy->opcode == BF_PTX_OP_MOV)
    return is_register(&in[1], x);
  if (copy->opcode != BF_PTX_OP_ADD || (!is_register(&in[1], x) && !is_register(&in[2], x)))
    return false;
  found->nothing = is_register(&in[1], x) ? &in[2] : &in[1];
  return true;
}

/* Examines instruction `index`. */
static bf_verify_difference examine(const history *h, uint32_t index) {
  const bf_ptx_instruction *instruction = h->function->instruction[index];
  bf_verify_difference found = {0};
  uint32_t at;
  if (instruction->opcode != BF_PTX_OP_SUB || instruction->operands != 3)
    return found;
  const bf_ptx_operand *x = &instruction->operand[1], *less = &instruction->operand[2];
  if (!is_plain(x) || !is_plain(less) || !fits(instruction, x))
    return found;
  const bf_ptx_instruction *masking = last_writer(h, less, &at);
  if (!masking || masking->opcode != BF_PTX_OP_AND || !fits(masking, x) ||
      masking->operand[2].kind != BF_PTX_INTEGER ||
      !find_source(h, &masking->operand[1], x, at, &found))
    return (bf_verify_difference){0};
  found.is_masked = true;
  found.mask = masking->operand[2].bits;
  return found;
}

static void note(history *h, const bf_ptx_operand *operand, uint32_t index) {
  if (operand->kind == BF_PTX_REGISTER)
    h->behind[bf_verify_number(operand)] = index + 1;
  else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
           operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      note(h, &operand->item[i], index);
}

/* Goes through statements from instruction `next` on; returns the one behind them. */
static uint32_t go_through(history *h, const bf_ptx_statement *statement, uint32_t next,
                           bf_verify_difference *all) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE) {
      next = go_through(h, statement->scope, next, all);
    } else if (statement->kind == BF_PTX_STATEMENT_LABEL) {
      h->start = next;
    } else if (statement->kind == BF_PTX_STATEMENT_INSTRUCTION) {
      all[next] = examine(h, next);
      if (h->function->instruction[next]->operands)
        note(h, &h->function->instruction[next]->operand[0], next);
      next++;
    }
  return next;
}

bf_verify_difference *bf_verify_differences(const bf_ptx_function *function, bf_arena *arena) {
  bf_verify_difference *all =
      bf_arena_alloc(arena, ((size_t)function->instructions + 1) * sizeof *all);
  history h = {.function = function,
               .behind =
                   bf_arena_alloc(arena, ((size_t)function->registers + 1) * sizeof *h.behind)};
  if (!all || !h.behind)
    return NULL;
  go_through(&h, function->body, 0, all);
  return all;
}

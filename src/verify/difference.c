/* Differences x - (x & mask), which are x & ~mask: the remainder of a division by a power of two
 * taken away. Both reads of x must find the same value: x, the masked value and the difference are
 * written and read one behind the other, with no label in between and no other write to x. The
 * compiler may add what rounds negative numbers before it masks; where that is always 0, it is x
 * all the same.
 *
 * And 2 x - (x & mask) with the lowest bits in mask, which is 2 (x & ~mask) + (x & mask): x with a
 * 0 put in above the mask. There both parts may be far away: x is written once in the kernel,
 * before the first label and the first jump, and each part by one instruction further down, so that
 * they are made of the same x whenever they are read. */
#include "verify/inner.h"

/* Behind which instruction each register was last written, since the last label. */
typedef struct history {
  const bf_ptx_function *function;
  uint32_t *behind;  /* per register: 1 more than the instruction, 0: none */
  uint32_t start;    /* the instruction behind the last label */
  uint32_t *times;   /* per register: how often it is written in the function */
  uint32_t *first;   /* per register: 1 more than the first instruction that writes it */
  uint32_t straight; /* instructions that are executed once, one behind the other, at the start */
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

/* ---- Twice x less its lowest bits ---- */

/* The instruction that alone writes a register of x's width, with a number as second input; NULL.
 */
static const bf_ptx_instruction *sole_writer(const history *h, const bf_ptx_operand *what,
                                             bf_ptx_opcode opcode, const bf_ptx_operand *like) {
  uint32_t number = bf_verify_number(what);
  if (h->times[number] != 1)
    return NULL;
  const bf_ptx_instruction *made = h->function->instruction[h->first[number] - 1];
  return made->opcode == opcode && made->operands == 3 && fits(made, like) &&
                 is_plain(&made->operand[1]) && made->operand[2].kind == BF_PTX_INTEGER
             ? made
             : NULL;
}

/* Whether x is written once and for all before it is read by the instructions that write a and b.
 */
static bool is_settled(const history *h, const bf_ptx_operand *x, const bf_ptx_operand *a,
                       const bf_ptx_operand *b) {
  uint32_t number = bf_verify_number(x), at = h->first[number];
  return h->function->is_entry && h->times[number] == 1 && at <= h->straight &&
         !h->function->instruction[at - 1]->guard && h->first[bf_verify_number(a)] > at &&
         h->first[bf_verify_number(b)] > at;
}

/* Finds out whether a difference puts a 0 into x. */
static void find_gap(const history *h, const bf_ptx_instruction *difference,
                     bf_verify_difference *found) {
  const bf_ptx_operand *from = &difference->operand[1], *less = &difference->operand[2];
  const bf_ptx_instruction *twice = sole_writer(h, from, BF_PTX_OP_SHL, from);
  const bf_ptx_instruction *masked = sole_writer(h, less, BF_PTX_OP_AND, from);
  if (!twice || !masked || twice->operand[2].bits != 1 ||
      !is_register(&masked->operand[1], &twice->operand[1]) ||
      bf_ptx_type_bytes(twice->operand[1].registers->type) !=
          bf_ptx_type_bytes(from->registers->type) ||
      !is_settled(h, &twice->operand[1], from, less))
    return;
  uint64_t mask = masked->operand[2].bits;
  if ((mask & (mask + 1)) != 0)
    return;
  found->doubled = &twice->operand[1];
  found->gap_mask = mask;
}

/* ---- All of them ---- */

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
  find_gap(h, instruction, &found);
  const bf_ptx_instruction *masking = last_writer(h, less, &at);
  if (!masking || masking->opcode != BF_PTX_OP_AND || !fits(masking, x) ||
      masking->operand[2].kind != BF_PTX_INTEGER ||
      !find_source(h, &masking->operand[1], x, at, &found))
    return found;
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

/* Counts writes to the registers of an operand. */
static void count_writes(history *h, const bf_ptx_operand *operand, uint32_t index) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = bf_verify_number(operand);
    if (h->times[number]++ == 0)
      h->first[number] = index + 1;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (unsigned i = 0; i < operand->count; i++)
      count_writes(h, &operand->item[i], index);
  }
}

/* How many instructions come first, before a label or what may jump; *is_over where that ended. */
static uint32_t count_straight(const bf_ptx_function *function, const bf_ptx_statement *statement,
                               uint32_t next, bool *is_over) {
  for (; statement && !*is_over; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE) {
      next = count_straight(function, statement->scope, next, is_over);
    } else if (statement->kind == BF_PTX_STATEMENT_LABEL) {
      *is_over = true;
    } else if (statement->kind == BF_PTX_STATEMENT_INSTRUCTION) {
      bf_ptx_opcode opcode = function->instruction[next]->opcode;
      *is_over = opcode == BF_PTX_OP_BRA || opcode == BF_PTX_OP_BRX || opcode == BF_PTX_OP_RET ||
                 opcode == BF_PTX_OP_EXIT || opcode == BF_PTX_OP_TRAP;
      next += !*is_over;
    }
  return next;
}

/* What is to be known of the whole function first; false where memory is exhausted. */
static bool prepare(history *h, bf_arena *arena) {
  size_t registers = (size_t)h->function->registers + 1;
  bool is_over = false;
  h->behind = bf_arena_alloc(arena, registers * sizeof *h->behind);
  h->times = bf_arena_alloc(arena, registers * sizeof *h->times);
  h->first = bf_arena_alloc(arena, registers * sizeof *h->first);
  if (!h->behind || !h->times || !h->first)
    return false;
  for (uint32_t i = 0; i < h->function->instructions; i++)
    if (h->function->instruction[i]->operands)
      count_writes(h, &h->function->instruction[i]->operand[0], i);
  h->straight = count_straight(h->function, h->function->body, 0, &is_over);
  return true;
}

bf_verify_difference *bf_verify_differences(const bf_ptx_function *function, bf_arena *arena) {
  bf_verify_difference *all =
      bf_arena_alloc(arena, ((size_t)function->instructions + 1) * sizeof *all);
  history h = {.function = function};
  if (!all || !prepare(&h, arena))
    return NULL;
  go_through(&h, function->body, 0, all);
  return all;
}

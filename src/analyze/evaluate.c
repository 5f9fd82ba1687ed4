/* The value of an expression in each thread of the block. Results are kept per expression as long
 * as there is room for them. */
#include "analyze/expression.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_MEMO_BYTES = 1 << 26 };

bool bf_lanes_all_known(const bf_expressions *values, const bf_lanes *lanes) {
  return memcmp(lanes->known, values->mask[1], values->mask_words * sizeof *lanes->known) == 0;
}

static void set_known(const bf_expressions *values, bf_lanes *lanes, bool known) {
  for (unsigned i = 0; i < BF_MASK_WORDS; i++)
    lanes->known[i] = known ? values->mask[1][i] : 0;
}

static void fill(const bf_expressions *values, bf_lanes *lanes, uint64_t number) {
  for (unsigned i = 0; i < values->threads; i++)
    lanes->value[i] = number;
}

/* A number below values->spread for a thread's unknown, the same each time that it is asked for. */
static uint64_t draw(const bf_expressions *values, uint64_t atom, unsigned thread) {
  uint64_t mixed = (atom + 1) * 0x9e3779b97f4a7c15ull + (thread + 1) * 0xd1342543de82ef95ull;
  mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ mixed >> 29) * 0x94d049bb133111ebull;
  return (mixed >> 32) % values->spread;
}

static void evaluate_atom(const bf_expressions *values, const bf_node *node, bf_lanes *lanes) {
  const bf_atom *atom = &values->atom[node->number];
  const uint32_t *block = values->block;
  set_known(values, lanes, atom->is_known);
  fill(values, lanes, atom->number);
  for (unsigned i = 0; atom->kind == BF_ATOM_THREAD && i < values->threads; i++)
    lanes->value[i] = atom->number == 0   ? i % block[0]
                      : atom->number == 1 ? i / block[0] % block[1]
                                          : i / (block[0] * block[1]);
  if (atom->is_known || !values->spread)
    return;
  set_known(values, lanes, true);
  for (unsigned i = 0; i < values->threads; i++)
    lanes->value[i] = bf_low_bits(draw(values, node->number, atom->is_uniform ? 0 : i), node->bits);
}

static const bf_lanes *evaluate(bf_expressions *values, bf_expression value);

static bool evaluate_sum(bf_expressions *values, bf_expression value, bf_lanes *lanes) {
  unsigned bits = values->node[value].bits;
  fill(values, lanes, values->node[value].number);
  set_known(values, lanes, true);
  for (uint32_t k = 0; k < values->node[value].terms; k++) {
    bf_term term = values->node[value].term[k];
    const bf_lanes *in = evaluate(values, term.value);
    if (!in)
      return false;
    for (unsigned i = 0; i < values->threads; i++)
      lanes->value[i] += in->value[i] * (uint64_t)term.coefficient;
    for (unsigned i = 0; i < values->mask_words; i++)
      lanes->known[i] &= in->known[i];
  }
  for (unsigned i = 0; i < values->threads; i++)
    lanes->value[i] = bf_low_bits(lanes->value[i], bits);
  return true;
}

static void forget(bf_lanes *lanes, unsigned thread) {
  lanes->known[thread / 64] &= ~((uint64_t)1 << thread % 64);
}

/* Whether one known operand decides an operation on predicates. */
static bool decides(bf_operation operation, unsigned bits, uint64_t number) {
  return bits == 1 &&
         ((operation == BF_DO_AND && number == 0) || (operation == BF_DO_OR && number == 1));
}

static void operate_unknown(const bf_node *node, const bf_lanes *const *in, unsigned thread,
                            bf_lanes *lanes) {
  for (unsigned k = 0; k < 2; k++)
    if (in[k] && bf_mask_has(in[k]->known, thread) &&
        decides(node->operation, node->bits, in[k]->value[thread])) {
      lanes->value[thread] = in[k]->value[thread];
      return;
    }
  forget(lanes, thread);
}

static bool evaluate_operation(bf_expressions *values, bf_expression value, bf_lanes *lanes) {
  bf_node node = values->node[value];
  const bf_expression operand[3] = {node.a, node.b, node.c};
  const bf_lanes *in[3] = {0};
  bool known = true;
  for (unsigned k = 0; k < 3; k++)
    if (operand[k] != BF_UNDEFINED) {
      in[k] = evaluate(values, operand[k]);
      if (!in[k])
        return false;
      known = known && bf_lanes_all_known(values, in[k]);
    }
  unsigned operand_bits = values->node[node.a].bits;
  set_known(values, lanes, true);
  for (unsigned i = 0; i < values->threads; i++) {
    uint64_t numbers[3] = {0};
    bool has_all = true;
    for (unsigned k = 0; k < 3; k++)
      if (in[k]) {
        numbers[k] = in[k]->value[i];
        has_all = has_all && (known || bf_mask_has(in[k]->known, i));
      }
    lanes->value[i] = 0;
    if (!has_all)
      operate_unknown(&node, in, i, lanes);
    else if (!bf_operate(node.operation, node.bits, operand_bits, numbers, &lanes->value[i]))
      forget(lanes, i);
  }
  return true;
}

/* Copies one thread's value with what is known of it. */
static void copy_thread(bf_lanes *lanes, const bf_lanes *from, unsigned thread) {
  lanes->value[thread] = from->value[thread];
  if (!bf_mask_has(from->known, thread))
    forget(lanes, thread);
}

static bool evaluate_blend(bf_expressions *values, bf_expression value, bf_lanes *lanes) {
  bf_node node = values->node[value];
  const bf_lanes *a = evaluate(values, node.a);
  const bf_lanes *b = a ? evaluate(values, node.b) : NULL;
  if (!b)
    return false;
  const uint64_t *mask = values->mask[node.number];
  set_known(values, lanes, true);
  for (unsigned i = 0; i < values->threads; i++)
    copy_thread(lanes, bf_mask_has(mask, i) ? a : b, i);
  return true;
}

static bool evaluate_select(bf_expressions *values, bf_expression value, bf_lanes *lanes) {
  bf_node node = values->node[value];
  const bf_lanes *p = evaluate(values, node.a);
  const bf_lanes *a = p ? evaluate(values, node.b) : NULL;
  const bf_lanes *b = a ? evaluate(values, node.c) : NULL;
  if (!b)
    return false;
  set_known(values, lanes, true);
  for (unsigned i = 0; i < values->threads; i++) {
    bool is_same = a->value[i] == b->value[i] && bf_mask_has(b->known, i);
    copy_thread(lanes, p->value[i] || is_same ? a : b, i);
    if (!bf_mask_has(p->known, i) && !is_same)
      forget(lanes, i);
  }
  return true;
}

static bool evaluate_node(bf_expressions *values, bf_expression value, bf_lanes *lanes) {
  const bf_node *node = &values->node[value];
  switch (node->kind) {
  case BF_EXPRESSION_UNDEFINED:
    fill(values, lanes, 0);
    set_known(values, lanes, false);
    return true;
  case BF_EXPRESSION_CONSTANT:
    fill(values, lanes, node->number);
    set_known(values, lanes, true);
    return true;
  case BF_EXPRESSION_ATOM:
    evaluate_atom(values, node, lanes);
    return true;
  case BF_EXPRESSION_SUM:
    return evaluate_sum(values, value, lanes);
  case BF_EXPRESSION_OPERATION:
    return evaluate_operation(values, value, lanes);
  case BF_EXPRESSION_BLEND:
    return evaluate_blend(values, value, lanes);
  case BF_EXPRESSION_SELECT:
    return evaluate_select(values, value, lanes);
  case BF_EXPRESSION_LANES:
    memcpy(lanes->value, node->lane, values->threads * sizeof *node->lane);
    set_known(values, lanes, true);
    return true;
  }
  return false;
}

/* Whether nothing is known of an operand in any thread. */
static bool is_lost(bf_expressions *values, bf_expression value) {
  return evaluate(values, value) == values->nothing;
}

/* Whether nothing is known of a value in any thread, as far as its operands tell: most values of
 * kernels whose loops hang on data are such, and need not be computed. */
static bool knows_nothing(bf_expressions *values, bf_expression value) {
  bf_node node = values->node[value];
  bool found = false;
  switch (node.kind) {
  case BF_EXPRESSION_UNDEFINED:
    return true;
  case BF_EXPRESSION_ATOM:
    return !values->atom[node.number].is_known;
  case BF_EXPRESSION_SUM:
    for (uint32_t i = 0; i < node.terms && !found; i++)
      found = is_lost(values, values->node[value].term[i].value);
    return found;
  case BF_EXPRESSION_OPERATION: /* of predicates, one operand can decide */
    if (node.bits == 1 && (node.operation == BF_DO_AND || node.operation == BF_DO_OR))
      return is_lost(values, node.a) && is_lost(values, node.b);
    return is_lost(values, node.a) || (node.b && is_lost(values, node.b)) ||
           (node.c && is_lost(values, node.c));
  case BF_EXPRESSION_BLEND:
    return is_lost(values, node.a) && is_lost(values, node.b);
  case BF_EXPRESSION_SELECT:
    return is_lost(values, node.b) ? is_lost(values, node.a) || is_lost(values, node.c)
                                   : is_lost(values, node.c) && is_lost(values, node.a);
  default:
    return false;
  }
}

/* Room in memo for every node there is. */
static bool reserve(bf_expressions *values) {
  if (values->memo_capacity >= values->node_capacity)
    return true;
  bf_lanes **larger = realloc(values->memo, values->node_capacity * sizeof(bf_lanes *));
  if (!larger)
    return false;
  memset(larger + values->memo_capacity, 0,
         (values->node_capacity - values->memo_capacity) * sizeof(bf_lanes *));
  values->memo = larger;
  values->memo_capacity = values->node_capacity;
  return true;
}

static size_t lanes_bytes(const bf_expressions *values) {
  return sizeof(bf_lanes) + values->threads * sizeof(uint64_t);
}

static const bf_lanes *evaluate(bf_expressions *values, bf_expression value) {
  if (values->memo[value])
    return values->memo[value];
  if (!values->spread && knows_nothing(values, value)) {
    values->work++;
    return values->memo[value] = values->nothing;
  }
  bf_lanes *lanes = malloc(lanes_bytes(values));
  if (!lanes || !evaluate_node(values, value, lanes)) {
    free(lanes);
    values->failed = true;
    return NULL;
  }
  values->memos++;
  values->work += values->threads;
  return values->memo[value] = lanes;
}

void bf_expressions_forget(bf_expressions *values) {
  for (uint32_t i = 0; i < values->memo_capacity; i++) {
    if (values->memo[i] != values->nothing)
      free(values->memo[i]);
    values->memo[i] = NULL;
  }
  values->memos = 0;
}

const bf_lanes *bf_expression_evaluate(bf_expressions *values, bf_expression value) {
  if (!values->nothing)
    values->nothing = calloc(1, lanes_bytes(values));
  if (values->failed || !values->nothing || !reserve(values)) {
    values->failed = true;
    return NULL;
  }
  if (values->memos * lanes_bytes(values) > MOST_MEMO_BYTES) {
    bf_expressions_forget(values);
  }
  return evaluate(values, value);
}

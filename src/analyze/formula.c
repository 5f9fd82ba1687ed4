/* Walks over expressions: their text, their atoms, and the same expression of other atoms. */
#include "analyze/expression.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT_BYTES = 240 };

/* ---- Atoms ---- */

/* Room for a mark and a number of every node there is, and marks that no node has yet: walks cost
 * what they meet, however many nodes there are. */
static bool begin_walk(bf_expressions *values) {
  values->work += 8;
  if (values->mark_capacity < values->nodes) {
    uint32_t capacity = values->node_capacity;
    uint32_t *mark = realloc(values->mark, capacity * sizeof *mark);
    values->mark = mark ? mark : values->mark;
    bf_expression *done = mark ? realloc(values->done, capacity * sizeof *done) : NULL;
    values->done = done ? done : values->done;
    if (!done) {
      values->failed = true;
      return false;
    }
    memset(mark + values->mark_capacity, 0, (capacity - values->mark_capacity) * sizeof *mark);
    values->mark_capacity = capacity;
  }
  values->walks++;
  return true;
}

/* A walk that meets each node once. */
typedef struct walk {
  bf_expressions *values;
  bool (*found)(void *context, const bf_atom *atom, uint32_t number);
  void *context;
  bool stopped;
} walk;

static void visit(walk *w, bf_expression value) {
  const bf_node *node = &w->values->node[value];
  if (w->stopped || value == BF_UNDEFINED || node->is_known ||
      w->values->mark[value] == w->values->walks)
    return;
  w->values->mark[value] = w->values->walks;
  w->values->work++;
  if (node->kind == BF_EXPRESSION_ATOM)
    w->stopped = !w->found(w->context, &w->values->atom[node->number], (uint32_t)node->number);
  visit(w, node->a);
  visit(w, node->b);
  visit(w, node->c);
  for (uint32_t i = 0; i < node->terms; i++)
    visit(w, node->term[i].value);
}

void bf_expression_unknowns(bf_expressions *values, bf_expression value,
                            bool (*found)(void *context, const bf_atom *atom, uint32_t number),
                            void *context) {
  walk w = {.values = values, .found = found, .context = context};
  if (begin_walk(values))
    visit(&w, value);
}

typedef struct age {
  uint32_t before;
  bool is_older;
} age;

static bool compare_age(void *context, const bf_atom *atom, uint32_t number) {
  age *a = context;
  (void)atom;
  a->is_older = number < a->before;
  return a->is_older;
}

bool bf_expression_is_older(bf_expressions *values, bf_expression value, uint32_t before) {
  age a = {.before = before, .is_older = true};
  walk w = {.values = values, .found = compare_age, .context = &a};
  if (begin_walk(values))
    visit(&w, value);
  return a.is_older && !values->failed;
}

/* ---- Substitution ---- */

typedef struct exchange {
  bf_expressions *values;
  const bf_expression *from, *to;
  unsigned count;
} exchange;

static bf_expression substitute(exchange *e, bf_expression value);

static bf_expression rebuild_sum(exchange *e, bf_expression value) {
  bf_expressions *values = e->values;
  bf_expression sum =
      bf_expression_constant(values, values->node[value].bits, values->node[value].number);
  for (uint32_t i = 0; i < values->node[value].terms && !values->failed; i++) {
    bf_term term = values->node[value].term[i];
    sum = bf_expression_add(values, sum, substitute(e, term.value), term.coefficient);
  }
  return sum;
}

static bf_expression rebuild(exchange *e, bf_expression value) {
  bf_node node = e->values->node[value];
  for (unsigned i = 0; i < e->count; i++)
    if (e->from[i] == value)
      return e->to[i];
  if (node.kind == BF_EXPRESSION_SUM)
    return rebuild_sum(e, value);
  bf_expression a = substitute(e, node.a), b = substitute(e, node.b), c = substitute(e, node.c);
  if (a == node.a && b == node.b && c == node.c)
    return value;
  if (node.kind == BF_EXPRESSION_BLEND)
    return bf_expression_blend(e->values, (uint32_t)node.number, a, b);
  if (node.kind == BF_EXPRESSION_SELECT)
    return bf_expression_select(e->values, a, b, c);
  if (node.operation == BF_DO_MUL)
    return bf_expression_multiply(e->values, a, b);
  if (node.operation == BF_DO_SIGN_EXTEND || node.operation == BF_DO_ZERO_EXTEND ||
      node.operation == BF_DO_TRUNCATE)
    return bf_expression_convert(e->values, a, node.bits, node.operation == BF_DO_SIGN_EXTEND);
  return bf_expression_operate(e->values, node.operation, node.bits, a, b, c);
}

static bf_expression substitute(exchange *e, bf_expression value) {
  if (value == BF_UNDEFINED || e->values->node[value].is_known || e->values->failed)
    return value;
  if (e->values->mark[value] != e->values->walks) {
    e->values->done[value] = rebuild(e, value);
    e->values->mark[value] = e->values->walks;
  }
  return e->values->done[value];
}

bf_expression bf_expression_substitute(bf_expressions *values, bf_expression value,
                                       const bf_expression *from, const bf_expression *to,
                                       unsigned count) {
  exchange e = {.values = values, .from = from, .to = to, .count = count};
  return begin_walk(values) ? substitute(&e, value) : BF_UNDEFINED;
}

/* ---- Text ---- */

static uint64_t divisor(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static uint64_t magnitude(int64_t number) {
  return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

static bool is_variable(const bf_expressions *values, bf_expression value) {
  const bf_node *node = &values->node[value];
  while (node->kind == BF_EXPRESSION_OPERATION && node->operation == BF_DO_ZERO_EXTEND)
    node = &values->node[node->a];
  return node->kind == BF_EXPRESSION_ATOM && values->atom[node->number].kind == BF_ATOM_SHARED;
}

static void print_inner(const bf_expressions *values, bf_expression value, bf_text *text);

static void print_signed(bf_text *text, int64_t number, bool first) {
  if (first)
    bf_text_puts(text, number < 0 ? "-" : "");
  else
    bf_text_puts(text, number < 0 ? " - " : " + ");
}

/* The terms that are no variables, divided by factor, and then the constant. */
static void print_terms(const bf_expressions *values, const bf_node *node, int64_t factor,
                        int64_t constant, bf_text *text) {
  bool first = true;
  bool done[64] = {0};
  for (uint32_t n = 0; n < node->terms; n++) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < node->terms; i++)
      if (!done[i] && !is_variable(values, node->term[i].value) &&
          (best == UINT32_MAX ||
           magnitude(node->term[i].coefficient) > magnitude(node->term[best].coefficient)))
        best = i;
    if (best == UINT32_MAX)
      break;
    done[best] = true;
    int64_t coefficient = node->term[best].coefficient / factor;
    print_signed(text, coefficient, first);
    if (magnitude(coefficient) != 1)
      bf_text_addf(text, "%llu*", (unsigned long long)magnitude(coefficient));
    print_inner(values, node->term[best].value, text);
    first = false;
  }
  if (constant / factor || first) {
    print_signed(text, constant, first);
    bf_text_addf(text, "%llu", (unsigned long long)magnitude(constant / factor));
  }
}

/* What all terms but variables, and the constant, have as a common factor; 1 where it does not make
 * the sum shorter. */
static int64_t common_factor(const bf_expressions *values, const bf_node *node, int64_t constant,
                             unsigned *others) {
  uint64_t factor = magnitude(constant);
  *others = constant != 0;
  for (uint32_t i = 0; i < node->terms; i++)
    if (!is_variable(values, node->term[i].value)) {
      factor = divisor(factor, magnitude(node->term[i].coefficient));
      ++*others;
    }
  return *others > 1 && factor > 1 && factor <= INT64_MAX ? (int64_t)factor : 1;
}

static void print_sum(const bf_expressions *values, const bf_node *node, bf_text *text) {
  int64_t constant = bf_sign_extend(node->number, node->bits);
  unsigned others;
  int64_t factor = common_factor(values, node, constant, &others);
  bool first = true;
  for (uint32_t i = 0; i < node->terms; i++)
    if (is_variable(values, node->term[i].value)) {
      print_signed(text, node->term[i].coefficient, first);
      if (magnitude(node->term[i].coefficient) != 1)
        bf_text_addf(text, "%llu*", (unsigned long long)magnitude(node->term[i].coefficient));
      print_inner(values, node->term[i].value, text);
      first = false;
    }
  if (others == 0)
    return;
  if (factor > 1) {
    bf_text_addf(text, "%s%lld*(", first ? "" : " + ", (long long)factor);
    print_terms(values, node, factor, constant, text);
    bf_text_puts(text, ")");
  } else if (first) {
    print_terms(values, node, 1, constant, text);
  } else {
    bf_text rest = {0};
    print_terms(values, node, 1, constant, &rest);
    const char *shown = rest.data ? rest.data : "";
    bf_text_addf(text, *shown == '-' ? " - %s" : " + %s", *shown == '-' ? shown + 1 : shown);
    text->failed |= rest.failed;
    bf_text_free(&rest);
  }
}

static void print_operation(const bf_expressions *values, const bf_node *node, bf_text *text) {
  static const struct {
    const char *name;
    int form;
  } operations[] = {
#define X(symbol, name, form) {name, form},
      BF_OPERATIONS(X)
#undef X
  };
  const char *name = operations[node->operation].name;
  if (operations[node->operation].form == 2) {
    print_inner(values, node->a, text);
    return;
  }
  bool infix = operations[node->operation].form == 1;
  bf_text_addf(text, "%s(", infix ? "" : name);
  print_inner(values, node->a, text);
  if (node->b) {
    bf_text_addf(text, infix ? " %s " : ", ", name);
    print_inner(values, node->b, text);
  }
  if (node->c) {
    bf_text_puts(text, ", ");
    print_inner(values, node->c, text);
  }
  bf_text_puts(text, ")");
}

/* A value as an operand: what has several parts in brackets. */
static void print_inner(const bf_expressions *values, bf_expression value, bf_text *text) {
  const bf_node *node = &values->node[value];
  if (text->size > MOST_TEXT_BYTES) {
    bf_text_puts(text, "...");
    return;
  }
  switch (node->kind) {
  case BF_EXPRESSION_UNDEFINED:
    bf_text_puts(text, "?");
    break;
  case BF_EXPRESSION_CONSTANT:
    bf_text_addf(text, "%lld", (long long)bf_sign_extend(node->number, node->bits));
    break;
  case BF_EXPRESSION_ATOM:
    bf_text_puts(text, values->atom[node->number].name);
    break;
  case BF_EXPRESSION_SUM:
    bf_text_puts(text, "(");
    print_sum(values, node, text);
    bf_text_puts(text, ")");
    break;
  case BF_EXPRESSION_OPERATION:
    print_operation(values, node, text);
    break;
  case BF_EXPRESSION_BLEND:
    bf_text_puts(text, "[");
    print_inner(values, node->a, text);
    bf_text_puts(text, " or ");
    print_inner(values, node->b, text);
    bf_text_puts(text, "]");
    break;
  case BF_EXPRESSION_SELECT:
    bf_text_puts(text, "(");
    print_inner(values, node->a, text);
    bf_text_puts(text, " ? ");
    print_inner(values, node->b, text);
    bf_text_puts(text, " : ");
    print_inner(values, node->c, text);
    bf_text_puts(text, ")");
    break;
  case BF_EXPRESSION_LANES:
    bf_text_puts(text, "table[thread]");
    break;
  }
}

void bf_expression_print(const bf_expressions *values, bf_expression value, bf_text *text) {
  const bf_node *node = &values->node[value];
  if (node->kind == BF_EXPRESSION_SUM)
    print_sum(values, node, text);
  else
    print_inner(values, value, text);
}

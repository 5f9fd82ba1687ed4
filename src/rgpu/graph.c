/* Tables of operations, types and cache operators, and what nodes say about themselves. */
#include "rgpu/reader.h"

#include <string.h>

const bf_rgpu_op_row *bf_rgpu_op_get(bf_rgpu_op op) {
  static const bf_rgpu_op_row rows[] = {
#define X(symbol, name, operands, types, place, meaning)                                           \
  {name, operands, types, BF_RGPU_ON_##place, meaning},
      BF_RGPU_OPS(X)
#undef X
  };
  return &rows[op];
}

static const struct {
  const char *name;
  unsigned bytes;
  bool is_float;
} types[] = {
#define X(symbol, name, bytes, is_float) {name, bytes, is_float},
    BF_RGPU_TYPES(X)
#undef X
};

const char *bf_rgpu_type_name(bf_rgpu_type type) { return types[type].name; }
unsigned bf_rgpu_type_bytes(bf_rgpu_type type) { return types[type].bytes; }
bool bf_rgpu_type_is_float(bf_rgpu_type type) { return types[type].is_float; }

const char *bf_rgpu_cache_name(bf_rgpu_cache cache) {
  static const char *const names[] = {
#define X(symbol, name, of_loads, of_stores, meaning) name,
      BF_RGPU_CACHE_OPERATORS(X)
#undef X
  };
  return names[cache];
}

bool bf_rgpu_is_memory(const bf_rgpu_node *node) {
  return bf_rgpu_op_get(node->op)->place == BF_RGPU_ON_MEMORY;
}

bool bf_rgpu_has_result(const bf_rgpu_node *node) {
  return node->op != BF_RGPU_ST && node->op != BF_RGPU_RED;
}

bool bf_rgpu_result_is_float(const bf_rgpu_node *node) {
  bool compares = node->op >= BF_RGPU_LT && node->op <= BF_RGPU_NE;
  return !compares && bf_rgpu_type_is_float(node->type);
}

bool bf_rgpu_operand_is_float(const bf_rgpu_node *node, unsigned position) {
  if (position == BF_RGPU_PREDICATE || (bf_rgpu_is_memory(node) && position == 0) ||
      (node->op == BF_RGPU_SEL && position == 2))
    return false;
  return bf_rgpu_type_is_float(node->op == BF_RGPU_CVT ? node->from : node->type);
}

/* ---- Names ---- */

static bool is_called(const char *name, const char *wanted, size_t length) {
  return strlen(name) == length && strncmp(name, wanted, length) == 0;
}

int rgpu_find_parameter(const bf_rgpu_graph *graph, const char *name, size_t length) {
  for (unsigned i = 0; i < graph->parameters; i++)
    if (is_called(graph->parameter[i].name, name, length))
      return (int)i;
  return -1;
}

int rgpu_find_array(const bf_rgpu_graph *graph, const char *name, size_t length) {
  for (unsigned i = 0; i < graph->arrays; i++)
    if (is_called(graph->array[i].name, name, length))
      return (int)i;
  return -1;
}

int rgpu_find_node_part(const bf_rgpu_graph *graph, const char *name, size_t length) {
  for (unsigned i = 0; i < graph->nodes; i++)
    if (is_called(graph->node[i].name, name, length))
      return (int)i;
  return -1;
}

int bf_rgpu_find_node(const bf_rgpu_graph *graph, const char *name) {
  return rgpu_find_node_part(graph, name, strlen(name));
}

/* ---- Edges ---- */

/* Adds the edge of an input, if it comes from a node. */
static void add_edge(bf_rgpu_graph *graph, unsigned to, unsigned position,
                     const bf_rgpu_operand *operand) {
  if (operand->source == BF_RGPU_FROM_NODE)
    graph->edge[graph->edges++] = (bf_rgpu_edge){
        .from = operand->node, .to = to, .position = position, .initial = operand->initial.count};
}

int rgpu_list_edges(bf_rgpu_graph *graph, bf_diagnostic *diagnostic) {
  size_t most = (size_t)graph->nodes * (BF_RGPU_OPERANDS + 1);
  graph->edges = 0;
  graph->edge = bf_arena_alloc(&graph->arena, most * sizeof *graph->edge);
  if (!graph->edge)
    return bf_no_memory(diagnostic);
  for (unsigned n = 0; n < graph->nodes; n++) {
    for (unsigned i = 0; i < BF_RGPU_OPERANDS; i++)
      add_edge(graph, n, i, &graph->node[n].operand[i]);
    add_edge(graph, n, BF_RGPU_PREDICATE, &graph->node[n].predicate);
  }
  return BF_OK;
}

/* ---- Copies ---- */

static bool term_uses_copies(const bf_rgpu_term *term) {
  if (!term)
    return false;
  return term->kind == BF_RGPU_TERM_COPY || term->kind == BF_RGPU_TERM_COPIES ||
         term_uses_copies(term->left) || term_uses_copies(term->right);
}

/* Whether an operand depends on the copy. */
static bool operand_uses_copies(const bf_rgpu_operand *operand) {
  bool found = term_uses_copies(operand->constant.term);
  for (unsigned i = 0; i < operand->initial.count; i++)
    found |= term_uses_copies(operand->initial.value[operand->initial.is_repeated ? 0 : i].term);
  return found;
}

bool bf_rgpu_uses_copies(const bf_rgpu_graph *graph) {
  bool found = term_uses_copies(graph->iterations) || term_uses_copies(graph->blocks);
  for (unsigned i = 0; i < graph->nodes; i++) {
    const bf_rgpu_node *node = &graph->node[i];
    found |= term_uses_copies(node->start) || term_uses_copies(node->step) ||
             term_uses_copies(node->offset) || operand_uses_copies(&node->predicate);
    for (unsigned j = 0; j < BF_RGPU_OPERANDS; j++)
      found |= operand_uses_copies(&node->operand[j]);
  }
  for (unsigned i = 0; i < graph->finals; i++)
    found |= term_uses_copies(graph->final[i].element);
  return found;
}

/* What must hold for a graph as a whole: results are of the type their readers want, no node has
 * more inputs than it has FIFOs, and no cycle is without initial values, on which nothing would
 * ever start. */
#include "rgpu/reader.h"

#include <stdlib.h>
#include <string.h>

typedef struct checker {
  const bf_rgpu_graph *graph;
  const char *text;
  bf_diagnostic *diagnostic;
} checker;

/* Where a line of the text starts. */
static const char *find_line(const char *text, uint32_t line) {
  for (; line > 1; line--)
    text += strcspn(text, "\n") + 1;
  return text;
}

#define FAIL_IN(c, line, column, ...)                                                              \
  bf_fail_at((c)->diagnostic, (c)->graph->file, (line), find_line((c)->text, (line)),              \
             find_line((c)->text, (line)) + (column)-1, __VA_ARGS__)

/* One input that comes from a node. */
static int check_input(const checker *c, const bf_rgpu_node *node, unsigned position,
                       const bf_rgpu_operand *operand) {
  if (operand->source != BF_RGPU_FROM_NODE)
    return BF_OK;
  const bf_rgpu_node *from = &c->graph->node[operand->node];
  if (!bf_rgpu_has_result(from))
    return FAIL_IN(c, node->line, operand->column, "'%s' is a store and hands on nothing",
                   from->name);
  bool wants_float = bf_rgpu_operand_is_float(node, position);
  if (bf_rgpu_result_is_float(from) != wants_float)
    return FAIL_IN(c, node->line, operand->column, "'%s' is %s, but %s is wanted here", from->name,
                   wants_float ? "an integer" : "a float", wants_float ? "a float" : "an integer");
  return BF_OK;
}

/* Inputs from nodes against the FIFOs that a core or a load/store unit has. */
static int check_fifos(const checker *c, const bf_rgpu_node *node) {
  unsigned used = node->predicate.source == BF_RGPU_FROM_NODE;
  for (unsigned i = 0; i < BF_RGPU_OPERANDS; i++)
    used += node->operand[i].source == BF_RGPU_FROM_NODE;
  unsigned most = bf_rgpu_is_memory(node) ? BF_RGPU_UNIT_FIFOS : BF_RGPU_CORE_FIFOS;
  if (used <= most)
    return BF_OK;
  return FAIL_IN(c, node->line, node->column,
                 "%u inputs from nodes, counting the predicate; %s has %u FIFOs", used,
                 bf_rgpu_is_memory(node) ? "a load/store unit" : "a core", most);
}

static int check_node(const checker *c, const bf_rgpu_node *node) {
  for (unsigned i = 0; i < BF_RGPU_OPERANDS; i++)
    BF_TRY(check_input(c, node, i, &node->operand[i]));
  BF_TRY(check_input(c, node, BF_RGPU_PREDICATE, &node->predicate));
  return check_fifos(c, node);
}

static int check_final(const checker *c, const bf_rgpu_final *final) {
  const bf_rgpu_node *node = &c->graph->node[final->node];
  const bf_rgpu_array *array = &c->graph->array[final->array];
  if (!bf_rgpu_has_result(node))
    return FAIL_IN(c, final->line, final->column, "'%s' is a store and hands on nothing",
                   node->name);
  if (bf_rgpu_result_is_float(node) != bf_rgpu_type_is_float(array->type))
    return FAIL_IN(c, final->line, final->column, "'%s' is %s, but '%s' holds %s", node->name,
                   bf_rgpu_result_is_float(node) ? "a float" : "an integer", array->name,
                   bf_rgpu_type_name(array->type));
  return BF_OK;
}

/* ---- Cycles ---- */

/* Removes, again and again, nodes all of whose inputs have initial values or come from removed
 * nodes. What is left waits for itself. */
static void remove_startable(const bf_rgpu_graph *graph, bool *removed) {
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned n = 0, e = 0; n < graph->nodes; n++) {
      bool can_start = true;
      for (; e < graph->edges && graph->edge[e].to == n; e++)
        can_start &= graph->edge[e].initial > 0 || removed[graph->edge[e].from];
      changed |= can_start && !removed[n];
      removed[n] |= can_start;
    }
  }
}

/* The node that n waits for. */
static unsigned blocker(const bf_rgpu_graph *graph, const bool *removed, unsigned n) {
  for (unsigned e = 0; e < graph->edges; e++)
    if (graph->edge[e].to == n && graph->edge[e].initial == 0 && !removed[graph->edge[e].from])
      return graph->edge[e].from;
  return n;
}

/* Says which nodes wait for each other, starting with one that is not removed. */
static int refuse_cycle(const checker *c, const bool *removed, unsigned n) {
  bf_text path = {0};
  for (unsigned i = 0; i < c->graph->nodes; i++) /* now n is on the cycle */
    n = blocker(c->graph, removed, n);
  unsigned first = n;
  bf_text_puts(&path, c->graph->node[n].name);
  do {
    n = blocker(c->graph, removed, n);
    if (path.size < 300)
      bf_text_addf(&path, " <- %s", c->graph->node[n].name);
  } while (n != first);
  int error = path.failed
                  ? bf_no_memory(c->diagnostic)
                  : FAIL_IN(c, c->graph->node[n].line, c->graph->node[n].column,
                            "no initial value on the cycle %s: none of them can start", path.data);
  bf_text_free(&path);
  return error;
}

static int check_cycles(const checker *c) {
  bool *removed = calloc(c->graph->nodes, sizeof *removed);
  int error = BF_OK;
  if (!removed)
    return bf_no_memory(c->diagnostic);
  remove_startable(c->graph, removed);
  for (unsigned n = 0; n < c->graph->nodes && !error; n++)
    if (!removed[n])
      error = refuse_cycle(c, removed, n);
  free(removed);
  return error;
}

int rgpu_check(const bf_rgpu_graph *graph, const char *text, bf_diagnostic *diagnostic) {
  checker c = {.graph = graph, .text = text, .diagnostic = diagnostic};
  for (unsigned n = 0; n < graph->nodes; n++)
    BF_TRY(check_node(&c, &graph->node[n]));
  for (unsigned i = 0; i < graph->finals; i++)
    BF_TRY(check_final(&c, &graph->final[i]));
  return check_cycles(&c);
}

/* Nodes that are there several times: see split.h. */
#include "rgpu/split.h"
#include "rgpu/reader.h"

#include <stdlib.h>
#include <string.h>

unsigned rgpu_readers(const bf_rgpu_graph *graph, unsigned node,
                      unsigned readers[BF_RGPU_MOST_NODES]) {
  unsigned count = 0;
  for (unsigned i = 0; i < graph->edges; i++) {
    const bf_rgpu_edge *edge = &graph->edge[i];
    if (edge->from == node && edge->to != node && (!count || readers[count - 1] != edge->to))
      readers[count++] = edge->to; /* edges are listed by reader */
  }
  return count;
}

bool rgpu_is_source(const bf_rgpu_graph *graph, unsigned node) {
  for (unsigned i = 0; i < graph->edges; i++)
    if (graph->edge[i].to == node && graph->edge[i].from != node)
      return false;
  for (unsigned i = 0; i < graph->finals; i++)
    if (graph->final[i].node == node)
      return false;
  return !bf_rgpu_is_memory(&graph->node[node]);
}

/* Makes inputs of `to` that come from node `old` come from `new`. */
static void redirect(bf_rgpu_node *to, unsigned old, unsigned new) {
  for (unsigned i = 0; i < BF_RGPU_OPERANDS; i++)
    if (to->operand[i].source == BF_RGPU_FROM_NODE && to->operand[i].node == old)
      to->operand[i].node = new;
  if (to->predicate.source == BF_RGPU_FROM_NODE && to->predicate.node == old)
    to->predicate.node = new;
}

/* A name like that of a node, with the first number from 2 on that makes it new. */
static const char *new_name(bf_rgpu_graph *graph, const char *old) {
  char name[80];
  for (unsigned number = 2;; number++) {
    size_t length = (size_t)snprintf(name, sizeof name, "%s_%u", old, number);
    if (rgpu_find_node_part(graph, name, length) < 0 && rgpu_find_array(graph, name, length) < 0 &&
        rgpu_find_parameter(graph, name, length) < 0)
      return bf_arena_copy(&graph->arena, name);
  }
}

/* Appends the instances of a node from number 1 on. */
static int add_instances(bf_rgpu_graph *graph, unsigned node, unsigned instances) {
  for (unsigned i = 1; i < instances; i++) {
    bf_rgpu_node *copy = &graph->node[graph->nodes];
    *copy = graph->node[node];
    copy->name = new_name(graph, graph->node[node].name);
    if (!copy->name)
      return BF_NO_MEMORY;
    redirect(copy, node, graph->nodes++);
  }
  return BF_OK;
}

static int fill_split(bf_rgpu_graph *to, unsigned node, const unsigned *group) {
  unsigned readers[BF_RGPU_MOST_NODES], instances = 1, first = to->nodes;
  unsigned count = rgpu_readers(to, node, readers);
  const bf_rgpu_node *old = to->node;
  for (unsigned i = 0; i < count; i++)
    instances = group[i] + 1 > instances ? group[i] + 1 : instances;
  to->node = bf_arena_alloc(&to->arena, (to->nodes + instances) * sizeof *to->node);
  if (!to->node)
    return BF_NO_MEMORY;
  memcpy(to->node, old, to->nodes * sizeof *to->node);
  BF_TRY(add_instances(to, node, instances));
  for (unsigned i = 0; i < count; i++)
    if (group[i])
      redirect(&to->node[readers[i]], node, first + group[i] - 1);
  return rgpu_list_edges(to, NULL);
}

int rgpu_split(const bf_rgpu_graph *graph, unsigned node, const unsigned *group,
               bf_rgpu_graph **split) {
  *split = malloc(sizeof **split);
  if (!*split)
    return BF_NO_MEMORY;
  **split = *graph;
  (*split)->arena = (bf_arena){0};
  int error = fill_split(*split, node, group);
  if (error) {
    bf_rgpu_free(*split);
    *split = NULL;
  }
  return error;
}

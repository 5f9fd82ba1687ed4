/* Graphs: nodes, edges, copies, order. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- Handles ---- */

void *rt_graph_find(const rt_context *context, const void *handle, rt_thing thing) {
  const rt_thing *found = rt_map_get(&context->graphs, handle);
  return found && *found == thing ? (void *)(uintptr_t)found : NULL;
}

rt_graph *rt_graph_create(rt_context *context) {
  rt_graph *graph = calloc(1, sizeof *graph);
  if (!graph || !rt_map_put(&context->graphs, graph, graph)) {
    free(graph);
    return NULL;
  }
  *graph = (rt_graph){.thing = RT_GRAPH, .number = ++context->graphs_made};
  graph->last = &graph->first;
  return graph;
}

/* ---- Edges ---- */

static rt_edge *find_edge(const rt_node *from, const rt_node *to) {
  for (unsigned i = 0; i < to->edges; i++)
    if (to->edge[i].from == from)
      return &to->edge[i];
  return NULL;
}

int rt_graph_connect(rt_node *from, rt_node *to, const rt_edge_data *data) {
  if (from->graph != to->graph || from == to || find_edge(from, to))
    return cudaErrorInvalidValue;
  rt_edge *grown = realloc(to->edge, (to->edges + 1) * sizeof *grown);
  if (!grown)
    return cudaErrorMemoryAllocation;
  to->edge = grown;
  to->edge[to->edges++] = (rt_edge){from, data ? *data : (rt_edge_data){{0}}};
  return cudaSuccess;
}

bool rt_graph_disconnect(rt_node *from, rt_node *to) {
  rt_edge *edge = find_edge(from, to);
  if (!edge)
    return false;
  to->edges--;
  memmove(edge, edge + 1, (size_t)(to->edge + to->edges - edge) * sizeof *edge);
  return true;
}

/* ---- Nodes ---- */

/* Frees a node that no graph has any more. */
static void free_node(rt_context *context, rt_node *node) {
  rt_map_remove(&context->graphs, node);
  rt_work_free(context, node);
  free(node->edge);
  free(node);
}

/* An empty node at the end of a graph; NULL where memory is exhausted. */
static rt_node *append(rt_context *context, rt_graph *graph) {
  rt_node *node = calloc(1, sizeof *node);
  if (!node || (!graph->is_private && !rt_map_put(&context->graphs, node, node))) {
    free(node);
    return NULL;
  }
  node->thing = RT_NODE;
  node->kind = RT_NODE_EMPTY;
  node->graph = graph;
  *graph->last = node;
  graph->last = &node->next;
  return node;
}

void rt_graph_remove(rt_context *context, rt_node *node) {
  rt_graph *graph = node->graph;
  rt_node **link = &graph->first;
  for (rt_node *other = graph->first; other; other = other->next)
    rt_graph_disconnect(node, other);
  while (*link != node)
    link = &(*link)->next;
  *link = node->next;
  if (graph->last == &node->next)
    graph->last = link;
  free_node(context, node);
}

int rt_graph_add(rt_context *context, rt_graph *graph, const rt_node *work, rt_node *const *from,
                 const rt_edge_data *data, size_t count, rt_node **made) {
  rt_node *node = append(context, graph);
  if (!node)
    return cudaErrorMemoryAllocation;
  rt_node *next = node->next;
  rt_thing thing = node->thing;
  *node = *work;
  node->thing = thing;
  node->graph = graph;
  node->next = next;
  node->edge = NULL;
  node->edges = 0;
  int error = cudaSuccess;
  for (size_t i = 0; i < count && error == cudaSuccess; i++)
    error = rt_graph_connect(from[i], node, data ? &data[i] : NULL);
  if (error != cudaSuccess) {
    node->kind = RT_NODE_EMPTY; /* the work stays the caller's */
    rt_graph_remove(context, node);
    return error;
  }
  *made = node;
  return cudaSuccess;
}

void rt_graph_destroy(rt_context *context, rt_graph *graph) {
  if (!graph)
    return;
  for (rt_node *node = graph->first, *next; node; node = next) {
    next = node->next;
    free_node(context, node);
  }
  for (rt_condition *condition = graph->conditions, *next; condition; condition = next) {
    next = condition->next;
    if (!graph->original) /* copies share the values */
      bf_emu_release(context->emu, (uintptr_t)condition->value, NULL);
    free(condition);
  }
  rt_graph_release_all(context, graph);
  rt_map_remove(&context->graphs, graph);
  free(graph);
}

/* ---- Copies ---- */

static void number_nodes(const rt_graph *graph) {
  unsigned number = 0;
  for (rt_node *node = graph->first; node; node = node->next)
    node->number = number++;
}

/* Copies nodes, then edges. */
static bool copy_nodes(rt_context *context, const rt_graph *from, rt_graph *to) {
  unsigned count = 0;
  number_nodes(from);
  for (const rt_node *node = from->first; node; node = node->next)
    count++;
  rt_node **copy = calloc((size_t)count + 1, sizeof(rt_node *));
  bool fine = copy != NULL;
  for (const rt_node *node = from->first; fine && node; node = node->next) {
    rt_node *made = append(context, to);
    fine = made && rt_work_copy(context, node, made);
    if (made) {
      made->original = node;
      made->is_disabled = node->is_disabled;
      copy[node->number] = made;
    }
  }
  for (const rt_node *node = from->first; fine && node; node = node->next)
    for (unsigned i = 0; fine && i < node->edges; i++)
      fine = rt_graph_connect(copy[node->edge[i].from->number], copy[node->number],
                              &node->edge[i].data) == cudaSuccess;
  free(copy);
  return fine;
}

rt_graph *rt_graph_copy(rt_context *context, const rt_graph *graph, bool is_private) {
  rt_graph *made = rt_graph_create(context);
  if (!made)
    return NULL;
  if (is_private)
    rt_map_remove(&context->graphs, made);
  made->is_private = is_private;
  made->original = graph;
  bool fine = rt_graph_retain_all(graph, made);
  for (const rt_condition *condition = graph->conditions; fine && condition;
       condition = condition->next) {
    rt_condition *copy = malloc(sizeof *copy);
    fine = copy != NULL;
    if (copy) {
      *copy = *condition;
      copy->next = made->conditions;
      made->conditions = copy;
    }
  }
  if (fine && copy_nodes(context, graph, made))
    return made;
  rt_graph_destroy(context, made);
  return NULL;
}

static rt_node *find_copy_inside(const rt_node *at, const rt_node *node) {
  if (at->kind == RT_NODE_GRAPH)
    return rt_graph_find_copy(at->child, node);
  rt_node *found = NULL;
  if (at->kind == RT_NODE_CONDITION)
    for (unsigned i = 0; i < at->condition.bodies && !found; i++)
      found = rt_graph_find_copy(at->condition.body[i], node);
  return found;
}

rt_node *rt_graph_find_copy(const rt_graph *graph, const rt_node *node) {
  rt_node *found = NULL;
  for (rt_node *at = graph->first; at && !found; at = at->next)
    found = at->original == node ? at : find_copy_inside(at, node);
  return found;
}

/* ---- Order ---- */

/* Whether all that a node depends on is placed. */
static bool is_ready(const rt_node *node) {
  for (unsigned i = 0; i < node->edges; i++)
    if (!node->edge[i].from->is_placed)
      return false;
  return true;
}

/* Takes the first nodes that are ready, again and again. Nodes are mostly in order already. */
bool rt_graph_sort(rt_graph *graph) {
  rt_node *left = graph->first;
  for (rt_node *node = left; node; node = node->next)
    node->is_placed = false;
  graph->first = NULL;
  graph->last = &graph->first;
  bool moved = true;
  while (left && moved) {
    moved = false;
    for (rt_node **link = &left; *link;) {
      rt_node *node = *link;
      if (!is_ready(node)) {
        link = &node->next;
        continue;
      }
      *link = node->next;
      node->next = NULL;
      node->is_placed = moved = true;
      *graph->last = node;
      graph->last = &node->next;
    }
  }
  *graph->last = left; /* a ring stays at the end */
  while (*graph->last)
    graph->last = &(*graph->last)->next;
  return !left;
}

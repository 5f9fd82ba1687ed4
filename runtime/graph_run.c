/* Instances of graphs: made, run, updated. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

enum { AUTO_FREE = 1, MOST_DEPTH = 64 };

/* ---- Instantiating ---- */

/* Puts a graph and all graphs inside it in order; a cudaError. */
static int prepare(rt_graph *graph, unsigned depth) {
  if (depth > MOST_DEPTH || !rt_graph_sort(graph))
    return cudaErrorInvalidValue;
  int error = cudaSuccess;
  for (rt_node *node = graph->first; node && error == cudaSuccess; node = node->next) {
    if (node->kind == RT_NODE_GRAPH)
      error = prepare(node->child, depth + 1);
    if (node->kind == RT_NODE_CONDITION)
      for (unsigned i = 0; i < node->condition.bodies && error == cudaSuccess; i++)
        error = prepare(node->condition.body[i], depth + 1);
  }
  return error;
}

int rt_graph_instantiate(rt_context *context, const rt_graph *graph, unsigned long long flags,
                         rt_graph_exec **exec) {
  rt_graph_exec *made = calloc(1, sizeof *made);
  rt_graph *copy = made ? rt_graph_copy(context, graph, true) : NULL;
  if (!copy || !rt_map_put(&context->graphs, made, made)) {
    rt_graph_destroy(context, copy);
    free(made);
    return cudaErrorMemoryAllocation;
  }
  *made = (rt_graph_exec){.thing = RT_GRAPH_EXEC, .graph = copy, .flags = flags};
  int error = prepare(copy, 0);
  if (error == cudaSuccess)
    *exec = made;
  else
    rt_graph_exec_destroy(context, made);
  return error;
}

void rt_graph_exec_destroy(rt_context *context, rt_graph_exec *exec) {
  rt_map_remove(&context->graphs, exec);
  exec->is_doomed = true;
  if (exec->busy)
    return; /* the launch under way will do it */
  rt_graph_destroy(context, exec->graph);
  free(exec);
}

/* ---- Running ---- */

static int run_graph(rt_context *context, rt_graph *graph);

static int run_kernel(rt_context *context, const rt_kernel_work *work) {
  rt_configuration how = {work->grid, work->block,   work->dynamic_shared_bytes,
                          NULL,       work->cluster, false};
  return rt_launch(context, work->host, &how, work->arguments, work->cooperative);
}

static int run_fill(const rt_context *context, const rt_fill_work *work) {
  uint64_t row = (uint64_t)work->width * work->element_bytes;
  if (row == 0 || work->height == 0)
    return cudaSuccess;
  if (!rt_holds(context, work->to, (work->height - 1) * work->pitch_bytes + row, "memset node"))
    return cudaErrorInvalidValue;
  for (size_t y = 0; y < work->height; y++)
    for (size_t x = 0; x < work->width; x++)
      memcpy((char *)work->to + y * work->pitch_bytes + x * work->element_bytes, &work->value,
             work->element_bytes);
  return cudaSuccess;
}

/* Calls a function of the program, which may call us. */
static int run_host(rt_context *context, const rt_host_work *work) {
  pthread_mutex_unlock(&context->lock);
  work->function(work->data);
  pthread_mutex_lock(&context->lock);
  return cudaSuccess;
}

static int run_condition(rt_context *context, const rt_condition_work *work) {
  int error = cudaSuccess;
  uint32_t value = *work->value;
  if (work->kind == RT_WHILE) {
    while (error == cudaSuccess && context->pending == cudaSuccess && *work->value)
      error = run_graph(context, work->body[0]);
    return error;
  }
  unsigned which = work->kind == RT_SWITCH ? value : value ? 0 : 1;
  return which < work->bodies ? run_graph(context, work->body[which]) : cudaSuccess;
}

static int run_allocate(rt_graph_memory *memory) {
  if (memory->is_allocated)
    return cudaErrorInvalidValue;
  memory->is_allocated = true;
  return cudaSuccess;
}

static int run_free(rt_context *context, void *address) {
  int error;
  return rt_graph_memory_free(context, address, &error) ? error : rt_release(context, address);
}

int rt_node_run(rt_context *context, rt_node *node) {
  if (node->is_disabled)
    return cudaSuccess;
  switch (node->kind) {
  case RT_NODE_KERNEL:
    return run_kernel(context, &node->kernel);
  case RT_NODE_COPY:
    return rt_copy(context, &node->copy);
  case RT_NODE_FILL:
    return context->pending == cudaSuccess ? run_fill(context, &node->fill) : cudaSuccess;
  case RT_NODE_HOST:
    return run_host(context, &node->host);
  case RT_NODE_GRAPH:
    return run_graph(context, node->child);
  case RT_NODE_RECORD:
    return rt_record_event(context, node->event);
  case RT_NODE_ALLOCATE:
    return run_allocate(node->memory);
  case RT_NODE_FREE:
    return run_free(context, node->freed);
  case RT_NODE_CONDITION:
    return run_condition(context, &node->condition);
  case RT_NODE_WAIT: /* what an event stands for is done */
  case RT_NODE_EMPTY:
    break;
  }
  return cudaSuccess;
}

static int run_graph(rt_context *context, rt_graph *graph) {
  for (const rt_condition *condition = graph->conditions; condition; condition = condition->next)
    if (condition->is_reset)
      *condition->value = condition->first;
  int error = cudaSuccess;
  for (rt_node *node = graph->first; node && error == cudaSuccess; node = node->next)
    error = rt_node_run(context, node);
  return error;
}

/* Frees what the last launch of a graph left allocated. */
static void free_left(rt_graph *graph) {
  for (rt_node *node = graph->first; node; node = node->next) {
    if (node->kind == RT_NODE_ALLOCATE)
      node->memory->is_allocated = false;
    if (node->kind == RT_NODE_GRAPH)
      free_left(node->child);
  }
}

int rt_graph_run(rt_context *context, rt_graph_exec *exec) {
  if (exec->flags & AUTO_FREE)
    free_left(exec->graph);
  exec->busy++;
  int error = run_graph(context, exec->graph);
  if (--exec->busy == 0 && exec->is_doomed)
    rt_graph_exec_destroy(context, exec);
  return error;
}

/* ---- Updating ---- */

enum { UPDATE_TOPOLOGY = 2, UPDATE_KIND = 3, UPDATE_PARAMETERS = 5 };

typedef struct update {
  int result;
  const rt_node *node, *from;
} update;

static bool differs(update *u, int result, const rt_node *node, const rt_node *from) {
  *u = (update){result, node, from};
  return true;
}

/* Whether two graphs in order differ in shape; a says what an instance has. */
static bool graphs_differ(const rt_graph *a, const rt_graph *b, update *u) {
  unsigned number = 0;
  const rt_node *x = a->first, *y = b->first;
  for (rt_node *node = a->first; node; node = node->next)
    node->number = number++;
  unsigned wanted = number;
  number = 0;
  for (rt_node *node = b->first; node; node = node->next)
    node->number = number++;
  if (number != wanted)
    return differs(u, UPDATE_TOPOLOGY, NULL, NULL);
  for (; x && y; x = x->next, y = y->next) {
    const rt_node *shown = y->original ? y->original : y;
    if (x->kind != y->kind)
      return differs(u, UPDATE_KIND, shown, NULL);
    if (x->edges != y->edges)
      return differs(u, UPDATE_TOPOLOGY, shown, NULL);
    for (unsigned i = 0; i < x->edges; i++)
      if (x->edge[i].from->number != y->edge[i].from->number)
        return differs(u, UPDATE_TOPOLOGY, shown, y->edge[i].from->original);
    if (x->kind == RT_NODE_GRAPH && graphs_differ(x->child, y->child, u))
      return true;
    bool is_fixed = x->kind == RT_NODE_ALLOCATE || x->kind == RT_NODE_FREE;
    if (is_fixed && memcmp(&x->memory, &y->memory, sizeof x->memory) != 0)
      return differs(u, UPDATE_PARAMETERS, shown, NULL);
  }
  return false;
}

/* Lets every node do what the node at its place in the other graph does. */
static int replace_all(rt_context *context, rt_graph *graph, const rt_graph *by) {
  int error = cudaSuccess;
  const rt_node *other = by->first;
  for (rt_node *node = graph->first; node && error == cudaSuccess; node = node->next) {
    if (node->kind == RT_NODE_GRAPH)
      error = replace_all(context, node->child, other->child);
    else if (node->kind != RT_NODE_ALLOCATE && node->kind != RT_NODE_FREE)
      error = rt_work_replace(context, node, other);
    other = other->next;
  }
  return error;
}

int rt_graph_update(rt_context *context, rt_graph_exec *exec, const rt_graph *graph, int *result,
                    const rt_node **node, const rt_node **from) {
  update u = {0};
  rt_graph *copy = rt_graph_copy(context, graph, true);
  if (!copy)
    return cudaErrorMemoryAllocation;
  int error = prepare(copy, 0);
  if (error == cudaSuccess && graphs_differ(exec->graph, copy, &u))
    error = cudaErrorGraphExecUpdateFailure;
  if (error == cudaSuccess)
    error = replace_all(context, exec->graph, copy);
  rt_graph_destroy(context, copy);
  *result = error == cudaSuccess || u.result ? u.result : 1;
  *node = u.node;
  *from = u.from;
  return error;
}

/* The calls that ask about graphs, copy, draw, instantiate, launch and end them. */
#include "graph.h"
#include "graph_abi.h"
#include "order.h"

#include <stdlib.h>
#include <string.h>

#define FIND(type, variable, handle, kind)                                                         \
  RT_ENTER_DEVICE(context);                                                                        \
  type *variable = rt_graph_find(context, handle, kind);                                           \
  if (!variable)                                                                                   \
  return rt_leave(context, cudaErrorInvalidValue)

/* ---- Graphs ---- */

API(cudaGraphCreate, void **graph, unsigned flags) {
  RT_ENTER_DEVICE(context);
  if (!graph || flags)
    return rt_leave(context, cudaErrorInvalidValue);
  *graph = rt_graph_create(context);
  return rt_leave(context, *graph ? cudaSuccess : cudaErrorMemoryAllocation);
}

API(cudaGraphDestroy, void *handle) {
  FIND(rt_graph, graph, handle, RT_GRAPH);
  if (graph->is_inner)
    return rt_leave(context, cudaErrorInvalidValue);
  rt_graph_destroy(context, graph);
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphDestroyNode, void *handle) {
  FIND(rt_node, node, handle, RT_NODE);
  rt_graph_remove(context, node);
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphClone, void **made, void *handle) {
  FIND(rt_graph, graph, handle, RT_GRAPH);
  if (!made)
    return rt_leave(context, cudaErrorInvalidValue);
  *made = rt_graph_copy(context, graph, false);
  return rt_leave(context, *made ? cudaSuccess : cudaErrorMemoryAllocation);
}

API(cudaGraphNodeFindInClone, void **found, void *handle, void *clone) {
  FIND(rt_node, node, handle, RT_NODE);
  const rt_graph *graph = rt_graph_find(context, clone, RT_GRAPH);
  if (!found || !graph)
    return rt_leave(context, cudaErrorInvalidValue);
  *found = rt_graph_find_copy(graph, node);
  return rt_leave(context, *found ? cudaSuccess : cudaErrorInvalidValue);
}

API(cudaGraphNodeGetType, void *handle, int *type) {
  FIND(rt_node, node, handle, RT_NODE);
  if (!type)
    return rt_leave(context, cudaErrorInvalidValue);
  *type = (int)node->kind;
  return rt_leave(context, cudaSuccess);
}

/* ---- Lists: where the array is NULL only the number is given ---- */

/* Lists nodes, or only those without dependencies. */
static int list_nodes(void *handle, rt_node **list, size_t *count, bool roots) {
  FIND(rt_graph, graph, handle, RT_GRAPH);
  if (!count)
    return rt_leave(context, cudaErrorInvalidValue);
  size_t found = 0;
  for (rt_node *node = graph->first; node; node = node->next) {
    if (roots && node->edges)
      continue;
    if (list && found < *count)
      list[found] = node;
    found++;
  }
  for (size_t i = found; list && i < *count; i++)
    list[i] = NULL;
  if (!list || found < *count)
    *count = found;
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphGetNodes, void *graph, rt_node **list, size_t *count) {
  return list_nodes(graph, list, count, false);
}
API(cudaGraphGetRootNodes, void *graph, rt_node **list, size_t *count) {
  return list_nodes(graph, list, count, true);
}

/* Where edges go that are listed; any array may be NULL. */
typedef struct edge_list {
  rt_node **from, **to;
  rt_edge_data *data;
  size_t room, found;
} edge_list;

/* Adds the edges of a graph that touch neither or one of two nodes (NULL: any). */
static void list_edges(const rt_graph *graph, const rt_node *from, const rt_node *to,
                       edge_list *list) {
  for (rt_node *node = graph->first; node; node = node->next)
    for (unsigned i = 0; i < node->edges; i++) {
      const rt_edge *edge = &node->edge[i];
      if ((from && edge->from != from) || (to && node != to))
        continue;
      size_t at = list->found++;
      if (list->from && at < list->room)
        list->from[at] = edge->from;
      if (list->to && at < list->room)
        list->to[at] = node;
      if (list->data && at < list->room)
        list->data[at] = edge->data;
    }
}

static int get_edges(void *handle, rt_node **from, rt_node **to, rt_edge_data *data,
                     size_t *count) {
  FIND(rt_graph, graph, handle, RT_GRAPH);
  if (!count || !from != !to)
    return rt_leave(context, cudaErrorInvalidValue);
  edge_list list = {from, to, data, from ? *count : 0, 0};
  list_edges(graph, NULL, NULL, &list);
  if (!from || list.found < *count)
    *count = list.found;
  return rt_leave(context, cudaSuccess);
}

static int get_neighbours(void *handle, rt_node **list, rt_edge_data *data, size_t *count,
                          bool behind) {
  FIND(rt_node, node, handle, RT_NODE);
  if (!count)
    return rt_leave(context, cudaErrorInvalidValue);
  edge_list edges = {behind ? NULL : list, behind ? list : NULL, data, list ? *count : 0, 0};
  list_edges(node->graph, behind ? node : NULL, behind ? NULL : node, &edges);
  if (!list || edges.found < *count)
    *count = edges.found;
  return rt_leave(context, cudaSuccess);
}

/* Adds or removes edges; all or none are changed. */
static int change_edges(void *handle, void *const *from, void *const *to, const rt_edge_data *data,
                        size_t count, bool adds) {
  FIND(rt_graph, graph, handle, RT_GRAPH);
  bool fine = count == 0 || (from && to);
  for (size_t i = 0; fine && i < count; i++) {
    const rt_node *a = rt_graph_find(context, from[i], RT_NODE);
    const rt_node *b = rt_graph_find(context, to[i], RT_NODE);
    fine = a && b && a->graph == graph && b->graph == graph;
  }
  int error = fine ? cudaSuccess : cudaErrorInvalidValue;
  for (size_t i = 0; i < count && error == cudaSuccess; i++) {
    rt_node *a = from[i], *b = to[i];
    if (adds)
      error = rt_graph_connect(a, b, data ? &data[i] : NULL);
    else if (!rt_graph_disconnect(a, b))
      error = cudaErrorInvalidValue;
    for (size_t k = 0; error != cudaSuccess && adds && k < i; k++)
      rt_graph_disconnect(from[k], to[k]);
  }
  return rt_leave(context, error);
}

/* CUDA 12 has these without and with what is said of edges, CUDA 13 only with it. */
#define EDGE_CALLS(ending)                                                                         \
  API(cudaGraphGetEdges##ending, void *graph, rt_node **from, rt_node **to, rt_edge_data *data,    \
      size_t *count) {                                                                             \
    return get_edges(graph, from, to, data, count);                                                \
  }                                                                                                \
  API(cudaGraphNodeGetDependencies##ending, void *node, rt_node **list, rt_edge_data *data,        \
      size_t *count) {                                                                             \
    return get_neighbours(node, list, data, count, false);                                         \
  }                                                                                                \
  API(cudaGraphNodeGetDependentNodes##ending, void *node, rt_node **list, rt_edge_data *data,      \
      size_t *count) {                                                                             \
    return get_neighbours(node, list, data, count, true);                                          \
  }                                                                                                \
  API(cudaGraphAddDependencies##ending, void *graph, void *const *from, void *const *to,           \
      const rt_edge_data *data, size_t count) {                                                    \
    return change_edges(graph, from, to, data, count, true);                                       \
  }                                                                                                \
  API(cudaGraphRemoveDependencies##ending, void *graph, void *const *from, void *const *to,        \
      const rt_edge_data *data, size_t count) {                                                    \
    return change_edges(graph, from, to, data, count, false);                                      \
  }

#if CUDART_MAJOR >= 13
EDGE_CALLS()
#else
EDGE_CALLS(_v2)
API(cudaGraphGetEdges, void *graph, rt_node **from, rt_node **to, size_t *count) {
  return get_edges(graph, from, to, NULL, count);
}
API(cudaGraphNodeGetDependencies, void *node, rt_node **list, size_t *count) {
  return get_neighbours(node, list, NULL, count, false);
}
API(cudaGraphNodeGetDependentNodes, void *node, rt_node **list, size_t *count) {
  return get_neighbours(node, list, NULL, count, true);
}
API(cudaGraphAddDependencies, void *graph, void *const *from, void *const *to, size_t count) {
  return change_edges(graph, from, to, NULL, count, true);
}
API(cudaGraphRemoveDependencies, void *graph, void *const *from, void *const *to, size_t count) {
  return change_edges(graph, from, to, NULL, count, false);
}
#endif

/* ---- Drawing ---- */

static const char *kind_name(rt_node_kind kind) {
  static const char *const name[] = {"kernel",
                                     "memcpy",
                                     "memset",
                                     "host",
                                     "graph",
                                     "empty",
                                     "event wait",
                                     "event record",
                                     "",
                                     "",
                                     "memory allocation",
                                     "memory free",
                                     "",
                                     "conditional"};
  return name[kind];
}

/* Appends the nodes and edges of a graph in the language of Graphviz. */
static void draw(const rt_context *context, const rt_graph *graph, bf_text *text) {
  bf_text_addf(text, "subgraph cluster_%llu {\nlabel=\"graph %llu\"\n",
               (unsigned long long)graph->number, (unsigned long long)graph->number);
  for (const rt_node *node = graph->first; node; node = node->next) {
    bf_text_addf(text, "n%p [label=\"%s", (const void *)node, kind_name(node->kind));
    const rt_function *function =
        node->kind == RT_NODE_KERNEL ? rt_find_function(context, node->kernel.host) : NULL;
    if (function) {
      bf_text_puts(text, "\\n");
      bf_ptx_readable_name(function->name, text);
    }
    bf_text_puts(text, "\"]\n");
    for (unsigned i = 0; i < node->edges; i++)
      bf_text_addf(text, "n%p -> n%p\n", (const void *)node->edge[i].from, (const void *)node);
    if (node->kind == RT_NODE_GRAPH)
      draw(context, node->child, text);
    for (unsigned i = 0; node->kind == RT_NODE_CONDITION && i < node->condition.bodies; i++)
      draw(context, node->condition.body[i], text);
  }
  bf_text_puts(text, "}\n");
}

API(cudaGraphDebugDotPrint, void *handle, const char *path, unsigned flags) {
  FIND(rt_graph, graph, handle, RT_GRAPH);
  bf_text text = {0};
  bf_diagnostic diagnostic;
  (void)flags;
  bf_text_puts(&text, "digraph dot {\n");
  draw(context, graph, &text);
  bf_text_puts(&text, "}\n");
  int error = !path         ? (int)cudaErrorInvalidValue
              : text.failed ? (int)cudaErrorMemoryAllocation
              : bf_write_file(path, text.data, text.size, &diagnostic) == BF_OK
                  ? (int)cudaSuccess
                  : (int)cudaErrorOperatingSystem;
  bf_text_free(&text);
  return rt_leave(context, error);
}

/* ---- Instances ---- */

enum { FLAG_UPLOAD = 2, FLAG_DEVICE_LAUNCH = 4, ALL_FLAGS = 15 };
enum { RESULT_ERROR = 1, RESULT_STRUCTURE = 2, RESULT_UNSUPPORTED = 3 };

static int instantiate(void *handle, unsigned long long flags, rt_graph_exec **exec) {
  FIND(rt_graph, graph, handle, RT_GRAPH);
  if (!exec || flags & ~(unsigned long long)ALL_FLAGS)
    return rt_leave(context, cudaErrorInvalidValue);
  if (flags & FLAG_DEVICE_LAUNCH) {
    rt_say(context, "graphs that kernels launch (cudaGraphInstantiateFlagDeviceLaunch) are not "
                    "supported");
    return rt_leave(context, cudaErrorNotSupported);
  }
  return rt_leave(context, rt_graph_instantiate(context, graph, flags, exec));
}

#if CUDART_MAJOR >= 12
API(cudaGraphInstantiate, rt_graph_exec **exec, void *graph, unsigned long long flags) {
  return instantiate(graph, flags, exec);
}
#else
API(cudaGraphInstantiate, rt_graph_exec **exec, void *graph, void **node, char *log, size_t bytes) {
  if (node)
    *node = NULL;
  if (log && bytes)
    *log = '\0';
  return instantiate(graph, 0, exec);
}
#endif
API(cudaGraphInstantiateWithFlags, rt_graph_exec **exec, void *graph, unsigned long long flags) {
  return instantiate(graph, flags, exec);
}
API(cudaGraphInstantiateWithParams, rt_graph_exec **exec, void *graph,
    rt_instantiate_parameters *given) {
  if (!given)
    return instantiate(NULL, 0, NULL);
  int error = instantiate(graph, given->flags, exec);
  given->node = NULL;
  given->result = error == cudaSuccess             ? 0
                  : error == cudaErrorInvalidValue ? RESULT_STRUCTURE
                  : error == cudaErrorNotSupported ? RESULT_UNSUPPORTED
                                                   : RESULT_ERROR;
  return error;
}
PER_THREAD(cudaGraphInstantiateWithParams, ptsz);

API(cudaGraphExecDestroy, void *handle) {
  FIND(rt_graph_exec, exec, handle, RT_GRAPH_EXEC);
  rt_graph_exec_destroy(context, exec);
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphExecGetFlags, void *handle, unsigned long long *flags) {
  FIND(rt_graph_exec, exec, handle, RT_GRAPH_EXEC);
  if (!flags)
    return rt_leave(context, cudaErrorInvalidValue);
  *flags = exec->flags;
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphUpload, void *handle, void *stream) {
  FIND(rt_graph_exec, exec, handle, RT_GRAPH_EXEC);
  (void)exec;
  return rt_leave(context,
                  rt_is_stream(context, stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
PER_THREAD(cudaGraphUpload, ptsz);

API(cudaGraphLaunch, void *handle, void *stream) {
  FIND(rt_graph_exec, exec, handle, RT_GRAPH_EXEC);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_capturing(context, stream))
    return rt_leave(context, rt_capture_break(context, stream)); /* as seen on an H200 */
  if (rt_is_launch_put_off(context, stream, NULL)) {
    rt_node work = {.kind = RT_NODE_GRAPH, .child = rt_graph_copy(context, exec->graph, true)};
    return rt_leave(context,
                    work.child ? rt_put_off(context, stream, &work) : cudaErrorMemoryAllocation);
  }
  rt_order_settle(context); /* races between graphs and other work are not looked for */
  int error = rt_graph_run(context, exec);
  rt_order_settle(context);
  return rt_leave(context, error);
}
PER_THREAD(cudaGraphLaunch, ptsz);

/* Switches a node of an instance, or asks about it. Only work that is done at once can be off. */
static int find_switched(rt_context *context, void *exec, void *handle, rt_node **found) {
  const rt_graph_exec *of = rt_graph_find(context, exec, RT_GRAPH_EXEC);
  const rt_node *node = rt_graph_find(context, handle, RT_NODE);
  *found = of && node ? rt_graph_find_copy(of->graph, node) : NULL;
  return *found && (*found)->kind <= RT_NODE_FILL ? cudaSuccess : cudaErrorInvalidValue;
}

API(cudaGraphNodeSetEnabled, void *exec, void *handle, unsigned is_enabled) {
  RT_ENTER_DEVICE(context);
  rt_node *node;
  int error = find_switched(context, exec, handle, &node);
  if (error == cudaSuccess)
    node->is_disabled = !is_enabled;
  return rt_leave(context, error);
}

API(cudaGraphNodeGetEnabled, void *exec, void *handle, unsigned *is_enabled) {
  RT_ENTER_DEVICE(context);
  rt_node *node;
  int error = find_switched(context, exec, handle, &node);
  if (!is_enabled)
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *is_enabled = !node->is_disabled;
  return rt_leave(context, error);
}

static int update_exec(void *handle, void *graph, rt_update_result *result) {
  FIND(rt_graph_exec, exec, handle, RT_GRAPH_EXEC);
  const rt_graph *by = rt_graph_find(context, graph, RT_GRAPH);
  const rt_node *node, *from;
  int what;
  if (!by)
    return rt_leave(context, cudaErrorInvalidValue);
  int error = rt_graph_update(context, exec, by, &what, &node, &from);
  if (result)
    *result = (rt_update_result){what, node, from};
  return rt_leave(context, error);
}

#if CUDART_MAJOR >= 12
API(cudaGraphExecUpdate, void *exec, void *graph, rt_update_result *result) {
  return update_exec(exec, graph, result);
}
#else
API(cudaGraphExecUpdate, void *exec, void *graph, const void **node, int *what) {
  rt_update_result result = {0};
  int error = update_exec(exec, graph, &result);
  if (node)
    *node = result.node;
  if (what)
    *what = result.result;
  return error;
}
#endif

#if CUDART_MAJOR == 12
extern __typeof__(cudaGraphInstantiate) cudaGraphInstantiate_v2
    __attribute__((alias("cudaGraphInstantiate")));
extern __typeof__(cudaGraphExecUpdate) cudaGraphExecUpdate_v2
    __attribute__((alias("cudaGraphExecUpdate")));
#endif

/* ---- Memory of graphs ---- */

/* Memory stays with its graph; there is nothing to trim. */
API(cudaDeviceGraphMemTrim, int device) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

/* Only the highest marks (1 and 3) may be set, to 0: here they are what is there now. */
API(cudaDeviceSetGraphMemAttribute, int device, int attribute, void *value) {
  RT_ENTER_DEVICE(context);
  bool is_mark = value && (attribute == 1 || attribute == 3) && *(const uint64_t *)value == 0;
  return rt_leave(context, device != 0 ? cudaErrorInvalidDevice
                           : is_mark   ? cudaSuccess
                                       : cudaErrorInvalidValue);
}

/* Bytes that launches have allocated (0, and 1 the most of them), or that graphs keep (2 and 3). */
API(cudaDeviceGetGraphMemAttribute, int device, int attribute, void *value) {
  RT_ENTER_DEVICE(context);
  if (device != 0 || !value || attribute < 0 || attribute > 3)
    return rt_leave(context, device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  uint64_t bytes = 0;
  size_t cursor = 0;
  for (const rt_graph_memory *memory; (memory = rt_map_next(&context->graph_memory, &cursor));)
    bytes += attribute >= 2 || memory->is_allocated ? memory->bytes : 0;
  *(uint64_t *)value = bytes;
  return rt_leave(context, cudaSuccess);
}

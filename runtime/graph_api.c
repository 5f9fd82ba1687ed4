/* The calls that make graphs: nodes, what they do, and edges. */
#include "graph.h"
#include "graph_abi.h"

#include <stdlib.h>
#include <string.h>

/* Finds a graph or a node, or leaves. */
#define FIND(type, variable, handle, kind)                                                         \
  RT_ENTER_DEVICE(context);                                                                        \
  type *variable = rt_graph_find(context, handle, kind);                                           \
  if (!variable)                                                                                   \
  return rt_leave(context, cudaErrorInvalidValue)

/* ---- What a program says of a node ---- */

static int make_kernel(rt_context *context, const rt_kernel_parameters *given, rt_node *work) {
  if (given->extra) {
    rt_say(context, "a kernel node's parameters as one buffer (extra) are not supported");
    return cudaErrorNotSupported;
  }
  return rt_work_kernel(context, given->function, given->grid, given->block,
                        given->dynamic_shared_bytes, given->arguments, false, work);
}

static int make_fill(const rt_fill_parameters *given, rt_node *work) {
  unsigned size = given->element_bytes;
  if ((size != 1 && size != 2 && size != 4) || !given->to)
    return cudaErrorInvalidValue;
  *work = (rt_node){
      .kind = RT_NODE_FILL,
      .fill = {given->to, given->pitch_bytes, given->value, size, given->width, given->height}};
  return cudaSuccess;
}

static int make_child(rt_context *context, const void *handle, rt_node *work) {
  const rt_graph *graph = rt_graph_find(context, handle, RT_GRAPH);
  if (!graph)
    return cudaErrorInvalidValue;
  *work = (rt_node){.kind = RT_NODE_GRAPH, .child = rt_graph_copy(context, graph, false)};
  if (!work->child)
    return cudaErrorMemoryAllocation;
  work->child->is_inner = true;
  return cudaSuccess;
}

static int make_event(const rt_context *context, int kind, void *event, rt_node *work) {
  *work = (rt_node){.kind = kind, .event = event};
  return rt_is_event(context, event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

static int make_condition(rt_context *context, const rt_graph *graph,
                          rt_condition_parameters *given, rt_node *work) {
  const rt_condition *found = graph->conditions;
  while (found && (uintptr_t)found->value != given->handle)
    found = found->next;
  unsigned most = given->type == RT_IF ? 2 : given->type == RT_WHILE ? 1 : 1 << 16;
  if (!found || given->type < RT_IF || given->type > RT_SWITCH || given->size == 0 ||
      given->size > most)
    return cudaErrorInvalidValue;
  *work = (rt_node){.kind = RT_NODE_CONDITION,
                    .condition = {found->value, given->type, given->size,
                                  calloc(given->size, sizeof(rt_graph *))}};
  bool fine = work->condition.body != NULL;
  for (unsigned i = 0; fine && i < given->size; i++) {
    work->condition.body[i] = rt_graph_create(context);
    fine = work->condition.body[i] != NULL;
    if (fine)
      work->condition.body[i]->is_inner = true;
  }
  given->bodies = work->condition.body;
  if (!fine)
    rt_work_free(context, work);
  return fine ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* The work that the general form of parameters describes. */
static int make_any(rt_context *context, const rt_graph *graph, rt_node_parameters *given,
                    rt_node *work) {
  int error = cudaSuccess;
  switch (given->type) {
  case RT_NODE_KERNEL:
    return make_kernel(context, &given->kernel, work);
  case RT_NODE_COPY:
    *work = (rt_node){.kind = RT_NODE_COPY, .copy = given->copy.how};
    return cudaSuccess;
  case RT_NODE_FILL:
    return make_fill(&given->fill, work);
  case RT_NODE_HOST:
    *work = (rt_node){.kind = RT_NODE_HOST, .host = {given->host.function, given->host.data}};
    return given->host.function ? cudaSuccess : cudaErrorInvalidValue;
  case RT_NODE_GRAPH:
    return make_child(context, given->graph, work);
  case RT_NODE_EMPTY:
    *work = (rt_node){.kind = RT_NODE_EMPTY};
    return cudaSuccess;
  case RT_NODE_WAIT:
  case RT_NODE_RECORD:
    return make_event(context, given->type, given->event, work);
  case RT_NODE_ALLOCATE:
    error = rt_work_memory(context, given->allocate.bytes, work);
    if (error == cudaSuccess)
      given->allocate.address = (void *)(uintptr_t)work->memory->address;
    return error;
  case RT_NODE_FREE:
    *work = (rt_node){.kind = RT_NODE_FREE, .freed = given->freed};
    return given->freed ? cudaSuccess : cudaErrorInvalidValue;
  case RT_NODE_CONDITION:
    return make_condition(context, graph, &given->condition, work);
  default:
    rt_say(context, "graph nodes of type %d are not supported", given->type);
    return cudaErrorNotSupported;
  }
}

/* ---- Adding nodes ---- */

/* Adds a node; a cudaError. */
static int add(void **made, void *handle, void *const *from, const rt_edge_data *data, size_t count,
               rt_node_parameters *given) {
  FIND(rt_graph, graph, handle, RT_GRAPH);
  bool fine = made && given && (from || count == 0);
  for (size_t i = 0; fine && i < count; i++)
    fine = rt_graph_find(context, from[i], RT_NODE) != NULL;
  if (!fine)
    return rt_leave(context, cudaErrorInvalidValue);
  rt_node work, *node;
  int error = make_any(context, graph, given, &work);
  if (error != cudaSuccess)
    return rt_leave(context, error);
  error = rt_graph_add(context, graph, &work, (rt_node *const *)from, data, count, &node);
  if (error == cudaSuccess)
    *made = node;
  else
    rt_work_free(context, &work);
  return rt_leave(context, error);
}

#if CUDART_MAJOR >= 13
API(cudaGraphAddNode, void **node, void *graph, void *const *from, const rt_edge_data *data,
    size_t count, rt_node_parameters *given) {
  return add(node, graph, from, data, count, given);
}
#else
API(cudaGraphAddNode, void **node, void *graph, void *const *from, size_t count,
    rt_node_parameters *given) {
  return add(node, graph, from, NULL, count, given);
}
API(cudaGraphAddNode_v2, void **node, void *graph, void *const *from, const rt_edge_data *data,
    size_t count, rt_node_parameters *given) {
  return add(node, graph, from, data, count, given);
}
#endif

#define DEPENDENCIES void **node, void *graph, void *const *from, size_t count
/* Adds a node of one kind, whose parameters stand in a field of the general form. */
#define ADD(kind, ...)                                                                             \
  rt_node_parameters all = {.type = kind, __VA_ARGS__};                                            \
  return add(node, graph, from, NULL, count, &all)

API(cudaGraphAddKernelNode, DEPENDENCIES, const rt_kernel_parameters *given) {
  if (!given)
    return add(NULL, graph, from, NULL, count, NULL);
  ADD(RT_NODE_KERNEL, .kernel = *given);
}

API(cudaGraphAddMemcpyNode, DEPENDENCIES, const rt_copy_3d *given) {
  if (!given)
    return add(NULL, graph, from, NULL, count, NULL);
  ADD(RT_NODE_COPY, .copy = {.how = *given});
}

API(cudaGraphAddMemcpyNode1D, DEPENDENCIES, void *to, const void *source, size_t bytes,
    int direction) {
  ADD(RT_NODE_COPY, .copy = {.how = rt_work_row(to, source, bytes, direction)});
}

API(cudaGraphAddMemsetNode, DEPENDENCIES, const rt_fill_parameters *given) {
  if (!given)
    return add(NULL, graph, from, NULL, count, NULL);
  ADD(RT_NODE_FILL, .fill = *given);
}

API(cudaGraphAddHostNode, DEPENDENCIES, const rt_host_parameters *given) {
  if (!given)
    return add(NULL, graph, from, NULL, count, NULL);
  ADD(RT_NODE_HOST, .host = *given);
}

API(cudaGraphAddChildGraphNode, DEPENDENCIES, void *child) { ADD(RT_NODE_GRAPH, .graph = child); }

API(cudaGraphAddEmptyNode, DEPENDENCIES) { ADD(RT_NODE_EMPTY, .graph = NULL); }

API(cudaGraphAddEventRecordNode, DEPENDENCIES, void *event) { ADD(RT_NODE_RECORD, .event = event); }

API(cudaGraphAddEventWaitNode, DEPENDENCIES, void *event) { ADD(RT_NODE_WAIT, .event = event); }

API(cudaGraphAddMemAllocNode, DEPENDENCIES, rt_allocate_parameters *given) {
  if (!given)
    return add(NULL, graph, from, NULL, count, NULL);
  rt_node_parameters all = {.type = RT_NODE_ALLOCATE, .allocate = *given};
  int error = add(node, graph, from, NULL, count, &all);
  given->address = all.allocate.address;
  return error;
}

API(cudaGraphAddMemFreeNode, DEPENDENCIES, void *address) { ADD(RT_NODE_FREE, .freed = address); }

/* The place of bytes at offset in a variable; NULL where there is none. */
static char *in_variable(const void *symbol, size_t bytes, size_t offset) {
  rt_context *context = rt_enter();
  bf_emu_range range;
  int error = rt_set_up(context);
  if (error == cudaSuccess)
    error = rt_locate(context, symbol, &range);
  char *place = error == cudaSuccess && offset <= range.bytes && bytes <= range.bytes - offset
                    ? (char *)(uintptr_t)range.address + offset
                    : NULL;
  rt_leave(context, cudaSuccess);
  return place;
}

API(cudaGraphAddMemcpyNodeToSymbol, DEPENDENCIES, const void *symbol, const void *source,
    size_t bytes, size_t offset, int direction) {
  char *place = in_variable(symbol, bytes, offset);
  if (!place)
    return add(NULL, graph, from, NULL, count, NULL);
  ADD(RT_NODE_COPY, .copy = {.how = rt_work_row(place, source, bytes, direction)});
}

API(cudaGraphAddMemcpyNodeFromSymbol, DEPENDENCIES, void *to, const void *symbol, size_t bytes,
    size_t offset, int direction) {
  char *place = in_variable(symbol, bytes, offset);
  if (!place)
    return add(NULL, graph, from, NULL, count, NULL);
  ADD(RT_NODE_COPY, .copy = {.how = rt_work_row(to, place, bytes, direction)});
}

API(cudaGraphConditionalHandleCreate, unsigned long long *handle, void *graph, unsigned first,
    unsigned flags) {
  FIND(rt_graph, of, graph, RT_GRAPH);
  rt_condition *made = handle && flags <= 1 ? calloc(1, sizeof *made) : NULL;
  uint64_t address;
  bf_diagnostic diagnostic;
  if (!handle || flags > 1)
    return rt_leave(context, cudaErrorInvalidValue);
  if (!made || bf_emu_alloc(context->emu, sizeof *made->value, 0, &address, &diagnostic) != BF_OK) {
    free(made);
    return rt_leave(context, cudaErrorMemoryAllocation);
  }
  *made = (rt_condition){of->conditions, (uint32_t *)(uintptr_t)address, first, flags & 1};
  *made->value = first;
  of->conditions = made;
  *handle = address;
  return rt_leave(context, cudaSuccess);
}

/* ---- What nodes do: asked and changed ---- */

/* Changes a node, or its copy in an instance where exec is given. */
static int change(void *exec, void *handle, rt_node_parameters *given) {
  FIND(rt_node, node, handle, RT_NODE);
  if (exec) {
    const rt_graph_exec *of = rt_graph_find(context, exec, RT_GRAPH_EXEC);
    node = of ? rt_graph_find_copy(of->graph, node) : NULL;
  }
  if (!node || !given || (int)node->kind != given->type || node->kind == RT_NODE_ALLOCATE ||
      node->kind == RT_NODE_CONDITION)
    return rt_leave(context, cudaErrorInvalidValue);
  rt_node work;
  int error = make_any(context, node->graph, given, &work);
  if (error == cudaSuccess) {
    if (work.kind == RT_NODE_KERNEL)
      work.kernel.cooperative = node->kernel.cooperative;
    error = rt_work_replace(context, node, &work);
    rt_work_free(context, &work);
  }
  return rt_leave(context, error);
}

#define CHANGE(exec, node, kind, ...)                                                              \
  rt_node_parameters all = {.type = kind, __VA_ARGS__};                                            \
  return change(exec, node, &all)
#define CHANGE_GIVEN(exec, node, kind, field, given)                                               \
  if (!(given))                                                                                    \
    return change(NULL, NULL, NULL);                                                               \
  CHANGE(exec, node, kind, .field = *(given))

API(cudaGraphNodeSetParams, void *node, rt_node_parameters *given) {
  return change(NULL, node, given);
}
API(cudaGraphExecNodeSetParams, void *exec, void *node, rt_node_parameters *given) {
  return change(exec ? exec : node, node, given);
}
API(cudaGraphKernelNodeSetParams, void *node, const rt_kernel_parameters *given) {
  CHANGE_GIVEN(NULL, node, RT_NODE_KERNEL, kernel, given);
}
API(cudaGraphExecKernelNodeSetParams, void *exec, void *node, const rt_kernel_parameters *given) {
  CHANGE_GIVEN(exec ? exec : node, node, RT_NODE_KERNEL, kernel, given);
}
API(cudaGraphMemcpyNodeSetParams, void *node, const rt_copy_3d *given) {
  CHANGE_GIVEN(NULL, node, RT_NODE_COPY, copy.how, given);
}
API(cudaGraphExecMemcpyNodeSetParams, void *exec, void *node, const rt_copy_3d *given) {
  CHANGE_GIVEN(exec ? exec : node, node, RT_NODE_COPY, copy.how, given);
}
API(cudaGraphMemcpyNodeSetParams1D, void *node, void *to, const void *from, size_t bytes,
    int direction) {
  CHANGE(NULL, node, RT_NODE_COPY, .copy.how = rt_work_row(to, from, bytes, direction));
}
API(cudaGraphExecMemcpyNodeSetParams1D, void *exec, void *node, void *to, const void *from,
    size_t bytes, int direction) {
  CHANGE(exec ? exec : node, node, RT_NODE_COPY,
         .copy.how = rt_work_row(to, from, bytes, direction));
}
API(cudaGraphMemsetNodeSetParams, void *node, const rt_fill_parameters *given) {
  CHANGE_GIVEN(NULL, node, RT_NODE_FILL, fill, given);
}
API(cudaGraphExecMemsetNodeSetParams, void *exec, void *node, const rt_fill_parameters *given) {
  CHANGE_GIVEN(exec ? exec : node, node, RT_NODE_FILL, fill, given);
}
API(cudaGraphHostNodeSetParams, void *node, const rt_host_parameters *given) {
  CHANGE_GIVEN(NULL, node, RT_NODE_HOST, host, given);
}
API(cudaGraphExecHostNodeSetParams, void *exec, void *node, const rt_host_parameters *given) {
  CHANGE_GIVEN(exec ? exec : node, node, RT_NODE_HOST, host, given);
}
API(cudaGraphEventRecordNodeSetEvent, void *node, void *event) {
  CHANGE(NULL, node, RT_NODE_RECORD, .event = event);
}
API(cudaGraphExecEventRecordNodeSetEvent, void *exec, void *node, void *event) {
  CHANGE(exec ? exec : node, node, RT_NODE_RECORD, .event = event);
}
API(cudaGraphEventWaitNodeSetEvent, void *node, void *event) {
  CHANGE(NULL, node, RT_NODE_WAIT, .event = event);
}
API(cudaGraphExecEventWaitNodeSetEvent, void *exec, void *node, void *event) {
  CHANGE(exec ? exec : node, node, RT_NODE_WAIT, .event = event);
}

/* Changes a copy to or from a variable. */
static int change_symbol(void *exec, void *node, void *to, const void *from, size_t bytes,
                         int direction) {
  if (!to || !from)
    return change(NULL, NULL, NULL);
  CHANGE(exec, node, RT_NODE_COPY, .copy.how = rt_work_row(to, from, bytes, direction));
}

API(cudaGraphMemcpyNodeSetParamsToSymbol, void *node, const void *symbol, const void *from,
    size_t bytes, size_t offset, int direction) {
  return change_symbol(NULL, node, in_variable(symbol, bytes, offset), from, bytes, direction);
}
API(cudaGraphMemcpyNodeSetParamsFromSymbol, void *node, void *to, const void *symbol, size_t bytes,
    size_t offset, int direction) {
  return change_symbol(NULL, node, to, in_variable(symbol, bytes, offset), bytes, direction);
}
API(cudaGraphExecMemcpyNodeSetParamsToSymbol, void *exec, void *node, const void *symbol,
    const void *from, size_t bytes, size_t offset, int direction) {
  return change_symbol(exec ? exec : node, node, in_variable(symbol, bytes, offset), from, bytes,
                       direction);
}
API(cudaGraphExecMemcpyNodeSetParamsFromSymbol, void *exec, void *node, void *to,
    const void *symbol, size_t bytes, size_t offset, int direction) {
  return change_symbol(exec ? exec : node, node, to, in_variable(symbol, bytes, offset), bytes,
                       direction);
}

/* A child graph of the same shape, whose nodes' work an instance takes over. */
API(cudaGraphExecChildGraphNodeSetParams, void *exec, void *node, void *child) {
  CHANGE(exec ? exec : node, node, RT_NODE_GRAPH, .graph = child);
}

/* Enters with a node of one kind, or leaves. */
#define ASK(handle, wanted, out)                                                                   \
  FIND(rt_node, node, handle, RT_NODE);                                                            \
  if (node->kind != (wanted) || !(out))                                                            \
  return rt_leave(context, cudaErrorInvalidValue)

API(cudaGraphKernelNodeGetParams, void *handle, rt_kernel_parameters *out) {
  ASK(handle, RT_NODE_KERNEL, out);
  const rt_kernel_work *work = &node->kernel;
  *out = (rt_kernel_parameters){
      work->host, work->grid, work->block, work->dynamic_shared_bytes, work->arguments, NULL};
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphMemcpyNodeGetParams, void *handle, rt_copy_3d *out) {
  ASK(handle, RT_NODE_COPY, out);
  *out = node->copy;
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphMemsetNodeGetParams, void *handle, rt_fill_parameters *out) {
  ASK(handle, RT_NODE_FILL, out);
  const rt_fill_work *work = &node->fill;
  *out = (rt_fill_parameters){work->to,    work->pitch_bytes, work->value, work->element_bytes,
                              work->width, work->height};
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphHostNodeGetParams, void *handle, rt_host_parameters *out) {
  ASK(handle, RT_NODE_HOST, out);
  *out = (rt_host_parameters){node->host.function, node->host.data};
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphChildGraphNodeGetGraph, void *handle, rt_graph **out) {
  ASK(handle, RT_NODE_GRAPH, out);
  *out = node->child;
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphEventRecordNodeGetEvent, void *handle, void **out) {
  ASK(handle, RT_NODE_RECORD, out);
  *out = node->event;
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphEventWaitNodeGetEvent, void *handle, void **out) {
  ASK(handle, RT_NODE_WAIT, out);
  *out = node->event;
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphMemAllocNodeGetParams, void *handle, rt_allocate_parameters *out) {
  ASK(handle, RT_NODE_ALLOCATE, out);
  *out = (rt_allocate_parameters){.bytes = node->memory->bytes,
                                  .address = (void *)(uintptr_t)node->memory->address};
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphMemFreeNodeGetParams, void *handle, void **out) {
  ASK(handle, RT_NODE_FREE, out);
  *out = node->freed;
  return rt_leave(context, cudaSuccess);
}

/* Attributes of kernel nodes: whether the launch is cooperative has an effect, others are taken. */
API(cudaGraphKernelNodeSetAttribute, void *handle, int attribute, const void *value) {
  ASK(handle, RT_NODE_KERNEL, value);
  if (attribute == RT_ATTRIBUTE_COOPERATIVE)
    node->kernel.cooperative = *(const int *)value != 0;
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphKernelNodeGetAttribute, void *handle, int attribute, void *value) {
  ASK(handle, RT_NODE_KERNEL, value);
  memset(value, 0, 64);
  if (attribute == RT_ATTRIBUTE_COOPERATIVE)
    *(int *)value = node->kernel.cooperative;
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphKernelNodeCopyAttributes, void *to, void *from) {
  FIND(rt_node, target, to, RT_NODE);
  const rt_node *source = rt_graph_find(context, from, RT_NODE);
  if (!source || source->kind != RT_NODE_KERNEL || target->kind != RT_NODE_KERNEL)
    return rt_leave(context, cudaErrorInvalidValue);
  target->kernel.cooperative = source->kernel.cooperative;
  return rt_leave(context, cudaSuccess);
}

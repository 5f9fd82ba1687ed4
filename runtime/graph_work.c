/* What nodes do: made, copied, replaced and freed. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- Kernels ---- */

/* Copies the parameters of a kernel to one block, with their addresses beside it. */
static int pack(const bf_emu_kernel *kernel, void **arguments, rt_kernel_work *work) {
  uint64_t offset, bytes, all = bf_emu_kernel_needs(kernel)->parameter_bytes;
  unsigned count = 0;
  while (bf_emu_kernel_parameter(kernel, count, &offset, &bytes))
    count++;
  if (count && !arguments)
    return cudaErrorInvalidValue;
  work->values = calloc(1, all ? all : 1);
  work->arguments = calloc((size_t)count + 1, sizeof *work->arguments);
  if (!work->values || !work->arguments) {
    free(work->values);
    free(work->arguments);
    return cudaErrorMemoryAllocation;
  }
  for (unsigned i = 0; bf_emu_kernel_parameter(kernel, i, &offset, &bytes); i++) {
    work->arguments[i] = work->values + offset;
    memcpy(work->arguments[i], arguments[i], bytes);
  }
  return cudaSuccess;
}

int rt_work_kernel(rt_context *context, const void *host, rt_dim3 grid, rt_dim3 block,
                   unsigned dynamic_shared_bytes, void **arguments, bool cooperative,
                   rt_node *work) {
  rt_function *function = rt_find_function(context, host);
  if (!function)
    return cudaErrorInvalidDeviceFunction;
  int error = rt_make_ready(context, function);
  if (error != cudaSuccess)
    return rt_refuse_kernel(context, function, error);
  *work = (rt_node){
      .kind = RT_NODE_KERNEL,
      .kernel = {.host = host,
                 .grid = grid,
                 .block = block,
                 .dynamic_shared_bytes = dynamic_shared_bytes,
                 .cooperative = cooperative},
  };
  return pack(function->kernel, arguments, &work->kernel);
}

static bool copy_kernel(const rt_context *context, const rt_kernel_work *from, rt_kernel_work *to) {
  const rt_function *function = rt_find_function(context, from->host);
  *to = *from;
  return function && pack(function->kernel, from->arguments, to) == cudaSuccess;
}

/* ---- Copies ---- */

rt_copy_3d rt_work_row(void *to, const void *from, size_t bytes, int direction) {
  return (rt_copy_3d){.source = {(void *)(uintptr_t)from, bytes, bytes, 1},
                      .target = {to, bytes, bytes, 1},
                      .extent = {bytes, 1, 1},
                      .direction = direction};
}

/* ---- Memory ---- */

int rt_work_memory(rt_context *context, uint64_t bytes, rt_node *work) {
  bf_diagnostic diagnostic;
  rt_graph_memory *memory = calloc(1, sizeof *memory);
  if (!memory)
    return cudaErrorMemoryAllocation;
  if (bf_emu_alloc(context->emu, bytes, 0, &memory->address, &diagnostic) != BF_OK ||
      !rt_map_put(&context->graph_memory, (void *)(uintptr_t)memory->address, memory)) {
    if (memory->address)
      bf_emu_release(context->emu, memory->address, &diagnostic);
    free(memory);
    return cudaErrorMemoryAllocation;
  }
  memory->bytes = bytes;
  memory->users = 1;
  *work = (rt_node){.kind = RT_NODE_ALLOCATE, .memory = memory};
  return cudaSuccess;
}

/* The end of a node's share. What a launch has allocated, and nobody freed, becomes the program's.
 */
static void release_memory(rt_context *context, rt_graph_memory *memory) {
  if (--memory->users)
    return;
  void *address = (void *)(uintptr_t)memory->address;
  rt_map_remove(&context->graph_memory, address);
  if (!memory->is_allocated || !rt_map_put(&context->allocations, address, address))
    bf_emu_release(context->emu, memory->address, NULL);
  free(memory);
}

bool rt_graph_memory_free(rt_context *context, void *address, int *error) {
  rt_graph_memory *memory = rt_map_get(&context->graph_memory, address);
  if (!memory)
    return false;
  *error = memory->is_allocated ? cudaSuccess : cudaErrorInvalidValue;
  memory->is_allocated = false;
  return true;
}

/* ---- Conditions ---- */

static void free_bodies(rt_context *context, rt_condition_work *condition) {
  for (unsigned i = 0; i < condition->bodies && condition->body; i++)
    rt_graph_destroy(context, condition->body[i]);
  free(condition->body);
}

static bool copy_condition(rt_context *context, const rt_condition_work *from, bool is_private,
                           rt_condition_work *to) {
  *to = *from;
  to->body = calloc(from->bodies + 1, sizeof(rt_graph *));
  bool fine = to->body != NULL;
  for (unsigned i = 0; fine && i < from->bodies; i++) {
    to->body[i] = rt_graph_copy(context, from->body[i], is_private);
    fine = to->body[i] != NULL;
    if (fine)
      to->body[i]->is_inner = true;
  }
  if (!fine)
    free_bodies(context, to);
  return fine;
}

/* ---- All kinds ---- */

bool rt_work_copy(rt_context *context, const rt_node *from, rt_node *to) {
  rt_node work = *from;
  bool is_private = to->graph && to->graph->is_private;
  bool fine = true;
  if (from->kind == RT_NODE_KERNEL)
    fine = copy_kernel(context, &from->kernel, &work.kernel);
  if (from->kind == RT_NODE_GRAPH) {
    work.child = rt_graph_copy(context, from->child, is_private);
    fine = work.child != NULL;
    if (fine)
      work.child->is_inner = true;
  }
  if (from->kind == RT_NODE_CONDITION)
    fine = copy_condition(context, &from->condition, is_private, &work.condition);
  if (!fine)
    return false;
  if (from->kind == RT_NODE_ALLOCATE)
    from->memory->users++;
  to->kind = from->kind;
  size_t begin = offsetof(rt_node, kernel);
  memcpy((char *)to + begin, (char *)&work + begin, sizeof work - begin);
  return true;
}

void rt_work_free(rt_context *context, rt_node *node) {
  if (node->kind == RT_NODE_KERNEL) {
    free(node->kernel.values);
    free(node->kernel.arguments);
  } else if (node->kind == RT_NODE_GRAPH) {
    rt_graph_destroy(context, node->child);
  } else if (node->kind == RT_NODE_ALLOCATE) {
    release_memory(context, node->memory);
  } else if (node->kind == RT_NODE_CONDITION) {
    free_bodies(context, &node->condition);
  }
  node->kind = RT_NODE_EMPTY;
}

int rt_work_replace(rt_context *context, rt_node *node, const rt_node *work) {
  if (node->kind != work->kind)
    return cudaErrorInvalidValue;
  rt_node made = {.graph = node->graph};
  if (!rt_work_copy(context, work, &made))
    return cudaErrorMemoryAllocation;
  rt_work_free(context, node);
  node->kind = made.kind;
  size_t begin = offsetof(rt_node, kernel);
  memcpy((char *)node + begin, (char *)&made + begin, sizeof made - begin);
  return cudaSuccess;
}

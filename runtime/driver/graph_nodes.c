/* Nodes of graphs and what they do: added, asked and changed. The structures are those of the
 * runtime, but for kernels, whose arguments may be in one piece, and copies, whose sides say what
 * they are. */
#include "driver.h"
#include "runtime/graph.h"
#include "runtime/graph_abi.h"

#include <stdlib.h>
#include <string.h>

#define DEPENDENCIES void **node, void *graph, void *const *from, size_t count

/* ---- Kernels ---- */

/* CUDA_KERNEL_NODE_PARAMS: what the runtime has, and another place for the kernel. */
typedef struct kernel_parameters {
  rt_kernel_parameters how;
  void *kernel; /* where how.function is NULL */
  void *context;
} kernel_parameters;

/* The runtime's parameters for those of the first form; *split is to be freed. A CUresult. */
static int describe_kernel(const rt_kernel_parameters *given, rt_kernel_parameters *how,
                           void ***split) {
  *split = NULL;
  if (!given || (given->arguments && given->extra))
    return CUDA_ERROR_INVALID_VALUE;
  *how = *given;
  if (!given->extra)
    return CUDA_SUCCESS;
  int error = dr_split_extra((void *)(uintptr_t)given->function, given->extra, split);
  how->arguments = *split;
  how->extra = NULL;
  return error;
}

/* The first form of the parameters that a program gave in the second. */
static const rt_kernel_parameters *first_form(const kernel_parameters *given,
                                              rt_kernel_parameters *how) {
  if (!given)
    return NULL;
  *how = given->how;
  if (!how->function)
    how->function = given->kernel;
  return how;
}

/* Does CALL with the parameters `how`, and frees what their description needed. */
#define WITH_KERNEL(call)                                                                          \
  rt_kernel_parameters how;                                                                        \
  void **split;                                                                                    \
  DR_CHECK();                                                                                      \
  int error = describe_kernel(given, &how, &split);                                                \
  if (!error)                                                                                      \
    error = dr_result(call);                                                                       \
  free(split);                                                                                     \
  return error

int cudaGraphAddKernelNode(DEPENDENCIES, const rt_kernel_parameters *given);
int cudaGraphKernelNodeSetParams(void *node, const rt_kernel_parameters *given);
int cudaGraphExecKernelNodeSetParams(void *exec, void *node, const rt_kernel_parameters *given);
int cudaGraphKernelNodeGetParams(void *node, rt_kernel_parameters *given);

API(cuGraphAddKernelNode, DEPENDENCIES, const rt_kernel_parameters *given) {
  WITH_KERNEL(cudaGraphAddKernelNode(node, graph, from, count, &how));
}
API(cuGraphKernelNodeSetParams, void *node, const rt_kernel_parameters *given) {
  WITH_KERNEL(cudaGraphKernelNodeSetParams(node, &how));
}
API(cuGraphExecKernelNodeSetParams, void *exec, void *node, const rt_kernel_parameters *given) {
  WITH_KERNEL(cudaGraphExecKernelNodeSetParams(exec, node, &how));
}
API(cuGraphKernelNodeGetParams, void *node, rt_kernel_parameters *given) {
  DR_RETURN(cudaGraphKernelNodeGetParams(node, given));
}

API(cuGraphAddKernelNode_v2, DEPENDENCIES, const kernel_parameters *given) {
  rt_kernel_parameters how;
  return cuGraphAddKernelNode(node, graph, from, count, first_form(given, &how));
}
API(cuGraphKernelNodeSetParams_v2, void *node, const kernel_parameters *given) {
  rt_kernel_parameters how;
  return cuGraphKernelNodeSetParams(node, first_form(given, &how));
}
API(cuGraphExecKernelNodeSetParams_v2, void *exec, void *node, const kernel_parameters *given) {
  rt_kernel_parameters how;
  return cuGraphExecKernelNodeSetParams(exec, node, first_form(given, &how));
}
API(cuGraphKernelNodeGetParams_v2, void *node, kernel_parameters *given) {
  if (given)
    *given = (kernel_parameters){0};
  return cuGraphKernelNodeGetParams(node, given ? &given->how : NULL);
}

DR_PASS(cuGraphKernelNodeSetAttribute, cudaGraphKernelNodeSetAttribute,
        (void *node, int attribute, const void *value), (node, attribute, value))
DR_PASS(cuGraphKernelNodeGetAttribute, cudaGraphKernelNodeGetAttribute,
        (void *node, int attribute, void *value), (node, attribute, value))
DR_PASS(cuGraphKernelNodeCopyAttributes, cudaGraphKernelNodeCopyAttributes, (void *to, void *from),
        (to, from))

/* ---- Copies ---- */

/* Does CALL with the runtime's description `how` of a copy. */
#define WITH_COPY(call)                                                                            \
  rt_copy_3d how;                                                                                  \
  DR_CHECK();                                                                                      \
  int error = dr_copy_to_runtime(given, &how);                                                     \
  return error ? error : dr_result(call)

int cudaGraphAddMemcpyNode(DEPENDENCIES, const rt_copy_3d *given);
int cudaGraphMemcpyNodeSetParams(void *node, const rt_copy_3d *given);
int cudaGraphExecMemcpyNodeSetParams(void *exec, void *node, const rt_copy_3d *given);
int cudaGraphMemcpyNodeGetParams(void *node, rt_copy_3d *given);

API(cuGraphAddMemcpyNode, DEPENDENCIES, const dr_copy_3d *given, void *context) {
  (void)context;
  WITH_COPY(cudaGraphAddMemcpyNode(node, graph, from, count, &how));
}
API(cuGraphMemcpyNodeSetParams, void *node, const dr_copy_3d *given) {
  WITH_COPY(cudaGraphMemcpyNodeSetParams(node, &how));
}
API(cuGraphExecMemcpyNodeSetParams, void *exec, void *node, const dr_copy_3d *given,
    void *context) {
  (void)context;
  WITH_COPY(cudaGraphExecMemcpyNodeSetParams(exec, node, &how));
}
API(cuGraphMemcpyNodeGetParams, void *node, dr_copy_3d *given) {
  rt_copy_3d how;
  DR_CHECK();
  int error = dr_result(cudaGraphMemcpyNodeGetParams(node, given ? &how : NULL));
  return error ? error : dr_copy_from_runtime(&how, given);
}

/* ---- Fills ---- */

int cudaGraphAddMemsetNode(DEPENDENCIES, const rt_fill_parameters *given);
int cudaGraphExecMemsetNodeSetParams(void *exec, void *node, const rt_fill_parameters *given);

API(cuGraphAddMemsetNode, DEPENDENCIES, const rt_fill_parameters *given, void *context) {
  (void)context;
  DR_RETURN(cudaGraphAddMemsetNode(node, graph, from, count, given));
}
API(cuGraphExecMemsetNodeSetParams, void *exec, void *node, const rt_fill_parameters *given,
    void *context) {
  (void)context;
  DR_RETURN(cudaGraphExecMemsetNodeSetParams(exec, node, given));
}
DR_PASS(cuGraphMemsetNodeSetParams, cudaGraphMemsetNodeSetParams,
        (void *node, const rt_fill_parameters *given), (node, given))
DR_PASS(cuGraphMemsetNodeGetParams, cudaGraphMemsetNodeGetParams,
        (void *node, rt_fill_parameters *given), (node, given))

/* ---- What is said as the runtime says it ---- */

DR_PASS(cuGraphAddHostNode, cudaGraphAddHostNode, (DEPENDENCIES, const rt_host_parameters *given),
        (node, graph, from, count, given))
DR_PASS(cuGraphHostNodeSetParams, cudaGraphHostNodeSetParams,
        (void *node, const rt_host_parameters *given), (node, given))
DR_PASS(cuGraphHostNodeGetParams, cudaGraphHostNodeGetParams,
        (void *node, rt_host_parameters *given), (node, given))
DR_PASS(cuGraphExecHostNodeSetParams, cudaGraphExecHostNodeSetParams,
        (void *exec, void *node, const rt_host_parameters *given), (exec, node, given))
DR_PASS(cuGraphAddChildGraphNode, cudaGraphAddChildGraphNode, (DEPENDENCIES, void *child),
        (node, graph, from, count, child))
DR_PASS(cuGraphChildGraphNodeGetGraph, cudaGraphChildGraphNodeGetGraph,
        (void *node, rt_graph **graph), (node, graph))
DR_PASS(cuGraphExecChildGraphNodeSetParams, cudaGraphExecChildGraphNodeSetParams,
        (void *exec, void *node, void *child), (exec, node, child))
DR_PASS(cuGraphAddEmptyNode, cudaGraphAddEmptyNode, (DEPENDENCIES), (node, graph, from, count))
DR_PASS(cuGraphAddEventRecordNode, cudaGraphAddEventRecordNode, (DEPENDENCIES, void *event),
        (node, graph, from, count, event))
DR_PASS(cuGraphAddEventWaitNode, cudaGraphAddEventWaitNode, (DEPENDENCIES, void *event),
        (node, graph, from, count, event))
DR_PASS(cuGraphEventRecordNodeGetEvent, cudaGraphEventRecordNodeGetEvent,
        (void *node, void **event), (node, event))
DR_PASS(cuGraphEventWaitNodeGetEvent, cudaGraphEventWaitNodeGetEvent, (void *node, void **event),
        (node, event))
DR_PASS(cuGraphEventRecordNodeSetEvent, cudaGraphEventRecordNodeSetEvent, (void *node, void *event),
        (node, event))
DR_PASS(cuGraphEventWaitNodeSetEvent, cudaGraphEventWaitNodeSetEvent, (void *node, void *event),
        (node, event))
DR_PASS(cuGraphExecEventRecordNodeSetEvent, cudaGraphExecEventRecordNodeSetEvent,
        (void *exec, void *node, void *event), (exec, node, event))
DR_PASS(cuGraphExecEventWaitNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent,
        (void *exec, void *node, void *event), (exec, node, event))
DR_PASS(cuGraphAddMemAllocNode, cudaGraphAddMemAllocNode,
        (DEPENDENCIES, rt_allocate_parameters *given), (node, graph, from, count, given))
DR_PASS(cuGraphMemAllocNodeGetParams, cudaGraphMemAllocNodeGetParams,
        (void *node, rt_allocate_parameters *given), (node, given))
DR_PASS(cuGraphAddMemFreeNode, cudaGraphAddMemFreeNode, (DEPENDENCIES, void *address),
        (node, graph, from, count, address))
DR_PASS(cuGraphMemFreeNodeGetParams, cudaGraphMemFreeNodeGetParams, (void *node, void **address),
        (node, address))

int cudaGraphConditionalHandleCreate(unsigned long long *handle, void *graph, unsigned first,
                                     unsigned flags);
API(cuGraphConditionalHandleCreate, unsigned long long *handle, void *graph, void *context,
    unsigned first, unsigned flags) {
  (void)context;
  DR_RETURN(cudaGraphConditionalHandleCreate(handle, graph, first, flags));
}

/* ---- The general form ---- */

/* CUgraphNodeParams: as the runtime's but for two kinds. */
typedef struct node_parameters {
  union {
    rt_node_parameters how;
    struct {
      int type, reserved[3];
      union {
        kernel_parameters kernel;
        struct {
          int flags, reserved;
          void *context;
          dr_copy_3d how;
        } copy;
      };
    };
  };
} node_parameters;

/* The runtime's parameters; *split is to be freed. A CUresult. */
static int describe_any(const node_parameters *given, rt_node_parameters *how, void ***split) {
  rt_kernel_parameters first;
  *split = NULL;
  if (!given)
    return CUDA_ERROR_INVALID_VALUE;
  *how = given->how;
  if (given->type == RT_NODE_KERNEL)
    return describe_kernel(first_form(&given->kernel, &first), &how->kernel, split);
  if (given->type == RT_NODE_COPY)
    return dr_copy_to_runtime(&given->copy.how, &how->copy.how);
  return CUDA_SUCCESS;
}

/* Does CALL with the parameters `how`, and gives back what it found out. */
#define WITH_ANY(call)                                                                             \
  rt_node_parameters how;                                                                          \
  void **split;                                                                                    \
  DR_CHECK();                                                                                      \
  int error = describe_any(given, &how, &split);                                                   \
  if (!error)                                                                                      \
    error = dr_result(call);                                                                       \
  if (!error && given->type == RT_NODE_ALLOCATE)                                                   \
    given->how.allocate.address = how.allocate.address;                                            \
  if (!error && given->type == RT_NODE_CONDITION)                                                  \
    given->how.condition.bodies = how.condition.bodies;                                            \
  free(split);                                                                                     \
  return error

int cudaGraphAddNode(void **node, void *graph, void *const *from, const rt_edge_data *data,
                     size_t count, rt_node_parameters *given);
int cudaGraphNodeSetParams(void *node, rt_node_parameters *given);
int cudaGraphExecNodeSetParams(void *exec, void *node, rt_node_parameters *given);

API(cuGraphAddNode_v2, void **node, void *graph, void *const *from, const rt_edge_data *data,
    size_t count, node_parameters *given) {
  WITH_ANY(cudaGraphAddNode(node, graph, from, data, count, &how));
}
API(cuGraphAddNode, DEPENDENCIES, node_parameters *given) {
  return cuGraphAddNode_v2(node, graph, from, NULL, count, given);
}
API(cuGraphNodeSetParams, void *node, node_parameters *given) {
  WITH_ANY(cudaGraphNodeSetParams(node, &how));
}
API(cuGraphExecNodeSetParams, void *exec, void *node, node_parameters *given) {
  WITH_ANY(cudaGraphExecNodeSetParams(exec, node, &how));
}

/* Graphs: made, asked, copied, captured from streams, instantiated and launched. The runtime does
 * all of it; what nodes do is in graph_nodes.c. */
#include "runtime/graph.h"
#include "driver.h"
#include "runtime/graph_abi.h"

/* ---- Graphs ---- */

DR_PASS(cuGraphCreate, cudaGraphCreate, (void **graph, unsigned flags), (graph, flags))
DR_PASS(cuGraphDestroy, cudaGraphDestroy, (void *graph), (graph))
DR_PASS(cuGraphClone, cudaGraphClone, (void **made, void *graph), (made, graph))
DR_PASS(cuGraphDebugDotPrint, cudaGraphDebugDotPrint,
        (void *graph, const char *path, unsigned flags), (graph, path, flags))
DR_PASS(cuGraphGetNodes, cudaGraphGetNodes, (void *graph, rt_node **list, size_t *count),
        (graph, list, count))
DR_PASS(cuGraphGetRootNodes, cudaGraphGetRootNodes, (void *graph, rt_node **list, size_t *count),
        (graph, list, count))
DR_PASS(cuGraphRetainUserObject, cudaGraphRetainUserObject,
        (void *graph, void *object, unsigned count, unsigned flags), (graph, object, count, flags))
DR_PASS(cuGraphReleaseUserObject, cudaGraphReleaseUserObject,
        (void *graph, void *object, unsigned count), (graph, object, count))
DR_PASS(cuUserObjectCreate, cudaUserObjectCreate,
        (void **object, void *data, void (*end)(void *), unsigned count, unsigned flags),
        (object, data, end, count, flags))
DR_PASS(cuUserObjectRetain, cudaUserObjectRetain, (void *object, unsigned count), (object, count))
DR_PASS(cuUserObjectRelease, cudaUserObjectRelease, (void *object, unsigned count), (object, count))
DR_PASS(cuDeviceGraphMemTrim, cudaDeviceGraphMemTrim, (int device), (device))
DR_PASS(cuDeviceSetGraphMemAttribute, cudaDeviceSetGraphMemAttribute,
        (int device, int attribute, void *value), (device, attribute, value))
DR_PASS(cuDeviceGetGraphMemAttribute, cudaDeviceGetGraphMemAttribute,
        (int device, int attribute, void *value), (device, attribute, value))

/* ---- Edges: without what is said of them, and since CUDA 12.3 with it ---- */

DR_PASS(cuGraphGetEdges_v2, cudaGraphGetEdges,
        (void *graph, rt_node **from, rt_node **to, rt_edge_data *data, size_t *count),
        (graph, from, to, data, count))
DR_PASS(cuGraphNodeGetDependencies_v2, cudaGraphNodeGetDependencies,
        (void *node, rt_node **list, rt_edge_data *data, size_t *count), (node, list, data, count))
DR_PASS(cuGraphNodeGetDependentNodes_v2, cudaGraphNodeGetDependentNodes,
        (void *node, rt_node **list, rt_edge_data *data, size_t *count), (node, list, data, count))
DR_PASS(cuGraphAddDependencies_v2, cudaGraphAddDependencies,
        (void *graph, void *const *from, void *const *to, const rt_edge_data *data, size_t count),
        (graph, from, to, data, count))
DR_PASS(cuGraphRemoveDependencies_v2, cudaGraphRemoveDependencies,
        (void *graph, void *const *from, void *const *to, const rt_edge_data *data, size_t count),
        (graph, from, to, data, count))

API(cuGraphGetEdges, void *graph, rt_node **from, rt_node **to, size_t *count) {
  return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}
API(cuGraphNodeGetDependencies, void *node, rt_node **list, size_t *count) {
  return cuGraphNodeGetDependencies_v2(node, list, NULL, count);
}
API(cuGraphNodeGetDependentNodes, void *node, rt_node **list, size_t *count) {
  return cuGraphNodeGetDependentNodes_v2(node, list, NULL, count);
}
API(cuGraphAddDependencies, void *graph, void *const *from, void *const *to, size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}
API(cuGraphRemoveDependencies, void *graph, void *const *from, void *const *to, size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

/* ---- Nodes of any kind ---- */

DR_PASS(cuGraphDestroyNode, cudaGraphDestroyNode, (void *node), (node))
DR_PASS(cuGraphNodeFindInClone, cudaGraphNodeFindInClone, (void **found, void *node, void *clone),
        (found, node, clone))
DR_PASS(cuGraphNodeGetType, cudaGraphNodeGetType, (void *node, int *type), (node, type))
DR_PASS(cuGraphNodeSetEnabled, cudaGraphNodeSetEnabled,
        (void *exec, void *node, unsigned is_enabled), (exec, node, is_enabled))
DR_PASS(cuGraphNodeGetEnabled, cudaGraphNodeGetEnabled,
        (void *exec, void *node, unsigned *is_enabled), (exec, node, is_enabled))

/* ---- Capture ---- */

DR_PASS(cuStreamBeginCapture_v2, cudaStreamBeginCapture, (void *stream, int mode), (stream, mode))
PER_THREAD(cuStreamBeginCapture_v2, ptsz);
DR_PASS(cuStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph,
        (void *stream, void *graph, rt_node *const *from, const rt_edge_data *data, size_t count,
         int mode),
        (stream, graph, from, data, count, mode))
PER_THREAD(cuStreamBeginCaptureToGraph, ptsz);
DR_PASS(cuStreamEndCapture, cudaStreamEndCapture, (void *stream, rt_graph **graph), (stream, graph))
PER_THREAD(cuStreamEndCapture, ptsz);
DR_PASS(cuStreamGetCaptureInfo_v3, cudaStreamGetCaptureInfo,
        (void *stream, int *status, unsigned long long *number, rt_graph **graph,
         rt_node *const **node, const rt_edge_data **data, size_t *count),
        (stream, status, number, graph, node, data, count))
PER_THREAD(cuStreamGetCaptureInfo_v3, ptsz);
DR_PASS(cuStreamUpdateCaptureDependencies_v2, cudaStreamUpdateCaptureDependencies,
        (void *stream, rt_node *const *node, const rt_edge_data *data, size_t count,
         unsigned flags),
        (stream, node, data, count, flags))
PER_THREAD(cuStreamUpdateCaptureDependencies_v2, ptsz);

API(cuStreamGetCaptureInfo_v2, void *stream, int *status, unsigned long long *number,
    rt_graph **graph, rt_node *const **node, size_t *count) {
  return cuStreamGetCaptureInfo_v3(stream, status, number, graph, node, NULL, count);
}
PER_THREAD(cuStreamGetCaptureInfo_v2, ptsz);
API(cuStreamGetCaptureInfo, void *stream, int *status, unsigned long long *number) {
  return cuStreamGetCaptureInfo_v3(stream, status, number, NULL, NULL, NULL, NULL);
}
PER_THREAD(cuStreamGetCaptureInfo, ptsz);
API(cuStreamUpdateCaptureDependencies, void *stream, rt_node *const *node, size_t count,
    unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, node, NULL, count, flags);
}
PER_THREAD(cuStreamUpdateCaptureDependencies, ptsz);

/* ---- Instances ---- */

DR_PASS(cuGraphInstantiateWithFlags, cudaGraphInstantiate,
        (rt_graph_exec * *exec, void *graph, unsigned long long flags), (exec, graph, flags))
DR_PASS(cuGraphInstantiateWithParams, cudaGraphInstantiateWithParams,
        (rt_graph_exec * *exec, void *graph, rt_instantiate_parameters *given),
        (exec, graph, given))
PER_THREAD(cuGraphInstantiateWithParams, ptsz);

/* The form before CUDA 12, with a log that is empty. */
API(cuGraphInstantiate_v2, rt_graph_exec **exec, void *graph, void **node, char *log,
    size_t log_bytes) {
  if (node)
    *node = NULL;
  if (log && log_bytes)
    *log = 0;
  return cuGraphInstantiateWithFlags(exec, graph, 0);
}
DR_ALIAS(cuGraphInstantiate_v2, cuGraphInstantiate);

DR_PASS(cuGraphUpload, cudaGraphUpload, (void *exec, void *stream), (exec, stream))
PER_THREAD(cuGraphUpload, ptsz);
DR_PASS(cuGraphExecDestroy, cudaGraphExecDestroy, (void *exec), (exec))
DR_PASS(cuGraphExecGetFlags, cudaGraphExecGetFlags, (void *exec, unsigned long long *flags),
        (exec, flags))
DR_PASS(cuGraphExecUpdate_v2, cudaGraphExecUpdate,
        (void *exec, void *graph, rt_update_result *result), (exec, graph, result))

/* The form before CUDA 12. */
API(cuGraphExecUpdate, void *exec, void *graph, const void **node, int *what) {
  rt_update_result result = {0};
  int error = cuGraphExecUpdate_v2(exec, graph, &result);
  if (node)
    *node = result.node;
  if (what)
    *what = result.result;
  return error;
}

int cudaGraphLaunch(void *exec, void *stream);
API(cuGraphLaunch, void *exec, void *stream) { DR_RETURN(cudaGraphLaunch(exec, stream)); }
PER_THREAD(cuGraphLaunch, ptsz);

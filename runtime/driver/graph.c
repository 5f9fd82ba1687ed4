/* Graphs that are captured from streams. The runtime does all of it. */
#include "runtime/graph.h"
#include "driver.h"

/* Calls of the runtime, by handles. */
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, rt_graph **graph);
int cudaGraphDestroy(void *graph);
int cudaGraphInstantiate(rt_graph_exec **exec, void *graph, unsigned long long flags);
int cudaGraphExecDestroy(void *exec);
int cudaGraphUpload(void *exec, void *stream);
int cudaGraphLaunch(void *exec, void *stream);

API(cuStreamBeginCapture_v2, void *stream, int mode) {
  DR_RETURN(cudaStreamBeginCapture(stream, mode));
}
PER_THREAD(cuStreamBeginCapture_v2, ptsz);

API(cuStreamEndCapture, void *stream, rt_graph **graph) {
  DR_RETURN(cudaStreamEndCapture(stream, graph));
}
PER_THREAD(cuStreamEndCapture, ptsz);

API(cuGraphInstantiateWithFlags, rt_graph_exec **exec, void *graph, unsigned long long flags) {
  DR_RETURN(cudaGraphInstantiate(exec, graph, flags));
}

/* The form before CUDA 12, with a log that is empty. */
API(cuGraphInstantiate_v2, rt_graph_exec **exec, void *graph, void **node, char *log,
    size_t log_bytes) {
  if (node)
    *node = NULL;
  if (log && log_bytes)
    *log = 0;
  DR_RETURN(cudaGraphInstantiate(exec, graph, 0));
}
DR_ALIAS(cuGraphInstantiate_v2, cuGraphInstantiate);

API(cuGraphUpload, void *exec, void *stream) { DR_RETURN(cudaGraphUpload(exec, stream)); }
PER_THREAD(cuGraphUpload, ptsz);

API(cuGraphLaunch, void *exec, void *stream) { DR_RETURN(cudaGraphLaunch(exec, stream)); }
PER_THREAD(cuGraphLaunch, ptsz);

API(cuGraphExecDestroy, void *exec) {
  DR_CHECK_ON();
  return dr_result(cudaGraphExecDestroy(exec));
}

API(cuGraphDestroy, void *graph) {
  DR_CHECK_ON();
  return dr_result(cudaGraphDestroy(graph));
}

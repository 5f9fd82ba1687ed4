// Graphs captured from streams: one stream, several by events, memory, functions of the host, child graphs, what goes
// wrong; and conditional nodes.
#include "check.h"

__global__ void add(int *data, int number) { data[threadIdx.x] += number; }
__global__ void count_down(cudaGraphConditionalHandle handle, int *left) {
  *left -= 1;
  cudaGraphSetConditional(handle, *left > 0);
}
__global__ void choose(cudaGraphConditionalHandle handle, unsigned which) { cudaGraphSetConditional(handle, which); }

static void CUDART_CB say(void *text) { printf("host: %s\n", (const char *)text); }

static int *device, host[32];
static cudaStream_t first, second;

static void launch(const char *what, cudaGraph_t graph) {
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaMemset(device, 0, sizeof host));
  for (int i = 0; i < 2; i++)
    CHECK(cudaGraphLaunch(exec, first));
  CHECK(cudaStreamSynchronize(first));
  size_t nodes;
  CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
  printf("%s: %d, %zu nodes\n", what, host[0], nodes);
  CHECK(cudaGraphExecDestroy(exec));
}

static cudaGraph_t captured() {
  cudaGraph_t graph;
  cudaEvent_t fork, join;
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
  add<<<1, 32, 0, first>>>(device, 1);
  CHECK(cudaEventRecord(fork, first));
  CHECK(cudaStreamWaitEvent(second, fork, 0));
  add<<<1, 16, 0, second>>>(device, 10);
  add<<<1, 16, 0, first>>>(device + 16, 100);
  CHECK(cudaEventRecord(join, second));
  CHECK(cudaStreamWaitEvent(first, join, 0));
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t *before;
  size_t count;
  CHECK(cudaStreamGetCaptureInfo(first, &status, NULL, &graph, &before, NULL, &count));
  printf("status %d, depends on %zu\n", (int)status, count);
  CHECK(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, first));
  CHECK(cudaLaunchHostFunc(first, say, (void *)"captured"));
  CHECK(cudaStreamEndCapture(first, &graph));
  CHECK(cudaStreamIsCapturing(second, &status));
  printf("captured: nothing ran: %d, second stream %d\n", host[0], (int)status);
  return graph;
}

/* Memory that lives in the graph. */
static void nested() {
  cudaGraph_t graph;
  int *memory;
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaMallocAsync((void **)&memory, sizeof host, first));
  CHECK(cudaMemsetAsync(memory, 0, sizeof host, first));
  add<<<1, 32, 0, first>>>(memory, 1000);
  CHECK(cudaMemcpyAsync(host, memory, sizeof host, cudaMemcpyDeviceToHost, first));
  CHECK(cudaFreeAsync(memory, first));
  CHECK(cudaStreamEndCapture(first, &graph));
  launch("nested", graph);
  CHECK(cudaGraphDestroy(graph));
}

static void wrong(cudaGraph_t inner) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec;
  cudaEvent_t fork;
  CHECK(cudaEventCreate(&fork));
  printf("legacy stream: %s\n", cudaGetErrorName(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal)));
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
  CHECK(cudaEventRecord(fork, first));
  CHECK(cudaStreamWaitEvent(second, fork, 0));
  add<<<1, 32, 0, second>>>(device, 1);
  printf("other stream: %s\n", cudaGetErrorName(cudaStreamEndCapture(second, &graph)));
  printf("after that: %s\n", cudaGetErrorName(cudaStreamEndCapture(first, &graph)));
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
  CHECK(cudaEventRecord(fork, first));
  CHECK(cudaStreamWaitEvent(second, fork, 0));
  add<<<1, 32, 0, second>>>(device, 1);
  printf("no join: %s\n", cudaGetErrorName(cudaStreamEndCapture(first, &graph)));
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
  printf("waiting: %s\n", cudaGetErrorName(cudaStreamSynchronize(first)));
  printf("end: %s\n", cudaGetErrorName(cudaStreamEndCapture(first, &graph)));
  CHECK(cudaGraphInstantiate(&exec, inner, 0));
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
  printf("a graph: %s\n", cudaGetErrorName(cudaGraphLaunch(exec, first)));
  printf("end: %s\n", cudaGetErrorName(cudaStreamEndCapture(first, &graph)));
  CHECK(cudaGraphExecDestroy(exec));
  cudaGetLastError();
}

/* A loop that a kernel ends, and a choice. */
static void conditional() {
  cudaGraph_t graph, captured;
  cudaGraphNode_t node, setter;
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams how = {};
  how.type = cudaGraphNodeTypeConditional;
  how.conditional.handle = handle;
  how.conditional.type = cudaGraphCondTypeWhile;
  how.conditional.size = 1;
  CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &how));
  cudaGraph_t body = how.conditional.phGraph_out[0];
  int *left, five = 5;
  CHECK(cudaMalloc(&left, sizeof *left));
  CHECK(cudaStreamBeginCaptureToGraph(first, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
  add<<<1, 32, 0, first>>>(device, 1);
  count_down<<<1, 1, 0, first>>>(handle, left);
  CHECK(cudaStreamEndCapture(first, NULL)); // the graph is known
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaMemset(device, 0, sizeof host));
  for (int i = 0; i < 2; i++) {
    CHECK(cudaMemcpy(left, &five, sizeof five, cudaMemcpyHostToDevice));
    CHECK(cudaGraphLaunch(exec, first));
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    printf("while: %d\n", host[0]);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  for (unsigned which = 0; which < 4; which++) {
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    void *arguments[] = {&handle, &which};
    cudaKernelNodeParams set = {};
    set.func = (void *)choose;
    set.gridDim = set.blockDim = dim3(1);
    set.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&setter, graph, NULL, 0, &set));
    how.conditional.handle = handle;
    how.conditional.type = cudaGraphCondTypeSwitch;
    how.conditional.size = 3;
    CHECK(cudaGraphAddNode(&node, graph, &setter, NULL, 1, &how));
    for (unsigned i = 0; i < 3; i++) {
      CHECK(cudaStreamBeginCaptureToGraph(first, how.conditional.phGraph_out[i], NULL, NULL, 0,
                                          cudaStreamCaptureModeRelaxed));
      add<<<1, 32, 0, first>>>(device, (int)i + 1);
      CHECK(cudaStreamEndCapture(first, &captured));
    }
    CHECK(cudaMemset(device, 0, sizeof host));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, first));
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    printf("switch %u: %d\n", which, host[0]);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
  }
}

int main() {
  CHECK(cudaMalloc(&device, sizeof host));
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  cudaGraph_t graph = captured();
  launch("two streams", graph);
  nested();
  wrong(graph);
  conditional();
  return 0;
}

// Graphs made node by node: every kind of node, questions, copies, changes of instances, memory of graphs.
#include "check.h"

__device__ int scale = 3;

__global__ void add(int *data, int number) { data[threadIdx.x] += number; }
__global__ void multiply(int *data) { data[threadIdx.x] *= scale; }

static void CUDART_CB say(void *text) { printf("host node: %s\n", (const char *)text); }

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t *after, size_t count, int *data, int number) {
  void *arguments[] = {&data, &number};
  cudaKernelNodeParams how = {};
  how.func = (void *)add;
  how.gridDim = dim3(1);
  how.blockDim = dim3(32);
  how.kernelParams = arguments;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, after, count, &how));
  return node;
}

static int *device, host[32];

static void launch(const char *what, cudaGraphExec_t exec) {
  CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaDeviceSynchronize());
  printf("%s: %d %d\n", what, host[0], host[31]);
}

static void explicit_nodes() {
  cudaGraph_t graph, child, clone;
  cudaGraphExec_t exec;
  cudaGraphNode_t fill, first, second, third, both, to_host, node;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));
  cudaMemsetParams zero = {};
  zero.dst = device;
  zero.value = 7;
  zero.elementSize = 4;
  zero.width = 32;
  zero.height = 1;
  CHECK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &zero));
  first = add_kernel(graph, &fill, 1, device, 1);
  second = add_kernel(graph, &first, 1, device, 10);
  void *arguments[] = {&device};
  cudaKernelNodeParams how = {};
  how.func = (void *)multiply;
  how.gridDim = dim3(1);
  how.blockDim = dim3(16);
  how.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&node, child, NULL, 0, &how));
  CHECK(cudaGraphAddChildGraphNode(&third, graph, &second, 1, child));
  CHECK(cudaGraphAddEmptyNode(&both, graph, NULL, 0));
  CHECK(cudaGraphAddDependencies(graph, &third, &both, NULL, 1));
  CHECK(cudaGraphAddMemcpyNode1D(&to_host, graph, &both, 1, host, device, sizeof host, cudaMemcpyDeviceToHost));
  cudaHostNodeParams saying = {say, (void *)"copied"};
  CHECK(cudaGraphAddHostNode(&node, graph, &to_host, 1, &saying));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  launch("all nodes", exec);
  size_t nodes = 0, edges = 0, roots = 0;
  CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
  CHECK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
  CHECK(cudaGraphGetRootNodes(graph, NULL, &roots));
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(third, &type));
  printf("%zu nodes, %zu edges, %zu root, type %d\n", nodes, edges, roots, (int)type);

  CHECK(cudaGraphNodeSetEnabled(exec, second, 0));
  launch("without one node", exec);
  CHECK(cudaGraphNodeSetEnabled(exec, second, 1));
  int number = 100;
  void *others[] = {&device, &number};
  how.func = (void *)add;
  how.blockDim = dim3(32);
  how.kernelParams = others;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, first, &how));
  launch("another number", exec);

  CHECK(cudaGraphClone(&clone, graph));
  CHECK(cudaGraphNodeFindInClone(&node, second, clone));
  number = 1000;
  CHECK(cudaGraphKernelNodeSetParams(node, &how));
  cudaGraphExecUpdateResultInfo result;
  CHECK(cudaGraphExecUpdate(exec, clone, &result));
  launch("updated from a clone", exec);
  add_kernel(clone, NULL, 0, device, 1);
  cudaError_t error = cudaGraphExecUpdate(exec, clone, &result);
  printf("%s, result %d\n", cudaGetErrorName(error), (int)result.result);
  cudaGraph_t pair;
  cudaGraphExec_t pair_exec;
  CHECK(cudaGraphCreate(&pair, 0));
  node = add_kernel(pair, NULL, 0, device, 1);
  cudaGraphNode_t before = add_kernel(pair, NULL, 0, device, 2);
  CHECK(cudaGraphAddDependencies(pair, &before, &node, NULL, 1));
  CHECK(cudaGraphInstantiate(&pair_exec, pair, 0));
  CHECK(cudaGraphAddEmptyNode(&node, pair, NULL, 0));
  error = cudaGraphExecUpdate(pair_exec, pair, &result);
  CHECK(cudaGraphExecDestroy(pair_exec));
  CHECK(cudaGraphDestroy(pair));
  printf("one node more: %s, result %d\n", cudaGetErrorName(error), (int)result.result);
  CHECK(cudaGraphAddDependencies(graph, &both, &fill, NULL, 1)); // a ring
  cudaGraphExec_t never;
  printf("ring: %s\n", cudaGetErrorName(cudaGraphInstantiate(&never, graph, 0)));
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(child));
  CHECK(cudaGraphExecDestroy(exec));
}

/* A graph that allocates, uses and frees memory, twice; and a variable and events. */
static void memory_nodes() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t allocate, set, use, copy, release, node;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams how = {};
  how.poolProps.allocType = cudaMemAllocationTypePinned;
  how.poolProps.location.type = cudaMemLocationTypeDevice;
  how.bytesize = sizeof host;
  CHECK(cudaGraphAddMemAllocNode(&allocate, graph, NULL, 0, &how));
  cudaMemsetParams zero = {};
  zero.dst = how.dptr;
  zero.elementSize = 1;
  zero.width = sizeof host;
  zero.height = 1;
  CHECK(cudaGraphAddMemsetNode(&set, graph, &allocate, 1, &zero));
  use = add_kernel(graph, &set, 1, (int *)how.dptr, 5);
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &use, 1, host, how.dptr, sizeof host, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, how.dptr));
  static int four = 4;
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, scale, &four, sizeof four, 0, cudaMemcpyHostToDevice));
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaGraphAddEventRecordNode(&node, graph, &copy, 1, event));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  launch("own memory", exec);
  launch("again", exec);
  CHECK(cudaEventSynchronize(event));
  int value;
  CHECK(cudaMemcpyFromSymbol(&value, scale, sizeof value));
  printf("scale %d\n", value);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

int main() {
  CHECK(cudaMalloc(&device, sizeof host));
  explicit_nodes();
  memory_nodes();
  return 0;
}

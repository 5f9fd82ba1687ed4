// flags: -lcuda
// Pieces of PTX that are linked, of which one calls the other; a graph that is captured from a stream, and graphs that are
// built node by node and changed.
#include "driver.h"

static const char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".extern .func (.param .b32 r) step(.param .b32 x);\n"
                             ".visible .entry advance(.param .u64 data) {\n"
                             ".reg .b32 %r<3>; .reg .b64 %d<3>;\n"
                             "ld.param.u64 %d0, [data];\n"
                             "mov.u32 %r0, %tid.x;\n"
                             "mul.wide.u32 %d1, %r0, 4;\n"
                             "add.u64 %d0, %d0, %d1;\n"
                             "ld.global.u32 %r1, [%d0];\n"
                             "{ .param .b32 a; .param .b32 b;\n"
                             "st.param.b32 [a], %r1;\n"
                             "call.uni (b), step, (a);\n"
                             "ld.param.b32 %r2, [b]; }\n"
                             "st.global.u32 [%d0], %r2;\n"
                             "ret;\n}\n";
static const char called[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .func (.param .b32 r) step(.param .b32 x) {\n"
                             ".reg .b32 %r<2>;\n"
                             "ld.param.b32 %r0, [x];\n"
                             "add.u32 %r1, %r0, 10;\n"
                             "st.param.b32 [r], %r1;\n"
                             "ret;\n}\n";

static void count_up(void *data) { ++*(int *)data; }

// A fill, a kernel with its arguments in either form, a copy and a function of the host; then other parameters for the
// instance, and for the graph it is updated from.
static void build(CUcontext context, CUfunction advance, CUdeviceptr data, CUstream stream) {
  CUgraph graph, clone;
  CUgraphNode fill, kernel, again, copy, call, found;
  CUgraphExec exec;
  unsigned host[32];
  int calls = 0;
  void *arguments[] = {&data};
  size_t bytes = sizeof data, count;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &data, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  CUDA_MEMSET_NODE_PARAMS filling = {data, 0, 5, 4, 32, 1};
  CUDA_KERNEL_NODE_PARAMS launch = {advance, 1, 1, 1, 32, 1, 1, 0, arguments, NULL}, asked;
  CUDA_MEMCPY3D copying = {}, copied;
  CUDA_HOST_NODE_PARAMS calling = {count_up, &calls};
  copying.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copying.srcDevice = data;
  copying.dstMemoryType = CU_MEMORYTYPE_HOST;
  copying.dstHost = host;
  copying.WidthInBytes = sizeof host;
  copying.Height = copying.Depth = 1;
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &filling, context));
  OK(cuGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
  CUgraphNodeParams any = {CU_GRAPH_NODE_TYPE_KERNEL};
  any.kernel = {advance, 1, 1, 1, 16, 1, 1, 0, NULL, extra};
  OK(cuGraphAddNode(&again, graph, &kernel, NULL, 1, &any));
  OK(cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &copying, context));
  OK(cuGraphAddDependencies(graph, &again, &copy, NULL, 1));
  OK(cuGraphAddHostNode(&call, graph, &copy, 1, &calling));
  OK(cuGraphInstantiate(&exec, graph, 0));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  printf("%u %u, %d calls\n", host[0], host[31], calls);
  OK(cuGraphGetNodes(graph, NULL, &count));
  OK(cuGraphKernelNodeGetParams(kernel, &asked));
  OK(cuGraphMemcpyNodeGetParams(copy, &copied));
  printf("%zu nodes, %u threads, %zu bytes\n", count, asked.blockDimX, copied.WidthInBytes);
  filling.value = 7;
  OK(cuGraphExecMemsetNodeSetParams(exec, fill, &filling, context));
  OK(cuGraphNodeSetEnabled(exec, again, 0));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  printf("%u %u, %d calls\n", host[0], host[31], calls);
  OK(cuGraphNodeSetEnabled(exec, again, 1));
  launch.blockDimX = 4;
  OK(cuGraphClone(&clone, graph));
  OK(cuGraphNodeFindInClone(&found, kernel, clone));
  OK(cuGraphKernelNodeSetParams(found, &launch));
  CUgraphExecUpdateResultInfo result;
  OK(cuGraphExecUpdate(exec, clone, &result));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  printf("%u %u %u, %d calls\n", host[0], host[8], host[31], calls);
  OK(cuGraphDestroyNode(call));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetParams(fill, &launch));
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(clone));
  OK(cuGraphDestroy(graph));
}

int main() {
  CUcontext context;
  CUlinkState link;
  CUmodule module;
  CUfunction advance;
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  CUdeviceptr data;
  void *image;
  size_t bytes;
  unsigned host[32];
  OK(cuInit(0));
  OK(cuCtxCreate(&context, NULL, 0, 0));
  OK(cuLinkCreate(0, NULL, NULL, &link));
  OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller, sizeof caller, "caller.ptx", 0, NULL, NULL));
  OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)called, sizeof called, "called.ptx", 0, NULL, NULL));
  OK(cuLinkComplete(link, &image, &bytes));
  OK(cuModuleLoadData(&module, image));
  OK(cuLinkDestroy(link));
  OK(cuModuleGetFunction(&advance, module, "advance"));
  OK(cuMemAlloc(&data, sizeof host));
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  void *arguments[] = {&data};
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuMemsetD8Async(data, 0, sizeof host, stream));
  for (int i = 0; i < 3; i++)
    OK(cuLaunchKernel(advance, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
  OK(cuMemcpyDtoHAsync(host, data, sizeof host, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiate(&exec, graph, 0));
  memset(host, 0, sizeof host);
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  printf("%u %u\n", host[0], host[31]);
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  build(context, advance, data, stream);
  OK(cuCtxDestroy(context));
  return 0;
}

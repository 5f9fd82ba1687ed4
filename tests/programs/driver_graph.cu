// flags: -lcuda
// Pieces of PTX that are linked, of which one calls the other, and a graph that is captured from a stream.
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
  OK(cuCtxDestroy(context));
  return 0;
}

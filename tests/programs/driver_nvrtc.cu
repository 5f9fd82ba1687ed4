// flags: -lcuda -lnvrtc
// needs: nvrtc.h
// A kernel that is compiled while the program runs, to PTX and to what the GPU runs.
#include "driver.h"
#include <nvrtc.h>
#include <string>

static const char source[] = "template <typename T> __global__ void fill(T *to, T value) {\n"
                             "  __shared__ T kept[64];\n"
                             "  kept[threadIdx.x] = value * (T)threadIdx.x;\n"
                             "  __syncthreads();\n"
                             "  to[threadIdx.x] = kept[63 - threadIdx.x];\n"
                             "}\n";

/* Compiles for an architecture, and runs what comes out. */
static void try_with(const char *architecture, bool as_machine_code) {
  nvrtcProgram program;
  std::string option = std::string("--gpu-architecture=") + architecture;
  const char *options[] = {option.c_str()}, *name = NULL;
  nvrtcCreateProgram(&program, source, "fill.cu", 0, NULL, NULL);
  nvrtcAddNameExpression(program, "fill<float>");
  if (nvrtcCompileProgram(program, 1, options) != NVRTC_SUCCESS) {
    printf("not compiled\n");
    exit(1);
  }
  size_t bytes = 0;
  nvrtcResult got =
      as_machine_code ? nvrtcGetCUBINSize(program, &bytes) : nvrtcGetPTXSize(program, &bytes);
  char *image = (char *)malloc(bytes + 1);
  if (got == NVRTC_SUCCESS)
    got = as_machine_code ? nvrtcGetCUBIN(program, image) : nvrtcGetPTX(program, image);
  nvrtcGetLoweredName(program, "fill<float>", &name);
  CUmodule module;
  CUfunction fill;
  CUdeviceptr data;
  float host[64], value = 3;
  OK(cuModuleLoadData(&module, image));
  OK(cuModuleGetFunction(&fill, module, name));
  OK(cuMemAlloc(&data, sizeof host));
  void *arguments[] = {&data, &value};
  OK(cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
  OK(cuMemcpyDtoH(host, data, sizeof host));
  int wrong = 0;
  for (int i = 0; i < 64; i++)
    wrong += host[i] != 3 * (63 - i);
  printf("%s: %d wrong\n", architecture, wrong);
  OK(cuModuleUnload(module));
  OK(cuMemFree(data));
  nvrtcDestroyProgram(&program);
  free(image);
}

int main() {
  CUcontext context;
  OK(cuInit(0));
  OK(cuCtxCreate(&context, NULL, 0, 0));
  try_with("compute_90", false);
  try_with("sm_90", true);
  OK(cuCtxDestroy(context));
  return 0;
}

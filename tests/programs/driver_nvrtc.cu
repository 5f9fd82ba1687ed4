// flags: -lcuda -lnvrtc -lnvJitLink
// needs: nvrtc.h nvJitLink.h
// A kernel that is compiled while the program runs, to PTX and to what the GPU runs, and one that is linked from two pieces
// of intermediate code.
#include "driver.h"
#include <nvJitLink.h>
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

/* Intermediate code of a source. */
static std::string intermediate(const char *text) {
  nvrtcProgram program;
  const char *options[] = {"-arch=sm_90", "-dlto", "-rdc=true"};
  size_t bytes = 0;
  nvrtcCreateProgram(&program, text, "part.cu", 0, NULL, NULL);
  nvrtcCompileProgram(program, 3, options);
  nvrtcGetLTOIRSize(program, &bytes);
  std::string code(bytes, 0);
  nvrtcGetLTOIR(program, &code[0]);
  nvrtcDestroyProgram(&program);
  return code;
}

/* Links two pieces to what the GPU runs, and runs it. */
static void try_linked() {
  std::string parts[] = {intermediate("extern __device__ int triple(int);\n"
                                      "extern \"C\" __global__ void fill(int *to) { to[threadIdx.x] = triple(threadIdx.x); }\n"),
                         intermediate("__device__ int triple(int x) { return 3 * x; }\n")};
  const char *options[] = {"-lto", "-arch=sm_90"};
  nvJitLinkHandle link;
  size_t bytes = 0;
  int failures = nvJitLinkCreate(&link, 2, options) != 0;
  for (std::string &part : parts)
    failures += nvJitLinkAddData(link, NVJITLINK_INPUT_LTOIR, part.data(), part.size(), "part") != 0;
  failures += nvJitLinkComplete(link) != 0;
  failures += nvJitLinkGetLinkedCubinSize(link, &bytes) != 0;
  std::string image(bytes + 1, 0);
  failures += nvJitLinkGetLinkedCubin(link, &image[0]) != 0;
  nvJitLinkDestroy(&link);
  CUmodule module;
  CUfunction fill;
  CUdeviceptr data;
  int host[32];
  OK(cuModuleLoadData(&module, image.data()));
  OK(cuModuleGetFunction(&fill, module, "fill"));
  OK(cuMemAlloc(&data, sizeof host));
  void *arguments[] = {&data};
  OK(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
  OK(cuMemcpyDtoH(host, data, sizeof host));
  printf("linked: %d failures, %d\n", failures, host[31]);
}

int main() {
  CUcontext context;
  OK(cuInit(0));
  OK(cuCtxCreate(&context, NULL, 0, 0));
  try_with("compute_90", false);
  try_with("sm_90", true);
  try_linked();
  OK(cuCtxDestroy(context));
  return 0;
}

// Functions of the driver that a program of the runtime asks for by name, with handles of both interfaces.
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <cudaTypedefs.h>

__global__ void twice(int *data) { data[threadIdx.x] *= 2; }

template <typename F> static F find(const char *name, int version) {
  void *function = NULL;
  cudaDriverEntryPointQueryResult status;
  cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &status);
  printf("%s: %s\n", name, error == cudaSuccess && status == cudaDriverEntryPointSuccess ? "found" : "not there");
  return (F)function;
}

int main() {
  int *data, host[32], version = 0;
  cudaMalloc(&data, sizeof host);
  auto get_context = find<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000);
  auto launch = find<PFN_cuLaunchKernel_v4000>("cuLaunchKernel", 12000);
  auto fill = find<PFN_cuMemsetD32_v3020>("cuMemsetD32", 12000);
  auto encode = find<PFN_cuTensorMapEncodeTiled_v12000>("cuTensorMapEncodeTiled", 12000);
  find<void *>("cuNoSuchFunction", 12000);
  // Programs that open the driver themselves want all its names, those of pictures of OpenGL too, before they begin.
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto devices = driver ? (int (*)(unsigned *, int *, unsigned, int))dlsym(driver, "cuGLGetDevices_v2") : NULL;
  unsigned devices_of_opengl = 7;
  int device;
  printf("OpenGL's devices: %s\n", devices && devices(&devices_of_opengl, &device, 1, 1) ? "none" : "unexpected");
  CUcontext context = NULL;
  get_context(&context);
  printf("context: %s\n", context ? "current" : "none");
  fill((CUdeviceptr)data, 21, 32);
  cudaFunction_t function;
  cudaGetFuncBySymbol(&function, (const void *)twice);
  void *arguments[] = {&data};
  CUresult error = launch((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, cudaStreamLegacy, arguments, NULL);
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  printf("launch %d: %d\n", error, host[31]);

  CUtensorMap map;
  cuuint64_t size[] = {64, 32}, stride[] = {256};
  cuuint32_t box[] = {32, 8}, step[] = {1, 1};
  error = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, data, size, stride, box, step,
                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  printf("a tensor map: %d\n", error);
  box[0] = 64;
  error = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, data, size, stride, box, step,
                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  printf("one whose rows are too long for the swizzle: %d\n", error);
  return cudaDriverGetVersion(&version) != cudaSuccess || version < 12000;
}

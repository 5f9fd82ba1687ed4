// flags: -lcuda
// Launches as programs before CUDA 4 make them, and values in memory that streams write and wait for, alone and several at
// once; the host writes one behind what waits for it.
#include "driver.h"
#include <thread>

extern "C" __global__ void scale(int *data, float by, int add) { data[threadIdx.x] = data[threadIdx.x] * by + add; }

// Launches that the headers declare as deprecated.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void launch(CUfunction function, CUdeviceptr data, float by, int add, CUstream stream) {
  OK(cuFuncSetBlockShape(function, 32, 1, 1));
  OK(cuFuncSetSharedSize(function, 0));
  OK(cuParamSetv(function, 0, &data, sizeof data));
  OK(cuParamSetf(function, 8, by));
  OK(cuParamSeti(function, 12, add));
  OK(cuParamSetSize(function, 16));
  OK(stream ? cuLaunchGridAsync(function, 1, 1, stream) : cuLaunchGrid(function, 1, 1));
}

int main() {
  CUcontext context;
  CUfunction function;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxPushCurrent(context));
  cudaFunction_t found;
  if (cudaGetFuncBySymbol(&found, (const void *)scale) != cudaSuccess)
    return 1;
  function = (CUfunction)found;
  int host[32], *flag;
  CUdeviceptr data, mapped;
  for (int i = 0; i < 32; i++)
    host[i] = i;
  OK(cuMemAlloc(&data, sizeof host));
  OK(cuMemcpyHtoD(data, host, sizeof host));
  launch(function, data, 2, 1, 0);
  OK(cuMemcpyDtoH(host, data, sizeof host));
  printf("%d %d\n", host[0], host[31]);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(function, 0, 1, 1));

  OK(cuMemHostAlloc((void **)&flag, 2 * sizeof *flag, CU_MEMHOSTALLOC_DEVICEMAP));
  OK(cuMemHostGetDevicePointer(&mapped, flag, 0));
  flag[0] = flag[1] = 0;
  CUstream stream;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuStreamWaitValue32(stream, mapped, 7, CU_STREAM_WAIT_VALUE_EQ));
  launch(function, data, 1, 100, stream);
  OK(cuStreamWriteValue32(stream, mapped + 4, 9, 0));
  printf("%s %d\n", name_of(cuStreamQuery(stream)), ((volatile int *)flag)[1]);
  *(volatile int *)flag = 7;
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(host, data, sizeof host));
  printf("%d %d\n", host[0], flag[1]);

  CUstreamBatchMemOpParams list[3] = {};
  list[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  list[0].writeValue.address = mapped;
  list[0].writeValue.value = 1;
  list[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  list[1].waitValue.address = mapped + 4;
  list[1].waitValue.value = 20;
  list[1].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  list[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  list[2].writeValue.address = mapped;
  list[2].writeValue.value = 2;
  OK(cuStreamBatchMemOp(stream, 3, list, 0));
  printf("%d\n", ((volatile int *)flag)[0]);
  std::thread late([=] { ((volatile int *)flag)[1] = 21; });
  OK(cuStreamSynchronize(stream));
  late.join();
  printf("%d\n", flag[0]);
  return 0;
}

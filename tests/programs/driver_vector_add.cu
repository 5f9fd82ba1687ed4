// flags: -lcuda
// A program of the driver alone: a kernel from PTX text, found by its name, with arguments as a list and in one piece.
#include "driver.h"

static const char ptx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 calls;

.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %d<8>;
  ld.param.u64 %d0, [a];
  ld.param.u64 %d1, [b];
  ld.param.u64 %d2, [c];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p bra done;
  mul.wide.u32 %d3, %r4, 4;
  add.u64 %d0, %d0, %d3;
  add.u64 %d1, %d1, %d3;
  add.u64 %d2, %d2, %d3;
  ld.global.f32 %f0, [%d0];
  ld.global.f32 %f1, [%d1];
  add.f32 %f2, %f0, %f1;
  st.global.f32 [%d2], %f2;
  red.global.add.u32 [calls], 1;
done:
  ret;
}
)";

enum { N = 1000 };

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction add, none;
  CUdeviceptr a, b, c, calls;
  static float host[N], result[N];
  size_t bytes;
  int count = 0;

  if (cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED)
    printf("a call before cuInit\n");
  OK(cuInit(0));
  OK(cuDeviceGetCount(&count));
  OK(cuDeviceGet(&device, 0));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&a, 4));
  OK(cuCtxCreate(&context, NULL, 0, device));
  OK(cuModuleLoadData(&module, ptx));
  OK(cuModuleGetFunction(&add, module, "add"));
  FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module, "subtract"));
  OK(cuMemAlloc(&a, sizeof host));
  OK(cuMemAlloc(&b, sizeof host));
  OK(cuMemAlloc(&c, sizeof host));
  for (int i = 0; i < N; i++)
    host[i] = (float)i;
  OK(cuMemcpyHtoD(a, host, sizeof host));
  OK(cuMemcpyDtoD(b, a, sizeof host));

  unsigned n = N;
  void *list[] = {&a, &b, &c, &n};
  OK(cuLaunchKernel(add, (N + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, list, NULL));
  OK(cuMemcpyDtoH(result, c, sizeof result));
  int wrong = 0;
  for (int i = 0; i < N; i++)
    wrong += result[i] != 2 * host[i];
  printf("list: %d wrong\n", wrong);

  struct {
    CUdeviceptr a, b, c;
    unsigned n;
  } block = {c, b, c, N};
  size_t block_bytes = offsetof(decltype(block), n) + sizeof block.n; // no more than the parameters have
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &block_bytes,
                   CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(add, (N + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
  OK(cuMemcpyDtoH(result, c, sizeof result));
  wrong = 0;
  for (int i = 0; i < N; i++)
    wrong += result[i] != 3 * host[i];
  printf("block: %d wrong\n", wrong);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 2000, 1, 1, 0, NULL, list, NULL));

  unsigned launched = 0;
  OK(cuModuleGetGlobal(&calls, &bytes, module, "calls"));
  OK(cuMemcpyDtoH(&launched, calls, sizeof launched));
  printf("calls: %u in %zu bytes\n", launched, bytes);

  OK(cuMemFree(a));
  OK(cuMemFree(b));
  OK(cuMemFree(c));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(c));
  OK(cuModuleUnload(module));
  OK(cuCtxDestroy(context));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
  printf("%s\n", count > 0 ? "done" : "no device");
  return 0;
}

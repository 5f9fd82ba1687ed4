// A kernel with an instruction that the emulator does not run: the error stays, so that nobody takes what is in memory
// for a result, and exec does not end with status 0.
// only: exec
// status: 2
// table: not run: 2 launches of several_gpus
#include "check.h"

__global__ void several_gpus(int *out) {
  out[0] = 1;
  asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(out) : "memory");
}

int main() {
  int *out, value = 7;
  CHECK(cudaMalloc(&out, sizeof *out));
  several_gpus<<<1, 32>>>(out);
  several_gpus<<<1, 32>>>(out);
  printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  printf("afterwards: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  printf("copy: %s\n", cudaGetErrorName(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDefault)));
  printf("value %d\n", value);
  return 0;
}

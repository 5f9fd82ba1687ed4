// printf from kernels: formats, and when the text appears.
#include "check.h"

__global__ void formats() {
  printf("int %d %5d|%-5d|%05d %+d %x %X %#o\n", -42, 7, 7, 7, 7, 0xbeef, 0xBEEF, 8);
  printf("long %lld %llu %c %s %%\n", -1234567890123ll, 1ull << 63, 'q', "text");
  printf("real %f %.3f %8.2f|%-8.2f|%e %g\n", 3.25, 2.0 / 3.0, 1.5, 1.5, 12345.678, 1e-5f);
}

__global__ void ordered(int block) {
  for (int i = 0; i < 3; i++)
    if (threadIdx.x == i)
      printf("block %d thread %d of %d\n", block, threadIdx.x, blockDim.x);
}

int main() {
  formats<<<1, 1>>>();
  printf("before the synchronisation\n");
  CHECK(cudaDeviceSynchronize());
  for (int b = 0; b < 2; b++) {
    ordered<<<1, 3>>>(b);
    CHECK(cudaDeviceSynchronize());
  }
  printf("end\n");
  return 0;
}

// Every multiprocessor has a number below %nsmid, and a grid of as many blocks as there are multiprocessors uses all.
// flags: -cudart shared -arch=sm_90
// exec: --machine hopper
#include "check.h"

__global__ void where(unsigned *numbers, unsigned *most) {
  unsigned own, count;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(own));
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(count));
  if (own < count)
    atomicAdd(&numbers[own], 1);
  *most = count;
}

int main() {
  unsigned *numbers, *most;
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  CHECK(cudaMallocManaged(&most, sizeof *most));
  CHECK(cudaMallocManaged(&numbers, 4096 * sizeof *numbers));
  for (int i = 0; i < 4096; i++)
    numbers[i] = 0;
  where<<<dim3(device.multiProcessorCount / 2, 2), 1>>>(numbers, most);
  CHECK(cudaDeviceSynchronize());
  int used = 0;
  for (int i = 0; i < 4096; i++)
    used += numbers[i] > 0;
  printf("%s\n", *most >= (unsigned)device.multiProcessorCount ? "as many numbers" : "too few numbers");
  printf("%s\n", used == device.multiProcessorCount ? "all used" : "not all used");
}

// Calls that Bankfold does not have: they say so and the program goes on.
// only: exec
// status: 2
// says: cudaMallocMipmappedArray is not supported
#include "check.h"

__global__ void several_gpus(int *out) {
  asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(out) : "memory");
}

int main() {
  cudaMipmappedArray_t array;
  cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  printf("array: %s\n",
         cudaGetErrorName(cudaMallocMipmappedArray(&array, &desc, make_cudaExtent(16, 16, 0), 2)));
  printf("again: %s\n",
         cudaGetErrorName(cudaMallocMipmappedArray(&array, &desc, make_cudaExtent(16, 16, 0), 2)));
  printf("channel of %d bits\n", desc.x);
  cudaGetLastError();
  several_gpus<<<2, 32>>>(NULL);
  printf("memory of several GPUs: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}

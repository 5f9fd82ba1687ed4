// Calls that Bankfold does not have: they say so and the program goes on.
// only: exec
// status: 2
// says: cudaMallocMipmappedArray is not supported
#include "check.h"

__global__ void __cluster_dims__(2, 1, 1) clustered(int *out) { out[0] = 1; }

int main() {
  cudaMipmappedArray_t array;
  cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  printf("array: %s\n",
         cudaGetErrorName(cudaMallocMipmappedArray(&array, &desc, make_cudaExtent(16, 16, 0), 2)));
  printf("again: %s\n",
         cudaGetErrorName(cudaMallocMipmappedArray(&array, &desc, make_cudaExtent(16, 16, 0), 2)));
  printf("channel of %d bits\n", desc.x);
  cudaGetLastError();
  clustered<<<2, 32>>>(NULL);
  printf("clusters: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}

// An assertion that fails in one thread; every later call reports it.
// says: Assertion|assert
#include "check.h"

#include <cassert>

__global__ void check_limit(const int *in, int limit) { assert(in[threadIdx.x] < limit); }

int main() {
  int host[8] = {1, 2, 3, 4, 50, 6, 7, 8}, *in;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  check_limit<<<1, 8>>>(in, 100);
  CHECK(cudaDeviceSynchronize());
  printf("the first launch is fine\n");
  check_limit<<<1, 8>>>(in, 10);
  printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  printf("synchronisation: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  printf("last error: %s\n", cudaGetErrorName(cudaGetLastError()));
  printf("and again: %s\n", cudaGetErrorName(cudaGetLastError()));
  int *more;
  cudaError_t error = cudaMalloc(&more, 4);
  printf("allocation: %s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
  return 0;
}

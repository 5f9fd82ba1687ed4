// A kernel that writes behind its array; the program goes on and says what it was told.
// only: exec
// says: out of bounds
// status: 3
#include "check.h"

__global__ void fill(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) // one too many
    data[i] = i;
}

int main() {
  const int n = 1000;
  int *data;
  CHECK(cudaMalloc(&data, n * sizeof(int)));
  fill<<<4, 256>>>(data, n - 1);
  CHECK(cudaDeviceSynchronize());
  printf("999: fine\n");
  fill<<<4, 256>>>(data, n);
  printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  cudaError_t error = cudaDeviceSynchronize();
  printf("1000: %s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
  int value;
  printf("copy: %s\n",
         cudaGetErrorName(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost)));
  printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 3;
}

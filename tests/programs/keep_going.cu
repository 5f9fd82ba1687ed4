// Wrong accesses are said once for each line, and the kernels go on.
// flags: -arch=sm_90 -lineinfo
// only: exec
// exec: --keep-going
// says: out of bounds: write of 4 bytes .*keep_going.cu:14, .*; the write is dropped
#include "check.h"

__global__ void shift(int *data, int n, int from) {
  __shared__ int tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i;
  __syncthreads();
  int read = data[i + from];    // behind the end
  data[i + from] = read + 1000; // the same
  int other = tile[threadIdx.x + 32];
  int before = atomicAdd(&data[i + from], 1);
  if (i < n)
    data[i] = read + other + before + tile[threadIdx.x];
}

int main() {
  const int n = 64;
  int *data, host[n];
  CHECK(cudaMalloc(&data, n * sizeof(int)));
  for (int launch = 0; launch < 3; launch++) {
    CHECK(cudaMemset(data, 0, n * sizeof(int)));
    shift<<<1, 64>>>(data, n, 1 << 20);
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += host[i] != (i < 32 ? i + i + 32 : i);
  printf("%d wrong\n", sum);
  return 0;
}

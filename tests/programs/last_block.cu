// Threads that wait for each other without a barrier: the last block sums up, blocks of a chain wait for the one
// before, or for the one behind them with a barrier in each turn of the loop.
#include "check.h"

#include <cstring>

__device__ unsigned arrived;
__device__ volatile int chain[64];

__global__ void sum_all(const int *in, int n, int *parts, int *out) {
  __shared__ int part[128];
  __shared__ bool is_last;
  int i = blockIdx.x * 128 + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = part[0];
    __threadfence();
    is_last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++)
      sum += ((volatile int *)parts)[b];
    *out = sum;
  }
}

__global__ void chained(int *order) {
  if (threadIdx.x == 0) {
    int b = blockIdx.x;
    while (b > 0 && chain[b - 1] == 0)
      ;
    __threadfence();
    order[b] = b == 0 ? 1 : order[b - 1] + b;
    __threadfence();
    chain[b] = 1;
  }
}

__global__ void chained_backwards(volatile int *value) {
  for (bool is_done = false; !is_done; __syncthreads()) {
    int next = value[blockIdx.x + 1];
    is_done = next != 0;
    if (is_done && threadIdx.x == 0)
      value[blockIdx.x] = next + 1;
  }
}

int main() {
  const int n = 5000, blocks = (n + 127) / 128;
  static int host[n];
  int *in, *parts, *out, sum = 0, got, order[64], *device;
  for (int i = 0; i < n; i++)
    sum += host[i] = i % 97;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&parts, blocks * sizeof(int)));
  CHECK(cudaMalloc(&out, sizeof(int)));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  sum_all<<<blocks, 128>>>(in, n, parts, out);
  CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
  printf("sum %d, expected %d\n", got, sum);
  CHECK(cudaMalloc(&device, sizeof order));
  chained<<<64, 32>>>(device);
  CHECK(cudaMemcpy(order, device, sizeof order, cudaMemcpyDeviceToHost));
  printf("chain ends with %d\n", order[63]);
  memset(order, 0, sizeof order);
  order[63] = 1;
  CHECK(cudaMemcpy(device, order, sizeof order, cudaMemcpyHostToDevice));
  chained_backwards<<<63, 64>>>(device);
  CHECK(cudaMemcpy(order, device, sizeof order, cudaMemcpyDeviceToHost));
  printf("the other way it ends with %d\n", order[0]);
  return 0;
}

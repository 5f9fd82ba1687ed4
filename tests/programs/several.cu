// A program of two files that are compiled each by itself, with names that both have.
// with: parts/second.cu
#include "check.h"
#include "parts/second.h"

static __device__ int step = 1;

static __global__ void advance(int *data) { data[threadIdx.x] += step; }

int main() {
  int *data, host[32];
  CHECK(cudaMalloc(&data, sizeof host));
  CHECK(cudaMemset(data, 0, sizeof host));
  advance<<<1, 32>>>(data);
  add_number<int><<<1, 32>>>(data, 5);
  advance_by_hundred(data);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  printf("%d %d\n", host[0], host[31]);
  int two = 2;
  CHECK(cudaMemcpyToSymbol(step, &two, sizeof two));
  advance<<<1, 32>>>(data);
  advance_by_hundred(data);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  printf("%d %d\n", host[0], host[31]);
  return 0;
}

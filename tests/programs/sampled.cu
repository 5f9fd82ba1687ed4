// Kernels with so many blocks that exec --sample does not count all: one launch of many, in which each block reads shared
// memory with a stride of its own, and many launches of two.
#include "check.h"

__global__ void vary(const int *stride, int *out) {
  __shared__ int table[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x)
    table[i] = i;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = table[threadIdx.x * stride[blockIdx.x]];
}

__global__ void turn(int *values) {
  __shared__ int own[8][32];
  own[threadIdx.x][threadIdx.y] = values[blockIdx.x * 256 + threadIdx.y * 8 + threadIdx.x];
  __syncthreads();
  values[blockIdx.x * 256 + threadIdx.y * 8 + threadIdx.x] = own[7 - threadIdx.x][threadIdx.y];
}

int main() {
  const int blocks = 3000, threads = 64, launches = 1200;
  int *stride, *out, *values, wrong = 0;
  CHECK(cudaMallocManaged(&stride, blocks * sizeof(int)));
  CHECK(cudaMallocManaged(&out, blocks * threads * sizeof(int)));
  CHECK(cudaMallocManaged(&values, 512 * sizeof(int)));
  for (int i = 0; i < blocks; i++)
    stride[i] = 1 << (i * 7919 % 11 % 6);
  for (int i = 0; i < 512; i++)
    values[i] = i;
  vary<<<blocks, threads>>>(stride, out);
  for (int i = 0; i < launches; i++)
    turn<<<2, dim3(8, 32)>>>(values);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < blocks * threads; i++)
    wrong += out[i] != i % threads * stride[i / threads];
  for (int i = 0; i < 512; i++)
    wrong += values[i] != i;
  printf("%d wrong\n", wrong);
  return wrong != 0;
}

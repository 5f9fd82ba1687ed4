// Dynamic shared memory: three arrays in one block, and more than 48 KB of it after opting in.
#include "check.h"

__global__ void three_arrays(int *out, int n) {
  extern __shared__ double memory[];
  double *a = memory;
  int *b = (int *)(a + n);
  short *c = (short *)(b + n);
  int i = threadIdx.x;
  a[i] = i * 0.5;
  b[i] = i * 3;
  c[i] = (short)(i + 7);
  __syncthreads();
  int j = n - 1 - i;
  out[i] = (int)(a[j] * 2) + b[j] + c[j];
}

__global__ void large(int *out, int words) {
  extern __shared__ int more[];
  for (int i = threadIdx.x; i < words; i += blockDim.x)
    more[i] = i ^ 0x5555;
  __syncthreads();
  int sum = 0;
  for (int i = threadIdx.x; i < words; i += blockDim.x)
    sum += more[words - 1 - i];
  atomicAdd(out, sum);
}

int main() {
  const int n = 200;
  int *device, host[n];
  CHECK(cudaMalloc(&device, sizeof host));
  three_arrays<<<1, n, n * (sizeof(double) + sizeof(int) + sizeof(short))>>>(device, n);
  CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    int j = n - 1 - i;
    wrong += host[i] != j + j * 3 + j + 7;
  }
  printf("three arrays: %d wrong\n", wrong);

  const int words = 50000;
  CHECK(cudaMemset(device, 0, 4));
  large<<<1, 256, words * 4>>>(device, words);
  printf("200000 bytes without opting in: %s\n", cudaGetErrorName(cudaGetLastError()));
  CHECK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, words * 4));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, large));
  printf("allowed now: %d bytes\n", attributes.maxDynamicSharedSizeBytes);
  large<<<1, 256, words * 4>>>(device, words);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(host, device, 4, cudaMemcpyDeviceToHost));
  int expected = 0;
  for (int i = 0; i < words; i++)
    expected += i ^ 0x5555;
  printf("sum %d, expected %d\n", host[0], expected);
  printf("more than there is: %s\n",
         cudaGetErrorName(cudaFuncSetAttribute(
             large, cudaFuncAttributeMaxDynamicSharedMemorySize, 300 << 10)));
  return 0;
}

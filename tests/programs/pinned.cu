// Memory of the host that kernels use: mapped, registered, and what pointers are.
#include "check.h"

__global__ void triple(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = 3 * in[i];
}

int main() {
  const int n = 777;
  int *mapped, *alias, *own = (int *)malloc(n * sizeof(int)), *registered;
  CHECK(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&alias, mapped, 0));
  CHECK(cudaHostRegister(own, n * sizeof(int), cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer(&registered, own, 0));
  for (int i = 0; i < n; i++)
    mapped[i] = i - 100;
  triple<<<(n + 63) / 64, 64>>>(alias, registered, n);
  CHECK(cudaDeviceSynchronize());
  int wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += own[i] != 3 * (i - 100);
  printf("mapped: %d wrong\n", wrong);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, mapped + 5));
  printf("mapped is host memory: %d\n", attributes.type == cudaMemoryTypeHost);
  int *device;
  CHECK(cudaMalloc(&device, 4));
  CHECK(cudaPointerGetAttributes(&attributes, device));
  printf("device memory: %d\n", attributes.type == cudaMemoryTypeDevice);
  CHECK(cudaPointerGetAttributes(&attributes, &wrong));
  printf("unknown: %d\n", attributes.type == cudaMemoryTypeUnregistered);
  printf("twice: %s\n", cudaGetErrorName(cudaHostRegister(own, 4, 0)));
  CHECK(cudaHostUnregister(own));
  printf("not registered: %s\n", cudaGetErrorName(cudaHostUnregister(own)));
  CHECK(cudaFreeHost(mapped));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int *pooled, value;
  CHECK(cudaMallocAsync(&pooled, n * sizeof(int), stream));
  CHECK(cudaMemsetAsync(pooled, 1, n * sizeof(int), stream));
  CHECK(cudaMemcpyAsync(&value, pooled + n - 1, sizeof value, cudaMemcpyDefault, stream));
  CHECK(cudaFreeAsync(pooled, stream));
  CHECK(cudaStreamSynchronize(stream));
  printf("pooled: %x\n", value);
  free(own);
  return 0;
}

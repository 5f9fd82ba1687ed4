// A block that the GPU cannot hold, and warps that wait for each other: errors of CUDA.
// exec: --gpu gtx580 --set shared_bytes_per_sm=2048
// only: exec
// says: kernel crossed.* cannot go on: warps wait for each other
#include "check.h"

__global__ void large(int *out) {
  __shared__ int words[1024];
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = words[1023 - threadIdx.x];
}

__global__ void fine(int *out) { out[threadIdx.x] = threadIdx.x; }

// The second warp waits at another barrier than the first.
__global__ void crossed() {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;");
  else
    asm volatile("bar.sync 2, 64;");
}

int main() {
  int *out, last = 0;
  CHECK(cudaMalloc(&out, 1024 * sizeof *out));
  large<<<1, 1024>>>(out);
  printf("too large: %s\n", cudaGetErrorName(cudaGetLastError()));
  fine<<<1, 1024>>>(out);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&last, out + 1023, sizeof last, cudaMemcpyDeviceToHost));
  printf("a smaller one: %d\n", last);
  crossed<<<1, 64>>>();
  printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  printf("deadlock: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  printf("afterwards: %s\n", cudaGetErrorName(cudaMalloc(&out, 4)));
  return 0;
}

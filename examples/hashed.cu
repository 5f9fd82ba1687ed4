// Chooses the hash of the banks for a launch and shows what it gains. Build and run:
//   nvcc -cudart shared -arch=sm_90 -lineinfo -Iinclude examples/hashed.cu -o hashed
//   bankfold exec --gpu gtx580 ./hashed
// On a GPU it runs too, where the hash changes nothing.
#include "bankfold_cuda.h"

#include <cstdio>

const int N = 256, TILE = 32;

// A transpose that reads its tile by columns: 32 accesses to one bank, unless the banks are hashed.
__global__ void transpose(const float *in, float *out) {
  __shared__ float tile[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * N + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  out[y * N + x] = tile[threadIdx.x][threadIdx.y];
}

// Milliseconds of a launch with a hash.
static float time_launch(const char *hash, const float *in, float *out) {
  cudaEvent_t start, stop;
  float milliseconds = 0;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  bankfold_set_hash(hash);
  cudaEventRecord(start);
  transpose<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(in, out);
  cudaEventRecord(stop);
  cudaEventSynchronize(stop);
  cudaEventElapsedTime(&milliseconds, start, stop);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return milliseconds;
}

int main() {
  float *in, *out;
  cudaMalloc(&in, N * N * sizeof *in);
  cudaMalloc(&out, N * N * sizeof *out);
  cudaMemset(in, 0, N * N * sizeof *in);
  for (const char *hash : {"none", "fixed"})
    printf("hash %-5s  %.4f ms\n", hash, time_launch(hash, in, out));
  cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess)
    printf("%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}

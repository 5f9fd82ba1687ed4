// The other part of separate.cu.
#include "../check.h"
#include "linked.h"

static __device__ int step = 100;
static __device__ __noinline__ int advance(int x) { return x + step; }

__device__ int counter = 107;
__constant__ int table[4] = {10, 20, 30, 40};
__device__ int twice(int x) { return doubled(x); }
__device__ int negate(int x) { return -x; }
__device__ int apply(Function f, int x) { return f(x); }

/* A column of a tile: 32 lanes in one bank. */
__device__ int column(int x) {
  __shared__ int tile[32][32];
  tile[x][0] = x;
  __syncthreads();
  return tile[x][0];
}

static __global__ void use(int *out) { *out = advance(7); }

int other_advance() {
  int *data, host;
  CHECK(cudaMalloc(&data, sizeof host));
  use<<<1, 1>>>(data);
  CHECK(cudaMemcpy(&host, data, sizeof host, cudaMemcpyDeviceToHost));
  return host;
}

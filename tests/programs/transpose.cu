// A transpose whose columns conflict, and the padded one; the profile counts both exactly.
// flags: -lineinfo
#include "check.h"

const int N = 64, TILE = 32;

__global__ void plain(const float *in, float *out) {
  __shared__ float tile[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * N + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  out[y * N + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void padded(const float *in, float *out) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * N + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  out[y * N + x] = tile[threadIdx.x][threadIdx.y];
}

static int wrong(const float *in, const float *out) {
  int count = 0;
  for (int y = 0; y < N; y++)
    for (int x = 0; x < N; x++)
      count += out[x * N + y] != in[y * N + x];
  return count;
}

int main() {
  static float host[N * N], got[N * N];
  float *in, *out;
  for (int i = 0; i < N * N; i++)
    host[i] = (float)i;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, sizeof host));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  plain<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(in, out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  printf("plain: %d wrong\n", wrong(host, got));
  CHECK(cudaMemset(out, 0, sizeof host));
  padded<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(in, out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  printf("padded: %d wrong\n", wrong(host, got));
  return 0;
}

// Launches with the same parameters: those that do exactly what one before did are not run again, and nobody can tell.
// Inputs that the host changes in every way, results that are inputs, and text must come out as if each had run.
#include "check.h"

#include <cooperative_groups.h>

enum { N = 4096, TIMES = 12 };
__constant__ int factor;
__device__ int calls;

__device__ int work(int x) { // 0, after some time
  for (int i = 0; i < 400; i++)
    x = (x >> 3) * 1103515245 + 12345;
  return x == 3;
}
__global__ void scale(const int *in, int *out) {
  __shared__ int tile[32][32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x % 32][threadIdx.x / 32] = in[i] * factor + work(i);
  __syncthreads();
  out[i] = tile[threadIdx.x % 32][threadIdx.x / 32];
}
__global__ void count(const int *in, int *bins) { atomicAdd(&bins[(in[threadIdx.x + blockIdx.x * blockDim.x] + work(blockIdx.x)) & 15], 1); }
__global__ void advance(int *data) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] + 1 + work(i);
  if (i == 0)
    calls++;
}
__global__ void meet(const int *in, int *out, int *total) { // cooperative: the sum of all is added to each
  auto grid = cooperative_groups::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(total, in[i] + work(i));
  grid.sync();
  out[i] += *total;
  grid.sync();
  if (i == 0)
    *total = 0;
}
__global__ void speak(int x) {
  if (threadIdx.x == 0 && work(x) == 0)
    printf("spoken\n");
}

int main() {
  int *in, *out, *bins, *data, *managed, host[N], seen = 0, wrong = 0, three = 3;
  for (int i = 0; i < N; i++)
    host[i] = i;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, sizeof host));
  CHECK(cudaMalloc(&bins, 64));
  CHECK(cudaMalloc(&data, sizeof host));
  CHECK(cudaMallocManaged(&managed, sizeof host));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(factor, &three, sizeof three));
  CHECK(cudaMemset(data, 0, sizeof host));
  memset(managed, 0, sizeof host);
  for (int t = 0; t < TIMES; t++) {
    int now = t < 8 ? 3 : 5, got[N], hist[16];
    CHECK(cudaMemcpyToSymbol(factor, &now, sizeof now));
    CHECK(cudaMemset(out, 0, t % 3 == 2 ? sizeof host : 4));
    scale<<<N / 256, 256>>>(in, out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
      wrong += got[i] != i * now;
    CHECK(cudaMemset(bins, 0, 64));
    count<<<N / 256, 256>>>(in, bins);
    CHECK(cudaMemcpy(hist, bins, 64, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++)
      wrong += hist[i] != N / 16;
    void *arguments[] = {&in, &out, &bins};
    CHECK(cudaMemset(bins, 0, 64));
    CHECK(cudaMemset(out, 0, t == 9 ? 4 : sizeof host));
    CHECK(cudaLaunchCooperativeKernel((void *)meet, dim3(N / 256), dim3(256), arguments, 0, 0));
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
      wrong += got[i] != N * (N - 1) / 2 + (t == 9 && i > 0 ? i * now : 0);
    advance<<<N / 256, 256>>>(data);
    if (t == 6)
      managed[5] = 100;
    advance<<<N / 256, 256>>>(managed);
    CHECK(cudaDeviceSynchronize());
    wrong += managed[5] != (t < 6 ? t + 1 : 101 + t - 6) || managed[6] != t + 1;
    if (t % 4 == 0)
      speak<<<1, 32>>>(1);
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N; i++)
    wrong += host[i] != TIMES;
  CHECK(cudaMemcpyFromSymbol(&seen, calls, sizeof seen));
  printf("%d wrong, %d calls\n", wrong, seen);
  return 0;
}

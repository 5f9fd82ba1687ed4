// Kernels that lack a second barrier in a loop, and are right on every GPU all the same: all warps of a
// block read what thread 0 has written long before it writes again. Also clocks, which never stand still.
#include "check.h"

__device__ int next;

__global__ void fetch_work(int *out, int count) {
  __shared__ int job;
  for (;;) {
    if (threadIdx.x == 0)
      job = atomicAdd(&next, 1);
    __syncthreads();
    int mine = job;
    if (mine >= count)
      break;
    out[mine * blockDim.x + threadIdx.x] = 3 * mine + threadIdx.x;
  }
}

__device__ int sum_block(int value) {
  __shared__ int part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int far = 16; far > 0; far /= 2)
    value += __shfl_down_sync(0xffffffff, value, far);
  if (lane == 0)
    part[warp] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? part[lane] : 0;
  for (int far = 16; warp == 0 && far > 0; far /= 2)
    value += __shfl_down_sync(0xffffffff, value, far);
  if (threadIdx.x == 0)
    part[0] = value;
  __syncthreads();
  return part[0];
}

__global__ void sums(const int *in, int *out, int rows) {
  for (int row = 0; row < rows; row++) {
    int value = in[row * blockDim.x + threadIdx.x];
    out[row * blockDim.x + threadIdx.x] = sum_block(value) + 7 * sum_block(value * value);
  }
}

__global__ void clocks(int *out) {
  long long first = clock64(), second = clock64();
  unsigned third = clock(), fourth = clock();
  out[0] = second > first;
  out[1] = fourth != third;
  while (clock64() < first + 1000000)
    ;
  out[2] = 1;
}

int main() {
  const int rows = 100, threads = 256;
  int *in, *out, wrong = 0;
  CHECK(cudaMallocManaged(&in, rows * threads * sizeof *in));
  CHECK(cudaMallocManaged(&out, rows * threads * sizeof *out));
  fetch_work<<<4, threads>>>(out, rows);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < rows * threads; i++)
    wrong += out[i] != 3 * (i / threads) + i % threads;
  printf("work that was fetched: %d wrong\n", wrong);

  unsigned state = 1;
  for (int i = 0; i < rows * threads; i++)
    in[i] = next_random(&state) % 100;
  sums<<<1, threads>>>(in, out, rows);
  CHECK(cudaDeviceSynchronize());
  wrong = 0;
  for (int row = 0; row < rows; row++) {
    int sum = 0;
    for (int i = 0; i < threads; i++)
      sum += in[row * threads + i] + 7 * in[row * threads + i] * in[row * threads + i];
    for (int i = 0; i < threads; i++)
      wrong += out[row * threads + i] != sum;
  }
  printf("sums of blocks: %d wrong\n", wrong);

  clocks<<<1, 32>>>(out);
  CHECK(cudaDeviceSynchronize());
  printf("clocks go on: %d %d, waits end: %d\n", out[0], out[1], out[2]);
}

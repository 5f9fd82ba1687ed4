// Kernels with assert and printf in them, as people leave them there, and functions that are not
// inlined.

// gpu: 256
#include "strangers.h"

#include <cassert>

__device__ __noinline__ int weigh(const int *row, int length) {
  int sum = 0;
  for (int i = 0; i < length; i++)
    sum += row[i] * (i + 1);
  return sum;
}

// Each thread weighs a row of shared memory; nothing is negative, unless memory is not what was
// written.
__global__ void weigh_rows(const int *in, int *out, bool tell) {
  __shared__ int rows[128 * 16];
  int t = threadIdx.x;
  for (int i = t; i < 128 * 16; i += 128)
    rows[i] = in[(size_t)blockIdx.x * 128 * 16 + i];
  __syncthreads();
  int weight = weigh(rows + t * 16, 16);
  assert(weight >= 0);
  if (tell && blockIdx.x == 0 && t == 7)
    printf("row 7 weighs %d\n", weight);
  out[(size_t)blockIdx.x * 128 + t] = weight;
}

// The same, with the assertion about what lies in shared memory.
__global__ void turn_tiles(const int *in, int *out) {
  __shared__ int tile[32][32];
  size_t first = (size_t)blockIdx.x * 1024;
  for (int i = threadIdx.y; i < 32; i += 8)
    tile[i][threadIdx.x] = in[first + i * 32 + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8) {
    int value = tile[threadIdx.x][i];
    assert(value >= 0 && value < 1000);
    out[first + i * 32 + threadIdx.x] = value;
  }
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 32768;
  std::vector<int> in = numbers<int>(n, 1000), weights(n / 16), turned(n);
  int *source = to_device(in), *out = device_array<int>(n);
  weigh_rows<<<1, 128>>>(source, out, true);
  CHECK(cudaDeviceSynchronize());
  p.timed("weigh_rows", [&] { weigh_rows<<<n / 2048, 128>>>(source, out, false); });
  for (size_t i = 0; i < n; i++) {
    weights[i / 16] += in[i] * (int)(i % 16 + 1);
    turned[i / 1024 * 1024 + i % 32 * 32 + i % 1024 / 32] = in[i];
  }
  std::vector<int> got = to_host(out, n / 16);
  p.report("weights", differences(got, weights), got);
  p.timed("turn_tiles", [&] { turn_tiles<<<n / 1024, dim3(32, 8)>>>(source, out); });
  got = to_host(out, n);
  p.report("turned", differences(got, turned), got);
  return p.end();
}

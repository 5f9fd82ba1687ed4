// Blocks that only just fit: 1024 threads with nearly 64 registers each, with and without launch
// bounds, and all the shared memory that there is, in sizes that are no multiple of 128.

// gpu: 64
#include "strangers.h"

// Each thread holds `held` numbers, mixes them with those of other threads through shared memory,
// and sums up.
template <int held> __device__ void mix(const int *in, int *out, int *shared) {
  int t = threadIdx.x, values[held];
  size_t first = (size_t)blockIdx.x * held * 1024;
#pragma unroll
  for (int i = 0; i < held; i++)
    values[i] = in[first + i * 1024 + t];
#pragma unroll 1
  for (int round = 0; round < 4; round++) {
    shared[t % 32 * 32 + t / 32] = values[0];
    __syncthreads();
    int other = shared[t];
#pragma unroll
    for (int i = 0; i < held; i++)
      values[i] = values[i] * 3 + (values[(i + 7) % held] ^ other);
    __syncthreads();
  }
  int sum = 0;
#pragma unroll
  for (int i = 0; i < held; i++)
    sum += values[i] * (i + 1);
  out[(size_t)blockIdx.x * 1024 + t] = sum;
}

template <int held> __global__ void just_fits(const int *in, int *out) {
  __shared__ int shared[1024];
  mix<held>(in, out, shared);
}

template <int held> __global__ void __launch_bounds__(1024) is_bound(const int *in, int *out) {
  extern __shared__ int dynamic[];
  mix<held>(in, out, dynamic);
}

// A block with nearly all the shared memory: a table that is filled by rows and read by columns.
__global__ void all_shared(const int *in, int *out, int words) {
  extern __shared__ int table[];
  int t = threadIdx.x, rows = words / 64;
  for (int i = t; i < words; i += 1024)
    table[i] = in[((size_t)blockIdx.x * 1024 + i) % ((size_t)gridDim.x * 1024)];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 64; i++)
    sum = sum * 5 + table[t % rows * 64 + (i + t / rows) % 64];
  out[(size_t)blockIdx.x * 1024 + t] = sum;
}

template <int held> static std::vector<int> mixed(const std::vector<int> &in, size_t blocks) {
  std::vector<int> sums(blocks * 1024);
  std::vector<unsigned> values(held * 1024), other(1024);
  for (size_t b = 0; b < blocks; b++) {
    for (int i = 0; i < held * 1024; i++)
      values[i] = in[b * held * 1024 + i];
    for (int round = 0; round < 4; round++) {
      for (int t = 0; t < 1024; t++)
        other[t % 32 * 32 + t / 32] = values[t];
      for (int t = 0; t < 1024; t++)
        for (int i = 0; i < held; i++)
          values[i * 1024 + t] =
              values[i * 1024 + t] * 3 + (values[(i + 7) % held * 1024 + t] ^ other[t]);
    }
    for (int t = 0; t < 1024; t++) {
      unsigned sum = 0;
      for (int i = 0; i < held; i++)
        sum += values[i * 1024 + t] * (i + 1);
      sums[b * 1024 + t] = (int)sum;
    }
  }
  return sums;
}

int main(int count, char **words) {
  program p(count, words);
  constexpr int held = 48;
  size_t blocks = p.scale * 4, n = blocks * held * 1024;
  std::vector<int> in = numbers<int>(n, 1000), wanted = mixed<held>(in, blocks);
  int *source = to_device(in), *out = device_array<int>(blocks * 1024);
  p.timed("just_fits", [&] { just_fits<held><<<blocks, 1024>>>(source, out); });
  CHECK(cudaGetLastError());
  std::vector<int> got = to_host(out, blocks * 1024);
  p.report("without bounds", differences(got, wanted), got);
  p.timed("is_bound", [&] { is_bound<held><<<blocks, 1024, 1024 * 4 + 20>>>(source, out); });
  CHECK(cudaGetLastError());
  got = to_host(out, blocks * 1024);
  p.report("with bounds", differences(got, wanted), got);
  int bytes = 0;
  CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  bytes -= 4;
  int table = bytes / 4 / 64 * 64, rows = table / 64;
  CHECK(cudaFuncSetAttribute(all_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  p.timed("all_shared", [&] { all_shared<<<blocks, 1024, bytes>>>(source, out, table); });
  CHECK(cudaGetLastError());
  got = to_host(out, blocks * 1024);
  size_t wrong = 0;
  for (size_t k = 0; k < blocks * 1024; k++) {
    unsigned sum = 0;
    for (int i = 0; i < 64; i++) {
      size_t at = k % 1024 % rows * 64 + (i + k % 1024 / rows) % 64;
      sum = sum * 5 + in[(k / 1024 * 1024 + at) % (blocks * 1024)];
    }
    wrong += (unsigned)got[k] != sum;
  }
  p.report("all shared memory", wrong, got);
  return p.end();
}

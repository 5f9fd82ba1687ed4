// Neighbours in a tile by CUB: differences, ends of runs, runs that are written out, and sums by
// raking.

// gpu: 1024
#include "strangers.h"

#include <cub/cub.cuh>
#include <cuda/std/functional>

constexpr int threads = 256, items = 8, tile = threads * items;

struct difference {
  __device__ int operator()(int a, int b) const { return a - b; }
};

__global__ void subtract_neighbours(const int *in, int *out) {
  using neighbours = cub::BlockAdjacentDifference<int, threads>;
  __shared__ typename neighbours::TempStorage shared;
  size_t first = (size_t)blockIdx.x * tile;
  int values[items];
  cub::LoadDirectBlocked(threadIdx.x, in + first, values);
  neighbours(shared).SubtractLeft(values, values, difference());
  cub::StoreDirectBlocked(threadIdx.x, out + first, values);
}

// 1 where a run of equal numbers starts, 2 where one ends, 3 for both.
__global__ void flag_runs(const int *in, int *out) {
  using edges = cub::BlockDiscontinuity<int, threads>;
  __shared__ typename edges::TempStorage shared;
  size_t first = (size_t)blockIdx.x * tile;
  int values[items], heads[items], tails[items];
  cub::LoadDirectBlocked(threadIdx.x, in + first, values);
  edges(shared).FlagHeadsAndTails(heads, tails, values, cuda::std::not_equal_to<int>());
  for (int i = 0; i < items; i++)
    heads[i] += 2 * tails[i];
  cub::StoreDirectBlocked(threadIdx.x, out + first, heads);
}

// Run k of a block has length 2 + k % 3 and number k; the block writes the first 2048 elements.
__global__ void write_runs(const int *in, int *out) {
  using decode = cub::BlockRunLengthDecode<int, threads, 4, items>;
  __shared__ typename decode::TempStorage shared;
  int numbers[4], lengths[4], decoded[items], total;
  for (int i = 0; i < 4; i++) {
    numbers[i] = threadIdx.x * 4 + i;
    lengths[i] = 2 + numbers[i] % 3;
  }
  decode runs(shared, numbers, lengths, total);
  runs.RunLengthDecode(decoded, 0);
  size_t first = (size_t)blockIdx.x * tile + threadIdx.x * items;
  for (int i = 0; i < items; i++)
    out[first + i] = decoded[i] + in[first + i];
}

__global__ void sum_tiles(const int *in, int *out) {
  using reduce = cub::BlockReduce<int, threads, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename reduce::TempStorage shared;
  int values[items];
  cub::LoadDirectStriped<threads>(threadIdx.x, in + (size_t)blockIdx.x * tile, values);
  int sum = reduce(shared).Sum(values);
  if (threadIdx.x == 0)
    out[blockIdx.x] = sum;
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<int> in = numbers<int>(n, 3), wanted(n), run(tile);
  int *source = to_device(in), *out = device_array<int>(n);
  auto check = [&](const char *name, size_t size) {
    std::vector<int> got = to_host(out, size);
    wanted.resize(size);
    p.report(name, differences(got, wanted), got);
  };
  p.timed("differences", [&] { subtract_neighbours<<<n / tile, threads>>>(source, out); });
  for (size_t i = 0; i < n; i++)
    wanted[i] = in[i] - (i % tile ? in[i - 1] : 0);
  check("differences", n);
  p.timed("runs_flagged", [&] { flag_runs<<<n / tile, threads>>>(source, out); });
  for (size_t i = 0; i < n; i++)
    wanted[i] =
        (i % tile == 0 || in[i] != in[i - 1]) + 2 * (i % tile == tile - 1 || in[i] != in[i + 1]);
  check("runs flagged", n);
  p.timed("runs_written", [&] { write_runs<<<n / tile, threads>>>(source, out); });
  for (size_t k = 0, at = 0; at < tile; k++)
    for (size_t r = 0; r < 2 + k % 3 && at < tile; r++)
      run[at++] = (int)k;
  for (size_t i = 0; i < n; i++)
    wanted[i] = run[i % tile] + in[i];
  check("runs written", n);
  p.timed("sums", [&] { sum_tiles<<<n / tile, threads>>>(source, out); });
  std::fill(wanted.begin(), wanted.end(), 0);
  for (size_t i = 0; i < n; i++)
    wanted[i / tile] += in[i];
  check("sums", n / tile);
  return p.end();
}

// A cooperative launch whose blocks wait for each other: a matrix is transposed in tiles, again and
// again, and its sum is taken by all blocks together.

// gpu: 16
#include "strangers.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ void transpose_tiles(const int *in, int *out, int n, int (*tile)[32]) {
  int tiles = n / 32;
  for (int t = blockIdx.x; t < tiles * tiles; t += gridDim.x) {
    int x = t % tiles * 32, y = t / tiles * 32;
    for (int i = threadIdx.y; i < 32; i += 8)
      tile[i][threadIdx.x] = in[(size_t)(y + i) * n + x + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
      out[(size_t)(x + i) * n + y + threadIdx.x] = tile[threadIdx.x][i];
    __syncthreads();
  }
}

// Transposes into b and back, adds 1 to each element on the way, `turns` times; then sums up.
__global__ void turn(const int *in, int *a, int *b, unsigned long long *sum, int n, int turns) {
  __shared__ int tile[32][32];
  cg::grid_group grid = cg::this_grid();
  for (size_t i = grid.thread_rank(); i < (size_t)n * n; i += grid.size())
    a[i] = in[i];
  if (grid.thread_rank() == 0)
    *sum = 0;
  grid.sync();
  for (int k = 0; k < turns; k++) {
    transpose_tiles(a, b, n, tile);
    grid.sync();
    for (size_t i = grid.thread_rank(); i < (size_t)n * n; i += grid.size())
      a[i] = b[i] + 1;
    grid.sync();
  }
  unsigned long long own = 0;
  for (size_t i = grid.thread_rank(); i < (size_t)n * n; i += grid.size())
    own += a[i];
  for (int distance = 16; distance > 0; distance /= 2)
    own += __shfl_down_sync(~0u, own, distance);
  if (threadIdx.x == 0)
    atomicAdd(sum, own);
}

int main(int count, char **words) {
  program p(count, words);
  int n = 128 * (int)p.scale, turns = 3, each = 0, multiprocessors = 0;
  std::vector<int> in = numbers<int>((size_t)n * n, 1000), wanted((size_t)n * n);
  int *source = to_device(in), *a = device_array<int>(in.size()), *b = device_array<int>(in.size());
  unsigned long long *sum = device_array<unsigned long long>(1), right = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, turn, 256, 0));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  int blocks = std::min(each * multiprocessors, n / 32 * (n / 32));
  void *arguments[] = {&source, &a, &b, &sum, &n, &turns};
  p.timed("turn", [&] {
    CHECK(cudaLaunchCooperativeKernel((const void *)turn, dim3(blocks), dim3(32, 8), arguments, 0,
                                      0));
  });
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++)
      right += wanted[(size_t)x * n + y] = in[(size_t)y * n + x] + turns;
  std::vector<int> got = to_host(a, in.size());
  p.report("three turns", differences(got, wanted) + (to_host(sum, 1)[0] != right), got);
  return p.end();
}

// Stencils in tiles: five points with a border, and several steps along columns in one launch.

// gpu: 32
#include "strangers.h"

constexpr int side = 32;

__global__ void five_points(const int *in, int *out, int n) {
  __shared__ int tile[side + 2][side + 2];
  int x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  auto at = [&](int row, int column) {
    return row < 0 || column < 0 || row >= n || column >= n ? 0 : in[(size_t)row * n + column];
  };
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  tile[ty][tx] = at(y, x);
  if (threadIdx.x == 0) {
    tile[ty][0] = at(y, x - 1), tile[ty][side + 1] = at(y, x + side);
  }
  if (threadIdx.y == 0) {
    tile[0][tx] = at(y - 1, x), tile[side + 1][tx] = at(y + side, x);
  }
  __syncthreads();
  out[(size_t)y * n + x] =
      4 * tile[ty][tx] - tile[ty - 1][tx] - tile[ty + 1][tx] - tile[ty][tx - 1] - tile[ty][tx + 1];
}

// Three steps of a sum with the upper and lower neighbour along columns of 64, which threads hold
// as rows.
__global__ void columns(const int *in, int *out, int n) {
  extern __shared__ int strip[]; // 32 columns of 64 elements each, and one more
  int t = threadIdx.x, x = blockIdx.x * 32, y = blockIdx.y * 64;
  for (int i = t / 32; i < 64; i += 4)
    strip[t % 32 * 64 + i] = in[(size_t)(y + i) * n + x + t % 32];
  for (int step = 0; step < 3; step++) {
    int sums[16];
    __syncthreads();
    for (int k = 0; k < 16; k++) {
      int i = t / 32 * 16 + k, at = t % 32 * 64 + i;
      sums[k] = strip[at] + (i > 0 ? strip[at - 1] : 0) + (i < 63 ? strip[at + 1] : 0);
    }
    __syncthreads();
    for (int k = 0; k < 16; k++)
      strip[t % 32 * 64 + t / 32 * 16 + k] = sums[k];
  }
  __syncthreads();
  for (int i = t / 32; i < 64; i += 4)
    out[(size_t)(y + i) * n + x + t % 32] = strip[t % 32 * 64 + i];
}

int main(int count, char **words) {
  program p(count, words);
  int n = 128 * (int)p.scale;
  size_t all = (size_t)n * n;
  std::vector<int> in = numbers<int>(all, 1000), wanted(all);
  int *source = to_device(in), *out = device_array<int>(all);
  p.timed("five_points",
          [&] { five_points<<<dim3(n / side, n / side), dim3(side, side)>>>(source, out, n); });
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++) {
      size_t i = (size_t)y * n + x;
      wanted[i] = 4 * in[i] - (y > 0 ? in[i - n] : 0) - (y < n - 1 ? in[i + n] : 0) -
                  (x > 0 ? in[i - 1] : 0) - (x < n - 1 ? in[i + 1] : 0);
    }
  std::vector<int> got = to_host(out, all);
  p.report("five points", differences(got, wanted), got);
  p.timed("columns",
          [&] { columns<<<dim3(n / 32, n / 64), 128, 32 * 64 * 4 + 4>>>(source, out, n); });
  wanted = in;
  for (int step = 0; step < 3; step++) {
    std::vector<int> before = wanted;
    for (int y = 0; y < n; y++)
      for (int x = 0; x < n; x++) {
        size_t i = (size_t)y * n + x;
        wanted[i] += (y % 64 > 0 ? before[i - n] : 0) + (y % 64 < 63 ? before[i + n] : 0);
      }
  }
  got = to_host(out, all);
  p.report("columns", differences(got, wanted), got);
  return p.end();
}

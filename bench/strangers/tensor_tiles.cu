// Products of matrices on tensor cores by wmma, as in tutorials, with tiles in shared memory whose rows are as long as
// the tile: of halves in static and in dynamic shared memory, of floats as tf32, and with a result that goes back through
// shared memory.

// gpu: 32
#include "strangers.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

enum { side = 64, threads = 128 }; // of a tile of the result; four warps have 32 x 32 each

// 64 rows of DEPTH numbers of a matrix with n columns.
template <typename T, int rows, int columns>
__device__ void fetch(T (*tile)[columns], const T *from, int n) {
  constexpr int per = 16 / sizeof(T), line = columns / per;
  for (int i = threadIdx.x; i < rows * line; i += threads)
    *(int4 *)&tile[i / line][i % line * per] = *(const int4 *)&from[(size_t)(i / line) * n + i % line * per];
}

template <typename T> struct shape {
  enum { depth = 64, k = 16 };
  typedef T element;
};
template <> struct shape<float> {
  enum { depth = 32, k = 8 };
  typedef wmma::precision::tf32 element;
};

template <typename T>
__device__ void multiply(T (*left)[shape<T>::depth], T (*right)[side], const T *a, const T *b, float *c, int n) {
  constexpr int depth = shape<T>::depth, step = shape<T>::k;
  typedef typename shape<T>::element element;
  int row = threadIdx.x / 64 * 32, column = threadIdx.x / 32 % 2 * 32;
  size_t y = (size_t)blockIdx.y * side, x = (size_t)blockIdx.x * side;
  wmma::fragment<wmma::accumulator, 16, 16, step, float> sum[2][2];
  for (int i = 0; i < 4; i++)
    wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
  for (int k = 0; k < n; k += depth) {
    fetch<T, side, depth>(left, a + y * n + k, n);
    fetch<T, depth, side>(right, b + (size_t)k * n + x, n);
    __syncthreads();
    for (int at = 0; at < depth; at += step) {
      wmma::fragment<wmma::matrix_a, 16, 16, step, element, wmma::row_major> one[2];
      wmma::fragment<wmma::matrix_b, 16, 16, step, element, wmma::row_major> other[2];
      for (int i = 0; i < 2; i++) {
        wmma::load_matrix_sync(one[i], &left[row + 16 * i][at], depth);
        wmma::load_matrix_sync(other[i], &right[at][column + 16 * i], side);
      }
      for (int i = 0; i < 4; i++)
        wmma::mma_sync(sum[i / 2][i % 2], one[i / 2], other[i % 2], sum[i / 2][i % 2]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    wmma::store_matrix_sync(&c[(y + row + i / 2 * 16) * n + x + column + i % 2 * 16], sum[i / 2][i % 2], n,
                            wmma::mem_row_major);
}

__global__ void __launch_bounds__(threads) halves(const half *a, const half *b, float *c, int n) {
  __shared__ __align__(128) half left[side][64], right[64][side];
  multiply<half>(left, right, a, b, c, n);
}

__global__ void __launch_bounds__(threads) halves_dynamic(const half *a, const half *b, float *c, int n) {
  extern __shared__ __align__(128) unsigned char memory[];
  half(*left)[64] = (half(*)[64])memory, (*right)[side] = (half(*)[side])(left + side);
  multiply<half>(left, right, a, b, c, n);
}

__global__ void __launch_bounds__(threads) floats(const float *a, const float *b, float *c, int n) {
  __shared__ __align__(128) float left[side][32], right[32][side];
  multiply<float>(left, right, a, b, c, n);
}

// A tile of 64 x 64 sums, which go through shared memory so that each row is written as a whole, times 2.
__global__ void __launch_bounds__(threads) through_shared(const half *a, const half *b, float *c, int n) {
  __shared__ __align__(128) float result[side][side];
  int row = threadIdx.x / 64 * 32, column = threadIdx.x / 32 % 2 * 32;
  size_t y = (size_t)blockIdx.y * side, x = (size_t)blockIdx.x * side;
  for (int i = 0; i < 4; i++) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> one;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> other;
      wmma::load_matrix_sync(one, a + (y + row + i / 2 * 16) * n + k, n);
      wmma::load_matrix_sync(other, b + (size_t)k * n + x + column + i % 2 * 16, n);
      wmma::mma_sync(sum, one, other, sum);
    }
    wmma::store_matrix_sync(&result[row + i / 2 * 16][column + i % 2 * 16], sum, side, wmma::mem_row_major);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < side * side; i += threads)
    c[(y + i / side) * n + x + i % side] = 2 * result[i / side][i % side];
}

// Sampled rows of the result are computed again; numbers are small, so that sums are exact.
static size_t faults(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &c, int n,
                     float times) {
  size_t wrong = 0;
  for (int y = 0; y < n; y += n / 16) {
    std::vector<float> row(n);
    for (int k = 0; k < n; k++)
      for (int x = 0; x < n; x++)
        row[x] += a[(size_t)y * n + k] * b[(size_t)k * n + x];
    for (int x = 0; x < n; x++)
      wrong += times * row[x] != c[(size_t)y * n + x];
  }
  return wrong;
}

int main(int count, char **words) {
  program p(count, words);
  int n = 64 * (int)p.scale;
  size_t all = (size_t)n * n;
  std::vector<float> a = numbers<float>(all, 8), b = numbers<float>(all, 8, 2);
  std::vector<half> short_a(all), short_b(all);
  for (size_t i = 0; i < all; i++) {
    short_a[i] = __float2half(a[i]);
    short_b[i] = __float2half(b[i]);
  }
  float *left = to_device(a), *right = to_device(b), *out = device_array<float>(all);
  half *short_left = to_device(short_a), *short_right = to_device(short_b);
  dim3 grid(n / side, n / side);
  auto check = [&](const char *name, float times) {
    std::vector<float> got = to_host(out, all);
    p.report(name, faults(a, b, got, n, times), got);
  };
  p.timed("halves", [&] { halves<<<grid, threads>>>(short_left, short_right, out, n); });
  check("halves", 1);
  p.timed("halves_dynamic", [&] {
    halves_dynamic<<<grid, threads, 2 * 64 * side * sizeof(half)>>>(short_left, short_right, out, n);
  });
  check("halves in dynamic memory", 1);
  p.timed("floats", [&] { floats<<<grid, threads>>>(left, right, out, n); });
  check("floats", 1);
  p.timed("through_shared", [&] { through_shared<<<grid, threads>>>(short_left, short_right, out, n); });
  check("through shared memory", 2);
  return p.end();
}

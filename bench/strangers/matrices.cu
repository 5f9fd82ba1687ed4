// Products of matrices by tiles: A B with tiles of 16 and 32, and A B' whose second tile is read by
// columns.

// gpu: 8
#include "strangers.h"

template <int size> __global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float left[size][size], right[size][size];
  int x = blockIdx.x * size + threadIdx.x, y = blockIdx.y * size + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k += size) {
    left[threadIdx.y][threadIdx.x] = a[(size_t)y * n + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(size_t)(k + threadIdx.y) * n + x];
    __syncthreads();
    for (int i = 0; i < size; i++)
      sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[(size_t)y * n + x] = sum;
}

template <int size>
__global__ void multiply_transposed(const float *a, const float *b, float *c, int n) {
  __shared__ float left[size][size], right[size][size];
  int x = blockIdx.x * size + threadIdx.x, y = blockIdx.y * size + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k += size) {
    left[threadIdx.y][threadIdx.x] = a[(size_t)y * n + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] =
        b[(size_t)(blockIdx.x * size + threadIdx.y) * n + k + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < size; i++)
      sum += left[threadIdx.y][i] * right[threadIdx.x][i];
    __syncthreads();
  }
  c[(size_t)y * n + x] = sum;
}

// Sampled rows of the result are computed again; numbers are small, so that sums are exact.
static size_t faults(const std::vector<float> &a, const std::vector<float> &b,
                     const std::vector<float> &c, int n) {
  size_t wrong = 0;
  for (int y = 0; y < n; y += n / 32) {
    std::vector<float> row(n);
    for (int k = 0; k < n; k++)
      for (int x = 0; x < n; x++)
        row[x] += a[(size_t)y * n + k] * b[(size_t)k * n + x];
    for (int x = 0; x < n; x++)
      wrong += row[x] != c[(size_t)y * n + x];
  }
  return wrong;
}

int main(int count, char **words) {
  program p(count, words);
  int n = 64 * (int)p.scale * (p.scale > 1 ? 2 : 1);
  size_t all = (size_t)n * n;
  std::vector<float> a = numbers<float>(all, 8), b = numbers<float>(all, 8, 2), across(all);
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++)
      across[(size_t)x * n + y] = b[(size_t)y * n + x];
  float *left = to_device(a), *right = to_device(b), *turned = to_device(across),
        *out = device_array<float>(all);
  auto check = [&](const char *name) {
    std::vector<float> got = to_host(out, all);
    p.report(name, faults(a, b, got, n), got);
  };
  p.timed("tiles_16",
          [&] { multiply<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(left, right, out, n); });
  check("tiles of 16");
  p.timed("tiles_32",
          [&] { multiply<32><<<dim3(n / 32, n / 32), dim3(32, 32)>>>(left, right, out, n); });
  check("tiles of 32");
  p.timed("transposed_16", [&] {
    multiply_transposed<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(left, turned, out, n);
  });
  check("transposed, tiles of 16");
  p.timed("transposed_32", [&] {
    multiply_transposed<32><<<dim3(n / 32, n / 32), dim3(32, 32)>>>(left, turned, out, n);
  });
  check("transposed, tiles of 32");
  return p.end();
}

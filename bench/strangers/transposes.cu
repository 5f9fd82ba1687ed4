// Matrices transposed through tiles in shared memory, as textbooks do it: with conflicts, padded,
// along diagonals, and with elements of 1, 8 and 16 bytes.

// gpu: 64
#include "strangers.h"

template <typename T, int size, int pad> __global__ void transpose(const T *in, T *out, int n) {
  __shared__ T tile[size][size + pad];
  int x = blockIdx.x * size + threadIdx.x, y = blockIdx.y * size + threadIdx.y;
  for (int i = 0; i < size; i += 8)
    tile[threadIdx.y + i][threadIdx.x] = in[(size_t)(y + i) * n + x];
  __syncthreads();
  x = blockIdx.y * size + threadIdx.x, y = blockIdx.x * size + threadIdx.y;
  for (int i = 0; i < size; i += 8)
    out[(size_t)(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

// What was written in rows is shifted, so that columns lie in different banks.
__global__ void transpose_diagonal(const int *in, int *out, int n) {
  __shared__ int tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    tile[threadIdx.y + i][(threadIdx.x + threadIdx.y + i) % 32] = in[(size_t)(y + i) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    out[(size_t)(y + i) * n + x] = tile[threadIdx.x][(threadIdx.x + threadIdx.y + i) % 32];
}

bool operator!=(const int4 &a, const int4 &b) { return a.x != b.x || a.w != b.w; }

template <typename T> static std::vector<T> turned(const std::vector<T> &in, int n) {
  std::vector<T> made(in.size());
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++)
      made[(size_t)x * n + y] = in[(size_t)y * n + x];
  return made;
}

template <typename T, int size, int pad>
static void measure(program &p, const char *name, const std::vector<T> &in, int n) {
  T *source = to_device(in), *out = device_array<T>(in.size());
  p.timed(name, [&] {
    transpose<T, size, pad><<<dim3(n / size, n / size), dim3(size, 8)>>>(source, out, n);
  });
  std::vector<T> got = to_host(out, in.size());
  p.report(name, differences(got, turned(in, n)), got);
  CHECK(cudaFree(source));
  CHECK(cudaFree(out));
}

int main(int count, char **words) {
  program p(count, words);
  int n = 64 * (int)p.scale;
  std::vector<int> in = numbers<int>((size_t)n * n, 1 << 24);
  measure<int, 32, 0>(p, "int_32", in, n);
  measure<int, 32, 1>(p, "int_32_padded", in, n);
  measure<int, 16, 0>(p, "int_16", in, n);
  measure<char, 32, 0>(p, "char_32", numbers<char>((size_t)n * n, 100), n);
  measure<double, 32, 0>(p, "double_32", numbers<double>((size_t)n * n, 1000), n);
  int half = n / 2;
  std::vector<int4> quads((size_t)half * half);
  for (size_t i = 0; i < quads.size(); i++)
    quads[i] = {in[i], 1, 2, in[i + 1 < quads.size() ? i + 1 : 0]};
  measure<int4, 16, 0>(p, "int4_16", quads, half);
  int *source = to_device(in), *out = device_array<int>(in.size());
  p.timed("diagonal",
          [&] { transpose_diagonal<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(source, out, n); });
  std::vector<int> got = to_host(out, in.size());
  p.report("diagonal", differences(got, turned(in, n)), got);
  return p.end();
}

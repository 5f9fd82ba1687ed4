// Small dense systems, one for each block: LU of tiles of 16 and 32, and the strips beside the
// diagonal.

// gpu: 256
#include "strangers.h"

template <int size> __global__ void diagonal(const float *in, float *out) {
  __shared__ float m[size][size];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * size * size;
  for (int i = 0; i < size; i++)
    m[i][t] = in[first + i * size + t];
  __syncthreads();
  for (int k = 0; k < size - 1; k++) {
    if (t > k)
      m[t][k] /= m[k][k];
    __syncthreads();
    if (t > k)
      for (int j = k + 1; j < size; j++)
        m[t][j] -= m[t][k] * m[k][j];
    __syncthreads();
  }
  for (int i = 0; i < size; i++)
    out[first + i * size + t] = m[i][t];
}

// Solves with the lower half of a tile for the 32 columns of another, and with the upper half for
// the rows of a third.
__global__ void perimeter(const float *tiles, const float *in, float *row_out, float *column_out) {
  __shared__ float lu[32][32], row[32][32], column[32][32];
  int t = threadIdx.x % 32;
  size_t first = (size_t)blockIdx.x * 1024;
  for (int i = threadIdx.x / 32; i < 32; i += 2) {
    lu[i][t] = tiles[first + i * 32 + t];
    row[i][t] = column[i][t] = in[first + i * 32 + t];
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = 1; i < 32; i++)
      for (int k = 0; k < i; k++)
        row[i][t] -= lu[i][k] * row[k][t];
  } else {
    for (int i = 0; i < 32; i++) {
      for (int k = 0; k < i; k++)
        column[t][i] -= column[t][k] * lu[k][i];
      column[t][i] /= lu[i][i];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x / 32; i < 32; i += 2) {
    row_out[first + i * 32 + t] = row[i][t];
    column_out[first + i * 32 + t] = column[i][t];
  }
}

// The largest error of L * U in a tile, where L has ones on its diagonal.
static double lu_error(const float *in, const float *lu, int size) {
  double most = 0;
  for (int y = 0; y < size; y++)
    for (int x = 0; x < size; x++) {
      double sum = 0;
      for (int k = 0; k <= std::min(x, y); k++)
        sum += (k == y ? 1 : lu[y * size + k]) * (double)lu[k * size + x];
      most = std::max(most, fabs(sum - in[y * size + x]));
    }
  return most;
}

static size_t bad_tiles(const std::vector<float> &in, const std::vector<float> &lu, int size) {
  size_t wrong = 0, each = (size_t)size * size, tiles = in.size() / each,
         step = std::max<size_t>(1, tiles / 256);
  for (size_t b = 0; b < tiles; b += step)
    wrong += !(lu_error(&in[b * each], &lu[b * each], size) < 1e-2);
  return wrong;
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384, tiles = n / 1024;
  std::vector<float> in = numbers<float>(n, 10), other = numbers<float>(n, 10, 5), in_16 = in;
  for (size_t i = 0; i < n; i++) { // diagonals outweigh the rest, so that errors stay small
    in[i] += i % 1024 % 33 == 0 ? 400 : 0;
    in_16[i] += i % 256 % 17 == 0 ? 200 : 0;
  }
  float *source = to_device(in), *source_16 = to_device(in_16), *more = to_device(other);
  float *out = device_array<float>(n);
  float *rows = device_array<float>(n), *columns = device_array<float>(n);
  p.timed("diagonal_16", [&] { diagonal<16><<<n / 256, 16>>>(source_16, out); });
  p.report("tiles of 16", bad_tiles(in_16, to_host(out, n), 16));
  p.timed("diagonal_32", [&] { diagonal<32><<<tiles, 32>>>(source, out); });
  std::vector<float> lu = to_host(out, n);
  p.report("tiles of 32", bad_tiles(in, lu, 32));
  p.timed("perimeter", [&] { perimeter<<<tiles, 64>>>(out, more, rows, columns); });
  std::vector<float> above = to_host(rows, n), left = to_host(columns, n);
  size_t wrong = 0, step = std::max<size_t>(1, tiles / 128);
  for (size_t b = 0; b < tiles; b += step)
    for (int y = 0; y < 32; y++)
      for (int x = 0; x < 32; x++) {
        const float *t = &lu[b * 1024], *r = &above[b * 1024], *c = &left[b * 1024];
        double from_row = r[y * 32 + x], from_column = 0;
        for (int k = 0; k < y; k++)
          from_row += (double)t[y * 32 + k] * r[k * 32 + x];
        for (int k = 0; k <= x; k++)
          from_column += (double)c[y * 32 + k] * t[k * 32 + x];
        double wanted = other[b * 1024 + y * 32 + x];
        wrong += !(fabs(from_row - wanted) < 1e-2 && fabs(from_column - wanted) < 1e-2);
      }
  p.report("perimeter", wrong);
  return p.end();
}

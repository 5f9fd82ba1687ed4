// Copies into shared memory that the kernel does not wait for (cg::memcpy_async), with two buffers:
// sums of rows and of columns of tiles of 64 rows.

// gpu: 512
#include "strangers.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

namespace cg = cooperative_groups;
constexpr int rows = 64, columns = 32, tile = rows * columns;

// Each block goes through `tiles` tiles; thread t sums row t of each, and its columns by turns.
__global__ void sum_tiles(const float *in, float *row_sums, float *column_sums, int tiles) {
  __shared__ __align__(16) float buffer[2][tile];
  cg::thread_block block = cg::this_thread_block();
  const float *first = in + (size_t)blockIdx.x * tiles * tile;
  int t = block.thread_rank();
  float column = 0;
  cg::memcpy_async(block, buffer[0], first, sizeof(float) * tile);
  for (int k = 0; k < tiles; k++) {
    if (k + 1 < tiles) {
      cg::memcpy_async(block, buffer[(k + 1) % 2], first + (size_t)(k + 1) * tile,
                       sizeof(float) * tile);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    const float *data = buffer[k % 2];
    float sum = 0;
    for (int i = 0; i < columns; i++)
      sum += data[t * columns + i];
    row_sums[((size_t)blockIdx.x * tiles + k) * rows + t] = sum;
    for (int i = t / columns; i < rows; i += 2)
      column += data[i * columns + t % columns];
    block.sync();
  }
  column_sums[(size_t)blockIdx.x * rows + t] = column;
}

int main(int count, char **words) {
  program p(count, words);
  int tiles = 4;
  size_t blocks = p.scale * 4, n = blocks * tiles * tile;
  std::vector<float> in = numbers<float>(n, 100), by_row(n / columns), by_column(blocks * rows);
  float *source = to_device(in), *row_sums = device_array<float>(by_row.size());
  float *column_sums = device_array<float>(by_column.size());
  p.timed("sums", [&] { sum_tiles<<<blocks, rows>>>(source, row_sums, column_sums, tiles); });
  for (size_t i = 0; i < n; i++) {
    by_row[i / columns] += in[i];
    by_column[i / (tiles * tile) * rows + i / columns % 2 * columns + i % columns] += in[i];
  }
  std::vector<float> got = to_host(row_sums, by_row.size());
  p.report("rows", differences(got, by_row), got);
  got = to_host(column_sums, by_column.size());
  p.report("columns", differences(got, by_column), got);
  return p.end();
}

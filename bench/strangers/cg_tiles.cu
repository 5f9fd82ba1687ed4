// Cooperative groups: sums of rows by tiles of 32 and 16 threads, by cg::reduce, and by a whole
// block.

// gpu: 1024
#include "strangers.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// A tile of threads sums a row that lies in shared memory, column by column: each thread has a row
// of its own first.
template <int size> __global__ void sum_rows(const int *in, int *out) {
  __shared__ int rows[256 * 16];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<size>(block);
  size_t first = (size_t)blockIdx.x * 256 * 16;
  for (int i = block.thread_rank(); i < 256 * 16; i += 256)
    rows[i] = in[first + i];
  block.sync();
  int sum = 0;
  for (int i = 0; i < 16; i++)
    sum += rows[block.thread_rank() * 16 + i] * (i + 1);
  for (int distance = tile.size() / 2; distance > 0; distance /= 2)
    sum += tile.shfl_down(sum, distance);
  if (tile.thread_rank() == 0)
    out[(size_t)blockIdx.x * (256 / size) + tile.meta_group_rank()] = sum;
}

// The largest and the sum of each 256 numbers, by cg::reduce and then through shared memory.
__global__ void reduce_blocks(const int *in, int2 *out) {
  __shared__ int2 parts[8];
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int value = in[(size_t)blockIdx.x * 256 + block.thread_rank()];
  int sum = cg::reduce(warp, value, cg::plus<int>()),
      most = cg::reduce(warp, value, cg::greater<int>());
  if (warp.thread_rank() == 0)
    parts[warp.meta_group_rank()] = make_int2(sum, most);
  cg::sync(block);
  if (warp.meta_group_rank() == 0 && warp.thread_rank() < 8) {
    cg::coalesced_group few = cg::coalesced_threads();
    int2 part = parts[few.thread_rank()];
    part.x = cg::reduce(few, part.x, cg::plus<int>());
    part.y = cg::reduce(few, part.y, cg::greater<int>());
    if (few.thread_rank() == 0)
      out[blockIdx.x] = part;
  }
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<int> in = numbers<int>(n, 1000), wanted(n / 256);
  int *source = to_device(in), *sums = device_array<int>(n / 256);
  auto check = [&](const char *name, size_t each) {
    std::vector<int> got = to_host(sums, n / each), right(n / each);
    for (size_t i = 0; i < n; i++)
      right[i / each] += in[i] * (int)(i % 16 + 1);
    p.report(name, differences(got, right), got);
  };
  p.timed("tiles_of_32", [&] { sum_rows<32><<<n / 4096, 256>>>(source, sums); });
  check("tiles of 32", 512);
  p.timed("tiles_of_16", [&] { sum_rows<16><<<n / 4096, 256>>>(source, sums); });
  check("tiles of 16", 256);
  int2 *pairs = device_array<int2>(n / 256);
  p.timed("reduce", [&] { reduce_blocks<<<n / 256, 256>>>(source, pairs); });
  std::vector<int2> got = to_host(pairs, n / 256);
  size_t wrong = 0;
  for (size_t b = 0; b < n / 256; b++) {
    int sum = 0, most = 0;
    for (size_t i = b * 256; i < b * 256 + 256; i++)
      sum += in[i], most = std::max(most, in[i]);
    wrong += got[b].x != sum || got[b].y != most;
  }
  p.report("reduce", wrong, got);
  return p.end();
}

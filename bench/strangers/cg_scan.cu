// Cooperative groups: scans of tiles and blocks, and stream compaction by groups of threads that
// agree.

// gpu: 1024
#include "strangers.h"

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// Prefix sums of 2048 numbers: a thread sums 8 neighbours in shared memory, warps scan, and warp 0
// scans their sums.
__global__ void scan_blocks(const int *in, int *out) {
  __shared__ int values[2048], sums[8];
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int t = block.thread_rank();
  size_t first = (size_t)blockIdx.x * 2048;
  for (int i = t; i < 2048; i += 256)
    values[i] = in[first + i];
  block.sync();
  for (int i = 1; i < 8; i++)
    values[t * 8 + i] += values[t * 8 + i - 1];
  int own = values[t * 8 + 7], before = cg::exclusive_scan(warp, own);
  if (warp.thread_rank() == 31)
    sums[warp.meta_group_rank()] = before + own;
  block.sync();
  if (t < 8) {
    cg::coalesced_group few = cg::coalesced_threads();
    sums[t] = cg::exclusive_scan(few, sums[t]);
  }
  block.sync();
  before += sums[warp.meta_group_rank()];
  for (int i = 0; i < 8; i++)
    values[t * 8 + i] += before;
  block.sync();
  for (int i = t; i < 2048; i += 256)
    out[first + i] = values[i];
}

// Odd numbers of each 256 to the front, in order, then even ones: warps know how many by asking
// their threads.
__global__ void split_blocks(const int *in, int *out) {
  __shared__ int kept[256], counts[8];
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  size_t at = (size_t)blockIdx.x * 256 + block.thread_rank();
  int value = in[at];
  bool odd = value & 1;
  auto alike = cg::binary_partition(warp, odd);
  if (odd && alike.thread_rank() == 0)
    counts[warp.meta_group_rank()] = alike.size();
  else if (alike.size() == 32 && alike.thread_rank() == 0)
    counts[warp.meta_group_rank()] = 0;
  block.sync();
  int odd_before = 0, odd_all = 0;
  for (int w = 0; w < 8; w++) {
    odd_before += w < warp.meta_group_rank() ? counts[w] : 0;
    odd_all += counts[w];
  }
  int even_before = warp.meta_group_rank() * 32 - odd_before;
  kept[(odd ? odd_before : odd_all + even_before) + alike.thread_rank()] = value;
  block.sync();
  out[at] = kept[block.thread_rank()];
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<int> in = numbers<int>(n, 1000), wanted(n);
  int *source = to_device(in), *out = device_array<int>(n);
  p.timed("scan", [&] { scan_blocks<<<n / 2048, 256>>>(source, out); });
  std::vector<int> got = to_host(out, n);
  for (size_t i = 0; i < n; i++)
    wanted[i] = (i % 2048 ? wanted[i - 1] : 0) + in[i];
  p.report("scan", differences(got, wanted), got);
  p.timed("split", [&] { split_blocks<<<n / 256, 256>>>(source, out); });
  got = to_host(out, n);
  wanted = in;
  for (size_t i = 0; i < n; i += 256)
    std::stable_partition(wanted.begin() + i, wanted.begin() + i + 256,
                          [](int x) { return x % 2 != 0; });
  p.report("split", differences(got, wanted), got);
  return p.end();
}

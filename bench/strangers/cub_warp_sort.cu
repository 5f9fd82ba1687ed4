// CUB in warps and blocks that merge: warps sort and scan their own rows, blocks merge sort
// structures.

// gpu: 256
#include "strangers.h"

#include <cub/cub.cuh>

struct item {
  unsigned key, place;
};

struct by_key {
  __device__ bool operator()(const item &a, const item &b) const {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

__global__ void merge_block(const unsigned *in, item *out) {
  using sort = cub::BlockMergeSort<item, 256, 4>;
  __shared__ typename sort::TempStorage shared;
  item items[4];
  for (int i = 0; i < 4; i++) {
    unsigned place = threadIdx.x * 4 + i;
    items[i] = {in[(size_t)blockIdx.x * 1024 + place], place};
  }
  sort(shared).Sort(items, by_key());
  for (int i = 0; i < 4; i++)
    out[(size_t)blockIdx.x * 1024 + threadIdx.x * 4 + i] = items[i];
}

struct less {
  __device__ bool operator()(unsigned a, unsigned b) const { return a < b; }
};

// A row of 256 for each warp: sorted, then its prefix sums.
__global__ void sort_rows(const unsigned *in, unsigned *out) {
  using load = cub::WarpLoad<unsigned, 8, cub::WARP_LOAD_TRANSPOSE>;
  using sort = cub::WarpMergeSort<unsigned, 8>;
  using scan = cub::WarpScan<unsigned>;
  __shared__ union {
    typename load::TempStorage load;
    typename sort::TempStorage sort;
    typename scan::TempStorage scan;
  } shared[4];
  int warp = threadIdx.x / 32;
  size_t first = ((size_t)blockIdx.x * 4 + warp) * 256;
  unsigned keys[8], sum = 0, before;
  load(shared[warp].load).Load(in + first, keys);
  __syncwarp();
  sort(shared[warp].sort).Sort(keys, less());
  __syncwarp();
  for (int i = 0; i < 8; i++)
    keys[i] = sum += keys[i];
  scan(shared[warp].scan).ExclusiveSum(sum, before);
  for (int i = 0; i < 8; i++)
    out[first + threadIdx.x % 32 * 8 + i] = keys[i] + before;
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<unsigned> in = numbers<unsigned>(n, 4096), wanted = in;
  unsigned *source = to_device(in), *sums = device_array<unsigned>(n);
  item *sorted = device_array<item>(n);
  p.timed("merge_block", [&] { merge_block<<<n / 1024, 256>>>(source, sorted); });
  std::vector<item> items = to_host(sorted, n);
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++) {
    const item *a = &items[i] - (i % 1024 != 0), *b = &items[i];
    wrong += b->place >= 1024 || in[i / 1024 * 1024 + b->place] != b->key;
    wrong += a != b && (a->key > b->key || (a->key == b->key && a->place >= b->place));
  }
  p.report("structures", wrong, items);
  p.timed("rows", [&] { sort_rows<<<n / 1024, 128>>>(source, sums); });
  for (size_t first = 0; first < n; first += 256) {
    std::sort(wanted.begin() + first, wanted.begin() + first + 256);
    for (size_t i = first + 1; i < first + 256; i++)
      wanted[i] += wanted[i - 1];
  }
  std::vector<unsigned> got = to_host(sums, n);
  p.report("rows", differences(got, wanted), got);
  return p.end();
}

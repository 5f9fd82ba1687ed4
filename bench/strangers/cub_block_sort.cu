// Tiles sorted by CUB's block-wide radix sort: keys, and keys with values, loaded and stored
// through transposes.

// gpu: 512
#include "strangers.h"

#include <cub/cub.cuh>

template <int threads, int items> __global__ void sort_keys(const unsigned *in, unsigned *out) {
  using load = cub::BlockLoad<unsigned, threads, items, cub::BLOCK_LOAD_TRANSPOSE>;
  using sort = cub::BlockRadixSort<unsigned, threads, items>;
  using store = cub::BlockStore<unsigned, threads, items, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename load::TempStorage load;
    typename sort::TempStorage sort;
    typename store::TempStorage store;
  } shared;
  size_t first = (size_t)blockIdx.x * threads * items;
  unsigned keys[items];
  load(shared.load).Load(in + first, keys);
  __syncthreads();
  sort(shared.sort).Sort(keys, 0, 16);
  __syncthreads();
  store(shared.store).Store(out + first, keys);
}

template <int threads, int items>
__global__ void sort_pairs(const unsigned *in, unsigned *out, int *places) {
  using sort = cub::BlockRadixSort<unsigned, threads, items, int>;
  __shared__ typename sort::TempStorage shared;
  size_t first = (size_t)blockIdx.x * threads * items;
  unsigned keys[items];
  int values[items];
  cub::LoadDirectBlocked(threadIdx.x, in + first, keys);
  for (int i = 0; i < items; i++)
    values[i] = threadIdx.x * items + i;
  sort(shared).SortBlockedToStriped(keys, values, 0, 16);
  cub::StoreDirectStriped<threads>(threadIdx.x, out + first, keys);
  cub::StoreDirectStriped<threads>(threadIdx.x, places + first, values);
}

// Elements that are not in order in their tile, and tiles whose sum is not that of the input.
static size_t faults(const std::vector<unsigned> &in, const std::vector<unsigned> &out,
                     size_t tile) {
  size_t wrong = 0;
  for (size_t first = 0; first < in.size(); first += tile) {
    unsigned long long before = 0, after = 0;
    for (size_t i = first; i < first + tile; i++) {
      before += in[i] * 1ull * in[i], after += out[i] * 1ull * out[i];
      wrong += i > first && out[i] < out[i - 1];
    }
    wrong += before != after;
  }
  return wrong;
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<unsigned> in = numbers<unsigned>(n, 65536);
  unsigned *source = to_device(in), *sorted = device_array<unsigned>(n);
  int *places = device_array<int>(n);
  p.timed("keys_128_16", [&] { sort_keys<128, 16><<<n / 2048, 128>>>(source, sorted); });
  std::vector<unsigned> got = to_host(sorted, n);
  p.report("keys of 128 threads", faults(in, got, 2048), got);
  p.timed("keys_256_4", [&] { sort_keys<256, 4><<<n / 1024, 256>>>(source, sorted); });
  got = to_host(sorted, n);
  p.report("keys of 256 threads", faults(in, got, 1024), got);
  p.timed("pairs_256_8", [&] { sort_pairs<256, 8><<<n / 2048, 256>>>(source, sorted, places); });
  got = to_host(sorted, n);
  std::vector<int> from = to_host(places, n);
  size_t wrong = faults(in, got, 2048);
  for (size_t i = 0; i < n; i++)
    wrong += in[i / 2048 * 2048 + from[i]] != got[i];
  p.report("pairs", wrong, from);
  return p.end();
}

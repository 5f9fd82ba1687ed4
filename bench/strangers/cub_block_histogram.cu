// Histograms of bytes by CUB's block-wide algorithms, by sorting and by atomics; each block counts
// many tiles.

// gpu: 1024
#include "strangers.h"

#include <cub/cub.cuh>

constexpr int threads = 256, items = 8, tiles = 8;

template <cub::BlockHistogramAlgorithm algorithm>
__global__ void count_bytes(const unsigned char *in, unsigned *out) {
  using histogram = cub::BlockHistogram<unsigned char, threads, items, 256, algorithm>;
  __shared__ typename histogram::TempStorage shared;
  __shared__ unsigned bins[256];
  unsigned char values[items];
  histogram(shared).InitHistogram(bins);
  for (int t = 0; t < tiles; t++) {
    size_t first = ((size_t)blockIdx.x * tiles + t) * threads * items;
    cub::LoadDirectBlocked(threadIdx.x, in + first, values);
    __syncthreads();
    histogram(shared).Composite(values, bins);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += threads)
    out[(size_t)blockIdx.x * 256 + i] = bins[i];
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384, tile = threads * items * tiles, blocks = n / tile;
  std::vector<unsigned char> in = numbers<unsigned char>(n, 256);
  for (size_t i = 0; i < n; i++)
    in[i] = in[i] * in[i] >> 8; // more of the small ones
  std::vector<unsigned> wanted(blocks * 256);
  for (size_t i = 0; i < n; i++)
    wanted[i / tile * 256 + in[i]]++;
  unsigned char *source = to_device(in);
  unsigned *bins = device_array<unsigned>(blocks * 256);
  p.timed("by_sorting",
          [&] { count_bytes<cub::BLOCK_HISTO_SORT><<<blocks, threads>>>(source, bins); });
  std::vector<unsigned> got = to_host(bins, blocks * 256);
  p.report("by sorting", differences(got, wanted), got);
  p.timed("by_atomics",
          [&] { count_bytes<cub::BLOCK_HISTO_ATOMIC><<<blocks, threads>>>(source, bins); });
  got = to_host(bins, blocks * 256);
  p.report("by atomics", differences(got, wanted), got);
  return p.end();
}

// Prefix sums of tiles by the three block-wide scans of CUB, and one of pairs with an operator of
// our own.

// gpu: 1024
#include "strangers.h"

#include <cub/cub.cuh>

template <int threads, int items, cub::BlockScanAlgorithm algorithm,
          cub::BlockLoadAlgorithm how_loaded, cub::BlockStoreAlgorithm how_stored>
__global__ void scan_tiles(const int *in, int *out) {
  using load = cub::BlockLoad<int, threads, items, how_loaded>;
  using scan = cub::BlockScan<int, threads, algorithm>;
  using store = cub::BlockStore<int, threads, items, how_stored>;
  __shared__ union {
    typename load::TempStorage load;
    typename scan::TempStorage scan;
    typename store::TempStorage store;
  } shared;
  size_t first = (size_t)blockIdx.x * threads * items;
  int values[items];
  load(shared.load).Load(in + first, values);
  __syncthreads();
  scan(shared.scan).InclusiveSum(values, values);
  __syncthreads();
  store(shared.store).Store(out + first, values);
}

struct line {
  int slope, offset; // x -> slope * x + offset, modulo 2^32
};

// The lines of a tile applied one after the other: an operator that does not commute.
__global__ void compose_lines(const int *in, int *out) {
  using scan = cub::BlockScan<line, 128, cub::BLOCK_SCAN_RAKING>;
  __shared__ typename scan::TempStorage shared;
  size_t first = (size_t)blockIdx.x * 512 + threadIdx.x * 4;
  line lines[4];
  for (int i = 0; i < 4; i++)
    lines[i] = {in[first + i] | 1, in[first + i]};
  auto then = [](line a, line b) { return line{a.slope * b.slope, a.offset * b.slope + b.offset}; };
  scan(shared).InclusiveScan(lines, lines, then);
  for (int i = 0; i < 4; i++)
    out[first + i] = lines[i].slope + lines[i].offset;
}

static std::vector<int> sums_of(const std::vector<int> &in, size_t tile) {
  std::vector<int> sums(in.size());
  for (size_t i = 0, sum = 0; i < in.size(); i++)
    sums[i] = (int)(sum = (i % tile ? sum : 0) + in[i]);
  return sums;
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<int> in = numbers<int>(n, 1000);
  int *source = to_device(in), *sums = device_array<int>(n);
  auto check = [&](const char *name, size_t tile) {
    std::vector<int> got = to_host(sums, n);
    p.report(name, differences(got, sums_of(in, tile)), got);
  };
  p.timed("raking", [&] {
    scan_tiles<256, 8, cub::BLOCK_SCAN_RAKING, cub::BLOCK_LOAD_TRANSPOSE,
               cub::BLOCK_STORE_TRANSPOSE><<<n / 2048, 256>>>(source, sums);
  });
  check("raking", 2048);
  p.timed("memoized", [&] {
    scan_tiles<128, 16, cub::BLOCK_SCAN_RAKING_MEMOIZE, cub::BLOCK_LOAD_WARP_TRANSPOSE,
               cub::BLOCK_STORE_WARP_TRANSPOSE><<<n / 2048, 128>>>(source, sums);
  });
  check("memoized", 2048);
  p.timed("warp_scans", [&] {
    scan_tiles<256, 4, cub::BLOCK_SCAN_WARP_SCANS, cub::BLOCK_LOAD_VECTORIZE,
               cub::BLOCK_STORE_VECTORIZE><<<n / 1024, 256>>>(source, sums);
  });
  check("warp scans", 1024);
  p.timed("lines", [&] { compose_lines<<<n / 512, 128>>>(source, sums); });
  std::vector<int> got = to_host(sums, n);
  size_t wrong = 0;
  unsigned slope = 1, offset = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned a = in[i] | 1, b = in[i];
    if (i % 512 == 0)
      slope = 1, offset = 0;
    slope *= a, offset = offset * a + b;
    wrong += (unsigned)got[i] != slope + offset;
  }
  p.report("lines", wrong, got);
  return p.end();
}

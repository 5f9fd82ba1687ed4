// Items dealt out anew to the threads of a block or warp by CUB's exchanges, in 4 and 8 bytes, and
// by ranks.

// gpu: 1024
#include "strangers.h"

#include <cub/cub.cuh>

// Each thread takes every threads-th item, gets neighbouring ones, and sums them up.
template <typename T, int threads, int items> __global__ void deal_block(const T *in, T *out) {
  using exchange = cub::BlockExchange<T, threads, items>;
  __shared__ typename exchange::TempStorage shared;
  size_t first = (size_t)blockIdx.x * threads * items;
  T values[items];
  cub::LoadDirectStriped<threads>(threadIdx.x, in + first, values);
  exchange(shared).StripedToBlocked(values, values);
  for (int i = 1; i < items; i++)
    values[i] += values[i - 1];
  __syncthreads();
  exchange(shared).BlockedToStriped(values, values);
  cub::StoreDirectStriped<threads>(threadIdx.x, out + first, values);
}

// The same within warps, each of which has its own items.
template <int threads, int items> __global__ void deal_warp(const int *in, int *out) {
  using exchange = cub::WarpExchange<int, items, 32>;
  __shared__ typename exchange::TempStorage shared[threads / 32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  size_t first = ((size_t)blockIdx.x * threads / 32 + warp) * 32 * items;
  int values[items];
  cub::LoadDirectWarpStriped(threadIdx.x, in + (size_t)blockIdx.x * threads * items, values);
  exchange(shared[warp]).StripedToBlocked(values, values);
  for (int i = 1; i < items; i++)
    values[i] += values[i - 1];
  __syncwarp();
  exchange(shared[warp]).BlockedToStriped(values, values);
  for (int i = 0; i < items; i++)
    out[first + i * 32 + lane] = values[i];
}

// Every item goes to a rank that is known: the tile is turned around and its halves are shuffled
// together.
template <int threads, int items> __global__ void scatter_block(const int *in, int *out) {
  using exchange = cub::BlockExchange<int, threads, items>;
  __shared__ typename exchange::TempStorage shared;
  size_t first = (size_t)blockIdx.x * threads * items;
  int values[items], ranks[items], half = threads * items / 2;
  cub::LoadDirectBlocked(threadIdx.x, in + first, values);
  for (int i = 0; i < items; i++) {
    int k = threadIdx.x * items + i;
    ranks[i] = k < half ? 2 * k + 1 : 2 * (threads * items - 1 - k);
  }
  exchange(shared).ScatterToStriped(values, values, ranks);
  cub::StoreDirectStriped<threads>(threadIdx.x, out + first, values);
}

template <typename T>
static size_t faults(const std::vector<T> &in, const std::vector<T> &out, size_t items) {
  size_t wrong = 0;
  T sum = 0;
  for (size_t i = 0; i < in.size(); i++) {
    sum = (i % items ? sum : 0) + in[i];
    wrong += out[i] != sum;
  }
  return wrong;
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<int> in = numbers<int>(n, 1000);
  std::vector<double> reals(in.begin(), in.end());
  int *source = to_device(in), *dealt = device_array<int>(n);
  double *real_source = to_device(reals), *real_dealt = device_array<double>(n);
  p.timed("block_128_16", [&] { deal_block<int, 128, 16><<<n / 2048, 128>>>(source, dealt); });
  std::vector<int> got = to_host(dealt, n);
  p.report("16 items", faults(in, got, 16), got);
  p.timed("block_256_7", [&] { deal_block<int, 256, 7><<<n / 1792, 256>>>(source, dealt); });
  got = to_host(dealt, n / 1792 * 1792);
  p.report("7 items", faults(std::vector<int>(in.begin(), in.begin() + got.size()), got, 7), got);
  p.timed("double_128_8",
          [&] { deal_block<double, 128, 8><<<n / 1024, 128>>>(real_source, real_dealt); });
  std::vector<double> real = to_host(real_dealt, n);
  p.report("8 doubles", faults(reals, real, 8), real);
  p.timed("warp_256_8", [&] { deal_warp<256, 8><<<n / 2048, 256>>>(source, dealt); });
  got = to_host(dealt, n);
  p.report("warps", faults(in, got, 8), got);
  p.timed("scatter", [&] { scatter_block<256, 8><<<n / 2048, 256>>>(source, dealt); });
  got = to_host(dealt, n);
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++) {
    size_t k = i % 2048, rank = k < 1024 ? 2 * k + 1 : 2 * (2047 - k);
    wrong += got[i / 2048 * 2048 + rank] != in[i];
  }
  p.report("scatter", wrong, got);
  return p.end();
}

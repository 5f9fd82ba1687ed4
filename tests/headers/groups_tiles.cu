// Parts of a warp vote and shuffle; parts of several warps sum up, with what the system reserves of shared memory.
// headers: cooperative groups
#include "expect.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace groups = cooperative_groups;

__global__ void rotate(int *data, unsigned *votes) {
  auto tile = groups::tiled_partition<8>(groups::this_thread_block());
  int own = data[threadIdx.x];
  votes[threadIdx.x] = tile.ballot(own % 2);
  data[threadIdx.x] = tile.shfl(own, (tile.thread_rank() + 1) % tile.size()) + (tile.any(own > 60) ? 1000 : 0);
}

extern __shared__ int held[];

__global__ void wide(int *sums, int *ranks) {
  __shared__ groups::block_tile_memory<256> memory;
  auto block = groups::this_thread_block(memory);
  auto tile = groups::tiled_partition<128>(block);
  int own = block.thread_rank();
  held[own] = own;
  sums[own] = groups::reduce(tile, own, groups::plus<int>());
  ranks[own] = groups::inclusive_scan(tile, 1);
  tile.sync();
  ranks[own] += 1000 * held[own ^ 64]; // what the block keeps itself is not touched
}

int main() {
  int *data = make<int>(64), wrong = 0;
  unsigned *votes = make<unsigned>(64);
  for (int i = 0; i < 64; i++)
    data[i] = i;
  rotate<<<1, 64>>>(data, votes);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 64; i++)
    wrong += data[i] != i / 8 * 8 + (i + 1) % 8 + (i >= 56 ? 1000 : 0) || votes[i] != 0xaa;
  EXPECT(wrong == 0);
  int *sums = make<int>(256), *ranks = make<int>(256);
  wide<<<1, 256, 1024>>>(sums, ranks);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 256; i++)
    wrong += sums[i] != (i < 128 ? 8128 : 24512) || ranks[i] != i % 128 + 1 + 1000 * (i ^ 64);
  EXPECT(wrong == 0);
  return finish();
}

// Parts of a warp vote and shuffle.
// headers: cooperative groups
#include "expect.h"
#include <cooperative_groups.h>

namespace groups = cooperative_groups;

__global__ void rotate(int *data, unsigned *votes) {
  auto tile = groups::tiled_partition<8>(groups::this_thread_block());
  int own = data[threadIdx.x];
  votes[threadIdx.x] = tile.ballot(own % 2);
  data[threadIdx.x] = tile.shfl(own, (tile.thread_rank() + 1) % tile.size()) + (tile.any(own > 60) ? 1000 : 0);
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
  return finish();
}

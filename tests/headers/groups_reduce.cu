// Reductions and running sums of groups.
// headers: cooperative groups
#include "expect.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace groups = cooperative_groups;

__global__ void sums(const int *in, int *sum, int *most, int *scan) {
  auto tile = groups::tiled_partition<16>(groups::this_thread_block());
  int own = in[threadIdx.x];
  sum[threadIdx.x] = groups::reduce(tile, own, groups::plus<int>());
  most[threadIdx.x] = groups::reduce(tile, own, groups::greater<int>());
  scan[threadIdx.x] = groups::exclusive_scan(tile, own);
}

int main() {
  int *in = make<int>(64), *sum = make<int>(64), *most = make<int>(64), *scan = make<int>(64), wrong = 0;
  for (int i = 0; i < 64; i++)
    in[i] = next_random() % 100;
  sums<<<1, 64>>>(in, sum, most, scan);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int tile = 0; tile < 4; tile++) {
    int total = 0, largest = 0;
    for (int i = 0; i < 16; i++) {
      wrong += scan[tile * 16 + i] != total;
      total += in[tile * 16 + i];
      largest = in[tile * 16 + i] > largest ? in[tile * 16 + i] : largest;
    }
    for (int i = 0; i < 16; i++)
      wrong += sum[tile * 16 + i] != total || most[tile * 16 + i] != largest;
  }
  EXPECT(wrong == 0);
  return finish();
}

// Groups of threads with the same value.
// headers: cooperative groups
#include "expect.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace groups = cooperative_groups;

__global__ void partition(const int *in, int *sizes) {
  auto warp = groups::tiled_partition<32>(groups::this_thread_block());
  auto same = groups::labeled_partition(warp, in[threadIdx.x]);
  auto halves = groups::binary_partition(warp, threadIdx.x < 20);
  sizes[threadIdx.x] = groups::reduce(same, 1, groups::plus<int>()) + 100 * (int)halves.size();
}

int main() {
  int *in = make<int>(32), *sizes = make<int>(32), wrong = 0;
  for (int i = 0; i < 32; i++)
    in[i] = next_random() % 5;
  partition<<<1, 32>>>(in, sizes);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 32; i++) {
    int same = 0;
    for (int k = 0; k < 32; k++)
      same += in[k] == in[i];
    wrong += sizes[i] != same + 100 * (i < 20 ? 20 : 12);
  }
  EXPECT(wrong == 0);
  return finish();
}

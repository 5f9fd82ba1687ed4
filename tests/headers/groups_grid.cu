// All blocks of a grid wait for each other.
// headers: cooperative groups
#include "expect.h"
#include <cooperative_groups.h>

namespace groups = cooperative_groups;

__global__ void twice(int *data, int *sum) {
  auto grid = groups::this_grid();
  int own = grid.thread_rank();
  data[own] = own;
  grid.sync();
  atomicAdd(sum, data[grid.size() - 1 - own]);
  grid.sync();
  data[own] = *sum;
}

int main() {
  int *data = make<int>(512), *sum = make<int>(1);
  *sum = 0;
  void *arguments[] = {&data, &sum};
  EXPECT(cudaLaunchCooperativeKernel((void *)twice, dim3(4), dim3(128), arguments) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(data[0] == 511 * 256 && data[511] == 511 * 256);
  return finish();
}

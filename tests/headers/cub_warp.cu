// Sums and running sums of warps and of parts of warps.
// headers: CUB
#include "expect.h"
#include <cub/cub.cuh>

__global__ void warps(const int *in, int *sums, int *scans) {
  using reduce = cub::WarpReduce<int, 8>;
  using scan = cub::WarpScan<int>;
  __shared__ reduce::TempStorage parts[8];
  __shared__ scan::TempStorage whole[2];
  int own = in[threadIdx.x], part = threadIdx.x / 8, warp = threadIdx.x / 32;
  int sum = reduce(parts[part]).Sum(own);
  if (threadIdx.x % 8 == 0)
    sums[part] = sum;
  scan(whole[warp]).ExclusiveSum(own, scans[threadIdx.x]);
}

int main() {
  int *in = make<int>(64), *sums = make<int>(8), *scans = make<int>(64), wrong = 0;
  for (int i = 0; i < 64; i++)
    in[i] = next_random() % 100;
  warps<<<1, 64>>>(in, sums, scans);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0, sum = 0, part = 0; i < 64; i++) {
    if (i % 32 == 0)
      sum = 0;
    if (i % 8 == 0)
      part = 0;
    wrong += scans[i] != sum;
    sum += in[i];
    part += in[i];
    if (i % 8 == 7)
      wrong += sums[i / 8] != part;
  }
  EXPECT(wrong == 0);
  return finish();
}

// Sums of blocks, by three algorithms.
// headers: CUB
#include "expect.h"
#include <cub/block/block_reduce.cuh>

template <cub::BlockReduceAlgorithm algorithm> __global__ void sum(const int *in, int *out) {
  using reduce = cub::BlockReduce<int, 128, algorithm>;
  __shared__ typename reduce::TempStorage storage;
  int total = reduce(storage).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0)
    *out = total;
}

int main() {
  int *in = make<int>(128), *out = make<int>(3), wanted = 0;
  for (int i = 0; i < 128; i++)
    wanted += in[i] = next_random() % 1000;
  sum<cub::BLOCK_REDUCE_RAKING><<<1, 128>>>(in, out);
  sum<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, 128>>>(in, out + 1);
  sum<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, 128>>>(in, out + 2);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(out[0] == wanted && out[1] == wanted && out[2] == wanted);
  return finish();
}

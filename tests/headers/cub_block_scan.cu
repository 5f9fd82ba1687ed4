// Running sums of a block with several numbers for each thread.
// headers: CUB
#include "expect.h"
#include <cub/block/block_scan.cuh>

__global__ void scan(const int *in, int *out) {
  using scanner = cub::BlockScan<int, 64, cub::BLOCK_SCAN_RAKING>;
  __shared__ scanner::TempStorage storage;
  int own[4];
  for (int i = 0; i < 4; i++)
    own[i] = in[threadIdx.x * 4 + i];
  scanner(storage).InclusiveSum(own, own);
  for (int i = 0; i < 4; i++)
    out[threadIdx.x * 4 + i] = own[i];
}

int main() {
  int *in = make<int>(256), *out = make<int>(256), sum = 0, wrong = 0;
  for (int i = 0; i < 256; i++)
    in[i] = next_random() % 100;
  scan<<<1, 64>>>(in, out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 256; i++)
    wrong += out[i] != (sum += in[i]);
  EXPECT(wrong == 0);
  return finish();
}

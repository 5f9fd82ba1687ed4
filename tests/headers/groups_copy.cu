// Asynchronous copies of a block to shared memory.
// headers: cooperative groups
#include "expect.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

namespace groups = cooperative_groups;

__global__ void reverse(const int *in, int *out) {
  __shared__ int tile[256];
  auto block = groups::this_thread_block();
  groups::memcpy_async(block, tile, in + blockIdx.x * 256, sizeof tile);
  groups::wait(block);
  for (int i = block.thread_rank(); i < 256; i += block.size())
    out[blockIdx.x * 256 + i] = tile[255 - i];
}

int main() {
  int *in = make<int>(1024), *out = make<int>(1024), wrong = 0;
  for (int i = 0; i < 1024; i++)
    in[i] = next_random();
  reverse<<<4, 64>>>(in, out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 1024; i++)
    wrong += out[i] != in[i / 256 * 256 + 255 - i % 256];
  EXPECT(wrong == 0);
  return finish();
}

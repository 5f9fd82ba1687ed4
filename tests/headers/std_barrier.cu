// A barrier of which threads drop out, and an asynchronous copy on it.
// headers: libcu++
#include "expect.h"
#include <cuda/barrier>
#include <cooperative_groups.h>

__global__ void wait(const int *in, int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int tile[64];
  if (threadIdx.x == 0)
    init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(int), barrier);
  auto token = barrier.arrive();
  barrier.wait(std::move(token));
  out[threadIdx.x] = tile[63 - threadIdx.x];
  if (threadIdx.x >= 32) {
    barrier.arrive_and_drop();
    return;
  }
  barrier.arrive_and_wait();
  barrier.arrive_and_wait();
}

int main() {
  int *in = make<int>(64), *out = make<int>(64), wrong = 0;
  for (int i = 0; i < 64; i++)
    in[i] = i * 3;
  wait<<<1, 64>>>(in, out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 64; i++)
    wrong += out[i] != 3 * (63 - i);
  EXPECT(wrong == 0);
  return finish();
}

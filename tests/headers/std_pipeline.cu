// A pipeline of two stages of asynchronous copies.
// headers: libcu++
#include "expect.h"
#include <cuda/pipeline>
#include <cooperative_groups.h>

__global__ void sum(const int *in, int *out, int tiles) {
  __shared__ int stage[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int total = 0;
  for (int next = 0, tile = 0; tile < tiles; tile++) {
    for (; next < tiles && next < tile + 2; next++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stage[next % 2], in + next * 64, sizeof stage[0], pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    total += stage[tile % 2][(threadIdx.x + tile) % 64];
    pipe.consumer_release();
  }
  atomicAdd(out, total);
}

int main() {
  int *in = make<int>(640), *out = make<int>(1), wanted = 0;
  for (int i = 0; i < 640; i++)
    wanted += in[i] = next_random() % 1000;
  *out = 0;
  sum<<<1, 64>>>(in, out, 10);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(*out == wanted);
  return finish();
}

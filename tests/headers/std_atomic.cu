// Atomics of all scopes, and references to plain numbers.
// headers: libcu++
#include "expect.h"
#include <cuda/atomic>

__global__ void count(cuda::atomic<int, cuda::thread_scope_device> *all, int *plain, float *sum) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> own;
  if (threadIdx.x == 0)
    own = 0;
  __syncthreads();
  own.fetch_add(1, cuda::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_device>(*plain).fetch_max((int)threadIdx.x);
  cuda::atomic_ref<float, cuda::thread_scope_device>(*sum).fetch_add(0.5f);
  __syncthreads();
  if (threadIdx.x == 0)
    all->fetch_add(own.load());
}

int main() {
  auto *all = make<cuda::atomic<int, cuda::thread_scope_device>>(1);
  int *plain = make<int>(1);
  float *sum = make<float>(1);
  new (all) cuda::atomic<int, cuda::thread_scope_device>(0);
  *plain = 0;
  *sum = 0;
  count<<<5, 96>>>(all, plain, sum);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(all->load() == 480 && *plain == 95 && *sum == 240);
  return finish();
}

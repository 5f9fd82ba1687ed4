// Semaphores and a latch.
// headers: libcu++
#include "expect.h"
#include <cuda/semaphore>
#include <cuda/latch>

__global__ void pass(cuda::binary_semaphore<cuda::thread_scope_device> *lock, cuda::latch<cuda::thread_scope_device> *latch,
                     int *value, int *seen) {
  lock->acquire();
  *(volatile int *)value = *(volatile int *)value * 2 % 1009 + 1;
  __threadfence();
  lock->release();
  latch->arrive_and_wait();
  seen[blockIdx.x] = *(volatile int *)value;
}

int main() {
  auto *lock = make<cuda::binary_semaphore<cuda::thread_scope_device>>(1);
  auto *latch = make<cuda::latch<cuda::thread_scope_device>>(1);
  int *value = make<int>(1), *seen = make<int>(6), wanted = 1, wrong = 0;
  new (lock) cuda::binary_semaphore<cuda::thread_scope_device>(1);
  new (latch) cuda::latch<cuda::thread_scope_device>(6);
  *value = 1;
  pass<<<6, 1>>>(lock, latch, value, seen);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 6; i++)
    wanted = wanted * 2 % 1009 + 1;
  for (int i = 0; i < 6; i++)
    wrong += seen[i] != wanted;
  EXPECT(wrong == 0);
  return finish();
}

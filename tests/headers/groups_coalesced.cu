// Threads that take the same way are a group.
// headers: cooperative groups
#include "expect.h"
#include <cooperative_groups.h>

namespace groups = cooperative_groups;

__global__ void count(const int *in, int *counter) {
  if (in[threadIdx.x] % 3 == 0) {
    auto active = groups::coalesced_threads();
    if (active.thread_rank() == 0)
      atomicAdd(counter, active.size());
  }
}

int main() {
  int *in = make<int>(128), *counter = make<int>(1), wanted = 0;
  for (int i = 0; i < 128; i++)
    wanted += (in[i] = next_random() % 100) % 3 == 0;
  *counter = 0;
  count<<<1, 128>>>(in, counter);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(*counter == wanted);
  return finish();
}

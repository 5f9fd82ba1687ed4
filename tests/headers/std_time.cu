// Clocks and durations in kernels.
// headers: libcu++
#include "expect.h"
#include <cuda/std/chrono>

__global__ void measure(long long *out) {
  auto begin = cuda::std::chrono::system_clock::now();
  auto later = begin + cuda::std::chrono::milliseconds(5);
  out[0] = cuda::std::chrono::duration_cast<cuda::std::chrono::microseconds>(later - begin).count();
  out[1] = (cuda::std::chrono::system_clock::now() - begin).count() >= 0;
}

int main() {
  long long *out = make<long long>(2);
  measure<<<1, 1>>>(out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(out[0] == 5000 && out[1] == 1);
  return finish();
}

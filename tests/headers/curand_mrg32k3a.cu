// Numbers of MRG32k3a in kernels are those of the same header on the CPU.
// headers: cuRAND device
#include "expect.h"
#include <curand_kernel.h>

template <class T> __host__ __device__ void draw(unsigned sequence, unsigned *out, T state) {
  curand_init(1234, sequence, 5, &state);
  for (int i = 0; i < 6; i++)
    out[i] = curand(&state);
}
__global__ void draw_all(unsigned *out) { draw(threadIdx.x, out + threadIdx.x * 6, curandStateMRG32k3a_t()); }

int main() {
  unsigned *out = make<unsigned>(64 * 6), wanted[6];
  draw_all<<<1, 64>>>(out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  int wrong = 0;
  for (unsigned i = 0; i < 64; i++) {
    draw(i, wanted, curandStateMRG32k3a_t());
    for (int k = 0; k < 6; k++)
      wrong += out[i * 6 + k] != wanted[k];
  }
  EXPECT(wrong == 0);
  return finish();
}

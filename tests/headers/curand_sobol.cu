// Quasirandom numbers of Sobol fill the unit interval evenly.
// headers: cuRAND device
#include "expect.h"
#include <curand_kernel.h>

__global__ void draw(const unsigned *directions, int *cells) {
  curandStateSobol32_t state;
  unsigned own[32];
  for (int i = 0; i < 32; i++)
    own[i] = directions[i];
  curand_init(own, threadIdx.x * 8, &state);
  for (int i = 0; i < 8; i++)
    atomicAdd(&cells[curand(&state) >> 23], 1);
}

int main() {
  unsigned *directions = make<unsigned>(32);
  int *cells = make<int>(512), wrong = 0;
  for (int i = 0; i < 32; i++)
    directions[i] = 1u << (31 - i); // of the first dimension
  for (int i = 0; i < 512; i++)
    cells[i] = 0;
  draw<<<1, 64>>>(directions, cells);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 512; i++)
    wrong += cells[i] != 1;
  EXPECT(wrong == 0);
  return finish();
}

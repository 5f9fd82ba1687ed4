// Uniform, normal, log-normal and Poisson numbers have the means that they should.
// headers: cuRAND device
#include "expect.h"
#include <curand_kernel.h>
#include <cmath>

__global__ void draw(double *sums) {
  curandStatePhilox4_32_10_t state;
  curand_init(7, threadIdx.x, 0, &state);
  double own[4] = {};
  for (int i = 0; i < 32; i++) {
    float4 four = curand_uniform4(&state);
    own[0] += (four.x + four.y + four.z + four.w) / 4;
    own[1] += curand_normal(&state);
    own[2] += curand_log_normal(&state, 0.0f, 0.5f);
    own[3] += curand_poisson(&state, 4.0);
  }
  for (int i = 0; i < 4; i++)
    atomicAdd(&sums[i], own[i] / (32 * 128));
}

int main() {
  double *sums = make<double>(4); // means of 4096 numbers: five standard errors are allowed
  for (int i = 0; i < 4; i++)
    sums[i] = 0;
  draw<<<1, 128>>>(sums);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(std::abs(sums[0] - 0.5) < 5 * 0.289 / 128 && std::abs(sums[1]) < 5 / 64.0);
  EXPECT(std::abs(sums[2] - std::exp(0.125)) < 5 * 0.6039 / 64 && std::abs(sums[3] - 4) < 5 * 2 / 64.0);
  return finish();
}

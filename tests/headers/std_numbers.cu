// Complex numbers, bits, mathematics and limits in kernels.
// headers: libcu++
#include "expect.h"
#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/limits>

__global__ void use(float *out) {
  cuda::std::complex<float> i(0, 1), z = i * i + cuda::std::complex<float>(3, 4);
  out[0] = z.real();
  out[1] = cuda::std::abs(z - cuda::std::complex<float>(2, 0));
  out[2] = (float)cuda::std::popcount(0xf0f0u) + cuda::std::countl_zero(1u);
  out[3] = cuda::std::isnan(cuda::std::numeric_limits<float>::quiet_NaN()) ? 1 : 0;
  out[4] = cuda::std::hypot(3.0f, 4.0f);
  out[5] = cuda::std::bit_cast<float>(0x40400000);
}

int main() {
  float *out = make<float>(6);
  use<<<1, 1>>>(out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(out[0] == 2 && out[1] == 4 && out[2] == 39 && out[3] == 1 && out[4] == 5 && out[5] == 3);
  return finish();
}

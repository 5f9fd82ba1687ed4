// Bfloat16 and 8-bit numbers.
// headers: cuda_bf16.h, cuda_fp8.h
#include "expect.h"
#include <cuda_bf16.h>
#include <cuda_fp8.h>

__global__ void use(float *out) {
  __nv_bfloat16 a = __float2bfloat16(1.0078125f), b = __hmul(a, __float2bfloat16(2));
  out[0] = __bfloat162float(b);
  out[1] = (float)__nv_fp8_e4m3(3.3f);
  out[2] = (float)__nv_fp8_e5m2(3.3f);
  out[3] = (float)__nv_fp8_e4m3(1e6f);
}

int main() {
  float *out = make<float>(4);
  use<<<1, 1>>>(out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(out[0] == 2.015625f && out[1] == 3.25f && out[2] == 3.5f && out[3] == 448);
  return finish();
}

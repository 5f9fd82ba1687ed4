// Half precision: arithmetic, comparisons and pairs.
// headers: cuda_fp16.h
#include "expect.h"
#include <cuda_fp16.h>

__global__ void use(float *out) {
  __half a = __float2half(1.5f), b = __hadd(a, __float2half(0.25f));
  __half2 pair = __hfma2(__floats2half2_rn(1, 2), __floats2half2_rn(3, 4), __half2half2(a));
  out[0] = __half2float(b);
  out[1] = __low2float(pair);
  out[2] = __high2float(pair);
  out[3] = __hgt(b, a) ? 1 : 0;
  out[4] = __half2float(hsqrt(__float2half(2.25f)));
}

int main() {
  float *out = make<float>(5);
  use<<<1, 1>>>(out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(out[0] == 1.75f && out[1] == 4.5f && out[2] == 9.5f && out[3] == 1 && out[4] == 1.5f);
  return finish();
}

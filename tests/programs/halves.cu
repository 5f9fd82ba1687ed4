// Half precision: half, half2 and bfloat16.
#include "check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void axpy(const __half *x, __half *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const __half2 *x2 = (const __half2 *)x;
  __half2 *y2 = (__half2 *)y;
  if (i < n / 2)
    y2[i] = __hfma2(__float2half2_rn(a), x2[i], y2[i]);
}

__global__ void dot(const __half *x, const __half *y, float *out, int n) {
  __shared__ float part[128];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 128)
    sum += __half2float(x[i]) * __half2float(y[i]);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    *out = part[0];
}

__global__ void brain(const float *in, float *out, int n) {
  int i = threadIdx.x;
  __nv_bfloat16 a = __float2bfloat16(in[i]), b = __float2bfloat16(in[n - 1 - i]);
  out[i] = __bfloat162float(__hadd(a, b));
}

int main() {
  const int n = 512;
  static __half x[n], y[n], got[n];
  __half *dx, *dy;
  float *result, sum;
  for (int i = 0; i < n; i++) {
    x[i] = __float2half((float)(i % 16));
    y[i] = __float2half((float)(i % 7) * 0.25f);
  }
  CHECK(cudaMalloc(&dx, sizeof x));
  CHECK(cudaMalloc(&dy, sizeof y));
  CHECK(cudaMalloc(&result, sizeof sum));
  CHECK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dy, y, sizeof y, cudaMemcpyHostToDevice));
  axpy<<<2, 128>>>(dx, dy, 1.5f, n);
  CHECK(cudaMemcpy(got, dy, sizeof got, cudaMemcpyDeviceToHost));
  int wrong = 0;
  float expected = 0;
  for (int i = 0; i < n; i++) {
    float value = 1.5f * (i % 16) + (i % 7) * 0.25f; // exact in half precision
    wrong += __half2float(got[i]) != value;
    expected += value * (i % 16);
  }
  printf("axpy: %d wrong\n", wrong);
  dot<<<1, 128>>>(dx, dy, result, n);
  CHECK(cudaMemcpy(&sum, result, sizeof sum, cudaMemcpyDeviceToHost));
  printf("dot: %g, expected %g\n", sum, expected);

  const int m = 64;
  float in[m], out[m], *din, *dout;
  for (int i = 0; i < m; i++)
    in[i] = i * 1.25f;
  CHECK(cudaMalloc(&din, sizeof in));
  CHECK(cudaMalloc(&dout, sizeof out));
  CHECK(cudaMemcpy(din, in, sizeof in, cudaMemcpyHostToDevice));
  brain<<<1, m>>>(din, dout, m);
  CHECK(cudaMemcpy(out, dout, sizeof out, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < m; i++) {
    float a = __bfloat162float(__float2bfloat16(in[i]));
    float b = __bfloat162float(__float2bfloat16(in[m - 1 - i]));
    wrong += out[i] != __bfloat162float(__float2bfloat16(a + b));
  }
  printf("bfloat16: %d wrong\n", wrong);
  return 0;
}

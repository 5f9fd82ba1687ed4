// Arithmetic of all types: float, double, half, bfloat16, 64 and 128 bits, conversions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void real(float *f, double *d) {
  float a = f[0], b = f[1];
  double x = d[0], y = d[1];
  f[2] = sqrtf(a) + __fdividef(a, b) + a / b + rsqrtf(b) + __expf(a) + __logf(b) + fmaf(a, b, 1e-3f);
  f[3] = fminf(a, b) + fabsf(a) + copysignf(a, b) + floorf(a) + __saturatef(b) + rintf(b) + __frcp_rn(b);
  f[4] = __fadd_rz(a, b) + __fmul_ru(a, b) + __fmaf_rd(a, b, a) + tanhf(a) + __sinf(a) + __cosf(b);
  d[2] = sqrt(x) + x / y + fma(x, y, 1e-300) + (double)a + ceil(y) + 1.0 / y + (a > b ? x : -y);
  f[5] = (float)x + (int)a + (unsigned long long)b + (short)a + isnan(a) + isinf(b);
}
extern "C" __global__ void half_and_brain(__half2 *h, __nv_bfloat16 *b, __half *s) {
  h[2] = __hfma2(h[0], h[1], __hadd2(h[0], __hmul2(h[1], h[0])));
  s[1] = __hdiv(s[0], s[2]) + hexp(s[3]) + __float2half(__half2float(s[4]) * 3.f);
  b[2] = __hadd(b[0], b[1]) * b[3];
  h[3] = __floats2half2_rn(__low2float(h[0]), 2.f);
  atomicAdd(h + 4, h[0]);
}
extern "C" __global__ void whole(long long *q, short *s, signed char *c, unsigned *u) {
  unsigned __int128 wide = (unsigned __int128)q[0] * (unsigned long long)q[1] + 12345;
  q[2] = (long long)(wide >> 64);
  q[3] = q[0] / q[1] + q[0] % 1000 + (q[0] >> 3) - __mul64hi(q[0], q[1]);
  s[0] = s[1] * s[2] - (s[3] << 2);
  c[0] = c[1] + c[2] > 7 ? -c[3] : ~c[4];
  u[0] = u[1] / 17 + __umulhi(u[2], u[3]) + min(u[4], u[5]) + (u[6] & 0xf0f0) * __usad(u[7], 3, 4);
}

// Which schedulers the first warps of blocks are of (%warpid modulo 4), and what it costs where
// only the first warps of blocks work: the same work by one, two and four of them.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -o first_warps tests/gpu/first_warps.cu && ./first_warps
#include <cstdio>
__global__ void where(unsigned *out) {
  if (threadIdx.x % 32 == 0 && threadIdx.x / 32 == 0) {
    unsigned w, s;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(w));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(s));
    out[blockIdx.x * 2] = w;
    out[blockIdx.x * 2 + 1] = s;
  }
  for (int i = 0; i < 1000; i++)
    __nanosleep(10);
}
template <int N>
__global__ void work(unsigned *out, int warps,
                     int n) { // the first `warps` warps share n steps of N independent chains
  unsigned a[N];
  for (int i = 0; i < N; i++)
    a[i] = threadIdx.x + i;
  if ((int)threadIdx.x / 32 < warps)
    for (int k = 0; k < n / warps; k++) {
#pragma unroll
      for (int i = 0; i < N; i++)
        a[i] = (a[i] ^ 0x55) + k;
    }
  unsigned s = 0;
  for (int i = 0; i < N; i++)
    s += a[i];
  if (s == 12345)
    out[0] = s;
}
template <int N> void time_it(unsigned *d, int threads, int warps) {
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  float best = 1e9, ms;
  for (int r = 0; r < 5; r++) {
    cudaEventRecord(a);
    work<N><<<132 * 16 * 8, threads>>>(d, warps, 4096);
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    cudaEventElapsedTime(&ms, a, b);
    if (ms < best)
      best = ms;
  }
  printf("chains %d threads %d warps working %d: %.1f us\n", N, threads, warps, best * 1e3);
}
int main() {
  unsigned *d, h[2 * 4096];
  cudaMalloc(&d, sizeof h);
  for (int t : {64, 96, 128, 256, 512}) {
    for (int rep = 0; rep < 2; rep++)
      where<<<2048, t>>>(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    int c[4] = {0};
    for (int i = 0; i < 2048; i++)
      c[h[2 * i] % 4]++;
    printf("threads %d: first warps by warpid mod 4: %d %d %d %d\n", t, c[0], c[1], c[2], c[3]);
    for (int i = 0, k = 0; i < 2048 && k < 12; i++)
      if (h[2 * i + 1] == 5) {
        printf(" %u", h[2 * i]);
        k++;
      }
    puts("");
  }
  for (int t : {128, 256, 512})
    for (int w = 1; w <= 4; w *= 2) {
      time_it<1>(d, t, w);
      time_it<4>(d, t, w);
    }
}

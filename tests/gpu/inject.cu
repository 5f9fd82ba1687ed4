// Tile transpose and sums of rows, both with bank conflicts, checked and timed: the program that
// bench/results/2026-11-15-h200-inject.md runs with and without the injection library.
// Build: nvcc -arch=sm_90 -O2 -o inject inject.cu
#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void transpose(const float *in, float *out, int n) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    tile[threadIdx.y + i][threadIdx.x] = in[(size_t)(y + i) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    out[(size_t)(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}
__global__ void rows(const float *in, float *out) {
  __shared__ float tile[64][32];
  for (int i = 0; i < 32; i++)
    tile[i * 2 + threadIdx.x / 32][threadIdx.x % 32] =
        in[(size_t)blockIdx.x * 2048 + i * 64 + threadIdx.x];
  __syncthreads();
  float s = 0;
  for (int i = 0; i < 32; i++)
    s += tile[threadIdx.x][i];
  out[blockIdx.x * 64 + threadIdx.x] = s;
}
template <typename F> float time_of(F f) {
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  float best = 1e9;
  for (int i = 0; i < 20; i++) {
    cudaEventRecord(a);
    f();
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    float t;
    cudaEventElapsedTime(&t, a, b);
    if (t < best)
      best = t;
  }
  return best;
}
int main() {
  const int n = 8192;
  size_t bytes = (size_t)n * n * 4;
  float *in, *out;
  cudaMalloc(&in, bytes);
  cudaMalloc(&out, bytes);
  std::vector<float> h((size_t)n * n), r((size_t)n * n);
  for (size_t i = 0; i < h.size(); i++)
    h[i] = (float)(i * 2654435761u % 1000);
  cudaMemcpy(in, h.data(), bytes, cudaMemcpyHostToDevice);
  float t = time_of([&] { transpose<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(in, out, n); });
  cudaMemcpy(r.data(), out, bytes, cudaMemcpyDeviceToHost);
  size_t wrong = 0;
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++)
      wrong += r[(size_t)x * n + y] != h[(size_t)y * n + x];
  float u = time_of([&] { rows<<<n * n / 2048, 64>>>(in, out); });
  cudaMemcpy(r.data(), out, (size_t)n * n / 32 * 4, cudaMemcpyDeviceToHost);
  size_t bad = 0;
  for (size_t k = 0; k < (size_t)n * n / 32; k++) {
    float s = 0;
    for (int i = 0; i < 32; i++)
      s += h[k * 32 + i];
    bad += s != r[k];
  }
  printf("transpose %.3f ms, %zu wrong; rows %.3f ms, %zu wrong; %s\n", t, wrong, u, bad,
         cudaGetErrorString(cudaGetLastError()));
  return wrong || bad;
}

// Scans, sums and cyclic reductions as trees, in blocks of several sizes, and the kernels of known
// kinds: medians of 21 launches of 16384 blocks, in microseconds.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -o trees tests/gpu/trees.cu && ./trees
//   bankfold run --hash xor:0,5,31 --binary trees.hashed ./trees && ./trees.hashed
#include "../data/predict/known.cu"

#include <algorithm>
#include <cstdio>
#include <vector>
template <int T> __global__ void __launch_bounds__(T) scan(float *out, const float *in) {
  __shared__ float words[2 * T];
  const float *from = in + blockIdx.x * 2 * T;
  int offset = 1, thread = threadIdx.x;
  words[2 * thread] = from[2 * thread];
  words[2 * thread + 1] = from[2 * thread + 1];
  for (int left = T; left > 0; left >>= 1) {
    __syncthreads();
    if (thread < left) {
      int a = offset * (2 * thread + 1) - 1, b = offset * (2 * thread + 2) - 1;
      words[b] += words[a];
    }
    offset *= 2;
  }
  if (thread == 0)
    words[2 * T - 1] = 0;
  for (int left = 1; left < 2 * T; left *= 2) {
    offset >>= 1;
    __syncthreads();
    if (thread < left) {
      int a = offset * (2 * thread + 1) - 1, b = offset * (2 * thread + 2) - 1;
      float kept = words[a];
      words[a] = words[b];
      words[b] += kept;
    }
  }
  __syncthreads();
  out[blockIdx.x * 2 * T + 2 * thread] = words[2 * thread];
  out[blockIdx.x * 2 * T + 2 * thread + 1] = words[2 * thread + 1];
}
template <int T> __global__ void __launch_bounds__(T) reduce(float *out, const float *in) {
  __shared__ float words[T];
  words[threadIdx.x] = in[blockIdx.x * T + threadIdx.x];
  for (int s = 1; s < T; s *= 2) {
    __syncthreads();
    int i = 2 * s * threadIdx.x;
    if (i < T)
      words[i] += words[i + s];
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = words[0];
}
template <int N>
__global__ void __launch_bounds__(N / 2)
    cyclic(const float *below, const float *middle, const float *above, const float *right,
           float *out) {
  __shared__ float a[N], b[N], c[N], d[N], x[N];
  int thread = threadIdx.x, first = blockIdx.x * N, stride = 1, threads = N / 2,
      steps = 31 - __clz(N) - 1;
  for (int i = thread; i < N; i += N / 2) {
    a[i] = below[first + i];
    b[i] = middle[first + i];
    c[i] = above[first + i];
    d[i] = right[first + i];
  }
  __syncthreads();
  for (int step = 0; step < steps; step++) {
    __syncthreads();
    stride *= 2;
    int half = stride / 2;
    if (thread < threads) {
      int i = stride * thread + stride - 1, low = i - half, high = i + half;
      high = high >= N ? N - 1 : high;
      float k1 = a[i] / b[low], k2 = c[i] / b[high];
      b[i] = b[i] - c[low] * k1 - a[high] * k2;
      d[i] = d[i] - d[low] * k1 - d[high] * k2;
      a[i] = -a[low] * k1;
      c[i] = -c[high] * k2;
    }
    threads /= 2;
  }
  if (thread < 2) {
    float k = b[N / 2 - 1] * b[N - 1] - c[N / 2 - 1] * a[N - 1];
    x[thread ? N - 1 : N / 2 - 1] = thread
                                        ? (b[N / 2 - 1] * d[N - 1] - d[N / 2 - 1] * a[N - 1]) / k
                                        : (b[N - 1] * d[N / 2 - 1] - c[N / 2 - 1] * d[N - 1]) / k;
  }
  threads = 2;
  for (int step = 0; step < steps; step++) {
    int half = stride / 2;
    __syncthreads();
    if (thread < threads) {
      int i = stride * thread + half - 1;
      x[i] = i == half - 1 ? (d[i] - c[i] * x[i + half]) / b[i]
                           : (d[i] - a[i] * x[i - half] - c[i] * x[i + half]) / b[i];
    }
    stride /= 2;
    threads *= 2;
  }
  __syncthreads();
  out[first + thread] = x[thread];
  out[first + thread + N / 2] = x[thread + N / 2];
}
static float *p[5];
template <class F> void row(const char *name, F launch) {
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  std::vector<float> t;
  for (int r = 0; r < 23; r++) {
    cudaEventRecord(a);
    launch();
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    float ms;
    cudaEventElapsedTime(&ms, a, b);
    if (r > 1)
      t.push_back(ms * 1e3f);
  }
  std::sort(t.begin(), t.end());
  printf("%s %.2f\n", name, t[t.size() / 2]);
}
int main() {
  size_t bytes = 16384ull * 2048 * 4;
  for (auto &q : p) {
    cudaMalloc(&q, bytes);
    cudaMemset(q, 0x3f, bytes);
  }
  const int G = 16384;
  row("tree_scan", [] { tree_scan<<<G, 256>>>(p[0], p[1]); });
  row("cyclic_reduction", [] { cyclic_reduction<<<G, 64>>>(p[0], p[1], p[2], p[3], p[4]); });
  row("byte_histogram",
      [] { byte_histogram<<<4096, 64>>>((unsigned *)p[0], (unsigned *)p[1], 4096 * 64 * 16); });
  row("columns", [] { columns<<<dim3(256, 64), dim3(16, 8)>>>(p[0], p[1], 4096); });
  row("multiply", [] { multiply<<<dim3(32, 32), dim3(32, 32)>>>(p[0], p[1], p[2], 1024); });
  row("rows", [] { rows<<<dim3(32, 1024), dim3(16, 4)>>>(p[0], p[1], 4096 + 256); });
  row("exchange_sort", [] { exchange_sort<<<G, 128>>>(p[0]); });
#define S(T) row("scan<" #T ">", [] { scan<T><<<G, T>>>(p[0], p[1]); });
  S(32)
  S(64) S(128) S(256) S(512) S(1024)
#define R(T) row("reduce<" #T ">", [] { reduce<T><<<4 * G, T>>>(p[0], p[1]); });
      R(64) R(128) R(256) R(512)
#define C(N) row("cyclic<" #N ">", [] { cyclic<N><<<G, N / 2>>>(p[0], p[1], p[2], p[3], p[4]); });
          C(64) C(128) C(256) C(512) C(1024)
              printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}

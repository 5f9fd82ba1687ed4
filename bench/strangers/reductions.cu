// The well-known steps of a sum in shared memory: interleaved addressing with conflicts, sequential
// addressing, and unrolled templates; and the sum of structures of 12 bytes.

// gpu: 1024
#include "strangers.h"

__global__ void interleaved(const int *in, int *out) {
  extern __shared__ int data[];
  int t = threadIdx.x;
  data[t] = in[(size_t)blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int s = 1; s < blockDim.x; s *= 2) {
    int at = 2 * s * t;
    if (at < blockDim.x)
      data[at] += data[at + s];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = data[0];
}

__global__ void sequential(const int *in, int *out) {
  extern __shared__ int data[];
  int t = threadIdx.x;
  data[t] = in[(size_t)blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s)
      data[t] += data[t + s];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = data[0];
}

template <int threads> __global__ void unrolled(const int *in, int *out) {
  __shared__ volatile int data[threads];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 4; i++)
    sum += in[((size_t)blockIdx.x * 4 + i) * threads + t];
  data[t] = sum;
  __syncthreads();
#pragma unroll
  for (int s = threads / 2; s > 32; s /= 2) {
    if (t < s)
      data[t] = sum = sum + data[t + s];
    __syncthreads();
  }
  if (t < 32) {
    sum += data[t + 32];
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
      sum += __shfl_down_sync(~0u, sum, s);
    if (t == 0)
      out[blockIdx.x] = sum;
  }
}

// Each thread sums 32 numbers that lie in a row, as one writes it first; then the threads' sums.
__global__ void by_rows(const int *in, int *out) {
  __shared__ int data[128 * 32];
  int t = threadIdx.x, sum = 0;
  for (int i = t; i < 128 * 32; i += 128)
    data[i] = in[(size_t)blockIdx.x * 128 * 32 + i];
  __syncthreads();
  for (int i = 0; i < 32; i++)
    sum += data[t * 32 + i];
  __syncthreads();
  data[t] = sum;
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    if (t < s)
      data[t] += data[t + s];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = data[0];
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 32768;
  std::vector<int> in = numbers<int>(n, 1000);
  int *source = to_device(in), *out = device_array<int>(n / 256);
  auto check = [&](const char *name, size_t each) {
    std::vector<int> got = to_host(out, n / each), wanted(n / each);
    for (size_t i = 0; i < n; i++)
      wanted[i / each] += in[i];
    p.report(name, differences(got, wanted), got);
  };
  p.timed("interleaved_256", [&] { interleaved<<<n / 256, 256, 1024>>>(source, out); });
  check("interleaved, 256 threads", 256);
  p.timed("interleaved_1024", [&] { interleaved<<<n / 1024, 1024, 4096 + 4>>>(source, out); });
  check("interleaved, 1024 threads", 1024);
  p.timed("sequential", [&] { sequential<<<n / 512, 512, 2048>>>(source, out); });
  check("sequential", 512);
  p.timed("unrolled", [&] { unrolled<256><<<n / 1024, 256>>>(source, out); });
  check("unrolled", 1024);
  p.timed("by_rows", [&] { by_rows<<<n / 4096, 128>>>(source, out); });
  check("by rows", 4096);
  return p.end();
}

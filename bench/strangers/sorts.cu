// Sorting networks in shared memory: bitonic sort of keys and of pairs, and odd-even merge sort.

// gpu: 256
#include "strangers.h"

__device__ void order(unsigned &a, unsigned &b, bool up) {
  if ((a > b) == up) {
    unsigned kept = a;
    a = b;
    b = kept;
  }
}

__global__ void bitonic(const unsigned *in, unsigned *out) {
  __shared__ unsigned keys[1024];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * 1024;
  keys[t] = in[first + t], keys[t + 512] = in[first + t + 512];
  for (int size = 2; size <= 1024; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int at = 2 * t - (t & (stride - 1));
      order(keys[at], keys[at + stride], (t & (size / 2)) == 0);
    }
  __syncthreads();
  out[first + t] = keys[t], out[first + t + 512] = keys[t + 512];
}

// A key and a value in 8 bytes, which move together.
__global__ void bitonic_pairs(const unsigned *in, uint2 *out) {
  __shared__ uint2 pairs[1024];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * 1024;
  for (int i = t; i < 1024; i += 512)
    pairs[i] = make_uint2(in[first + i] * 1024 + i, i);
  for (int size = 2; size <= 1024; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int at = 2 * t - (t & (stride - 1));
      uint2 a = pairs[at], b = pairs[at + stride];
      if ((a.x > b.x) == ((t & (size / 2)) == 0))
        pairs[at] = b, pairs[at + stride] = a;
    }
  __syncthreads();
  for (int i = t; i < 1024; i += 512)
    out[first + i] = pairs[i];
}

__global__ void odd_even(const unsigned *in, unsigned *out) {
  __shared__ unsigned keys[1024];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * 1024;
  keys[t] = in[first + t], keys[t + 512] = in[first + t + 512];
  for (int size = 2; size <= 1024; size *= 2) {
    int stride = size / 2, offset = t & (stride - 1);
    __syncthreads();
    int at = 2 * t - offset;
    order(keys[at], keys[at + stride], true);
    for (stride /= 2; stride > 0; stride /= 2) {
      __syncthreads();
      at = 2 * t - (t & (stride - 1));
      if (offset >= stride)
        order(keys[at - stride], keys[at], true);
    }
  }
  __syncthreads();
  out[first + t] = keys[t], out[first + t + 512] = keys[t + 512];
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<unsigned> in = numbers<unsigned>(n, 1 << 20), wanted = in;
  for (size_t i = 0; i < n; i += 1024)
    std::sort(wanted.begin() + i, wanted.begin() + i + 1024);
  unsigned *source = to_device(in), *out = device_array<unsigned>(n);
  uint2 *pairs = device_array<uint2>(n);
  p.timed("bitonic", [&] { bitonic<<<n / 1024, 512>>>(source, out); });
  std::vector<unsigned> got = to_host(out, n);
  p.report("bitonic", differences(got, wanted), got);
  p.timed("pairs", [&] { bitonic_pairs<<<n / 1024, 512>>>(source, pairs); });
  std::vector<uint2> both = to_host(pairs, n);
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++)
    wrong += both[i].x / 1024 != wanted[i] || in[i / 1024 * 1024 + both[i].y] != wanted[i];
  p.report("pairs", wrong, both);
  p.timed("odd_even", [&] { odd_even<<<n / 1024, 512>>>(source, out); });
  got = to_host(out, n);
  p.report("odd-even", differences(got, wanted), got);
  return p.end();
}

// The work-efficient scan of textbooks: up and down a tree in shared memory, whose strides double;
// with conflicts, with the padding that is usual there, and the simple scan of Hillis and Steele.
// Sums of blocks are scanned and added.

// gpu: 512
#include "strangers.h"

template <bool padded> __device__ int place(int i) { return padded ? i + (i >> 5) : i; }

template <bool padded> __global__ void scan_tree(const int *in, int *out, int *sums) {
  extern __shared__ int tree[];
  const int n = 2 * blockDim.x, t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * n;
  tree[place<padded>(t)] = in[first + t];
  tree[place<padded>(t + n / 2)] = in[first + t + n / 2];
  int offset = 1;
  for (int d = n / 2; d > 0; d /= 2, offset *= 2) {
    __syncthreads();
    if (t < d)
      tree[place<padded>(offset * (2 * t + 2) - 1)] +=
          tree[place<padded>(offset * (2 * t + 1) - 1)];
  }
  if (t == 0) {
    sums[blockIdx.x] = tree[place<padded>(n - 1)];
    tree[place<padded>(n - 1)] = 0;
  }
  for (int d = 1; d < n; d *= 2) {
    offset /= 2;
    __syncthreads();
    if (t < d) {
      int left = place<padded>(offset * (2 * t + 1) - 1),
          right = place<padded>(offset * (2 * t + 2) - 1);
      int kept = tree[left];
      tree[left] = tree[right];
      tree[right] += kept;
    }
  }
  __syncthreads();
  out[first + t] = tree[place<padded>(t)];
  out[first + t + n / 2] = tree[place<padded>(t + n / 2)];
}

__global__ void scan_simple(const int *in, int *out) {
  __shared__ int both[2][512];
  int t = threadIdx.x, from = 0;
  size_t first = (size_t)blockIdx.x * 512;
  both[0][t] = t > 0 ? in[first + t - 1] : 0;
  for (int distance = 1; distance < 512; distance *= 2, from = 1 - from) {
    __syncthreads();
    both[1 - from][t] = both[from][t] + (t >= distance ? both[from][t - distance] : 0);
  }
  __syncthreads();
  out[first + t] = both[from][t];
}

static std::vector<int> sums_of(const std::vector<int> &in, size_t tile) {
  std::vector<int> sums(in.size());
  int sum = 0;
  for (size_t i = 0; i < in.size(); i++) {
    sums[i] = sum = i % tile ? sum : 0;
    sum += in[i];
  }
  return sums;
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 32768;
  std::vector<int> in = numbers<int>(n, 100);
  int *source = to_device(in), *out = device_array<int>(n), *sums = device_array<int>(n / 512);
  auto check = [&](const char *name, size_t tile) {
    std::vector<int> got = to_host(out, n);
    p.report(name, differences(got, sums_of(in, tile)), got);
  };
  p.timed("tree_512", [&] { scan_tree<false><<<n / 512, 256, 512 * 4>>>(source, out, sums); });
  check("tree of 512", 512);
  p.timed("tree_2048", [&] { scan_tree<false><<<n / 2048, 1024, 2048 * 4>>>(source, out, sums); });
  check("tree of 2048", 2048);
  p.timed("tree_padded",
          [&] { scan_tree<true><<<n / 1024, 512, (1024 + 32) * 4 + 4>>>(source, out, sums); });
  check("padded tree of 1024", 1024);
  p.timed("simple", [&] { scan_simple<<<n / 512, 512>>>(source, out); });
  check("simple", 512);
  return p.end();
}

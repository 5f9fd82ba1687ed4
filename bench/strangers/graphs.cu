// Kernels captured into a graph, which is launched again and again: a histogram by threads, its
// scan, and a lookup. Where graphs are not there (as on the emulator) the kernels are launched one
// by one.

// gpu: 512
#include "strangers.h"

// 64 bins for each of 32 threads' columns, added up by rows.
__global__ void count_values(const unsigned *in, unsigned *bins) {
  __shared__ unsigned counts[64 * 32];
  int t = threadIdx.x;
  for (int i = t; i < 64 * 32; i += 128)
    counts[i] = 0;
  __syncthreads();
  for (int i = 0; i < 32; i++)
    atomicAdd(&counts[in[((size_t)blockIdx.x * 32 + i) * 128 + t] * 32 + t % 32], 1u);
  __syncthreads();
  if (t < 64) {
    unsigned sum = 0;
    for (int i = 0; i < 32; i++)
      sum += counts[t * 32 + i];
    atomicAdd(bins + t, sum);
  }
}

__global__ void scan_bins(unsigned *bins, unsigned *starts) {
  __shared__ unsigned both[2][64];
  int t = threadIdx.x, from = 0;
  both[0][t] = t > 0 ? bins[t - 1] : 0;
  for (int distance = 1; distance < 64; distance *= 2, from = 1 - from) {
    __syncthreads();
    both[1 - from][t] = both[from][t] + (t >= distance ? both[from][t - distance] : 0);
  }
  __syncthreads();
  starts[t] = both[from][t];
  bins[t] = 0; // for the next time
}

// A table of 64 rows of 32 copies, from which each thread takes its value.
__global__ void look_up(const unsigned *in, const unsigned *starts, unsigned *out) {
  extern __shared__ unsigned table[];
  int t = threadIdx.x;
  for (int i = t; i < 64 * 32; i += 128)
    table[i % 64 * 32 + i / 64] = starts[i % 64] + i / 64;
  __syncthreads();
  for (int i = 0; i < 32; i++) {
    size_t at = ((size_t)blockIdx.x * 32 + i) * 128 + t;
    out[at] = table[in[at] * 32 + t % 32];
  }
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<unsigned> in = numbers<unsigned>(n, 64), starts(65), wanted(n);
  for (unsigned x : in)
    starts[x + 1]++;
  for (int i = 0; i < 64; i++)
    starts[i + 1] += starts[i];
  for (size_t i = 0; i < n; i++)
    wanted[i] = starts[in[i]] + i % 32;
  unsigned *source = to_device(in), *bins = device_array<unsigned>(64),
           *scanned = device_array<unsigned>(64);
  unsigned *out = device_array<unsigned>(n);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  auto pipeline = [&](cudaStream_t where) {
    count_values<<<n / 4096, 128, 0, where>>>(source, bins);
    scan_bins<<<1, 64, 0, where>>>(bins, scanned);
    look_up<<<n / 4096, 128, 64 * 32 * 4, where>>>(source, scanned, out);
  };
  cudaGraph_t graph;
  cudaGraphExec_t ready = nullptr;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess) {
    pipeline(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
  }
  (void)cudaGetLastError();
  p.timed("graph", [&] {
    if (ready)
      CHECK(cudaGraphLaunch(ready, 0));
    else
      pipeline(0);
  });
  std::vector<unsigned> got = to_host(out, n);
  p.report("looked up", differences(got, wanted), got);
  return p.end();
}

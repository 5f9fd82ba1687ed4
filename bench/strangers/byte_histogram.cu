// Histograms of bytes in shared memory: 64 bins of bytes for each thread, 256 bins for each warp
// with atomics, and one copy for each lane.

// gpu: 512
#include "strangers.h"

// A byte for each bin and thread: 64 threads, at most 255 values each.
__global__ void bytes_by_thread(const unsigned *in, unsigned *out) {
  __shared__ unsigned char counts[64 * 64];
  int t = threadIdx.x;
  for (int i = 0; i < 16; i++)
    ((unsigned *)counts)[t + i * 64] = 0;
  __syncthreads();
  for (int i = 0; i < 48; i++) {
    unsigned word = in[((size_t)blockIdx.x * 48 + i) * 64 + t];
    for (int k = 0; k < 4; k++)
      counts[(word >> 8 * k & 63) * 64 + t]++;
  }
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0; i < 64; i++)
    sum += counts[t * 64 + i];
  out[(size_t)blockIdx.x * 64 + t] = sum;
}

__global__ void atomics_by_warp(const unsigned *in, unsigned *out) {
  __shared__ unsigned bins[6 * 256];
  int t = threadIdx.x;
  unsigned *own = bins + t / 32 * 256;
  for (int i = t; i < 6 * 256; i += 192)
    bins[i] = 0;
  __syncthreads();
  for (int i = 0; i < 16; i++) {
    unsigned word = in[((size_t)blockIdx.x * 16 + i) * 192 + t];
    for (int k = 0; k < 4; k++)
      atomicAdd(own + (word >> 8 * k & 255), 1u);
  }
  __syncthreads();
  for (int bin = t; bin < 256; bin += 192) {
    unsigned sum = 0;
    for (int w = 0; w < 6; w++)
      sum += bins[w * 256 + bin];
    out[(size_t)blockIdx.x * 256 + bin] = sum;
  }
}

// 32 copies of 64 bins, a copy for each lane: lanes never meet, but for the banks.
__global__ void copies_by_lane(const unsigned *in, unsigned *out) {
  __shared__ unsigned bins[32][64];
  int t = threadIdx.x, lane = t % 32;
  for (int i = t; i < 32 * 64; i += 128)
    (&bins[0][0])[i] = 0;
  __syncthreads();
  for (int i = 0; i < 24; i++) {
    unsigned word = in[((size_t)blockIdx.x * 24 + i) * 128 + t];
    for (int k = 0; k < 4; k++)
      atomicAdd(&bins[lane][word >> 8 * k & 63], 1u);
  }
  __syncthreads();
  if (t < 64) {
    unsigned sum = 0;
    for (int i = 0; i < 32; i++)
      sum += bins[i][t];
    out[(size_t)blockIdx.x * 64 + t] = sum;
  }
}

// All three go through 3072 words a block.
int main(int count, char **words) {
  program p(count, words);
  size_t blocks = p.scale * 8, n = blocks * 3072;
  std::vector<unsigned> in = numbers<unsigned>(n, 1 << 24), few(blocks * 64), many(blocks * 256);
  for (size_t i = 0; i < n; i++) {
    in[i] = in[i] * 16843009u & 0x3f7f3f7fu;
    for (int k = 0; k < 4; k++) {
      few[i / 3072 * 64 + (in[i] >> 8 * k & 63)]++;
      many[i / 3072 * 256 + (in[i] >> 8 * k & 255)]++;
    }
  }
  unsigned *source = to_device(in), *out = device_array<unsigned>(many.size());
  auto check = [&](const char *name, const std::vector<unsigned> &wanted) {
    std::vector<unsigned> got = to_host(out, wanted.size());
    p.report(name, differences(got, wanted), got);
  };
  p.timed("bytes_by_thread", [&] { bytes_by_thread<<<blocks, 64>>>(source, out); });
  check("bytes by thread", few);
  p.timed("atomics_by_warp", [&] { atomics_by_warp<<<blocks, 192>>>(source, out); });
  check("atomics by warp", many);
  p.timed("copies_by_lane", [&] { copies_by_lane<<<blocks, 128>>>(source, out); });
  check("copies by lane", few);
  return p.end();
}

// Histograms in shared memory with 32 copies of every bin, one for each lane of a warp, so that no
// two lanes of a warp ever add to the same word. What conflicts is decided by where the copies lie:
// copy by copy (major), copy by copy with one spare word (padded), or bin by bin (binmajor).
enum { COPIES = 32 };
enum Layout { MAJOR, PADDED, BINMAJOR };

template <int BINS, Layout LAYOUT> __device__ unsigned place(unsigned bin, unsigned copy) {
  if (LAYOUT == MAJOR)
    return bin + BINS * copy;
  if (LAYOUT == PADDED)
    return bin + (BINS + 1) * copy;
  return bin * COPIES + copy;
}

// The words that the copies take.
template <int BINS, Layout LAYOUT> __device__ constexpr unsigned words() {
  return LAYOUT == PADDED ? (BINS + 1) * COPIES : BINS * COPIES;
}

template <int BINS, Layout LAYOUT, typename Count> __device__ void clear(Count *counts) {
  for (unsigned i = threadIdx.x; i < words<BINS, LAYOUT>(); i += blockDim.x)
    counts[i] = 0;
  __syncthreads();
}

// Adds the copies of each bin to the result. Bin by bin, threads start at different copies, or all
// of them would read the same bank.
template <int BINS, Layout LAYOUT, typename Count>
__device__ void merge(const Count *counts, Count *result) {
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
    Count sum = 0;
    for (unsigned i = 0; i < COPIES; i++) {
      unsigned copy = LAYOUT == BINMAJOR ? (i + threadIdx.x) % COPIES : i;
      sum += counts[place<BINS, LAYOUT>(bin, copy)];
    }
    atomicAdd(&result[bin], sum);
  }
}

// Counts the pixels of each of BINS equal ranges of grey.
template <int BINS, Layout LAYOUT>
__device__ void count(const unsigned char *pixels, unsigned pixel_count, unsigned *result) {
  __shared__ unsigned counts[words<BINS, LAYOUT>()];
  clear<BINS, LAYOUT>(counts);
  unsigned copy = threadIdx.x % COPIES;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < pixel_count;
       i += gridDim.x * blockDim.x)
    atomicAdd(&counts[place<BINS, LAYOUT>(pixels[i] * BINS / 256, copy)], 1);
  merge<BINS, LAYOUT>(counts, result);
}

// Sums a weight for each pixel instead of one.
template <Layout LAYOUT>
__device__ void weigh(const unsigned char *pixels, const float *weights, unsigned pixel_count,
                      float *result) {
  __shared__ float sums[words<256, LAYOUT>()];
  clear<256, LAYOUT>(sums);
  unsigned copy = threadIdx.x % COPIES;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < pixel_count;
       i += gridDim.x * blockDim.x)
    atomicAdd(&sums[place<256, LAYOUT>(pixels[i], copy)], weights[i]);
  merge<256, LAYOUT>(sums, result);
}

extern "C" __global__ void histogram64_major(const unsigned char *pixels, unsigned pixel_count,
                                             unsigned *result) {
  count<64, MAJOR>(pixels, pixel_count, result);
}

extern "C" __global__ void histogram64_padded(const unsigned char *pixels, unsigned pixel_count,
                                              unsigned *result) {
  count<64, PADDED>(pixels, pixel_count, result);
}

extern "C" __global__ void histogram64_binmajor(const unsigned char *pixels, unsigned pixel_count,
                                                unsigned *result) {
  count<64, BINMAJOR>(pixels, pixel_count, result);
}

extern "C" __global__ void histogram256_major(const unsigned char *pixels, unsigned pixel_count,
                                              unsigned *result) {
  count<256, MAJOR>(pixels, pixel_count, result);
}

extern "C" __global__ void histogram256_padded(const unsigned char *pixels, unsigned pixel_count,
                                               unsigned *result) {
  count<256, PADDED>(pixels, pixel_count, result);
}

extern "C" __global__ void histogram256_binmajor(const unsigned char *pixels, unsigned pixel_count,
                                                 unsigned *result) {
  count<256, BINMAJOR>(pixels, pixel_count, result);
}

extern "C" __global__ void weighted_major(const unsigned char *pixels, const float *weights,
                                          unsigned pixel_count, float *result) {
  weigh<MAJOR>(pixels, weights, pixel_count, result);
}

extern "C" __global__ void weighted_padded(const unsigned char *pixels, const float *weights,
                                           unsigned pixel_count, float *result) {
  weigh<PADDED>(pixels, weights, pixel_count, result);
}

extern "C" __global__ void weighted_binmajor(const unsigned char *pixels, const float *weights,
                                             unsigned pixel_count, float *result) {
  weigh<BINMAJOR>(pixels, weights, pixel_count, result);
}

// A histogram of 64 bins for each thread, bin by bin, with counters of one byte: four threads share
// a word, and no atomic operation is needed. A thread may see at most 255 pixels.
enum { BYTE_THREADS = 64 };

extern "C" __global__ void histogram64_bytes(const unsigned char *pixels, unsigned pixel_count,
                                             unsigned *result) {
  __shared__ unsigned char counts[64 * BYTE_THREADS];
  for (unsigned bin = 0; bin < 64; bin++)
    counts[bin * BYTE_THREADS + threadIdx.x] = 0;
  for (unsigned i = blockIdx.x * BYTE_THREADS + threadIdx.x; i < pixel_count;
       i += gridDim.x * BYTE_THREADS)
    counts[pixels[i] / 4 * BYTE_THREADS + threadIdx.x]++;
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = 0; i < BYTE_THREADS; i++)
    sum += counts[threadIdx.x * BYTE_THREADS + (i + threadIdx.x) % BYTE_THREADS];
  atomicAdd(&result[threadIdx.x], sum);
}

// What the kernels of histograms share: jobs as the device sees them, reading pixels, and the end
// of every kernel, where blocks add up what they counted and the last one writes the result.
#ifndef BF_GPU_VOTE_CUH
#define BF_GPU_VOTE_CUH

#include "bankfold_vote_cuda.h"

#include <cuda_runtime.h>
#include <stdint.h>

// The largest shared memory of a block that kernels ask for: what Hopper and Blackwell give,
// 227 KB (CUDA C++ Programming Guide, compute capability 9.0). Smaller GPUs give less; the host
// asks for theirs.
enum { VECTOR_BYTES = 16, WARP = 32, CLEAR_BYTES = 256 };

// An image of one type; strides and channels are filled in.
struct Image {
  const unsigned char *data;
  uint64_t stride_bytes, width, height;
  unsigned channels, channel;
  const unsigned char *mask;
  uint64_t mask_stride_bytes;
};

// Which bin a value is in, as bf_bins_find says. For even bins, (value - low_single) * scale_single
// in single precision is off by less than `margin`.
struct Bins {
  unsigned count;
  double low, high;
  const double *edges; // on the device; NULL: even bins
  float low_single, scale_single, margin;
};

// Where a kernel leaves its counts. sums are zero before and after; there are `values` of them. The
// last block adds them to or writes them to counts; value is bin, or else value v goes to the bin
// of the number v.
struct Result {
  unsigned *sums, *ticket;
  unsigned values;
  bool values_are_bins, wide, accumulate;
  Bins bins;
  void *counts; // uint32_t, or uint64_t if wide
};

// Bins of 2^n values from 0 on: bin = min(value, clamp) >> shift. Values of bin `bins` and above
// are not in a bin; clamp 0: there are none of those.
struct Scale {
  unsigned bins, shift, clamp;
};

// A histogram that methods of published work take: `pixels` in one piece.
struct Job {
  const void *data;
  uint64_t pixels;
  Scale scale;
  bf_cuda_layout layout;
  unsigned copies;
  unsigned *spread; // GLOBAL: the copies in global memory, zero before
  Result result;
};

// The even bin of a value in range.
__device__ inline unsigned even_bin(const Bins &bins, double value) {
  unsigned bin = (unsigned)((value - bins.low) * bins.count / (bins.high - bins.low));
  return bin < bins.count ? bin : bins.count - 1;
}

// The bin of a value; bins.count where it is dropped.
__device__ inline unsigned bin_of(const Bins &bins, double value) {
  if (!bins.edges)
    return value >= bins.low && value < bins.high ? even_bin(bins, value) : bins.count;
  if (!(value >= bins.edges[0] && value < bins.edges[bins.count]))
    return bins.count;
  unsigned from = 0, to = bins.count;
  while (to - from > 1) {
    unsigned middle = (from + to) / 2;
    if (value >= bins.edges[middle])
      from = middle;
    else
      to = middle;
  }
  return from;
}

// The same for a float. Where single precision is sure, it decides: the value is neither near the
// ends of the range nor near an edge between bins.
__device__ inline unsigned bin_of_float(const Bins &bins, float value) {
  float bin = (value - bins.low_single) * bins.scale_single;
  bool sure =
      bin > bins.margin && bin < bins.count - bins.margin && fabsf(bin - rintf(bin)) > bins.margin;
  return sure ? (unsigned)bin : bin_of(bins, value);
}

// Adds to a bin of the result. 32-bit counts stay at their largest value instead of overflowing.
__device__ inline void add_to_bin(const Result &result, unsigned bin, unsigned count) {
  if (result.wide) {
    atomicAdd((unsigned long long *)result.counts + bin, (unsigned long long)count);
    return;
  }
  unsigned *place = (unsigned *)result.counts + bin;
  if (atomicAdd(place, count) > UINT32_MAX - count)
    atomicMax(place, UINT32_MAX);
}

// Writes or adds one bin that no other thread writes.
__device__ inline void put_bin(const Result &result, unsigned bin, unsigned count) {
  if (result.accumulate)
    add_to_bin(result, bin, count);
  else if (result.wide)
    ((unsigned long long *)result.counts)[bin] = count;
  else
    ((unsigned *)result.counts)[bin] = count;
}

// Counts of values become counts of bins.
__device__ inline void fold(const Result &result) {
  if (!result.accumulate)
    for (unsigned bin = threadIdx.x; bin < result.bins.count; bin += blockDim.x)
      put_bin(result, bin, 0);
  __syncthreads();
  for (unsigned value = threadIdx.x; value < result.values; value += blockDim.x) {
    unsigned count = __ldcg(&result.sums[value]), bin = bin_of(result.bins, value);
    result.sums[value] = 0;
    if (count && bin < result.bins.count)
      add_to_bin(result, bin, count);
  }
}

// True in the block that comes here last. What the others wrote before is visible to it: the
// barrier hands the writes of a block to its first thread, whose fence and ticket hand them on.
__device__ inline bool last_block(unsigned *ticket) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return last;
}

// Ends a kernel whose blocks have added to result.sums: the last one makes the result of them and
// clears them.
__device__ inline void publish(const Result &result) {
  if (!last_block(result.ticket))
    return;
  if (!result.values_are_bins) {
    fold(result);
    return;
  }
  const unsigned at_once = 4; // reads under way before the first result is written
  for (unsigned first = threadIdx.x; first < result.values; first += at_once * blockDim.x) {
    unsigned counts[at_once];
#pragma unroll
    for (unsigned i = 0; i < at_once; i++)
      if (first + i * blockDim.x < result.values)
        counts[i] = __ldcg(&result.sums[first + i * blockDim.x]);
#pragma unroll
    for (unsigned i = 0; i < at_once; i++)
      if (first + i * blockDim.x < result.values) {
        put_bin(result, first + i * blockDim.x, counts[i]);
        result.sums[first + i * blockDim.x] = 0;
      }
  }
}

// Adds this block's histogram, which lies in shared memory bin by bin in `copies` copies (a power
// of two), to the sums. Threads of a warp take consecutive bins and start at different copies, so
// that they read different banks and add to consecutive words. Where there are more threads than
// bins, several share the copies of one; what they find is added up before it leaves the block.
__device__ inline void merge_copies(unsigned *counts, unsigned copies, const Result &result) {
  unsigned parts = 1;
  while (2 * parts <= copies && 2 * parts * result.values <= blockDim.x)
    parts *= 2;
  unsigned share = copies / parts;
  for (unsigned i = threadIdx.x; i < result.values * parts; i += blockDim.x) {
    unsigned bin = i % result.values, part = i / result.values, sum = 0;
    unsigned turn = bin * copies / WARP;
    for (unsigned c = 0; c < share; c++)
      sum += counts[bin * copies + ((part * share + c + turn) & (copies - 1))];
    if (parts == 1 && sum)
      atomicAdd(&result.sums[bin], sum);
    else if (parts > 1)
      counts[bin * copies + ((part * share + turn) & (copies - 1))] = sum;
  }
  if (parts == 1)
    return;
  __syncthreads();
  if (threadIdx.x < result.values) {
    unsigned bin = threadIdx.x, turn = bin * copies / WARP, sum = 0;
    for (unsigned part = 0; part < parts; part++)
      sum += counts[bin * copies + ((part * share + turn) & (copies - 1))];
    if (sum)
      atomicAdd(&result.sums[bin], sum);
  }
}

// Sets words of shared memory to zero, 16 bytes at a time; words is a multiple of 4.
__device__ inline void clear_words(unsigned *words, unsigned count) {
  for (unsigned i = threadIdx.x; i < count / 4; i += blockDim.x)
    ((uint4 *)words)[i] = make_uint4(0, 0, 0, 0);
  __syncthreads();
}

// The bin of a value by Scale.
__device__ inline unsigned scaled_bin(const Scale &scale, unsigned value) {
  return (scale.clamp ? min(value, scale.clamp) : value) >> scale.shift;
}

// Calls vote(bin) for every pixel, bins scale.bins and above included: 16 bytes at a time, and the
// pixels before and after those by the first threads of the grid.
template <typename Pixel, typename Vote>
__device__ inline void each_bin(const Job &job, Vote vote) {
  enum { PER_VECTOR = VECTOR_BYTES / sizeof(Pixel) };
  const Pixel *pixels = (const Pixel *)job.data;
  uint64_t head = (-(uintptr_t)pixels % VECTOR_BYTES) / sizeof(Pixel);
  head = head < job.pixels ? head : job.pixels;
  uint64_t vectors = (job.pixels - head) / PER_VECTOR;
  uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  uint64_t threads = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = thread; i < vectors; i += threads) {
    uint4 vector = __ldcs((const uint4 *)(pixels + head) + i);
    unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int k = 0; k < PER_VECTOR; k++) {
      unsigned value = words[k * sizeof(Pixel) / 4] >> (k * sizeof(Pixel) % 4 * 8);
      vote(scaled_bin(job.scale, (Pixel)value));
    }
  }
  uint64_t tail = head + vectors * PER_VECTOR;
  for (uint64_t i = thread; i < head; i += threads)
    vote(scaled_bin(job.scale, pixels[i]));
  for (uint64_t i = tail + thread; i < job.pixels; i += threads)
    vote(scaled_bin(job.scale, pixels[i]));
}

// Launchers of the rooms' files; they return a bf_error. shared_limit is what a block may have.
struct Device {
  int number, sms, shared_limit, major;
};
int vote_device(Device *device);
int vote_check(void); // BF_IO where a launch failed
// What was tuned for a problem and saved before this process first asked; false: nothing.
bool vote_saved(int device, const bf_pixels *image, const bf_histogram_options *options,
                bf_cuda_choice *choice);
template <typename Kernel> int vote_allow(Kernel kernel, size_t shared_bytes) {
  if (shared_bytes <= 48 * 1024)
    return BF_OK;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              (int)shared_bytes) == cudaSuccess
             ? BF_OK
             : BF_IO;
}

int vote_packed(const Image &image, bf_pixel_type type, const Scale &scale, const Result &result,
                const bf_cuda_choice &choice, const Device &device, cudaStream_t stream);
int vote_rows(const Image &image, bf_pixel_type type, const Scale *scale, const Result &result,
              const bf_cuda_choice &choice, const Device &device, cudaStream_t stream);
int vote_plain(const Image &image, bf_pixel_type type, const Result &result, const uint32_t *table,
               const bf_cuda_choice &choice, const Device &device, cudaStream_t stream);
int vote_table(bf_pixel_type type, const Bins &bins, uint32_t *table, cudaStream_t stream);
int vote_published(const Job &job, bf_pixel_type type, const bf_cuda_choice &choice,
                   const Device &device, void *scratch, cudaStream_t stream);
size_t vote_published_bytes(const Job &job, bf_pixel_type type, const bf_cuda_choice &choice);

// Sums of weights: as Result.
struct Sums {
  double *sums, *out;
  unsigned *ticket;
  bool accumulate;
  Bins bins;
};
struct Weights {
  const unsigned char *data;
  bf_weight_type type;
  uint64_t stride_bytes;
};
int vote_weighted(const Image &image, bf_pixel_type type, const Weights &weights, const Sums &sums,
                  const bf_cuda_choice &choice, const Device &device, cudaStream_t stream);

#endif

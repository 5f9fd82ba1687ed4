// The histogram that takes every image and all bins: any channel, stride, alignment and mask,
// values of 8 and 16 bits and floats. Values of 8 bits are counted as they are and sorted into bins
// by the last block; 16-bit values find their bin in a table; floats compute it.
#include "segments.cuh"
#include "vote.cuh"

// The row of counters of a pixel; at least result.values: it is not counted.
template <typename Pixel>
__device__ static inline unsigned find_row(const Result &result, const uint32_t *table,
                                           Pixel value);
template <> __device__ inline unsigned find_row(const Result &, const uint32_t *, uint8_t value) {
  return value;
}
template <>
__device__ inline unsigned find_row(const Result &, const uint32_t *table, uint16_t value) {
  return __ldg(&table[value]);
}
template <>
__device__ inline unsigned find_row(const Result &result, const uint32_t *, float value) {
  return bin_of_float(result.bins, value);
}

// copies 0: in global memory, for there is no room elsewhere.
template <typename Pixel>
__global__ void count_plain(Image image, const uint32_t *table, unsigned copies, Result result) {
  extern __shared__ __align__(16) unsigned histogram[];
  unsigned *counts = copies ? histogram + threadIdx.x % copies : result.sums;
  unsigned step = copies ? copies : 1;
  if (copies)
    clear_words(histogram, (result.values * copies + 3) / 4 * 4);
  each_pixel<Pixel>(image, [&](uint64_t, uint64_t, Pixel value) {
    unsigned row = find_row<Pixel>(result, table, value);
    if (row < result.values)
      atomicAdd(&counts[row * step], 1);
  });
  __syncthreads();
  if (copies)
    merge_copies(histogram, copies, result);
  publish(result);
}

__global__ void make_table(Bins bins, uint32_t *table) {
  unsigned value = blockIdx.x * blockDim.x + threadIdx.x;
  table[value] = bin_of(bins, value);
}

// The bins of all 16-bit values, for vote_plain.
int vote_table(bf_pixel_type type, const Bins &bins, uint32_t *table, cudaStream_t stream) {
  if (type == BF_PIXEL_U16)
    make_table<<<65536 / 256, 256, 0, stream>>>(bins, table);
  return vote_check();
}

template <typename Pixel>
static int launch(const Image &image, const Result &result, const uint32_t *table,
                  const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  unsigned copies = choice.copies;
  size_t words = 0;
  while (copies && (words = ((size_t)result.values * copies + 3) / 4 * 4) * sizeof(unsigned) + 64 >
                       (size_t)device.shared_limit)
    copies /= 2;
  size_t shared_bytes = copies ? words * sizeof(unsigned) : 0;
  int error = vote_allow(count_plain<Pixel>, shared_bytes);
  if (error)
    return error;
  count_plain<Pixel><<<device.sms * choice.blocks_per_sm, choice.threads, shared_bytes, stream>>>(
      image, table, copies, result);
  return vote_check();
}

int vote_plain(const Image &image, bf_pixel_type type, const Result &result, const uint32_t *table,
               const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  switch (type) {
  case BF_PIXEL_U8:
    return launch<uint8_t>(image, result, table, choice, device, stream);
  case BF_PIXEL_U16:
    return launch<uint16_t>(image, result, table, choice, device, stream);
  default:
    return launch<float>(image, result, table, choice, device, stream);
  }
}

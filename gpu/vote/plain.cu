// The histogram that takes every image and all bins: any channel, stride, alignment and mask,
// values of 8 and 16 bits and floats. Values of 8 bits are counted as they are and sorted into bins
// by the last block; 16-bit values find their bin in a table; floats compute it.
// Where not all counters fit into shared memory, neighbouring blocks share them out as in rows.cu.
#include "segments.cuh"
#include "tiles.cuh"

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

template <typename Pixel>
__global__ void count_plain(Image image, const uint32_t *table, RowShare share, Finish to) {
  extern __shared__ __align__(16) unsigned histogram[];
  const Result &result = to.result;
  unsigned *counts = histogram + threadIdx.x % share.copies;
  unsigned part = blockIdx.x & share.part_mask();
  clear_words(histogram, share.words);
  each_pixel<Pixel>(
      image,
      [&](uint64_t, uint64_t, Pixel value) {
        unsigned row = find_row<Pixel>(result, table, value);
        if (row < result.values && (row & share.part_mask()) == part)
          atomicAdd(&counts[(row >> share.part_bits) * share.copies], 1);
      },
      share.part_bits);
  __syncthreads();
  finish(histogram, share, to);
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
  RowShare share = share_rows(result.values, choice.copies, device);
  size_t shared_bytes = share.words * sizeof(unsigned);
  unsigned groups = (unsigned)device.sms * choice.blocks_per_sm >> share.part_bits;
  unsigned blocks = (groups ? groups : 1) << share.part_bits;
  Finish to = {result, choose_end(result, image.width * image.height, blocks)};
  int error = vote_allow(count_plain<Pixel>, shared_bytes);
  if (error)
    return error;
  count_plain<Pixel><<<blocks, choice.threads, shared_bytes, stream>>>(image, table, share, to);
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

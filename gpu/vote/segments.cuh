// Pixels of any image, one by one: blocks take segments of rows in turn, and threads of a block
// neighbouring pixels.
#ifndef BF_GPU_SEGMENTS_CUH
#define BF_GPU_SEGMENTS_CUH

#include "vote.cuh"

enum { SEGMENT_PIXELS = 4096, AT_ONCE = 4 };

// A value at any address.
template <typename Value> __device__ inline Value read_value(const unsigned char *from) {
  if ((uintptr_t)from % sizeof(Value) == 0)
    return *(const Value *)from;
  Value value;
  unsigned char *bytes = (unsigned char *)&value;
  for (unsigned i = 0; i < sizeof(Value); i++)
    bytes[i] = from[i];
  return value;
}

// Calls vote(x, y, value) for the pixels of one segment that the mask lets vote.
template <typename Pixel, typename Vote>
__device__ inline void each_of_segment(const Image &image, uint64_t y, uint64_t first, uint64_t end,
                                       Vote vote) {
  const unsigned char *row = image.data + y * image.stride_bytes + image.channel * sizeof(Pixel);
  const unsigned char *mask = image.mask ? image.mask + y * image.mask_stride_bytes : NULL;
  size_t step = image.channels * sizeof(Pixel);
  for (uint64_t x = first + threadIdx.x; x < end; x += AT_ONCE * blockDim.x) {
    Pixel values[AT_ONCE];
    bool votes[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      uint64_t at = x + (uint64_t)i * blockDim.x;
      votes[i] = at < end && (!mask || mask[at]);
      if (votes[i])
        values[i] = read_value<Pixel>(row + at * step);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      if (votes[i])
        vote(x + (uint64_t)i * blockDim.x, y, values[i]);
  }
}

// 2^part_bits neighbouring blocks take the same segments.
template <typename Pixel, typename Vote>
__device__ inline void each_pixel(const Image &image, Vote vote, unsigned part_bits = 0) {
  uint64_t per_row = (image.width + SEGMENT_PIXELS - 1) / SEGMENT_PIXELS;
  for (uint64_t segment = blockIdx.x >> part_bits; segment < per_row * image.height;
       segment += gridDim.x >> part_bits) {
    uint64_t first = segment % per_row * SEGMENT_PIXELS, end = first + SEGMENT_PIXELS;
    each_of_segment<Pixel>(image, segment / per_row, first, end < image.width ? end : image.width,
                           vote);
  }
}

#endif

// The histograms and Hough transforms of braak15, chapters 3 and 4, for simulated GPUs. The
// code is that of gpu/vote, with what the document fixes (bins, the width of pictures) known to the
// compiler as it is there: kernels become functions that the kernels here call.
#include <cuda_runtime.h>

#define BF_VOTE_KERNELS_ONLY
#pragma push_macro("__global__")
#undef __global__
#define __global__ __device__ __forceinline__
#include "../gpu/vote/hough_points.cu"
#include "../gpu/vote/published.cu"
#pragma pop_macro("__global__")

// ---- Histograms of 12-bit pixels ----

enum { PIXEL_BITS = 12 };

// Copies of a histogram of 2^BIN_BITS bins. sums and the ticket before them are zero.
template <int BIN_BITS>
__device__ static inline Job make_job(const unsigned short *pixels, unsigned count,
                                      bf_cuda_layout layout, unsigned copies, unsigned *tickets,
                                      unsigned *sums, unsigned *spread, unsigned *result) {
  Job job = {};
  job.data = pixels;
  job.pixels = count;
  job.scale = {1u << BIN_BITS, PIXEL_BITS - BIN_BITS, 0};
  job.layout = layout;
  job.copies = copies;
  job.spread = spread;
  job.result.sums = sums;
  job.result.ticket = tickets;
  job.result.values = 1u << BIN_BITS;
  job.result.values_are_bins = true;
  job.result.counts = result;
  return job;
}

#define HISTOGRAM(name, bin_bits, layout, body)                                                    \
  extern "C" __global__ void name(const unsigned short *pixels, unsigned count, unsigned copies,   \
                                  unsigned *tickets, unsigned *sums, unsigned *spread,             \
                                  unsigned *result) {                                              \
    body(make_job<bin_bits>(pixels, count, layout, copies, tickets, sums, spread, result));        \
  }
#define HISTOGRAM_LAYOUTS(name, body)                                                              \
  HISTOGRAM(name##_bin_major, 8, BF_CUDA_BIN_BY_BIN, body)                                         \
  HISTOGRAM(name##_copy_major, 8, BF_CUDA_COPY_BY_COPY, body)                                      \
  HISTOGRAM(name##_padded, 8, BF_CUDA_PADDED, body)

HISTOGRAM_LAYOUTS(global, count_global<uint16_t>)
HISTOGRAM_LAYOUTS(shared, count_shared<uint16_t>)
HISTOGRAM_LAYOUTS(warp, (count_warp<uint16_t, false, false>))
HISTOGRAM(thread, 6, BF_CUDA_BIN_BY_BIN, (count_own<uint16_t, uint32_t, true>))

// ---- Hough transforms ----

enum { WIDTH = 1536, MOST_ANGLES = 120 };

__device__ static inline Hough make_hough(const unsigned char *edges, unsigned height,
                                          const Angle *angle, unsigned angles, unsigned rhos,
                                          unsigned rho_zero, unsigned *votes) {
  Hough hough = {};
  hough.edges.data = edges;
  hough.edges.stride_bytes = hough.edges.width = WIDTH;
  hough.edges.height = height;
  hough.angle = angle;
  hough.angles = angles;
  hough.rhos = rhos;
  hough.rho_zero = rho_zero;
  hough.votes = votes;
  return hough;
}

#define HOUGH_PARAMETERS                                                                           \
  const unsigned char *edges, unsigned height, const Angle *angle, unsigned angles, unsigned rhos, \
      unsigned rho_zero, unsigned *votes
#define HOUGH make_hough(edges, height, angle, angles, rhos, rho_zero, votes)

// Copies the angles to shared memory, where global voting reads them.
__device__ static inline const Angle *share_angles(const Angle *angle, unsigned angles) {
  __shared__ Angle shared[MOST_ANGLES];
  for (unsigned i = threadIdx.x; i < angles; i += blockDim.x)
    shared[i] = angle[i];
  __syncthreads();
  return shared;
}

#define HOUGH_LAYOUT(layout_name, layout)                                                          \
  extern "C" __global__ void hough_global_##layout_name(HOUGH_PARAMETERS, unsigned copies,         \
                                                        unsigned *spread) {                        \
    angle = share_angles(angle, angles);                                                           \
    vote_global(HOUGH, layout, copies, spread);                                                    \
  }                                                                                                \
  extern "C" __global__ void hough_add_##layout_name(HOUGH_PARAMETERS, unsigned copies,            \
                                                     const unsigned *spread) {                     \
    add_spread(HOUGH, layout, copies, spread);                                                     \
  }                                                                                                \
  extern "C" __global__ void hough_lines_##layout_name(HOUGH_PARAMETERS, unsigned copies,          \
                                                       unsigned *count, unsigned *place) {         \
    vote_lines<1, false>(HOUGH, {count, place, NULL}, {layout, copies, rhos}, 1);                  \
  }

HOUGH_LAYOUT(bin_major, BF_CUDA_BIN_BY_BIN)
HOUGH_LAYOUT(copy_major, BF_CUDA_COPY_BY_COPY)
HOUGH_LAYOUT(padded, BF_CUDA_PADDED)

extern "C" __global__ void hough_collect(HOUGH_PARAMETERS, unsigned *count, unsigned *place) {
  collect(HOUGH, {count, place, NULL});
}

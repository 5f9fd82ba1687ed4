// Votes of edge points for lines in polar form, rho = x cos(theta) + y sin(theta). A block fills
// the line of the Hough space that belongs to one angle, in 8 copies in shared memory; copies lie
// one after the other (major), with a spare word between (padded), or bin by bin (binmajor).
enum { COPIES = 8, WIDTH = 256, BINS = 576 };
enum Layout { MAJOR, PADDED, BINMAJOR };

template <Layout LAYOUT> __device__ unsigned place(unsigned bin, unsigned copy) {
  if (LAYOUT == MAJOR)
    return bin + BINS * copy;
  if (LAYOUT == PADDED)
    return bin + (BINS + 1) * copy;
  return bin * COPIES + copy;
}

// points holds x in the low and y in the high 16 bits; cosines and sines have one entry per angle.
// rho lies in [-WIDTH, BINS - WIDTH).
template <Layout LAYOUT>
__device__ void vote(const unsigned *points, unsigned point_count, const float *cosines,
                     const float *sines, unsigned *space) {
  const unsigned words = LAYOUT == PADDED ? (BINS + 1) * COPIES : BINS * COPIES;
  __shared__ unsigned votes[words];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
    votes[i] = 0;
  __syncthreads();

  float cosine = cosines[blockIdx.x], sine = sines[blockIdx.x];
  unsigned copy = threadIdx.x % COPIES;
  for (unsigned i = threadIdx.x; i < point_count; i += blockDim.x) {
    float x = points[i] & 0xffff, y = points[i] >> 16;
    int rho = (int)floorf(fmaf(x, cosine, y * sine));
    atomicAdd(&votes[place<LAYOUT>(rho + WIDTH, copy)], 1);
  }
  __syncthreads();

  for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
    unsigned sum = 0;
    for (unsigned i = 0; i < COPIES; i++)
      sum += votes[place<LAYOUT>(bin, LAYOUT == BINMAJOR ? (i + threadIdx.x / 4) % COPIES : i)];
    space[blockIdx.x * BINS + bin] = sum;
  }
}

extern "C" __global__ void hough_major(const unsigned *points, unsigned point_count,
                                       const float *cosines, const float *sines, unsigned *space) {
  vote<MAJOR>(points, point_count, cosines, sines, space);
}

extern "C" __global__ void hough_padded(const unsigned *points, unsigned point_count,
                                        const float *cosines, const float *sines, unsigned *space) {
  vote<PADDED>(points, point_count, cosines, sines, space);
}

extern "C" __global__ void hough_binmajor(const unsigned *points, unsigned point_count,
                                          const float *cosines, const float *sines,
                                          unsigned *space) {
  vote<BINMAJOR>(points, point_count, cosines, sines, space);
}

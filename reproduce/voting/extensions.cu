// Histograms of 256 bins with one for every warp, as braak15, section 3.5, describes those of its
// Fig. 3.8: lanes of a warp read pixels that are `stride` apart, 1 being coalesced, and count them
// by tags in software or by atomics of the hardware. A kernel of its own rearranges pixels.

enum { BINS = 256, WARP = 32, TAG_SHIFT = 27, PARTS = 32, WORDS = 32 };

static __device__ const unsigned COUNT_MASK = (1u << TAG_SHIFT) - 1;

// A lane writes the new count with its number above it, and again where another lane was the last.
struct by_tags {
  unsigned tag;
  __device__ by_tags() : tag(threadIdx.x % WARP << TAG_SHIFT) {}
  __device__ void operator()(unsigned *bin) const {
    volatile unsigned *place = bin;
    unsigned written;
    do {
      written = tag | ((*place & COUNT_MASK) + 1);
      *place = written;
    } while (*place != written);
  }
};

struct by_atomics {
  __device__ void operator()(unsigned *bin) const { atomicAdd(bin, 1u); }
};

// Every warp takes pieces of `stride` pixels for each lane, one after the other; count is a
// multiple of stride.
template <class Add>
static __device__ void count_pixels(const unsigned char *pixels, unsigned count, unsigned stride,
                                    unsigned *sums) {
  extern __shared__ unsigned bins[];
  const Add add;
  const unsigned warps = blockDim.x / WARP, lane = threadIdx.x % WARP;
  unsigned *own = bins + threadIdx.x / WARP * BINS;
  for (unsigned i = threadIdx.x; i < warps * BINS; i += blockDim.x)
    bins[i] = 0;
  __syncthreads();
  const unsigned piece = WARP * stride, step = gridDim.x * warps * piece;
  unsigned first = (blockIdx.x * warps + threadIdx.x / WARP) * piece + lane * stride;
  if (stride == 1)
    for (; first < count; first += step)
      add(&own[pixels[first]]);
  else
    for (; first < count; first += step)
      for (unsigned i = first; i < first + stride; i++)
        add(&own[pixels[i]]);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < BINS; i += blockDim.x) {
    unsigned sum = 0;
    for (unsigned warp = 0; warp < warps; warp++)
      sum += bins[warp * BINS + i] & COUNT_MASK;
    atomicAdd(&sums[i], sum);
  }
}

extern "C" __global__ void count_by_tags(const unsigned char *pixels, unsigned count,
                                         unsigned stride, unsigned *sums) {
  count_pixels<by_tags>(pixels, count, stride, sums);
}

extern "C" __global__ void count_by_atomics(const unsigned char *pixels, unsigned count,
                                            unsigned stride, unsigned *sums) {
  count_pixels<by_atomics>(pixels, count, stride, sums);
}

// Pixels side by side in the result come from 32 places of the picture, which are all equally far
// apart: a block moves 128 pixels of each, in words both times. count is a multiple of 4096.
extern "C" __global__ void rearrange(const unsigned *pixels, unsigned count, unsigned *result) {
  __shared__ unsigned char tile[4 * WORDS][PARTS + 4];
  const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
  const unsigned part_words = count / 4 / PARTS;
  for (unsigned part = threadIdx.x / WARP; part < PARTS; part += warps) {
    const unsigned word = pixels[part * part_words + blockIdx.x * WORDS + lane];
    for (unsigned i = 0; i < 4; i++)
      tile[4 * lane + i][part] = (unsigned char)(word >> 8 * i);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < WORDS * PARTS; i += blockDim.x)
    result[blockIdx.x * WORDS * PARTS + i] = *(const unsigned *)&tile[i / 8][i % 8 * 4];
}

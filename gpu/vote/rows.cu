// Fast histograms of floats, of 16-bit pixels in any even bins, and of more bins than shared memory
// has room for. A row of counters is computed for every pixel.
#include "tiles.cuh"

#include <math.h>

// Adding 1.5 * 2^23, rounding down, leaves the integer below a float of less than 2^22 in the low
// bits. Others, NaN among them, become numbers above all bins.
__device__ static inline float with_floor(float place) { return __fadd_rd(place, 12582912.0f); }
__device__ static inline unsigned floor_of(float sum) { return __float_as_uint(sum) - 0x4b400000; }

// The rows of pixels; bins.count and above: the pixel is not in a bin. ExactRows are for bins from
// 0 on with 2^n bins to the unit, n >= 0: the place of a value is exact in single precision.
struct ExactRows {
  float scale;
  __device__ unsigned operator()(float value) const { return floor_of(with_floor(value * scale)); }
};

// 16-bit values in bins of 2^n.
struct ShiftedRows {
  Scale scale;
  __device__ unsigned operator()(uint16_t value) const { return scaled_bin(scale, value); }
};

// The bin of a value whose place is so near to an edge between two bins that single precision
// cannot tell. The rest of place - edge has the sign of the exact one; if it is far below what
// rounding of the quotient can hide, no division is needed.
__device__ static unsigned near_bin(const Bins &bins, double value, float place) {
  if (!(value >= bins.low && value < bins.high))
    return bins.count;
  int edge = __float2int_rn(place);
  if (edge <= 0)
    return 0;
  if (edge >= (int)bins.count)
    return bins.count - 1;
  double range = bins.high - bins.low, scaled = __dmul_rn(value - bins.low, bins.count);
  double rest = fma(-(double)edge, range, scaled);
  if (rest >= 0)
    return (unsigned)edge;
  if (rest < edge * range * -0x1p-52)
    return (unsigned)edge - 1;
  return even_bin(bins, value);
}

// All even bins. The place of a value is off by less than bins.margin.
struct NearRows {
  Bins bins;
  float offset;
  __device__ unsigned operator()(float value) const {
    float place = fmaf(value, bins.scale_single, offset), sum = with_floor(place);
    float part = place - (sum - 12582912.0f);
    bool sure = fabsf(part - 0.5f) < 0.5f - bins.margin;
    return sure ? floor_of(sum) : near_bin(bins, value, place);
  }
};

// Where rows of this block are counted.
struct Counters {
  unsigned first, values, part; // first: a byte of shared memory
  RowShare share;
  __device__ void add(unsigned row) const {
    unsigned place = first + (row >> share.part_bits) * share.copies * 4;
    if (row < values && (row & share.part_mask()) == part)
      asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(place) : "memory");
  }
};

template <typename Pixel, typename Rows>
__device__ static inline void add_word(const Counters &counters, const Rows &rows, unsigned word) {
  if (sizeof(Pixel) == 2) {
    counters.add(rows((uint16_t)word));
    counters.add(rows((uint16_t)(word >> 16)));
  } else {
    counters.add(rows(__uint_as_float(word)));
  }
}

template <typename Pixel, typename Rows, int LOADS>
__global__ void __launch_bounds__(1024)
    count_rows(Image image, Rows rows, RowShare share, unsigned tiles_per_row, Finish to) {
  extern __shared__ __align__(16) unsigned histogram[];
  Counters counters = {(unsigned)__cvta_generic_to_shared(histogram) +
                           threadIdx.x % share.copies * 4,
                       to.result.values, blockIdx.x & share.part_mask(), share};
  each_tile<Pixel, LOADS>(
      image, tiles_per_row, blockIdx.x >> share.part_bits, gridDim.x >> share.part_bits,
      [&] { start_clear(histogram, share.words); },
      [&](const Row<Pixel> &row) {
        for (unsigned i = threadIdx.x; i < row.ends(); i += blockDim.x)
          counters.add(rows(row.end(i)));
      },
      [&](const uint4(&vectors)[LOADS], int count) {
#pragma unroll
        for (int i = 0; i < LOADS; i++)
          if (i < count) {
            add_word<Pixel>(counters, rows, vectors[i].x);
            add_word<Pixel>(counters, rows, vectors[i].y);
            add_word<Pixel>(counters, rows, vectors[i].z);
            add_word<Pixel>(counters, rows, vectors[i].w);
          }
      });
  finish(histogram, share, to);
}

// ---- The host's side ----

template <typename Pixel, int LOADS, typename Rows>
static int launch(const Image &image, const Rows &rows, const Result &result,
                  const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  RowShare share = share_rows(result.values, choice.copies, device);
  Grid grid = make_grid(image, sizeof(Pixel), share.part_mask() + 1, choice, device);
  Finish to = {result, choose_end(result, image.width * image.height, grid.blocks)};
  return launch_tiles(count_rows<Pixel, Rows, LOADS>, grid.blocks, choice.threads,
                      share.words * sizeof(unsigned), device, stream, image, rows, share,
                      grid.tiles_per_row, to);
}

template <typename Pixel, typename Rows>
static int launch_loads(const Image &image, const Rows &rows, const Result &result,
                        const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  switch (choice.loads) {
  case 1:
    return launch<Pixel, 1>(image, rows, result, choice, device, stream);
  case 2:
    return launch<Pixel, 2>(image, rows, result, choice, device, stream);
  default:
    return launch<Pixel, 4>(image, rows, result, choice, device, stream);
  }
}

// Bins from 0 on, with 2^n to the unit; scale is that many.
static bool exact_bins(const Bins &bins, float *scale) {
  double per_unit = bins.count / (bins.high - bins.low);
  int exponent;
  *scale = (float)per_unit;
  return bins.low == 0 && per_unit >= 1 && per_unit < 1e30 && frexp(per_unit, &exponent) == 0.5 &&
         bins.count == per_unit * bins.high;
}

int vote_rows(const Image &image, bf_pixel_type type, const Scale *scale, const Result &result,
              const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  float per_unit;
  const Bins &bins = result.bins;
  if (type == BF_PIXEL_U16 && scale)
    return launch_loads<uint16_t>(image, ShiftedRows{*scale}, result, choice, device, stream);
  if (type == BF_PIXEL_F32 && exact_bins(bins, &per_unit))
    return launch_loads<float>(image, ExactRows{per_unit}, result, choice, device, stream);
  NearRows near = {bins, (float)(-bins.low * bins.count / (bins.high - bins.low))};
  return type == BF_PIXEL_U16 ? launch_loads<uint16_t>(image, near, result, choice, device, stream)
                              : launch_loads<float>(image, near, result, choice, device, stream);
}

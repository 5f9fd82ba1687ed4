// The fast histogram: 8- and 16-bit pixels, read 16 bytes at a time, several reads in flight,
// counted with atomics in shared memory. Copies of the histogram lie bin by bin, and lane l of a
// warp uses copy l mod `copies`: with 32 copies every lane has a bank of its own, whatever the
// data. The place of a pixel's counter is cut out of the 4 or 2 pixels of a word with one rotation
// and one mask.
#include "vote.cuh"

// The counter of the pixel in part p of a word (its low bit first) is at byte
// (rotate_left(word, turn - p * bits) & mask) | 4 * copy.
struct Cut {
  unsigned turn, mask, clamp_pair;
};

__device__ static inline void count_word(unsigned counts, const Cut &cut, unsigned word,
                                         bool wide) {
  if (wide && cut.clamp_pair)
    word = __vminu2(word, cut.clamp_pair);
#pragma unroll
  for (int part = 0; part < 4; part++) {
    if (wide && part % 2)
      continue;
    unsigned turned = __funnelshift_l(word, word, cut.turn - part * 8);
    unsigned place = (turned & cut.mask) + counts;
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(place) : "memory");
  }
}

// Vectors of a tile: consecutive threads take consecutive ones, `LOADS` times. Which are there is
// known from the position alone.
template <typename Pixel> struct Row {
  const Pixel *pixels;
  uint64_t head, vectors, width;
  __device__ Row(const Image &image, uint64_t number) {
    pixels = (const Pixel *)(image.data + number * image.stride_bytes);
    width = image.width;
    head = (-(uintptr_t)pixels % VECTOR_BYTES) / sizeof(Pixel);
    head = head < width ? head : width;
    vectors = (width - head) * sizeof(Pixel) / VECTOR_BYTES;
  }
};

// Reads the vectors of this thread in a tile; those past the end of the row stay unread. Returns
// how many were read.
template <typename Pixel, int LOADS>
__device__ static inline int read_tile(const Row<Pixel> &row, uint64_t tile,
                                       uint4 (&vectors)[LOADS]) {
  const uint4 *from = (const uint4 *)(row.pixels + row.head);
  uint64_t first = tile * (LOADS * blockDim.x) + threadIdx.x;
  int count = 0;
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    if (first + i * blockDim.x < row.vectors) {
      vectors[i] = __ldcs(from + first + i * blockDim.x);
      count++;
    }
  return count;
}

// Pixels of a row before and after its vectors.
template <typename Pixel>
__device__ static inline void count_ends(unsigned counts, const Cut &cut, const Row<Pixel> &row) {
  const bool wide = sizeof(Pixel) == 2;
  uint64_t tail = row.head + row.vectors * (VECTOR_BYTES / sizeof(Pixel));
  uint64_t ends = row.head + (row.width - tail);
  for (uint64_t i = threadIdx.x; i < ends; i += blockDim.x) {
    unsigned value = row.pixels[i < row.head ? i : tail + (i - row.head)];
    if (wide && cut.clamp_pair)
      value = min(value, cut.clamp_pair & 0xffff);
    unsigned place = (__funnelshift_l(value, value, cut.turn) & cut.mask) + counts;
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(place) : "memory");
  }
}

// Tile number `index` of row number `row`.
struct Position {
  uint64_t row, index, per_row;
  __device__ void advance(uint64_t tiles) {
    index += tiles;
    if (index >= per_row) {
      row += index / per_row;
      index %= per_row;
    }
  }
};

template <int LOADS>
__device__ static inline void count_vectors(unsigned counts, const Cut &cut, bool wide,
                                            const uint4 (&vectors)[LOADS], int count) {
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    if (i < count) {
      count_word(counts, cut, vectors[i].x, wide);
      count_word(counts, cut, vectors[i].y, wide);
      count_word(counts, cut, vectors[i].z, wide);
      count_word(counts, cut, vectors[i].w, wide);
    }
}

// Tiles of all rows, in turn by all blocks: the next one is read while this one is counted.
template <typename Pixel, int LOADS>
__global__ void __launch_bounds__(1024, LOADS <= 2 ? 2 : 1)
    count_packed(Image image, Cut cut, unsigned copies, unsigned words, uint64_t tiles_per_row,
                 Result result) {
  extern __shared__ __align__(16) unsigned histogram[];
  const bool wide = sizeof(Pixel) == 2;
  unsigned counts = (unsigned)__cvta_generic_to_shared(histogram + threadIdx.x % copies);
  Position at = {0, 0, tiles_per_row};
  at.advance(blockIdx.x);
  uint4 next[LOADS];
  int next_count = 0;
  if (at.row < image.height)
    next_count = read_tile(Row<Pixel>(image, at.row), at.index, next);
  clear_words(histogram, words);
  while (at.row < image.height) {
    uint4 now[LOADS];
    int count = next_count;
#pragma unroll
    for (int i = 0; i < LOADS; i++)
      now[i] = next[i];
    if (at.index == 0)
      count_ends(counts, cut, Row<Pixel>(image, at.row));
    at.advance(gridDim.x);
    if (at.row < image.height)
      next_count = read_tile(Row<Pixel>(image, at.row), at.index, next);
    count_vectors(counts, cut, wide, now, count);
  }
  __syncthreads();
  merge_copies(histogram, copies, result);
  publish(result);
}

// How counters are cut out of words. There is a row of counters more than bins where values can be
// outside of them.
static Cut make_cut(const Scale &scale, unsigned copies, unsigned *words) {
  unsigned place_bits = 2, row_bits = 0, rows = scale.bins + (scale.clamp ? 1 : 0);
  for (unsigned c = copies; c > 1; c /= 2)
    place_bits++;
  while ((1u << row_bits) < rows)
    row_bits++;
  *words = (rows * copies + 3) / 4 * 4;
  return {place_bits - scale.shift, ((1u << row_bits) - 1) << place_bits,
          scale.clamp | scale.clamp << 16};
}

template <typename Pixel, int LOADS>
static int launch(const Image &image, const Scale &scale, const Result &result,
                  const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  unsigned words;
  Cut cut = make_cut(scale, choice.copies, &words);
  size_t shared_bytes = words * sizeof(unsigned);
  uint64_t tile_bytes = (uint64_t)choice.threads * LOADS * VECTOR_BYTES;
  uint64_t tiles_per_row = (image.width * sizeof(Pixel) + tile_bytes - 1) / tile_bytes;
  if (tiles_per_row == 0)
    tiles_per_row = 1;
  uint64_t blocks = (uint64_t)device.sms * choice.blocks_per_sm;
  if (blocks > image.height * tiles_per_row)
    blocks = image.height * tiles_per_row;
  if (shared_bytes > (size_t)device.shared_limit)
    return BF_UNSUPPORTED;
  int error = vote_allow(count_packed<Pixel, LOADS>, shared_bytes);
  if (error)
    return error;
  count_packed<Pixel, LOADS>
      <<<blocks ? (unsigned)blocks : 1, choice.threads, shared_bytes, stream>>>(
          image, cut, choice.copies, words, tiles_per_row, result);
  return vote_check();
}

template <typename Pixel>
static int launch_loads(const Image &image, const Scale &scale, const Result &result,
                        const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  switch (choice.loads) {
  case 1:
    return launch<Pixel, 1>(image, scale, result, choice, device, stream);
  case 2:
    return launch<Pixel, 2>(image, scale, result, choice, device, stream);
  default:
    return launch<Pixel, 4>(image, scale, result, choice, device, stream);
  }
}

int vote_packed(const Image &image, bf_pixel_type type, const Scale &scale, const Result &result,
                const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  return type == BF_PIXEL_U8 ? launch_loads<uint8_t>(image, scale, result, choice, device, stream)
                             : launch_loads<uint16_t>(image, scale, result, choice, device, stream);
}

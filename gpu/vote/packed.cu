// The fast histogram: 8- and 16-bit pixels, read 16 bytes at a time, several reads in flight,
// counted with atomics in shared memory. Copies of the histogram lie bin by bin, and lane l of a
// warp uses copy l mod `copies`: with 32 copies every lane has a bank of its own, whatever the
// data. A pixel costs two instructions, of different units where it has 8 bits, and an atomic of
// one wavefront.
#include "vote.cuh"

// Where a thread counts, and how a pixel's counter is found.
// 8 bits: at byte value * step of its copy.
// 16 bits: the pixel in the low or high half (16 bits further) of a word is at byte
// (rotate_left(word, turn - half) & mask) | copy_bytes of the histogram. Values are clamped before;
// the counter of the clamp is not used.
struct Cut {
  unsigned step, turn, mask, clamp_pair;
};
struct Own {
  unsigned histogram, copy_bytes;
};

__device__ static inline void count_at(unsigned place) {
  asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(place) : "memory");
}

__device__ static inline void count_byte(Own own, const Cut &cut, unsigned value) {
  count_at(value * cut.step + (own.histogram + own.copy_bytes));
}

// Mask and copy are one operation; the histogram's address becomes part of the access.
__device__ static inline void count_half(Own own, const Cut &cut, unsigned word, unsigned half) {
  unsigned turned = __funnelshift_l(word, word, cut.turn - half), place;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;"
      : "=r"(place)
      : "r"(turned), "r"(cut.mask), "r"(own.copy_bytes));
  count_at(own.histogram + place);
}

// The four or, if wide, two pixels of a word.
__device__ static inline void count_word(Own own, const Cut &cut, unsigned word, bool wide) {
  if (wide) {
    word = __vminu2(word, cut.clamp_pair);
    count_half(own, cut, word, 0);
    count_half(own, cut, word, 16);
    return;
  }
#pragma unroll
  for (unsigned part = 0; part < 4; part++)
    count_byte(own, cut, __byte_perm(word, 0, 0x4440 + part));
}

// A row of the image: pixels before its first vector of 16 bytes, and vectors. Images have fewer
// than 2^32 pixels here.
template <typename Pixel> struct Row {
  const Pixel *pixels;
  unsigned head, vectors, width;
  __device__ Row(const Image &image, unsigned number) {
    pixels = (const Pixel *)(image.data + number * image.stride_bytes);
    width = (unsigned)image.width;
    head = min((unsigned)(-(uintptr_t)pixels % VECTOR_BYTES / sizeof(Pixel)), width);
    vectors = (width - head) / (VECTOR_BYTES / sizeof(Pixel));
  }
};

// Reads the vectors of this thread in a tile: consecutive threads take consecutive ones, LOADS
// times. Those past the end of the row stay unread. Returns how many were read.
template <typename Pixel, int LOADS>
__device__ static inline int read_tile(const Row<Pixel> &row, unsigned tile,
                                       uint4 (&vectors)[LOADS]) {
  const uint4 *from = (const uint4 *)(row.pixels + row.head);
  unsigned first = tile * (LOADS * blockDim.x) + threadIdx.x;
  int count = 0;
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    if (first + i * blockDim.x < row.vectors) {
      vectors[i] = __ldg(from + first + i * blockDim.x);
      count++;
    }
  return count;
}

// Pixels of a row before and after its vectors.
template <typename Pixel>
__device__ static inline void count_ends(Own own, const Cut &cut, const Row<Pixel> &row) {
  unsigned tail = row.head + row.vectors * (unsigned)(VECTOR_BYTES / sizeof(Pixel));
  unsigned ends = row.head + (row.width - tail);
  for (unsigned i = threadIdx.x; i < ends; i += blockDim.x) {
    unsigned value = row.pixels[i < row.head ? i : tail + (i - row.head)];
    if (sizeof(Pixel) == 2)
      count_half(own, cut, min(value, cut.clamp_pair & 0xffff), 0);
    else
      count_byte(own, cut, value);
  }
}

// Tile number `index` of row number `row`.
struct Position {
  unsigned row, index, per_row;
  __device__ void advance(unsigned tiles) {
    index += tiles;
    if (index >= per_row) {
      row += index / per_row;
      index %= per_row;
    }
  }
};

template <int LOADS>
__device__ static inline void count_vectors(Own own, const Cut &cut, bool wide,
                                            const uint4 (&vectors)[LOADS], int count) {
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    if (i < count) {
      count_word(own, cut, vectors[i].x, wide);
      count_word(own, cut, vectors[i].y, wide);
      count_word(own, cut, vectors[i].z, wide);
      count_word(own, cut, vectors[i].w, wide);
    }
}

// Tiles of all rows, in turn by all blocks: the next one is read while this one is counted.
template <typename Pixel, int LOADS>
__global__ void __launch_bounds__(1024, LOADS <= 2 ? 2 : 1)
    count_packed(Image image, Cut cut, unsigned copies, unsigned words, unsigned tiles_per_row,
                 Result result) {
  extern __shared__ __align__(16) unsigned histogram[];
  const bool wide = sizeof(Pixel) == 2;
  Own own = {(unsigned)__cvta_generic_to_shared(histogram), threadIdx.x % copies * 4};
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
      count_ends(own, cut, Row<Pixel>(image, at.row));
    at.advance(gridDim.x);
    if (at.row < image.height)
      next_count = read_tile(Row<Pixel>(image, at.row), at.index, next);
    count_vectors(own, cut, wide, now, count);
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
  return {copies * (unsigned)sizeof(unsigned), place_bits - scale.shift,
          ((1u << row_bits) - 1) << place_bits,
          scale.clamp ? scale.clamp | scale.clamp << 16 : ~0u};
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
          image, cut, choice.copies, words, (unsigned)tiles_per_row, result);
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

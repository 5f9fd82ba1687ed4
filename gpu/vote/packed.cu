// The fast histogram: 8- and 16-bit pixels, read 16 bytes at a time, several reads in flight,
// counted with atomics in shared memory. Copies of the histogram lie bin by bin, and lane l of a
// warp uses copy l mod `copies`: with 32 copies every lane has a bank of its own, whatever the
// data. A pixel costs two instructions, of different units where it has 8 bits, and an atomic of
// one wavefront.
#include "tiles.cuh"

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

// Pixels of a row before and after its vectors.
template <typename Pixel>
__device__ static inline void count_ends(Own own, const Cut &cut, const Row<Pixel> &row) {
  for (unsigned i = threadIdx.x; i < row.ends(); i += blockDim.x)
    if (sizeof(Pixel) == 2)
      count_half(own, cut, min((unsigned)row.end(i), cut.clamp_pair & 0xffff), 0);
    else
      count_byte(own, cut, row.end(i));
}

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

// Tiles of all rows, in turn by all blocks.
template <typename Pixel, int LOADS>
__global__ void __launch_bounds__(1024)
    count_packed(Image image, Cut cut, unsigned copies, unsigned words, unsigned tiles_per_row,
                 Finish to) {
  extern __shared__ __align__(16) unsigned histogram[];
  Own own = {(unsigned)__cvta_generic_to_shared(histogram), threadIdx.x % copies * 4};
  each_tile<Pixel, LOADS>(
      image, tiles_per_row, blockIdx.x, gridDim.x, [&] { start_clear(histogram, words); },
      [&](const Row<Pixel> &row) { count_ends(own, cut, row); },
      [&](const uint4(&vectors)[LOADS], int count) {
        count_vectors(own, cut, sizeof(Pixel) == 2, vectors, count);
      });
  finish(histogram, RowShare{copies, 0, words}, to);
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
  Grid grid = make_grid(image, sizeof(Pixel), 1, choice, device);
  Finish to = {result, choose_end(result, image.width * image.height, grid.blocks)};
  return launch_tiles(count_packed<Pixel, LOADS>, grid.blocks, choice.threads,
                      words * sizeof(unsigned), device, stream, image, cut, choice.copies, words,
                      grid.tiles_per_row, to);
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

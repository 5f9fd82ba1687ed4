/* Inside room vote: the loops that everything waits for. kernel.c is compiled once per instruction
 * set; bf_vote_best picks at run time. Loops work on chunks that stay in the first cache: pixels
 * are gathered from channels, turned into numbers of bins, and counted. */
#ifndef BF_VOTE_KERNEL_H
#define BF_VOTE_KERNEL_H

#include "vote/vote.h"

/* Pixels per chunk; and neighbouring counters per bin. A processor cannot add to a counter before
 * its last addition is through, some 5 cycles: with eight counters side by side, taken in turns,
 * equal neighbours do not wait for each other and still share a cache line. */
enum { BF_CHUNK = 1024, BF_REPLICAS = 8, BF_LINE_REPLICAS = 4 };

/* Counters of pairs of bytes: one addition per two pixels. They have 8 bits, so that 65536 of them
 * take 64 KiB, of which the nearest cache holds much; one that wraps around adds 256 to its two
 * bytes in a table. Where pairs come again soon, each has four counters side by side, taken in
 * turns. A look at BF_LOOK bytes tells. */
enum { BF_PAIRS = 65536, BF_PAIR_REPLICAS = 4, BF_LOOK = 64 };

/* Counters of single bytes, for images too small for pairs: of every two neighbours one is counted
 * in the first half and one in the second, each in four counters side by side. They have 16 bits,
 * of which eight bytes use up one at most: they are emptied after BF_BYTES_COUNTED. */
enum { BF_STRIP = 4096, BF_BYTE_COUNTERS = 2 * 256 * 4, BF_BYTES_COUNTED = 127 * BF_STRIP };

/* A chunk of pixels on its way. Dropped pixels have bin 0 and are not kept. */
typedef struct bf_chunk {
  size_t count;
  _Alignas(64) uint8_t bytes[BF_CHUNK];
  _Alignas(64) uint16_t words[BF_CHUNK];
  _Alignas(64) float reals[BF_CHUNK];
  _Alignas(64) double weights[BF_CHUNK];
  _Alignas(64) uint16_t bin[BF_CHUNK];
  _Alignas(64) uint16_t keep[BF_CHUNK]; /* 0xffff or 0 */
} bf_chunk;

/* How 16-bit values become bins: those in first..last are kept; value >> shift is their bin or,
 * where there is a table, table[value]. */
typedef struct bf_word_bins {
  uint16_t first, last;
  unsigned shift;
  const uint16_t *table; /* NULL: shift */
} bf_word_bins;

/* How floats become bins. Even: from low to below high, as bf_bins_find does it; where high - low
 * is a power of two, inverse is one over it, and as good as a division; else 0. By edges: a guide
 * of equal cells from low to high, cell number (value - low) * scale, says how many edges lie in
 * cells before; among those in the cell, `steps` halvings find the last that is not above the
 * value. edge has 2^steps infinite entries past the last. */
typedef struct bf_real_bins {
  size_t count;
  double low, high, scale, inverse;
  const float *edge; /* NULL: even bins */
  unsigned steps;
  uint32_t cells;
  const uint32_t *before; /* of each cell */
} bf_real_bins;

/* The cell of a value; those outside low to high, and NaN, go to the outermost. */
static inline uint32_t bf_cell(const bf_real_bins *bins, double value) {
  double inside = value > bins->low ? value : bins->low;
  inside = inside < bins->high ? inside : bins->high;
  uint32_t cell = (uint32_t)(int32_t)((inside - bins->low) * bins->scale);
  return cell < bins->cells ? cell : bins->cells - 1;
}

typedef struct bf_vote_kernel {
  const char *name;
  /* One channel of count pixels, `data` pointing to its first. */
  void (*pick_bytes)(bf_chunk *chunk, const uint8_t *data, unsigned channels);
  void (*pick_words)(bf_chunk *chunk, const uint8_t *data, unsigned channels);
  void (*pick_reals)(bf_chunk *chunk, const uint8_t *data, unsigned channels);
  /* bin and keep from words or floats at any alignment; how many are dropped. */
  size_t (*bin_words)(bf_chunk *chunk, const uint8_t *words, const bf_word_bins *bins);
  size_t (*bin_reals)(bf_chunk *chunk, const uint8_t *reals, const bf_real_bins *bins);
  /* bytes in place of bin and keep, for at most 256 bins without a table. */
  size_t (*bin_narrowly)(bf_chunk *chunk, const uint8_t *words, const bf_word_bins *bins);
  /* Bins below 256 as bytes. */
  void (*narrow_bins)(bf_chunk *chunk);
  /* Drops masked pixels; how many are dropped now. */
  size_t (*mask_bins)(bf_chunk *chunk, const uint8_t *mask);
  /* The weights of kept pixels, 0 for others. */
  void (*pick_weights)(bf_chunk *chunk, const uint8_t *data, bf_weight_type type);
  /* Sets masked bytes to 0; how many. */
  size_t (*mask_bytes)(bf_chunk *chunk, const uint8_t *mask);
  /* Adds up to BF_STRIP bytes to counters of bytes, runs and rests to table[value * BF_REPLICAS];
   * adds those counters to table and empties them. */
  void (*count_bytes)(const uint8_t *bytes, size_t count, uint16_t *counters, uint32_t *table);
  void (*empty_bytes)(uint16_t *counters, uint32_t *table);
  /* How many of the first BF_LOOK bytes' 32 pairs equal one of the four after them, which must be
   * there too. */
  unsigned (*find_repeats)(const uint8_t *bytes);
  /* Adds bytes to counters of pairs, runs and rests to table: one counter per pair, or four. Adds
   * the counters to table and empties them. */
  void (*count_pairs)(const uint8_t *bytes, size_t count, uint8_t *pairs, uint32_t *table);
  void (*count_repeating)(const uint8_t *bytes, size_t count, uint8_t *pairs, uint32_t *table);
  void (*empty_pairs)(uint8_t *pairs, uint32_t *table);
  void (*empty_repeating)(uint8_t *pairs, uint32_t *table);
  /* Adds to table[bin * BF_REPLICAS + replica]. */
  void (*count_bins)(const bf_chunk *chunk, uint32_t *table);
  void (*sum_bins)(const bf_chunk *chunk, double *table);
  /* The same with one counter per bin, for many bins that seldom repeat. */
  void (*count_bins_once)(const bf_chunk *chunk, uint32_t *table);
  void (*sum_bins_once)(const bf_chunk *chunk, double *table);
  /* How many of 64 bins equal one of the four before. */
  unsigned (*repeats)(const bf_chunk *chunk);
  /* Votes of points at one angle: table[(r + shift) * BF_LINE_REPLICAS + replica]++, where r +
   * shift is at most 65535; and the same with weights. */
  void (*vote_line)(const uint16_t *x, const uint16_t *y, size_t count, bf_angle angle,
                    int32_t shift, uint16_t *table);
  void (*vote_weighted)(const uint16_t *x, const uint16_t *y, const uint8_t *weight, size_t count,
                        bf_angle angle, int32_t shift, uint32_t *table);
  /* One channel of a row as doubles, NaN as 0; whether any pixel is infinite. */
  bool (*load_row)(const uint8_t *data, bf_pixel_type type, unsigned channels, size_t width,
                   double *row);
  /* |gx| + |gy| of width pixels, 0 where a mask is 0; rows have one pixel more on either side. The
   * largest. */
  double (*find_gradient)(const double *above, const double *here, const double *below,
                          const uint8_t *mask, size_t width, double *gradient);
  /* Gradients times scale, rounded. */
  void (*scale_row)(const double *gradient, size_t width, double scale, uint8_t *edges);
} bf_vote_kernel;

extern const bf_vote_kernel bf_vote_plain;
#if defined(__x86_64__)
extern const bf_vote_kernel bf_vote_sse4, bf_vote_avx2, bf_vote_avx512;
#elif defined(__aarch64__)
extern const bf_vote_kernel bf_vote_neon;
#endif
/* All that this CPU can run, slowest first; NULL past the last. */
const bf_vote_kernel *bf_vote_available(unsigned index);
const bf_vote_kernel *bf_vote_best(void);

/* The histogram of a job with a given kernel, for the functions in the public header, tests and
 * benchmarks: adds to counts or sums. BF_NO_MEMORY at worst. */
int bf_histogram_count(const bf_vote_job *job, const bf_vote_kernel *kernel, uint64_t *counts,
                       bf_diagnostic *diagnostic);
int bf_histogram_sum(const bf_vote_job *job, const bf_vote_kernel *kernel, double *sums,
                     bf_diagnostic *diagnostic);
/* The votes of a space whose votes are zero. */
int bf_hough_count(const bf_pixels *edges, bool weighted, unsigned threads,
                   const bf_vote_kernel *kernel, const bf_hough_space *space,
                   bf_diagnostic *diagnostic);

/* bf_sobel with a given kernel. */
int bf_sobel_by(const bf_vote_kernel *kernel, const bf_pixels *image, unsigned channel,
                unsigned threads, uint8_t *edges, size_t stride_bytes, bf_diagnostic *diagnostic);

#endif

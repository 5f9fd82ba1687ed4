/* Driver of the cosine transforms of 16-bit integers. */
#include "kernels/corpus.h"

#include <math.h>

enum { FRACTION_BITS = 13 };

typedef struct short_variant {
  const char *kernel;
  bool is_inverse;
  bool is_sample; /* columns first, blocks of 32 x 32 pixels, and a wider picture */
} short_variant;

/* matrix[u][x] = c(u) cos((2 x + 1) u pi / 16) in units of 2^-13, rounded. */
static void fill_cosines(int matrix[8][8]) {
  for (int u = 0; u < 8; u++)
    for (int x = 0; x < 8; x++)
      matrix[u][x] = (int)lround((1 << FRACTION_BITS) * (u == 0 ? sqrt(0.125) : 0.5) *
                                 cos((2 * x + 1) * u * 3.14159265358979323846 / 16));
}

/* One-dimensional transform of eight numbers that lie step apart, in place: products with the
 * matrix, or the transposed one, rounded to integers. All sums are exact, so that the order in
 * which a kernel adds does not matter. */
static void transform(int16_t *values, size_t step, bool is_inverse, int matrix[8][8]) {
  int sums[8];
  for (int u = 0; u < 8; u++) {
    sums[u] = 1 << (FRACTION_BITS - 1);
    for (int x = 0; x < 8; x++)
      sums[u] += (is_inverse ? matrix[x][u] : matrix[u][x]) * values[(size_t)x * step];
  }
  for (int u = 0; u < 8; u++)
    values[(size_t)u * step] = (int16_t)(sums[u] >> FRACTION_BITS);
}

/* Transforms all rows of tiles, or all columns, in place. */
static void transform_image(int16_t *image, size_t width, size_t height, bool is_inverse,
                            bool by_columns) {
  int matrix[8][8];
  fill_cosines(matrix);
  for (size_t y = 0; y < height; y += by_columns ? 8 : 1)
    for (size_t x = 0; x < width; x += by_columns ? 1 : 8)
      transform(image + y * width + x, by_columns ? width : 1, is_inverse, matrix);
}

static int run_short(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                     bf_diagnostic *diagnostic) {
  const short_variant *variant = run->benchmark->variant;
  const uint32_t width = variant->is_sample ? 512 : 256;
  const uint32_t height = 256 * 256 / width * run->scale;
  const uint64_t elements = (uint64_t)width * height, bytes = elements * sizeof(int16_t);
  int16_t *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (uint64_t i = 0; i < elements; i++)
    reference[i] = input[i] = (int16_t)((int)(bf_corpus_next(&random) >> 24) - 128);
  transform_image(reference, width, height, variant->is_inverse, variant->is_sample);
  transform_image(reference, width, height, variant->is_inverse, !variant->is_sample);
  const bf_corpus_map map = {
      .kernel = variant->kernel,
      .grid = {width / 32, height / (variant->is_sample ? 32 : 16)},
      .block = {32, variant->is_sample ? 4 : 2},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
      .numbers = 1,
      .number = {width},
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_i16(result, reference, elements, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_dct8x8_short[] = {
    {
        .name = "dct8x8-short",
        .folder = "dct8x8_short",
        .summary = "cosine transform of 8 x 8 tiles of 16-bit integers",
        .variant = &(const short_variant){"dct8x8_short", false, false},
        .run = run_short,
    },
    {
        .name = "dct8x8-short-padded",
        .folder = "dct8x8_short",
        .summary = "the same in rows of 34 integers",
        .is_padded = true,
        .variant = &(const short_variant){"dct8x8_short_padded", false, false},
        .run = run_short,
    },
    {
        .name = "idct8x8-short",
        .folder = "dct8x8_short",
        .summary = "inverse cosine transform of 8 x 8 tiles of 16-bit integers",
        .variant = &(const short_variant){"idct8x8_short", true, false},
        .run = run_short,
    },
    {
        .name = "idct8x8-short-padded",
        .folder = "dct8x8_short",
        .summary = "the same in rows of 34 integers",
        .is_padded = true,
        .variant = &(const short_variant){"idct8x8_short_padded", true, false},
        .run = run_short,
    },
    {
        .name = "dct8x8-short-sample",
        .folder = "dct8x8_short",
        .summary = "cosine transform of 16-bit integers, both passes in the tile",
        .variant = &(const short_variant){"dct8x8_short_sample", false, true},
        .run = run_short,
    },
    {
        .name = "dct8x8-short-sample-padded",
        .folder = "dct8x8_short",
        .summary = "the same in rows of 34 integers",
        .is_padded = true,
        .variant = &(const short_variant){"dct8x8_short_sample_padded", false, true},
        .run = run_short,
    },
    {
        .name = "idct8x8-short-sample",
        .folder = "dct8x8_short",
        .summary = "inverse cosine transform of 16-bit integers, both passes in the tile",
        .variant = &(const short_variant){"idct8x8_short_sample", true, true},
        .run = run_short,
    },
    {
        .name = "idct8x8-short-sample-padded",
        .folder = "dct8x8_short",
        .summary = "the same in rows of 34 integers",
        .is_padded = true,
        .variant = &(const short_variant){"idct8x8_short_sample_padded", true, true},
        .run = run_short,
    },
    {0},
};

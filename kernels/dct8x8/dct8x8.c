/* Driver of the cosine transforms of floats. */
#include "kernels/corpus.h"

#include <math.h>

typedef struct dct_variant {
  const char *kernel;
  bool is_inverse;
  bool is_matrix; /* a thread per pixel, and the cosine matrix as a parameter */
  bool is_sample; /* a wider picture of as many pixels */
} dct_variant;

/* matrix[u][x] = c(u) cos((2 x + 1) u pi / 16), with c(0) = sqrt(1/8) and c(u) = 1/2. */
static void fill_cosines(double matrix[8][8]) {
  for (int u = 0; u < 8; u++)
    for (int x = 0; x < 8; x++)
      matrix[u][x] =
          (u == 0 ? sqrt(0.125) : 0.5) * cos((2 * x + 1) * u * 3.14159265358979323846 / 16);
}

/* One tile by the definition: matrix * tile * matrix', or with the transposed matrix. */
static void transform_tile(const float *input, float *output, uint32_t width, bool is_inverse,
                           double matrix[8][8]) {
  for (int v = 0; v < 8; v++)
    for (int u = 0; u < 8; u++) {
      double sum = 0;
      for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
          sum += (is_inverse ? matrix[y][v] * matrix[x][u] : matrix[v][y] * matrix[u][x]) *
                 (double)input[y * width + x];
      output[v * width + u] = (float)sum;
    }
}

/* The pixels lie between -1/2 and 1/2. In 16 additions with as many products, no intermediate
 * result is larger than 8 times that in each direction; most are far smaller. */
static const double ALLOWED_ERROR = 16 * 0x1p-24 * 8;

/* Runs the kernel that is given the cosine matrix. */
static int apply_matrix(const bf_device *device, const bf_corpus_map *map, double matrix[8][8],
                        bf_diagnostic *diagnostic) {
  float cosines[64];
  for (int i = 0; i < 64; i++)
    cosines[i] = (float)matrix[i / 8][i % 8];
  uint64_t from, to, cosines_at;
  BF_TRY(bf_corpus_upload(device, map->input, map->input_bytes, &from, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, map->result_bytes, &to, diagnostic));
  BF_TRY(bf_corpus_upload(device, cosines, sizeof cosines, &cosines_at, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, map->kernel, map->grid[0], map->grid[1], map->block[0],
                          map->block[1], diagnostic, &from, &to, &cosines_at, &map->number[0]));
  return device->read(device->context, to, map->result, map->result_bytes, diagnostic);
}

static int run_dct(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                   bf_diagnostic *diagnostic) {
  const dct_variant *variant = run->benchmark->variant;
  const uint32_t width = variant->is_sample ? 512 : 256;
  const uint32_t height = 256 * 256 / width * run->scale;
  const uint64_t elements = (uint64_t)width * height, bytes = elements * sizeof(float);
  float *input, *reference, *result;
  double matrix[8][8];
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, -0.5f, 0.5f, input, elements);
  fill_cosines(matrix);
  for (uint64_t y = 0; y < height; y += 8)
    for (uint64_t x = 0; x < width; x += 8)
      transform_tile(input + y * width + x, reference + y * width + x, width, variant->is_inverse,
                     matrix);
  const bf_corpus_map map = {
      .kernel = variant->kernel,
      .grid = {width / (variant->is_matrix ? 8 : 32), height / (variant->is_matrix ? 8 : 16)},
      .block = {variant->is_matrix ? 8 : 32, variant->is_matrix ? 8 : 2},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
      .numbers = 1,
      .number = {width},
  };
  BF_TRY(variant->is_matrix ? apply_matrix(run->device, &map, matrix, diagnostic)
                            : bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_f32(result, reference, elements, ALLOWED_ERROR, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_dct8x8[] = {
    {
        .name = "dct8x8",
        .folder = "dct8x8",
        .summary = "cosine transform of 8 x 8 tiles, a thread per row and column",
        .published_name = "dct8x8-1",
        .variant = &(const dct_variant){"dct8x8", false, false, false},
        .run = run_dct,
    },
    {
        .name = "dct8x8-padded",
        .folder = "dct8x8",
        .summary = "the same in rows of 33 words",
        .is_padded = true,
        .variant = &(const dct_variant){"dct8x8_padded", false, false, false},
        .run = run_dct,
    },
    {
        .name = "idct8x8",
        .folder = "dct8x8",
        .summary = "inverse cosine transform of 8 x 8 tiles, a thread per row and column",
        .published_name = "dct8x8-2",
        .difference = "the document does not say which two kernels it means; forward and inverse "
                      "have its parameters",
        .variant = &(const dct_variant){"idct8x8", true, false, false},
        .run = run_dct,
    },
    {
        .name = "idct8x8-padded",
        .folder = "dct8x8",
        .summary = "the same in rows of 33 words",
        .is_padded = true,
        .variant = &(const dct_variant){"idct8x8_padded", true, false, false},
        .run = run_dct,
    },
    {
        .name = "dct8x8-matrix",
        .folder = "dct8x8",
        .summary = "cosine transform of 8 x 8 tiles by matrix products, a thread per pixel",
        .variant = &(const dct_variant){"dct8x8_matrix", false, true, false},
        .run = run_dct,
    },
    {
        .name = "dct8x8-sample",
        .folder = "dct8x8",
        .summary = "cosine transform of 8 x 8 tiles, both passes in the tile",
        .variant = &(const dct_variant){"dct8x8_sample", false, false, true},
        .run = run_dct,
    },
    {
        .name = "dct8x8-sample-padded",
        .folder = "dct8x8",
        .summary = "the same in rows of 33 words",
        .is_padded = true,
        .variant = &(const dct_variant){"dct8x8_sample_padded", false, false, true},
        .run = run_dct,
    },
    {
        .name = "idct8x8-sample",
        .folder = "dct8x8",
        .summary = "inverse cosine transform of 8 x 8 tiles, both passes in the tile",
        .variant = &(const dct_variant){"idct8x8_sample", true, false, true},
        .run = run_dct,
    },
    {
        .name = "idct8x8-sample-padded",
        .folder = "dct8x8",
        .summary = "the same in rows of 33 words",
        .is_padded = true,
        .variant = &(const dct_variant){"idct8x8_sample_padded", true, false, true},
        .run = run_dct,
    },
    {0},
};

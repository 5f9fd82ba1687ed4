/* Driver of the transposes. */
#include "kernels/corpus.h"

/* One kernel: its tile, and the rows of threads that move it. */
typedef struct transpose_variant {
  const char *kernel;
  uint32_t tile, rows;
} transpose_variant;

/* Makes a matrix and its transpose. */
static void prepare(uint32_t width, uint32_t height, unsigned seed, float *input,
                    float *reference) {
  bf_corpus_random random = bf_corpus_seed(seed);
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x++)
      reference[x * height + y] = input[y * width + x] = bf_corpus_uniform(&random);
}

/* Transposes a matrix that is not square, so that mixed-up sizes show. */
static int run_transpose(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                         bf_diagnostic *diagnostic) {
  const transpose_variant *variant = run->benchmark->variant;
  const uint32_t width = 512, height = 256 * run->scale, tile = variant->tile;
  const uint64_t elements = (uint64_t)width * height, bytes = elements * sizeof(float);
  float *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  prepare(width, height, run->seed, input, reference);
  const bf_corpus_map map = {
      .kernel = variant->kernel,
      .grid = {width / tile, height / tile},
      .block = {tile, variant->rows},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
      .numbers = 2,
      .number = {width, height},
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_f32(result, reference, elements, 0, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_transpose[] = {
    {
        .name = "transpose16",
        .folder = "transpose",
        .summary = "matrix transpose, tile of 16 x 16 floats",
        .published_name = "transpose",
        .variant = &(const transpose_variant){"transpose16", 16, 16},
        .run = run_transpose,
    },
    {
        .name = "transpose16-padded",
        .folder = "transpose",
        .summary = "matrix transpose, tile of 16 x 16 floats in rows of 17",
        .is_padded = true,
        .variant = &(const transpose_variant){"transpose16_padded", 16, 16},
        .run = run_transpose,
    },
    {
        .name = "transpose32",
        .folder = "transpose",
        .summary = "matrix transpose, tile of 32 x 32 floats",
        .variant = &(const transpose_variant){"transpose32", 32, 8},
        .run = run_transpose,
    },
    {
        .name = "transpose32-padded",
        .folder = "transpose",
        .summary = "matrix transpose, tile of 32 x 32 floats in rows of 33",
        .is_padded = true,
        .variant = &(const transpose_variant){"transpose32_padded", 32, 8},
        .run = run_transpose,
    },
    {0},
};

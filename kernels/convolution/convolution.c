/* Driver of the separable convolution. */
#include "kernels/corpus.h"

enum { RADIUS = 8, FILTER = 2 * RADIUS + 1, STEPS = 8 };

typedef struct convolution_variant {
  const char *kernel;
  uint32_t block_x, block_y;
  bool along_columns;
} convolution_variant;

/* The pixel at (x, y), 0 outside the image. */
static double pixel(const float *image, int width, int height, int x, int y) {
  bool inside = x >= 0 && x < width && y >= 0 && y < height;
  return inside ? (double)image[(size_t)y * (size_t)width + (size_t)x] : 0;
}

static void filter_image(const float *image, int width, int height, const float *filter,
                         bool along_columns, float *output) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      double sum = 0;
      for (int j = -RADIUS; j <= RADIUS; j++)
        sum += (double)filter[RADIUS + j] * (along_columns ? pixel(image, width, height, x, y + j)
                                                           : pixel(image, width, height, x + j, y));
      output[(size_t)y * (size_t)width + (size_t)x] = (float)sum;
    }
}

/* Pixels lie in [0, 1) and weights in [0, 1/8), so that a sum of 17 is less than 17/8; it is
 * rounded 17 times, and the reference once. */
static const double ALLOWED_ERROR = 18 * 0x1p-24 * 17 / 8;

static int run_convolution(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                           bf_diagnostic *diagnostic) {
  const convolution_variant *variant = run->benchmark->variant;
  const bf_device *device = run->device;
  const uint32_t width = 256, height = 128 * run->scale;
  const uint64_t elements = (uint64_t)width * height, bytes = elements * sizeof(float);
  float *input, *reference, *result, filter[FILTER];
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, 0, 1, input, elements);
  bf_corpus_fill_f32(&random, 0, 0.125f, filter, FILTER);
  filter_image(input, (int)width, (int)height, filter, variant->along_columns, reference);

  uint64_t filter_at, filter_bytes;
  BF_TRY(device->symbol(device->context, "filter", &filter_at, &filter_bytes, diagnostic));
  BF_TRY(device->write(device->context, filter_at, filter, sizeof filter, diagnostic));
  const uint32_t step_x = variant->along_columns ? 1 : STEPS;
  const uint32_t step_y = variant->along_columns ? STEPS : 1;
  const bf_corpus_map map = {
      .kernel = variant->kernel,
      .grid = {width / variant->block_x / step_x, height / variant->block_y / step_y},
      .block = {variant->block_x, variant->block_y},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
      .numbers = variant->along_columns ? 2 : 1,
      .number = {width, height},
  };
  BF_TRY(bf_corpus_apply(device, &map, diagnostic));
  bf_corpus_compare_f32(result, reference, elements, ALLOWED_ERROR, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_convolution[] = {
    {
        .name = "convolution-rows",
        .folder = "convolution",
        .summary = "convolution with 17 weights along rows",
        .published_name = "conv-1",
        .variant = &(const convolution_variant){"convolution_rows", 16, 4, false},
        .run = run_convolution,
    },
    {
        .name = "convolution-columns",
        .folder = "convolution",
        .summary = "convolution with 17 weights along columns, which lie in shared memory as rows "
                   "of 80 words",
        .published_name = "conv-2",
        .variant = &(const convolution_variant){"convolution_columns", 16, 8, true},
        .run = run_convolution,
    },
    {
        .name = "convolution-columns-padded",
        .folder = "convolution",
        .summary = "the same in rows of 81 words",
        .is_padded = true,
        .variant = &(const convolution_variant){"convolution_columns_padded", 16, 8, true},
        .run = run_convolution,
    },
    {0},
};

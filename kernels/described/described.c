/* Drivers of the benchmarks that follow the document's description. */
#include "kernels/corpus.h"
#include "kernels/histogram/histogram.h"
#include "kernels/histogram/image.h"

#include <math.h>

/* ---- Columns ---- */

enum { RADIUS = 2, FILTER = 2 * RADIUS + 1, STEPS = 8, COLUMNS = 16, ROWS = 8 };

static void filter_columns(const float *image, int width, int height, const float *filter,
                           float *output) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      double sum = 0;
      for (int j = -RADIUS; j <= RADIUS; j++)
        if (y + j >= 0 && y + j < height)
          sum += (double)filter[RADIUS + j] * (double)image[(y + j) * width + x];
      output[y * width + x] = (float)sum;
    }
}

static int run_columns(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic) {
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
  filter_columns(input, (int)width, (int)height, filter, reference);
  uint64_t filter_at, filter_bytes;
  BF_TRY(device->symbol(device->context, "weights", &filter_at, &filter_bytes, diagnostic));
  BF_TRY(device->write(device->context, filter_at, filter, sizeof filter, diagnostic));
  const bf_corpus_map map = {
      .kernel = "described_columns",
      .grid = {width / COLUMNS, height / ROWS / STEPS},
      .block = {COLUMNS * ROWS, 1},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
      .numbers = 2,
      .number = {width, height},
  };
  BF_TRY(bf_corpus_apply(device, &map, diagnostic));
  /* Sums of five products below 1/8, each rounded. */
  bf_corpus_compare_f32(result, reference, elements, 6 * 0x1p-24 * FILTER / 8, outcome);
  return BF_OK;
}

/* ---- Histogram ---- */

enum { BINS = 256, WORDS_PER_THREAD = 256 };

static int run_histogram(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                         bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t width = 1024, height = 1024 * run->scale, words = width * height / 4;
  uint8_t *pixels;
  uint32_t reference[BINS] = {0}, result[BINS];
  BF_TRY(BF_CORPUS_ALLOC(run, &pixels, (uint64_t)width * height, diagnostic));
  bf_image_make(run->seed, width, height, pixels);
  bf_corpus_histogram_reference(pixels, (uint64_t)width * height, BINS, reference);
  uint64_t image, bins;
  BF_TRY(bf_corpus_upload(device, pixels, (uint64_t)width * height, &image, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, sizeof result, &bins, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "described_histogram", words / (32 * WORDS_PER_THREAD), 1, 32, 1,
                          diagnostic, &image, &words, &bins));
  BF_TRY(device->read(device->context, bins, result, sizeof result, diagnostic));
  bf_corpus_compare_u32(result, reference, BINS, outcome);
  return BF_OK;
}

/* ---- Gridding ---- */

enum { TERMS = 8, WARP = 32, CELLS_X = 8 };

/* What 32 samples, three floats each, give to the 32 cells of their tile. */
static void grid_tile(const float *sample, const float *window, double *cell) {
  for (unsigned c = 0; c < WARP; c++) {
    cell[c] = 0;
    for (unsigned s = 0; s < WARP; s++) {
      double x = (double)sample[3 * s] - c % CELLS_X, y = (double)sample[3 * s + 1] - c / CELLS_X;
      double distance = x * x + y * y, weight = 0;
      for (int i = TERMS; i >= 0; i--)
        weight = weight * distance + (double)window[i];
      cell[c] += weight * (double)sample[3 * s + 2];
    }
  }
}

/* Distances squared are below 64 + 16, and coefficients of the power i below 128^-i, so that every
 * weight is below 9/4, each of its steps too, and sums of 32 below 72; some 50 roundings. */
static const double ALLOWED_ERROR = 50 * 0x1p-24 * 72;

static int run_gridding(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t samples = 128 * 64 * run->scale;
  float *sample, *result, window[TERMS + 1];
  double *reference, *found;
  BF_TRY(BF_CORPUS_ALLOC(run, &sample, 3 * (uint64_t)samples, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, samples, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, samples, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &found, samples, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (uint32_t i = 0; i < samples; i++) {
    sample[3 * i] = 8 * bf_corpus_uniform(&random);
    sample[3 * i + 1] = 4 * bf_corpus_uniform(&random);
    sample[3 * i + 2] = bf_corpus_uniform(&random);
  }
  for (int i = 0; i <= TERMS; i++)
    window[i] = ldexpf(bf_corpus_uniform(&random), -7 * i);
  for (uint32_t i = 0; i < samples; i += WARP)
    grid_tile(&sample[3 * i], window, &reference[i]);
  uint64_t from, to, window_at, window_bytes;
  BF_TRY(device->symbol(device->context, "window", &window_at, &window_bytes, diagnostic));
  BF_TRY(device->write(device->context, window_at, window, sizeof window, diagnostic));
  BF_TRY(
      bf_corpus_upload(device, sample, 3 * sizeof *sample * (uint64_t)samples, &from, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, sizeof *result * (uint64_t)samples, &to, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "described_gridding", samples / 128, 1, 128, 1, diagnostic, &from,
                          &to));
  BF_TRY(device->read(device->context, to, result, sizeof *result * (uint64_t)samples, diagnostic));
  for (uint32_t i = 0; i < samples; i++)
    found[i] = (double)result[i];
  bf_corpus_compare_f64(found, reference, samples, ALLOWED_ERROR, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_described[] = {
    {
        .name = "described-conv-2",
        .folder = "described",
        .summary = "conv-2 as described: 5 weights, four columns of a warp 80 words apart",
        .run = run_columns,
    },
    {
        .name = "described-hist256",
        .folder = "described",
        .summary = "hist256 as described: by loads and stores, 32 copies, copy by copy",
        .is_data_dependent = true,
        .run = run_histogram,
    },
    {
        .name = "described-mri-grid-1",
        .folder = "described",
        .summary = "MRI-grid-1 as described: rows of 32 words written by lanes, read as columns",
        .run = run_gridding,
    },
    {0},
};

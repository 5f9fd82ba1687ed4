/* Drivers of the histograms. */
#include "kernels/histogram/histogram.h"

#include "kernels/corpus.h"
#include "kernels/histogram/image.h"

/* One kernel and its launch: threads of a block, and pixels that a thread takes. */
typedef struct histogram_variant {
  const char *kernel;
  unsigned bins;
  uint32_t threads, pixels_per_thread;
} histogram_variant;

void bf_corpus_histogram_reference(const uint8_t *pixels, uint64_t pixel_count, unsigned bin_count,
                                   uint32_t *bins) {
  for (uint64_t i = 0; i < pixel_count; i++)
    bins[pixels[i] / (256 / bin_count)]++;
}

void bf_corpus_weighted_reference(const uint8_t *pixels, const float *weights, uint64_t pixel_count,
                                  double *bins) {
  for (uint64_t i = 0; i < pixel_count; i++)
    bins[pixels[i]] += (double)weights[i];
}

/* An image of 1024 x 1024 pixels, higher at larger scales. */
static int make_image(const bf_corpus_run *run, uint8_t **pixels, uint32_t *pixel_count,
                      bf_diagnostic *diagnostic) {
  const uint32_t width = 1024, height = 1024 * run->scale;
  *pixel_count = width * height;
  BF_TRY(BF_CORPUS_ALLOC(run, pixels, *pixel_count, diagnostic));
  bf_image_make(run->seed, width, height, *pixels);
  return BF_OK;
}

/* Counts the pixels of an image. */
static int run_histogram(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                         bf_diagnostic *diagnostic) {
  const histogram_variant *variant = run->benchmark->variant;
  const bf_device *device = run->device;
  uint8_t *pixels;
  uint32_t pixel_count;
  BF_TRY(make_image(run, &pixels, &pixel_count, diagnostic));
  uint32_t reference[256] = {0}, result[256];
  bf_corpus_histogram_reference(pixels, pixel_count, variant->bins, reference);

  uint64_t image, bins;
  const uint64_t bytes = variant->bins * sizeof *result;
  const uint32_t blocks = pixel_count / (variant->threads * variant->pixels_per_thread);
  BF_TRY(bf_corpus_upload(device, pixels, pixel_count, &image, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &bins, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, variant->kernel, blocks, 1, variant->threads, 1, diagnostic,
                          &image, &pixel_count, &bins));
  BF_TRY(device->read(device->context, bins, result, bytes, diagnostic));
  bf_corpus_compare_u32(result, reference, variant->bins, outcome);
  return BF_OK;
}

/* Sums weights that are multiples of 1/256 below 1. While a sum stays below 2^16 a float holds it
 * exactly, in whatever order it grows; beyond, n additions of positive numbers are off by less than
 * n 2^-24 of their sum. */
static int run_weighted(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
  const histogram_variant *variant = run->benchmark->variant;
  const bf_device *device = run->device;
  uint8_t *pixels;
  uint32_t pixel_count;
  float *weights;
  BF_TRY(make_image(run, &pixels, &pixel_count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &weights, pixel_count, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (uint32_t i = 0; i < pixel_count; i++)
    weights[i] = (float)(bf_corpus_next(&random) >> 24) / 256;
  double reference[256] = {0}, result[256], largest = 0;
  bf_corpus_weighted_reference(pixels, weights, pixel_count, reference);
  for (unsigned bin = 0; bin < 256; bin++)
    largest = reference[bin] > largest ? reference[bin] : largest;

  uint64_t image, weight, bins;
  float sums[256];
  const uint32_t blocks = pixel_count / (variant->threads * variant->pixels_per_thread);
  BF_TRY(bf_corpus_upload(device, pixels, pixel_count, &image, diagnostic));
  BF_TRY(bf_corpus_upload(device, weights, pixel_count * sizeof *weights, &weight, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, sizeof sums, &bins, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, variant->kernel, blocks, 1, variant->threads, 1, diagnostic,
                          &image, &weight, &pixel_count, &bins));
  BF_TRY(device->read(device->context, bins, sums, sizeof sums, diagnostic));
  for (unsigned bin = 0; bin < 256; bin++)
    result[bin] = (double)sums[bin];
  bf_corpus_compare_f64(result, reference, 256, largest < 0x1p16 ? 0 : pixel_count * 0x1p-24,
                        outcome);
  return BF_OK;
}

static const char difference[] =
    "the published ones read photographs; ours read generated images, and one pixel at a time";

const bf_corpus_benchmark bf_corpus_histogram[] = {
    {
        .name = "histogram64",
        .folder = "histogram",
        .summary = "64 bins, 32 copies, copy by copy",
        .published_name = "hist64",
        .difference = difference,
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"histogram64_major", 64, 256, 1024},
        .run = run_histogram,
    },
    {
        .name = "histogram64-padded",
        .folder = "histogram",
        .summary = "64 bins, 32 copies, copy by copy with a spare word",
        .is_padded = true,
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"histogram64_padded", 64, 256, 1024},
        .run = run_histogram,
    },
    {
        .name = "histogram64-binmajor",
        .folder = "histogram",
        .summary = "64 bins, 32 copies, bin by bin: a bank for each lane",
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"histogram64_binmajor", 64, 256, 1024},
        .run = run_histogram,
    },
    {
        .name = "histogram64-bytes",
        .folder = "histogram",
        .summary = "64 bins of one byte for each thread, bin by bin",
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"histogram64_bytes", 64, 64, 128},
        .run = run_histogram,
    },
    {
        .name = "histogram256",
        .folder = "histogram",
        .summary = "256 bins, 32 copies, copy by copy",
        .published_name = "hist256",
        .difference = difference,
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"histogram256_major", 256, 256, 1024},
        .run = run_histogram,
    },
    {
        .name = "histogram256-padded",
        .folder = "histogram",
        .summary = "256 bins, 32 copies, copy by copy with a spare word",
        .is_padded = true,
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"histogram256_padded", 256, 256, 1024},
        .run = run_histogram,
    },
    {
        .name = "histogram256-binmajor",
        .folder = "histogram",
        .summary = "256 bins, 32 copies, bin by bin: a bank for each lane",
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"histogram256_binmajor", 256, 256, 1024},
        .run = run_histogram,
    },
    {
        .name = "histogram-weighted",
        .folder = "histogram",
        .summary = "256 sums of floats, 32 copies, copy by copy",
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"weighted_major", 256, 256, 1024},
        .run = run_weighted,
    },
    {
        .name = "histogram-weighted-padded",
        .folder = "histogram",
        .summary = "256 sums of floats, 32 copies, copy by copy with a spare word",
        .is_padded = true,
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"weighted_padded", 256, 256, 1024},
        .run = run_weighted,
    },
    {
        .name = "histogram-weighted-binmajor",
        .folder = "histogram",
        .summary = "256 sums of floats, 32 copies, bin by bin: a bank for each lane",
        .is_data_dependent = true,
        .variant = &(const histogram_variant){"weighted_binmajor", 256, 256, 1024},
        .run = run_weighted,
    },
    {0},
};

/* CONV, HIST and INTEGR. */
#include "reproduce/rgpu/bench.h"

#include <stdlib.h>
#include <string.h>

/* ---- CONV ---- */

/* Nine products of numbers below 1 with weights that add up to 1, in any order. */
static const double CONV_ERROR = 9 * 0x1p-24;

static int launch_conv(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                       rgpu_kernel kernel, bf_diagnostic *diagnostic) {
  enum { THREADS = 256, ROWS = 16, PLAIN_X = 32, PLAIN_Y = 8 };
  uint32_t width = (uint32_t)rgpu_parameter(data, "width");
  uint32_t height = (uint32_t)rgpu_parameter(data, "height");
  uint64_t in, out, bytes = rgpu_elements(data, "out") * sizeof(float);
  BF_TRY(bf_corpus_upload(device, rgpu_array(data, "in"), rgpu_elements(data, "in") * sizeof(float),
                          &in, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &out, diagnostic));
  if (kernel == RGPU_PLAIN)
    BF_TRY(BF_CORPUS_LAUNCH(device, "conv", width / PLAIN_X, (height + PLAIN_Y - 1) / PLAIN_Y,
                            PLAIN_X, PLAIN_Y, diagnostic, &in, &out, &width, &height));
  else
    BF_TRY(BF_CORPUS_LAUNCH(device, "conv", width / THREADS, (height + ROWS - 1) / ROWS, THREADS, 1,
                            diagnostic, &in, &out, &width, &height));
  return device->read(device->context, out, rgpu_array(result, "out"), bytes, diagnostic);
}

/* The pixel at the right end of the three columns, and the upper of the three rows. */
static float convolve(const float *in, uint64_t width) {
  static const double weight[3] = {0.25, 0.5, 0.25};
  double sum = 0;
  for (unsigned y = 0; y < 3; y++)
    for (unsigned x = 0; x < 3; x++)
      sum += weight[y] * weight[x] * (double)in[(ptrdiff_t)(y * width) - (ptrdiff_t)x];
  return (float)sum;
}

static int check_conv(const rgpu_data *before, const rgpu_data *after, bf_corpus_outcome *outcome,
                      bf_diagnostic *diagnostic) {
  uint64_t width = (uint64_t)rgpu_parameter(before, "width");
  uint64_t height = (uint64_t)rgpu_parameter(before, "height");
  const float *in = rgpu_array(before, "in"), *out = rgpu_array(after, "out");
  float *reference = malloc(width * sizeof *reference);
  if (!reference)
    return bf_no_memory(diagnostic);
  for (uint64_t y = 0; y < height; y++) {
    for (uint64_t x = 2; x < width; x++)
      reference[x] = convolve(in + y * width + x, width);
    bf_corpus_compare_f32(out + y * width + 2, reference + 2, width - 2, CONV_ERROR, outcome);
  }
  free(reference);
  return BF_OK;
}

const rgpu_benchmark rgpu_conv = {
    .name = "conv",
    .title = "2D convolution",
    .copies = 2,
    .lanes = 4,
    .speedup = 1.35,
    .why = "DRAM bounds both; the kernel here has 18 loads of a thread "
           "on their way at once and uses more of the bandwidth than "
           "the graph, whose FIFOs hold addresses of 8 lines.",
    .why_plain = "DRAM bounds the graph, whatever it is compared with.",
    .quick = {"height=64", "band=2", "width=256"},
    .launch = launch_conv,
    .check = check_conv};

/* ---- HIST ---- */

enum { BINS = 256, HIST_COPIES = 8 };

/* Adds the counters of all copies to the result. */
static void add_counters(const bf_rgpu_setup *setup, uint64_t block, const unsigned char *shared,
                         unsigned char *global) {
  const rgpu_data data = {.setup = setup, .memory = global};
  const uint32_t *counts = (const uint32_t *)(const void *)shared;
  uint32_t *result = rgpu_array(&data, "result");
  (void)block;
  for (unsigned bin = 0; bin < BINS; bin++)
    for (uint64_t copy = 0; copy < setup->copies; copy++)
      result[bin] += counts[bin * setup->copies + copy];
}

/* In normal mode 256 threads sum eight counters each, and add the sum to global memory: eight loads
 * of shared memory and eight additions, one behind the other, by eight warps. */
enum { AFTER_CYCLES = 8 * (32 + 18) };

static const bf_rgpu_after after_hist = {.run = add_counters, .cycles = AFTER_CYCLES};

static int launch_hist(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                       rgpu_kernel kernel, bf_diagnostic *diagnostic) {
  enum { BLOCKS = 15, THREADS = 1024, PLAIN_BLOCKS = 90, PLAIN_THREADS = 256 };
  bool is_plain = kernel == RGPU_PLAIN;
  uint64_t pixels = rgpu_elements(data, "image"), image, counts;
  uint32_t pieces = (uint32_t)(is_plain ? pixels : pixels / 4);
  BF_TRY(bf_corpus_upload(device, rgpu_array(data, "image"), pixels, &image, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, BINS * sizeof(uint32_t), &counts, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "hist", is_plain ? PLAIN_BLOCKS : BLOCKS, 1,
                          is_plain ? PLAIN_THREADS : THREADS, 1, diagnostic, &image, &pieces,
                          &counts));
  return device->read(device->context, counts, rgpu_array(result, "result"),
                      BINS * sizeof(uint32_t), diagnostic);
}

static int check_hist(const rgpu_data *before, const rgpu_data *after, bf_corpus_outcome *outcome,
                      bf_diagnostic *diagnostic) {
  const uint8_t *image = rgpu_array(before, "image");
  uint32_t reference[BINS] = {0};
  (void)diagnostic;
  for (uint64_t i = 0; i < rgpu_elements(before, "image"); i++)
    reference[image[i]]++;
  bf_corpus_compare_u32(rgpu_array(after, "result"), reference, BINS, outcome);
  return BF_OK;
}

const rgpu_benchmark rgpu_hist = {.name = "hist",
                                  .title = "Histogram",
                                  .copies = HIST_COPIES,
                                  .lanes = 2,
                                  .speedup = 2.9,
                                  .quick = {"pixels=61440"},
                                  .prefers_shared = true,
                                  .after = &after_hist,
                                  .launch = launch_hist,
                                  .check = check_hist};

/* ---- INTEGR ---- */

static int launch_integr(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                         rgpu_kernel kernel, bf_diagnostic *diagnostic) {
  enum { ROW_THREADS = 256, COLUMN_WARPS = 16 };
  uint32_t warps = kernel == RGPU_PLAIN ? 1 : COLUMN_WARPS;
  uint32_t width = (uint32_t)rgpu_parameter(data, "width");
  uint32_t height = (uint32_t)rgpu_parameter(data, "height");
  uint64_t in, out, pixels = (uint64_t)width * height;
  BF_TRY(bf_corpus_upload(device, rgpu_array(data, "in"), pixels, &in, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, pixels * sizeof(int32_t), &out, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "integr_rows", height, 1, ROW_THREADS, 1, diagnostic, &in, &out,
                          &width));
  BF_TRY(BF_CORPUS_LAUNCH(device, "integr_columns", width / 32, 1, 32, warps, diagnostic, &out,
                          &width, &height));
  int32_t *rows = rgpu_array(result, "out");
  return device->read(device->context, out, rows + width, pixels * sizeof(int32_t), diagnostic);
}

static int check_integr(const rgpu_data *before, const rgpu_data *after, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
  uint64_t width = (uint64_t)rgpu_parameter(before, "width");
  uint64_t height = (uint64_t)rgpu_parameter(before, "height");
  const uint8_t *in = rgpu_array(before, "in");
  const uint32_t *out = rgpu_array(after, "out");
  uint32_t *column = calloc(width, sizeof *column), *reference = calloc(width, sizeof *reference);
  for (uint64_t y = 0; column && reference && y < height; y++) {
    for (uint64_t x = 0; x < width; x++) {
      column[x] += in[y * width + x];
      reference[x] = column[x] + (x ? reference[x - 1] : 0);
    }
    bf_corpus_compare_u32(out + (y + 1) * width, reference, width, outcome);
  }
  int error = column && reference ? BF_OK : bf_no_memory(diagnostic);
  free(column);
  free(reference);
  return error;
}

const rgpu_benchmark rgpu_integr = {.name = "integr",
                                    .title = "Integral image",
                                    .copies = 1,
                                    .lanes = 3,
                                    .speedup = 3.4,
                                    .why = "of the cycles of the graph 131072 follow from its "
                                           "recurrence, an addition of 8 cycles for each pixel of "
                                           "60 rows at once; so it is the kernel that takes less "
                                           "time here than the published one.",
                                    .why_plain = "a thread of the plain kernel adds up a whole "
                                                 "column, one load at a time: 1024 threads for 15 "
                                                 "SMs, more idle than the published kernel.",
                                    .quick = {"height=64", "width=256"},
                                    .prefers_shared = true,
                                    .launch = launch_integr,
                                    .check = check_integr};

/* Kernels of histograms leave their sums and tickets at 0, so that memory of the device is made
 * once. */
#include "reproduce/voting/histogram.h"

enum { LEVELS = 4096, MOST_COPIES = 1024, BINS = 256, THREAD_BINS = 64, WARP = 32 };

static int count_pixels(const uint16_t *pixels, uint32_t rows, uint32_t bins, uint32_t *counts,
                        bf_diagnostic *diagnostic) {
  bf_pixels image = {
      .data = pixels, .type = BF_PIXEL_U16, .width = BF_VOTING_WIDTH, .height = rows};
  bf_histogram_options options = {
      .struct_bytes = sizeof options, .bins = bins, .high = LEVELS, .threads = 1};
  return bf_histogram_u32(&image, &options, counts, diagnostic);
}

static int fill_device(const uint16_t *pixels, bf_voting_histogram *histogram,
                       bf_diagnostic *diagnostic) {
  const bf_voting_device *device = &histogram->device;
  uint64_t spread_words = bf_voting_words(BF_VOTING_PADDED, BINS, MOST_COPIES);
  BF_TRY(bf_voting_upload(device, pixels, (uint64_t)histogram->pixels * sizeof *pixels,
                          &histogram->image, diagnostic));
  BF_TRY(bf_voting_upload(device, NULL, 2 * sizeof(uint32_t), &histogram->tickets, diagnostic));
  BF_TRY(bf_voting_upload(device, NULL, BINS * sizeof(uint32_t), &histogram->sums, diagnostic));
  BF_TRY(bf_voting_upload(device, NULL, BINS * sizeof(uint32_t), &histogram->result, diagnostic));
  return bf_voting_upload(device, NULL, spread_words * sizeof(uint32_t), &histogram->spread,
                          diagnostic);
}

int bf_voting_histogram_create(const char *gpu, unsigned sms, const uint16_t *pixels, uint32_t rows,
                               bf_voting_histogram *histogram, bf_diagnostic *diagnostic) {
  *histogram = (bf_voting_histogram){.pixels = rows * BF_VOTING_WIDTH};
  BF_TRY(bf_voting_device_create(gpu, "voting", sms, &histogram->device, diagnostic));
  BF_TRY(count_pixels(pixels, rows, BINS, histogram->wanted_256, diagnostic));
  BF_TRY(count_pixels(pixels, rows, THREAD_BINS, histogram->wanted_64, diagnostic));
  return fill_device(pixels, histogram, diagnostic);
}

void bf_voting_histogram_free(bf_voting_histogram *histogram) {
  bf_voting_device_free(&histogram->device);
}

uint64_t bf_voting_histogram_bytes(bf_voting_method method, const bf_voting_choice *choice) {
  uint64_t words = bf_voting_words(choice->layout, BINS, choice->copies);
  switch (method) {
  case BF_VOTING_THREAD: /* and the sums of the block */
    return (uint64_t)THREAD_BINS * (choice->threads + 1) * sizeof(uint32_t);
  case BF_VOTING_WARP:
    return words * (choice->threads / WARP) * sizeof(uint32_t);
  case BF_VOTING_SHARED:
    return words * sizeof(uint32_t);
  default:
    return 0;
  }
}

/* Counts so many pixels and compares the result. */
static int run_kernel(bf_voting_histogram *histogram, bf_voting_method method,
                      const bf_voting_choice *choice, uint32_t pixels, const uint32_t *wanted,
                      double *seconds, bf_diagnostic *diagnostic) {
  static const char *const kernels[BF_VOTING_METHODS] = {"global", "thread", "warp", "shared"};
  bf_voting_device *device = &histogram->device;
  const void *parameter[] = {&histogram->image,   &pixels,          &choice->copies,
                             &histogram->tickets, &histogram->sums, &histogram->spread,
                             &histogram->result};
  bf_voting_launch launch = {.kernel = kernels[method],
                             .layout = choice->layout,
                             .is_only_one = method == BF_VOTING_THREAD,
                             .blocks = (uint32_t)device->gpu->sms * choice->blocks_per_sm,
                             .threads = choice->threads,
                             .shared_bytes = bf_voting_histogram_bytes(method, choice),
                             .parameters = sizeof parameter / sizeof *parameter,
                             .parameter = parameter};
  if (method == BF_VOTING_GLOBAL)
    BF_TRY(bf_voting_clear(device, histogram->spread,
                           bf_voting_words(choice->layout, BINS, choice->copies) * sizeof(uint32_t),
                           diagnostic));
  *seconds = 0;
  BF_TRY(bf_voting_run(device, &launch, seconds, diagnostic));
  return bf_voting_compare(device, histogram->result, wanted,
                           method == BF_VOTING_THREAD ? THREAD_BINS : BINS, diagnostic);
}

int bf_voting_histogram_run(bf_voting_histogram *histogram, bf_voting_method method,
                            const bf_voting_choice *choice, double *seconds,
                            bf_diagnostic *diagnostic) {
  const uint32_t *wanted =
      method == BF_VOTING_THREAD ? histogram->wanted_64 : histogram->wanted_256;
  return run_kernel(histogram, method, choice, histogram->pixels, wanted, seconds, diagnostic);
}

int bf_voting_histogram_idle(bf_voting_histogram *histogram, bf_voting_method method,
                             const bf_voting_choice *choice, double *seconds,
                             bf_diagnostic *diagnostic) {
  static const uint32_t nothing[BINS];
  return run_kernel(histogram, method, choice, 0, nothing, seconds, diagnostic);
}

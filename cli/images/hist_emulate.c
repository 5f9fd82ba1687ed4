/* The kernels of kernels/histogram on the emulator: what they do to shared memory depends on the
 * image, and here the image is the user's. */
#include "cli/images/hist.h"

#include <stdlib.h>
#include <string.h>

/* What a kernel counts, and what it must find. */
typedef struct emulated {
  const char *kernel;
  const uint8_t *pixels;
  uint32_t pixel_count;
  uint32_t bins;
  uint32_t expected[256];
} emulated;

enum { THREADS = 256, PIXELS_PER_THREAD = 1024 };
#define MOST_EMULATED_PIXELS ((uint64_t)1 << 28)

/* bf_corpus_benchmark.run: counts, reads back and compares. */
static int run_kernel(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                      bf_diagnostic *diagnostic) {
  const emulated *job = run->benchmark->variant;
  const bf_device *device = run->device;
  const uint32_t per_block = THREADS * PIXELS_PER_THREAD;
  const uint32_t blocks = (job->pixel_count + per_block - 1) / per_block;
  uint32_t result[256];
  uint64_t image, bins;
  const uint64_t bytes = job->bins * sizeof *result;
  BF_TRY(bf_corpus_upload(device, job->pixels, job->pixel_count, &image, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &bins, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, job->kernel, blocks, 1, THREADS, 1, diagnostic, &image,
                          &job->pixel_count, &bins));
  BF_TRY(device->read(device->context, bins, result, bytes, diagnostic));
  bf_corpus_compare_u32(result, job->expected, job->bins, outcome);
  return BF_OK;
}

/* Runs one kernel and takes down what it did. */
static int measure(const emulated *job, const bf_corpus_settings *settings, cli_vote_kernel *kernel,
                   bf_diagnostic *diagnostic) {
  const bf_corpus_benchmark benchmark = {
      .name = "hist", .folder = "histogram", .variant = job, .run = run_kernel};
  bf_corpus_measured measured = {0};
  int error = bf_corpus_measure(&benchmark, settings, &measured, diagnostic);
  if (!error && measured.outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "kernel %s counts otherwise: %s", job->kernel,
                    measured.outcome.first_wrong);
  cli_vote_take(kernel, &measured.total);
  bf_arena_free(&measured.arena);
  return error;
}

/* Fails unless the kernels can count this. */
static int check_request(const cli_hist_request *request, const cli_histogram *hist,
                         const cli_bins *bins, bf_diagnostic *diagnostic) {
  const bf_image_format *format = &hist->format;
  if (format->channels != 1 || format->sample_bytes != 1 ||
      bf_image_bytes(format) > MOST_EMULATED_PIXELS)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, request->image,
                        "kernels on the emulator count images of one channel of 8 bits with at "
                        "most %llu pixels",
                        (unsigned long long)MOST_EMULATED_PIXELS);
  if (request->mask || request->weights || request->has_region)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "kernels on the emulator count whole images: no --mask, --weights or --roi");
  if ((bins->count != 64 && bins->count != 256) || bins->low != 0 || bins->high != 256)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "kernels on the emulator count 64 or 256 bins from 0 to 256");
  if (strcmp(request->image, "-") == 0)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "for the emulator the image is read twice; standard input cannot be");
  return BF_OK;
}

int cli_hist_emulate(const cli_hist_request *request, const cli_histogram *hist,
                     const cli_bins *bins, const bf_machine *machine,
                     cli_vote_kernel kernels[CLI_VOTE_KERNELS], bf_diagnostic *diagnostic) {
  static const struct {
    const char *of_64, *of_256, *layout;
  } layouts[CLI_VOTE_KERNELS] = {
      {"histogram64_major", "histogram256_major", "copy by copy"},
      {"histogram64_padded", "histogram256_padded", "copy by copy, with a spare word"},
      {"histogram64_binmajor", "histogram256_binmajor", "bin by bin"},
  };
  bf_image_format format;
  void *pixels;
  BF_TRY(check_request(request, hist, bins, diagnostic));
  BF_TRY(bf_image_load(request->image, &format, &pixels, diagnostic));
  emulated job = {.pixels = pixels,
                  .pixel_count = (uint32_t)bf_image_bytes(&format),
                  .bins = (uint32_t)bins->count};
  for (size_t i = 0; i < bins->count; i++)
    job.expected[i] = (uint32_t)bins->of_channel[0][i];
  const bf_corpus_settings settings = {.machine = machine, .scale = 1, .workers = request->threads};
  int error = BF_OK;
  for (unsigned i = 0; i < CLI_VOTE_KERNELS && !error; i++) {
    job.kernel = bins->count == 64 ? layouts[i].of_64 : layouts[i].of_256;
    kernels[i] = (cli_vote_kernel){.kernel = job.kernel, .layout = layouts[i].layout};
    error = measure(&job, &settings, &kernels[i], diagnostic);
  }
  free(pixels);
  return error;
}

/* The kernels of kernels/histogram on an image of the user's. */
#include "kernels/vote.h"

/* What a kernel counts, and what it must find. */
typedef struct emulated {
  const char *kernel;
  const uint8_t *pixels;
  uint32_t pixel_count;
  uint32_t bins;
  uint32_t expected[256];
} emulated;

enum { THREADS = 256, PIXELS_PER_THREAD = 1024 };

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

int bf_corpus_vote_measure(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                           const char *does, bf_corpus_vote *kernel, bf_diagnostic *diagnostic) {
  bf_corpus_measured measured = {0};
  int error = bf_corpus_measure(benchmark, settings, &measured, diagnostic);
  const bf_corpus_launched *total = &measured.total;
  if (!error && measured.outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "kernel %s %s otherwise: %s", kernel->kernel, does,
                    measured.outcome.first_wrong);
  kernel->accesses = total->accesses;
  kernel->wavefronts = total->wavefronts_load + total->wavefronts_store + total->wavefronts_atomic;
  kernel->ideal = total->ideal;
  kernel->conflicts = total->conflicts;
  bf_arena_free(&measured.arena);
  return error;
}

int bf_corpus_vote_histogram(const uint8_t *pixels, uint32_t pixel_count, const double *expected,
                             unsigned bins, const bf_corpus_settings *settings,
                             bf_corpus_vote kernels[BF_CORPUS_VOTES], bf_diagnostic *diagnostic) {
  static const struct {
    const char *of_64, *of_256, *layout;
  } layouts[BF_CORPUS_VOTES] = {
      {"histogram64_major", "histogram256_major", "copy by copy"},
      {"histogram64_padded", "histogram256_padded", "copy by copy, with a spare word"},
      {"histogram64_binmajor", "histogram256_binmajor", "bin by bin"},
  };
  emulated job = {.pixels = pixels, .pixel_count = pixel_count, .bins = bins};
  for (unsigned i = 0; i < bins; i++)
    job.expected[i] = (uint32_t)expected[i];
  for (unsigned i = 0; i < BF_CORPUS_VOTES; i++) {
    const bf_corpus_benchmark benchmark = {
        .name = "hist", .folder = "histogram", .variant = &job, .run = run_kernel};
    job.kernel = bins == 64 ? layouts[i].of_64 : layouts[i].of_256;
    kernels[i] = (bf_corpus_vote){.kernel = job.kernel, .layout = layouts[i].layout};
    BF_TRY(bf_corpus_vote_measure(&benchmark, settings, "counts", &kernels[i], diagnostic));
  }
  return BF_OK;
}

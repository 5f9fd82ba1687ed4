/* libbankfold-vote-cuda.so without a GPU: the CPU votes. $FAKE_GPU says what is to go wrong: "old",
 * "none" or "fails". The file $FAKE_GPU_LOG gets a line per call. */
#include "gpu/vote/bankfold_vote_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bf_gpu {
  int unused;
};
static bf_gpu the_gpu;

static int goes_wrong(const char *how) {
  const char *wanted = getenv("FAKE_GPU");
  return wanted && strcmp(wanted, how) == 0;
}

static void note(const char *call) {
  const char *path = getenv("FAKE_GPU_LOG");
  FILE *log = path ? fopen(path, "a") : NULL;
  if (log) {
    fprintf(log, "%s\n", call);
    fclose(log);
  }
}

static int fail(bf_diagnostic *diagnostic, int error, const char *message) {
  memset(diagnostic, 0, sizeof *diagnostic);
  snprintf(diagnostic->message, sizeof diagnostic->message, "%s", message);
  return error;
}

const char *bf_gpu_version(void) { return goes_wrong("old") ? "0.0" : BF_VERSION; }

int bf_gpu_open(bf_gpu **gpu, bf_diagnostic *diagnostic) {
  if (goes_wrong("none"))
    return fail(diagnostic, BF_UNSUPPORTED, "no GPU that CUDA can use: none is there");
  note("open");
  *gpu = &the_gpu;
  return BF_OK;
}

void bf_gpu_close(bf_gpu *gpu) {
  (void)gpu;
  note("close");
}

const char *bf_gpu_name(const bf_gpu *gpu) {
  (void)gpu;
  return "a GPU";
}

int bf_gpu_histogram_u64(bf_gpu *gpu, const bf_pixels *image, const bf_histogram_options *options,
                         uint64_t *counts, bf_diagnostic *diagnostic) {
  (void)gpu;
  note("histogram_u64");
  return goes_wrong("fails") ? fail(diagnostic, BF_IO, "the GPU reports: it is hot")
                             : bf_histogram_u64(image, options, counts, diagnostic);
}

int bf_gpu_histogram_f64(bf_gpu *gpu, const bf_pixels *image, const bf_histogram_options *options,
                         double *sums, bf_diagnostic *diagnostic) {
  (void)gpu;
  note("histogram_f64");
  return bf_histogram_f64(image, options, sums, diagnostic);
}

int bf_gpu_hough_vote(bf_gpu *gpu, const bf_pixels *edges, const bf_hough_options *options,
                      bf_hough_space *space, bf_diagnostic *diagnostic) {
  (void)gpu;
  note("hough_vote");
  return goes_wrong("fails") ? fail(diagnostic, BF_IO, "the GPU reports: it is hot")
                             : bf_hough_vote(edges, options, space, diagnostic);
}

/* Histograms: votes are counted in 64 bits beside the caller's result, which changes only once
 * nothing can fail any more. */
#include "vote/kernel.h"

#include <stdlib.h>
#include <string.h>

/* Whether an image is so small that tables would cost more than they save. */
static bool is_small(const bf_vote_job *job) {
  size_t limit = job->image.type == BF_PIXEL_U8 ? 512 : 4096 + 2 * job->bins.count;
  return job->image.height == 0 || job->image.width < limit / job->image.height;
}

/* Counts of all bins, to be freed; *counts is NULL after an error. */
static int count_job(const bf_vote_job *job, uint64_t **counts, bf_diagnostic *diagnostic) {
  *counts = NULL;
  if (job->weights)
    return bf_fail(diagnostic, BF_BAD_INPUT, "weights are summed by bf_histogram_f64 only");
  *counts = calloc(job->bins.count, sizeof **counts);
  if (!*counts)
    return bf_no_memory(diagnostic);
  int error = BF_OK;
  if (is_small(job))
    bf_vote_reference(job, *counts);
  else
    error = bf_histogram_count(job, bf_vote_best(), *counts, diagnostic);
  if (error) {
    free(*counts);
    *counts = NULL;
  }
  return error;
}

/* The error of a bin whose count does not fit. */
static int overflow(size_t bin, unsigned bits, bf_diagnostic *diagnostic) {
  return bf_fail(diagnostic, BF_UNSUPPORTED, "bin %zu has more votes than %u bits can count%s", bin,
                 bits, bits < 64 ? "; use bf_histogram_u64" : "");
}

int bf_histogram_u32(const bf_pixels *image, const bf_histogram_options *options, uint32_t *counts,
                     bf_diagnostic *diagnostic) {
  bf_vote_job job;
  uint64_t *found;
  if (!counts)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the counts");
  BF_TRY(bf_vote_job_make(image, options, &job, diagnostic));
  BF_TRY(count_job(&job, &found, diagnostic));
  int error = BF_OK;
  for (size_t i = 0; i < job.bins.count && !error; i++) {
    found[i] += job.accumulate ? counts[i] : 0;
    if (found[i] > UINT32_MAX)
      error = overflow(i, 32, diagnostic);
  }
  for (size_t i = 0; i < job.bins.count && !error; i++)
    counts[i] = (uint32_t)found[i];
  free(found);
  return error;
}

int bf_histogram_u64(const bf_pixels *image, const bf_histogram_options *options, uint64_t *counts,
                     bf_diagnostic *diagnostic) {
  bf_vote_job job;
  uint64_t *found;
  if (!counts)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the counts");
  BF_TRY(bf_vote_job_make(image, options, &job, diagnostic));
  BF_TRY(count_job(&job, &found, diagnostic));
  int error = BF_OK;
  for (size_t i = 0; i < job.bins.count && !error; i++)
    if (__builtin_add_overflow(found[i], job.accumulate ? counts[i] : 0, &found[i]))
      error = overflow(i, 64, diagnostic);
  if (!error)
    memcpy(counts, found, job.bins.count * sizeof *counts);
  free(found);
  return error;
}

/* Sums of all bins into found, which is zero. */
static int sum_job(const bf_vote_job *job, double *found, bf_diagnostic *diagnostic) {
  if (!is_small(job))
    return bf_histogram_sum(job, bf_vote_best(), found, diagnostic);
  bf_vote_reference_sums(job, found);
  return BF_OK;
}

/* Votes of 1 are counted before they become sums. */
static int sum_ones(const bf_vote_job *job, double *sums, bf_diagnostic *diagnostic) {
  uint64_t *found;
  BF_TRY(count_job(job, &found, diagnostic));
  for (size_t i = 0; i < job->bins.count; i++)
    sums[i] = (double)found[i] + (job->accumulate ? sums[i] : 0);
  free(found);
  return BF_OK;
}

int bf_histogram_f64(const bf_pixels *image, const bf_histogram_options *options, double *sums,
                     bf_diagnostic *diagnostic) {
  bf_vote_job job;
  if (!sums)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the sums");
  BF_TRY(bf_vote_job_make(image, options, &job, diagnostic));
  if (!job.weights)
    return sum_ones(&job, sums, diagnostic);
  double *found = calloc(job.bins.count, sizeof *found);
  if (!found)
    return bf_no_memory(diagnostic);
  int error = sum_job(&job, found, diagnostic);
  for (size_t i = 0; i < job.bins.count && !error; i++)
    sums[i] = found[i] + (job.accumulate ? sums[i] : 0);
  free(found);
  return error;
}

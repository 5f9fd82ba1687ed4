/* Histograms: votes are counted in 64 bits beside the caller's result, which changes only once
 * nothing can fail any more. */
#include "vote/vote.h"

#include <stdlib.h>
#include <string.h>

/* Counts of all bins, to be freed; *counts is NULL after an error. */
static int count_job(const bf_pixels *image, const bf_histogram_options *options, uint64_t **counts,
                     bf_diagnostic *diagnostic) {
  bf_vote_job job;
  *counts = NULL;
  BF_TRY(bf_vote_job_make(image, options, &job, diagnostic));
  if (job.weights)
    return bf_fail(diagnostic, BF_BAD_INPUT, "weights are summed by bf_histogram_f64 only");
  *counts = calloc(job.bins.count, sizeof **counts);
  if (!*counts)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  bf_histogram_reference(&job, *counts);
  return BF_OK;
}

/* Refuses results above limit: earlier[i], where there are any, plus later[i]. */
static int overflow(size_t bin, unsigned bits, bf_diagnostic *diagnostic) {
  return bf_fail(diagnostic, BF_UNSUPPORTED, "bin %zu has more votes than %u bits can count%s", bin,
                 bits, bits < 64 ? "; use bf_histogram_u64" : "");
}

int bf_histogram_u32(const bf_pixels *image, const bf_histogram_options *options, uint32_t *counts,
                     bf_diagnostic *diagnostic) {
  uint64_t *found;
  if (!counts)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the counts");
  BF_TRY(count_job(image, options, &found, diagnostic));
  int error = BF_OK;
  for (size_t i = 0; i < options->bins && error == BF_OK; i++) {
    found[i] += options->accumulate ? counts[i] : 0;
    if (found[i] > UINT32_MAX)
      error = overflow(i, 32, diagnostic);
  }
  for (size_t i = 0; i < options->bins && error == BF_OK; i++)
    counts[i] = (uint32_t)found[i];
  free(found);
  return error;
}

int bf_histogram_u64(const bf_pixels *image, const bf_histogram_options *options, uint64_t *counts,
                     bf_diagnostic *diagnostic) {
  uint64_t *found;
  if (!counts)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the counts");
  BF_TRY(count_job(image, options, &found, diagnostic));
  int error = BF_OK;
  for (size_t i = 0; i < options->bins && error == BF_OK; i++)
    if (__builtin_add_overflow(found[i], options->accumulate ? counts[i] : 0, &found[i]))
      error = overflow(i, 64, diagnostic);
  if (error == BF_OK)
    memcpy(counts, found, options->bins * sizeof *counts);
  free(found);
  return error;
}

int bf_histogram_f64(const bf_pixels *image, const bf_histogram_options *options, double *sums,
                     bf_diagnostic *diagnostic) {
  bf_vote_job job;
  if (!sums)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the sums");
  BF_TRY(bf_vote_job_make(image, options, &job, diagnostic));
  if (!options->accumulate)
    memset(sums, 0, options->bins * sizeof *sums);
  bf_histogram_reference_sums(&job, sums);
  return BF_OK;
}

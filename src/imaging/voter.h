/* imaging: what image files hold: histograms (histogram.h) and lines (lines.h) of them, with
 * pictures. It knows image, which reads the files, vote, which counts, and report, which draws
 * charts.
 *
 * Votes are counted on the CPU, or by what a voter leads to: functions that a library for a GPU
 * has (gpu/vote/bankfold_vote_host.h). */
#ifndef BF_IMAGING_VOTER_H
#define BF_IMAGING_VOTER_H

#include "base/base.h"

typedef struct bf_voter {
  struct bf_gpu *gpu; /* what the functions get first */
  int (*histogram_u64)(struct bf_gpu *gpu, const bf_pixels *image,
                       const bf_histogram_options *options, uint64_t *counts,
                       bf_diagnostic *diagnostic);
  int (*histogram_f64)(struct bf_gpu *gpu, const bf_pixels *image,
                       const bf_histogram_options *options, double *sums,
                       bf_diagnostic *diagnostic);
  int (*hough_vote)(struct bf_gpu *gpu, const bf_pixels *edges, const bf_hough_options *options,
                    bf_hough_space *space, bf_diagnostic *diagnostic);
} bf_voter;

#endif

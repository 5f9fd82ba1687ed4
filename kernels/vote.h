/* Kernels that vote, on images of the user's: what they do to shared memory depends on the image.
 * Each comes in three layouts of its copies, and its results are compared with a reference. */
#ifndef BF_KERNELS_VOTE_H
#define BF_KERNELS_VOTE_H

#include "kernels/measure.h"

typedef struct bf_corpus_vote {
  const char *kernel, *layout;
  uint64_t accesses, wavefronts, ideal, conflicts;
} bf_corpus_vote;

enum { BF_CORPUS_VOTES = 3 };

/* Counts pixels into 64 or 256 bins of 0 to 256; `expected` is how many each has. */
int bf_corpus_vote_histogram(const uint8_t *pixels, uint32_t pixel_count, const double *expected,
                             unsigned bins, const bf_corpus_settings *settings,
                             bf_corpus_vote kernels[BF_CORPUS_VOTES], bf_diagnostic *diagnostic);
/* Votes for the lines through edges, the pixels that are not 0. The space is polar, with angles
 * from 0 to pi and distances at least 1 apart. */
int bf_corpus_vote_hough(const bf_hough_space *space, const uint8_t *edges, uint32_t width,
                         uint32_t height, const bf_corpus_settings *settings,
                         bf_corpus_vote kernels[BF_CORPUS_VOTES], bf_diagnostic *diagnostic);

/* For these: runs one kernel and takes down what it did. Results that are wrong are BF_BAD_INPUT:
 * "kernel NAME <does> otherwise". */
int bf_corpus_vote_measure(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                           const char *does, bf_corpus_vote *kernel, bf_diagnostic *diagnostic);

#endif

/* References of the histograms. */
#ifndef BF_KERNELS_HISTOGRAM_H
#define BF_KERNELS_HISTOGRAM_H

#include <stdint.h>

/* Adds to bins[0 .. bin_count) how many pixels fall in each; bin_count divides 256. */
void bf_corpus_histogram_reference(const uint8_t *pixels, uint64_t pixel_count, unsigned bin_count,
                                   uint32_t *bins);
/* Adds the weights of the pixels to 256 bins. */
void bf_corpus_weighted_reference(const uint8_t *pixels, const float *weights, uint64_t pixel_count,
                                  double *bins);

#endif

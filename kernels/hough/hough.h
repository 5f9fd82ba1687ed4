/* Reference of the Hough transform. */
#ifndef BF_KERNELS_HOUGH_H
#define BF_KERNELS_HOUGH_H

#include <stdint.h>

/* Points have x in [0, BF_HOUGH_WIDTH) and y in [0, BF_HOUGH_HEIGHT); bin r of a line counts votes
 * with floor(rho) = r - BF_HOUGH_WIDTH. */
enum { BF_HOUGH_WIDTH = 256, BF_HOUGH_HEIGHT = 192, BF_HOUGH_BINS = 576 };

/* Adds the votes of points, x in the low and y in the high 16 bits, to the line of one angle. */
void bf_corpus_hough_reference(const uint32_t *points, uint32_t point_count, float cosine,
                               float sine, uint32_t *line);

#endif

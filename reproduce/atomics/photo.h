/* Grey pictures of 12 bits with the statistics of photographs, the same on every machine: objects
 * that hide each other at all sizes ("dead leaves"), each with its shade and texture, seen through
 * a lens and a noisy sensor. docs/atomics.md shows what bf_photo_measure says of them. */
#ifndef BF_PHOTO_H
#define BF_PHOTO_H

#include "base/base.h"

enum { BF_PHOTO_LEVELS = 4096 };

/* Fills width x height pixels, row by row; every seed is another scene. 0 or BF_NO_MEMORY. */
int bf_photo_make(unsigned seed, uint32_t width, uint32_t height, uint16_t *pixels,
                  bf_diagnostic *diagnostic);

/* What matters for counting grey levels in warps. Differences and correlations are those of pixels
 * of a row; entropy and bins count 256 equal ranges of grey. */
typedef struct bf_photo_statistics {
  double mean, deviation;      /* grey levels */
  double neighbour_difference; /* average distance of neighbours, grey levels */
  double correlation_1, correlation_8, correlation_64; /* of pixels so far apart */
  double difference_kurtosis; /* of neighbours' differences: 3 for noise, more with edges */
  double entropy_bits;        /* of the histogram; 8 when flat */
  double bins_per_warp;       /* different bins among 32 pixels in a row, average */
  double largest_share;       /* pixels of a warp in its fullest bin, average of 0..1 */
} bf_photo_statistics;

/* width is at least 65. */
void bf_photo_measure(const uint16_t *pixels, uint32_t width, uint32_t height,
                      bf_photo_statistics *statistics);

#endif

/* The pictures that histograms count: what one multiprocessor of 16 gets of each, 64 of its 1024
 * rows. */
#ifndef BF_PICTURES_H
#define BF_PICTURES_H

#include "reproduce/reproduce.h"

enum {
  BF_PICTURE_WIDTH = 1536,
  BF_PICTURE_HEIGHT = 1024,
  BF_PICTURE_SHARE = BF_PICTURE_WIDTH * BF_PICTURE_HEIGHT / 16,
  BF_PICTURES = 24
};

typedef struct bf_pictures {
  unsigned count;
  uint32_t pixel_count; /* of each */
  uint16_t *pixels[BF_PICTURES];
} bf_pictures;

/* Makes pictures with seeds 0 to count-1 and keeps the first pixel_count pixels from row first_row
 * on. They live as long as the run. A table of the run shows the statistics of the whole pictures.
 */
int bf_pictures_make(bf_reproduce_run *run, unsigned count, uint32_t first_row,
                     uint32_t pixel_count, bf_pictures *pictures, bf_diagnostic *diagnostic);

#endif

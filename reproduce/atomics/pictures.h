/* The pictures that histograms count: what one multiprocessor of 16 gets of each, 64 of its 1024
 * rows. */
#ifndef BF_PICTURES_H
#define BF_PICTURES_H

#include "reproduce/atomics/vote.h"
#include "reproduce/reproduce.h"

enum {
  BF_PICTURE_WIDTH = 1536,
  BF_PICTURE_HEIGHT = 1024,
  BF_PICTURE_SHARE = BF_PICTURE_WIDTH * BF_PICTURE_HEIGHT / 16,
  BF_PICTURE_FIRST_ROW = 448, /* of the share of multiprocessor 7 */
  BF_PICTURES = 24
};

typedef struct bf_pictures {
  unsigned count;
  uint32_t pixel_count; /* of each */
  uint16_t *pixels[BF_PICTURES];
} bf_pictures;

/* Makes pictures with seeds 0 to count-1 and keeps the first pixel_count pixels from row first_row
 * on. They live as long as the run. The table called table_name, if it is not NULL, shows the
 * statistics of the whole pictures. */
int bf_pictures_make(bf_reproduce_run *run, const char *table_name, unsigned count,
                     uint32_t first_row, uint32_t pixel_count, bf_pictures *pictures,
                     bf_diagnostic *diagnostic);

/* A histogram of each picture on a GPU (bf_vote_gpu_create): by blocks of 1024 threads, of which a
 * multiprocessor holds one at a time. */
typedef struct bf_picture_run {
  const char *gpu;
  const char *const *changes;
  bf_vote_hash hash;
  bf_vote_space space;
  uint32_t blocks;
} bf_picture_run;

enum { BF_PICTURE_THREADS = 1024 };

/* Sets *cycles to the average over the pictures. */
int bf_pictures_count(const bf_pictures *pictures, const bf_picture_run *run, double *cycles,
                      bf_diagnostic *diagnostic);

#endif

/* Inside room vote: how the pixels of a job become numbers of bins. */
#ifndef BF_VOTE_PLAN_H
#define BF_VOTE_PLAN_H

#include "vote/kernel.h"

/* A job made ready. Bytes without weights are counted by value and put into bins at the end. */
typedef struct bf_plan {
  bf_vote_job job; /* one long row where nothing lies between rows */
  const bf_vote_kernel *kernel;
  bool by_value;
  bool nothing; /* no value is in any bin */
  size_t counters;
  bf_word_bins words;
  bf_real_bins reals;
  uint16_t *table;  /* of words */
  float *edge;      /* of reals */
  uint32_t *before; /* of reals */
} bf_plan;

int bf_plan_make(const bf_vote_job *job, const bf_vote_kernel *kernel, bf_plan *plan,
                 bf_diagnostic *diagnostic);
void bf_plan_clear(bf_plan *plan);
/* Fills chunk with bins and weights of count pixels (at most BF_CHUNK) from column x of row y; how
 * many are dropped. */
size_t bf_plan_bin(const bf_plan *plan, size_t x, size_t y, size_t count, bf_chunk *chunk);
/* The same with bins as bytes, where there are at most 256 and no weights. */
size_t bf_plan_bin_narrowly(const bf_plan *plan, size_t x, size_t y, size_t count, bf_chunk *chunk);
/* Where the channel of the pixel at column x of row y lies; its mask, or NULL. */
const uint8_t *bf_plan_pixel(const bf_plan *plan, size_t x, size_t y);
const uint8_t *bf_plan_mask(const bf_plan *plan, size_t x, size_t y);

#endif

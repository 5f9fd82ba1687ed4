/* emu/sample: which blocks of launches are counted, and what is known from them of all.
 *
 * The blocks of all launches of a kernel with one shape follow each other in a row, which is cut
 * into cells of growing length: one block each at first, and from then on a LEAST-th of what came
 * before, up to a limit. One block of each cell, chosen at random, is counted and stands for the
 * cell: its weight is the length of the cell. So sums of counts times weights are estimates without
 * bias; what a kernel does in few blocks is counted exactly; and a launch of many blocks, or many
 * launches of few, take the same number of samples.
 *
 * How far an estimate may be off is seen from sixteen groups, to which cells go in turn, in random
 * order: each group is a sample of its own, and their estimates differ as far as chance lets them.
 */
#ifndef BF_EMU_SAMPLE_H
#define BF_EMU_SAMPLE_H

#include "base/base.h"

enum {
  BF_SAMPLE_GROUPS = 16,
  BF_SAMPLE_EXACT = BF_SAMPLE_GROUPS, /* the "group" of blocks that stand for themselves */
  BF_SAMPLE_LEAST = 400               /* blocks of a shape that are all counted, at least */
};

/* A block that is counted, how many it stands for, and the group of its cell. */
typedef struct bf_sample_block {
  uint64_t block;
  uint32_t weight, group;
} bf_sample_block;

/* What was chosen so far. */
typedef struct bf_sample_size {
  uint64_t blocks;                   /* of all launches */
  uint64_t counted;                  /* of them */
  uint64_t exact;                    /* of those: that stand for themselves */
  uint64_t weight[BF_SAMPLE_GROUPS]; /* of the others, by group */
} bf_sample_size;

typedef struct bf_sampler bf_sampler;

/* most_weight: the limit for the length of a cell; UINT32_MAX: none. NULL: out of memory. */
bf_sampler *bf_sampler_create(uint32_t most_weight, uint64_t seed);
void bf_sampler_free(bf_sampler *sampler);
/* Chooses among the blocks of the next launch. The list, in order, is valid until the next call. */
int bf_sampler_choose(bf_sampler *sampler, uint64_t blocks, uint64_t threads,
                      const bf_sample_block **list, size_t *count, bf_diagnostic *diagnostic);
bf_sample_size bf_sampler_size(const bf_sampler *sampler);

/* Sums of something over the blocks that were counted, times their weights, by group. */
typedef struct bf_sample_sums {
  uint64_t group[BF_SAMPLE_GROUPS + 1];
} bf_sample_sums;

typedef struct bf_sample_interval {
  uint64_t low, high;
} bf_sample_interval;

/* Where the sum over all blocks lies, in at least 95 of 100 cases. A block has between 0 and
 * most_of_block of it. Blocks of a kind that no sample has met can be at most 3 in so many as were
 * counted: they are allowed for too. */
bf_sample_interval bf_sample_interval_of(const bf_sample_size *size, const bf_sample_sums *sums,
                                         double most_of_block);

#endif

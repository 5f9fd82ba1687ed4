/* Samples of blocks. */
#include "emu/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shapes that are told apart; more of them share places. */
enum { SHAPES = 64 };

/* The row of blocks of one shape. */
typedef struct row {
  uint64_t blocks; /* so far */
  /* The cell that a launch has not come to the end of: blocks left, and those before the one that
   * is counted, which has passed where it is negative. */
  uint64_t left;
  int64_t until;
  uint32_t weight, group;
  uint8_t order[BF_SAMPLE_GROUPS]; /* of groups, and how many have had their turn */
  unsigned turns;
} row;

struct bf_sampler {
  uint64_t state; /* of random numbers */
  uint32_t most_weight;
  row row[SHAPES];
  bf_sample_size size;
  bf_sample_block *list;
  size_t count, capacity;
};

bf_sampler *bf_sampler_create(uint32_t most_weight, uint64_t seed) {
  bf_sampler *made = calloc(1, sizeof *made);
  if (made) {
    made->most_weight = most_weight ? most_weight : 1;
    made->state = seed;
  }
  return made;
}

void bf_sampler_free(bf_sampler *sampler) {
  if (sampler)
    free(sampler->list);
  free(sampler);
}

bf_sample_size bf_sampler_size(const bf_sampler *sampler) { return sampler->size; }

/* ---- Choosing ---- */

/* The next random number: splitmix64. */
static uint64_t next_random(bf_sampler *sampler) {
  uint64_t z = sampler->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* One from 0 to limit - 1, where limit is at most 2^32. */
static uint64_t random_below(bf_sampler *sampler, uint64_t limit) {
  return (next_random(sampler) >> 32) * limit >> 32;
}

/* The row of launches with so many blocks of so many threads: shapes with about as many blocks
 * share one. */
static row *row_of(bf_sampler *sampler, uint64_t blocks, uint64_t threads) {
  uint64_t size = 63 - (uint64_t)__builtin_clzll(blocks | 1);
  uint64_t key = (size << 16 ^ threads) * UINT64_C(0x9e3779b97f4a7c15);
  return &sampler->row[key >> 58];
}

/* The group of the next cell: all take their turn, in an order that is drawn anew each time. */
static uint32_t next_group(bf_sampler *sampler, row *own) {
  unsigned turn = own->turns++ % BF_SAMPLE_GROUPS;
  for (unsigned i = 0; turn == 0 && i < BF_SAMPLE_GROUPS; i++) {
    unsigned other = (unsigned)random_below(sampler, i + 1);
    own->order[i] = own->order[other];
    own->order[other] = (uint8_t)i;
  }
  return own->order[turn];
}

/* Begins a cell in a launch of so many blocks, of which some are left. A cell does not go on in the
 * next launch where one launch is long enough for it. */
static void begin_cell(bf_sampler *sampler, row *own, uint64_t blocks, uint64_t left) {
  uint64_t length = own->blocks / BF_SAMPLE_LEAST;
  length = length < 1 ? 1 : length > sampler->most_weight ? sampler->most_weight : length;
  if (blocks >= length && length > left)
    length = left;
  own->left = length;
  own->until = (int64_t)random_below(sampler, length);
  own->weight = (uint32_t)length;
  own->group = length == 1 ? BF_SAMPLE_EXACT : next_group(sampler, own);
}

/* Adds a block to the list. */
static bool add(bf_sampler *sampler, const row *own, uint64_t block) {
  if (sampler->count == sampler->capacity) {
    size_t capacity = sampler->capacity ? 2 * sampler->capacity : 1024;
    bf_sample_block *grown = realloc(sampler->list, capacity * sizeof *grown);
    if (!grown)
      return false;
    sampler->list = grown;
    sampler->capacity = capacity;
  }
  sampler->list[sampler->count++] = (bf_sample_block){block, own->weight, own->group};
  sampler->size.counted++;
  if (own->group == BF_SAMPLE_EXACT)
    sampler->size.exact++;
  else
    sampler->size.weight[own->group] += own->weight;
  return true;
}

int bf_sampler_choose(bf_sampler *sampler, uint64_t blocks, uint64_t threads,
                      const bf_sample_block **list, size_t *count, bf_diagnostic *diagnostic) {
  row *own = row_of(sampler, blocks, threads);
  sampler->count = 0;
  for (uint64_t at = 0; at < blocks;) {
    if (own->left == 0)
      begin_cell(sampler, own, blocks, blocks - at);
    uint64_t taken = own->left < blocks - at ? own->left : blocks - at;
    if (own->until >= 0 && (uint64_t)own->until < taken &&
        !add(sampler, own, at + (uint64_t)own->until))
      return bf_no_memory(diagnostic);
    own->until -= (int64_t)taken;
    own->left -= taken;
    own->blocks += taken;
    at += taken;
  }
  sampler->size.blocks += blocks;
  *list = sampler->list;
  *count = sampler->count;
  return BF_OK;
}

/* ---- Intervals ---- */

/* The 97.5% quantile of Student's t distribution, by degrees of freedom. */
static const double student[BF_SAMPLE_GROUPS] = {0,     12.706, 4.303, 3.182, 2.776, 2.571,
                                                 2.447, 2.365,  2.306, 2.262, 2.228, 2.201,
                                                 2.179, 2.160,  2.145, 2.131};

/* How far groups say that the sum may be off: the jackknife, which leaves out one group at a time,
 * as what those that are left give for all. */
static double spread(const bf_sample_size *size, const bf_sample_sums *sums, double weight,
                     double sum, double most_of_block) {
  double without[BF_SAMPLE_GROUPS], mean = 0, squares = 0;
  unsigned groups = 0;
  for (unsigned i = 0; i < BF_SAMPLE_GROUPS; i++)
    if (size->weight[i] && weight > (double)size->weight[i])
      without[groups++] =
          (sum - (double)sums->group[i]) * weight / (weight - (double)size->weight[i]);
  if (groups < 2)
    return weight * most_of_block;
  for (unsigned i = 0; i < groups; i++)
    mean += without[i] / groups;
  for (unsigned i = 0; i < groups; i++)
    squares += (without[i] - mean) * (without[i] - mean);
  return student[groups - 1] * sqrt(squares * (groups - 1) / groups);
}

static double larger(double a, double b) { return a > b ? a : b; }

bf_sample_interval bf_sample_interval_of(const bf_sample_size *size, const bf_sample_sums *sums,
                                         double most_of_block) {
  double weight = 0, sum = 0, exact = (double)sums->group[BF_SAMPLE_EXACT];
  for (unsigned i = 0; i < BF_SAMPLE_GROUPS; i++) {
    weight += (double)size->weight[i];
    sum += (double)sums->group[i];
  }
  double counted = (double)(size->counted - size->exact);
  double others = (double)(size->blocks - size->counted), all = others + counted;
  if (size->blocks == size->counted)
    return (bf_sample_interval){sums->group[BF_SAMPLE_EXACT] + (uint64_t)sum,
                                sums->group[BF_SAMPLE_EXACT] + (uint64_t)sum};
  double mean = weight > 0 ? sum / weight : most_of_block;
  double off = spread(size, sums, weight, sum, most_of_block);
  double unseen = counted > 3 ? others * 3 / counted : others;
  double end = fabs(all - weight) * mean; /* of the last cell, which may be over or not begun */
  double low = exact + sum - hypot(off, unseen * mean) - end;
  double high = exact + sum + hypot(off, unseen * larger(most_of_block - mean, 0)) + end;
  return (bf_sample_interval){(uint64_t)larger(floor(low), exact), (uint64_t)ceil(high)};
}

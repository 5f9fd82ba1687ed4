/* How pixels become numbers of bins: a shift, a table of all 16-bit values, or arithmetic. */
#include "vote/plan.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* One row instead of many, where nothing lies between them. */
static void join_rows(bf_vote_job *job) {
  bf_pixels *image = &job->image;
  size_t width = image->width;
  size_t weight_bytes = job->weight_type == BF_WEIGHT_F32 ? sizeof(float) : sizeof(double);
  bool joined = image->stride_bytes == width * image->channels * bf_pixel_bytes(image->type) &&
                (!image->mask || image->mask_stride_bytes == width) &&
                (!job->weights || job->weights_stride_bytes == width * weight_bytes);
  if (!joined)
    return;
  image->width *= image->height;
  image->height = 1;
}

static bool power_of_two(double value) {
  int exponent;
  return value > 0 && frexp(value, &exponent) == 0.5;
}

/* Bins of table[from..to], whose ends have bins low and high: bins increase with values. */
static void fill_table(const bf_bins *bins, uint16_t *table, size_t from, size_t to, size_t low,
                       size_t high) {
  if (low == high) {
    for (size_t i = from; i <= to; i++)
      table[i] = (uint16_t)low;
    return;
  }
  size_t middle = from + (to - from) / 2;
  fill_table(bins, table, from, middle, low, bf_bins_find(bins, (double)middle));
  fill_table(bins, table, middle + 1, to, bf_bins_find(bins, (double)middle + 1), high);
}

/* Which integers up to limit are in bins, and how they find theirs. */
static int plan_words(bf_plan *plan, double limit, bf_diagnostic *diagnostic) {
  const bf_bins *bins = &plan->job.bins;
  double low = bins->edges ? bins->edges[0] : bins->low;
  double high = bins->edges ? bins->edges[bins->count] : bins->high;
  double first = fmax(0, ceil(low)), last = fmin(limit, ceil(high) - 1);
  plan->nothing = first > last;
  if (plan->nothing)
    return BF_OK;
  plan->words = (bf_word_bins){.first = (uint16_t)first, .last = (uint16_t)last};
  double width = (high - low) / (double)bins->count;
  if (!bins->edges && low == 0 && width >= 1 && high <= 65536 && power_of_two(high) &&
      power_of_two((double)bins->count)) {
    plan->words.shift = (unsigned)ilogb(width);
    return BF_OK;
  }
  plan->table = malloc(65536 * sizeof *plan->table);
  if (!plan->table)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < 65536; i++)
    plan->table[i] = 0;
  fill_table(bins, plan->table, plan->words.first, plan->words.last, bf_bins_find(bins, first),
             bf_bins_find(bins, last));
  plan->words.table = plan->table;
  return BF_OK;
}

/* The smallest float that is not below value. */
static float float_above(double value) {
  float nearest = (float)value;
  return (double)nearest < value ? nextafterf(nearest, INFINITY) : nearest;
}

/* The guide to edges: four cells per bin, within limits, over the finite edges. */
static void lay_cells(const bf_bins *bins, bf_real_bins *reals) {
  size_t first = isinf(bins->edges[0]) ? 1 : 0;
  size_t last = bins->count - (isinf(bins->edges[bins->count]) ? 1 : 0);
  size_t cells = 4 * bins->count;
  reals->cells = (uint32_t)(cells < 1024 ? 1024 : cells < 65536 ? cells : 65536);
  reals->low = reals->high = 0;
  if (first <= last) {
    reals->low = (double)fmaxf(reals->edge[first], -FLT_MAX);
    reals->high = (double)fminf(reals->edge[last], FLT_MAX);
  }
  double range = reals->high - reals->low;
  reals->scale = range > 1e-30 ? (double)reals->cells / range : 0;
}

/* Edges before each cell, and the halvings that the fullest cell needs. */
static void count_edges(const bf_bins *bins, bf_real_bins *reals, uint32_t *before) {
  uint32_t most = 0;
  for (size_t i = 0; i <= bins->count; i++)
    before[bf_cell(reals, (double)reals->edge[i])]++;
  for (uint32_t i = 0, sum = 0; i < reals->cells; i++) {
    uint32_t here = before[i];
    most = here > most ? here : most;
    before[i] = sum;
    sum += here;
  }
  for (reals->steps = 0; UINT32_C(1) << reals->steps <= most; reals->steps++)
    ;
}

/* Edges as floats with a guide. */
static int plan_edges(bf_plan *plan, bf_diagnostic *diagnostic) {
  const bf_bins *bins = &plan->job.bins;
  size_t room = 4 * bins->count + 4; /* more than 2^steps past the last */
  plan->edge = malloc(room * sizeof *plan->edge);
  if (!plan->edge)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < room; i++)
    plan->edge[i] = i <= bins->count ? float_above(bins->edges[i]) : INFINITY;
  plan->reals = (bf_real_bins){.count = bins->count, .edge = plan->edge};
  lay_cells(bins, &plan->reals);
  plan->before = calloc(plan->reals.cells, sizeof *plan->before);
  if (!plan->before)
    return bf_no_memory(diagnostic);
  count_edges(bins, &plan->reals, plan->before);
  plan->reals.before = plan->before;
  return BF_OK;
}

int bf_plan_make(const bf_vote_job *job, const bf_vote_kernel *kernel, bf_plan *plan,
                 bf_diagnostic *diagnostic) {
  *plan = (bf_plan){.job = *job, .kernel = kernel, .counters = job->bins.count};
  if (job->image.width == 0 || job->image.height == 0) {
    plan->nothing = true;
    return BF_OK;
  }
  join_rows(&plan->job);
  double range = job->bins.high - job->bins.low;
  plan->reals = (bf_real_bins){.count = job->bins.count,
                               .low = job->bins.low,
                               .high = job->bins.high,
                               .inverse = power_of_two(range) && range > 1e-300 ? 1 / range : 0};
  if (job->image.type == BF_PIXEL_F32)
    return job->bins.edges ? plan_edges(plan, diagnostic) : BF_OK;
  if (job->image.type == BF_PIXEL_U16)
    return plan_words(plan, 65535, diagnostic);
  plan->by_value = !job->weights;
  plan->counters = plan->by_value ? 256 : job->bins.count;
  return plan->by_value ? BF_OK : plan_words(plan, 255, diagnostic);
}

void bf_plan_clear(bf_plan *plan) {
  free(plan->table);
  free(plan->edge);
  free(plan->before);
}

const uint8_t *bf_plan_pixel(const bf_plan *plan, size_t x, size_t y) {
  const bf_pixels *image = &plan->job.image;
  return (const uint8_t *)image->data + y * image->stride_bytes +
         (x * image->channels + plan->job.channel) * bf_pixel_bytes(image->type);
}

const uint8_t *bf_plan_mask(const bf_plan *plan, size_t x, size_t y) {
  const bf_pixels *image = &plan->job.image;
  return image->mask ? image->mask + y * image->mask_stride_bytes + x : NULL;
}

/* bin and keep of count pixels at data. */
static size_t bin_pixels(const bf_plan *plan, const uint8_t *data, bf_chunk *chunk) {
  const bf_vote_kernel *kernel = plan->kernel;
  unsigned channels = plan->job.image.channels;
  switch (plan->job.image.type) {
  case BF_PIXEL_U8:
    kernel->pick_bytes(chunk, data, channels);
    for (size_t i = 0; i < chunk->count; i++)
      chunk->words[i] = chunk->bytes[i];
    return kernel->bin_words(chunk, (const uint8_t *)chunk->words, &plan->words);
  case BF_PIXEL_U16:
    if (channels == 1)
      return kernel->bin_words(chunk, data, &plan->words);
    kernel->pick_words(chunk, data, channels);
    return kernel->bin_words(chunk, (const uint8_t *)chunk->words, &plan->words);
  case BF_PIXEL_F32:
    if (channels == 1)
      return kernel->bin_reals(chunk, data, &plan->reals);
    kernel->pick_reals(chunk, data, channels);
    return kernel->bin_reals(chunk, (const uint8_t *)chunk->reals, &plan->reals);
  }
  return 0;
}

size_t bf_plan_bin(const bf_plan *plan, size_t x, size_t y, size_t count, bf_chunk *chunk) {
  const bf_vote_job *job = &plan->job;
  const uint8_t *mask = bf_plan_mask(plan, x, y);
  chunk->count = count;
  size_t dropped = bin_pixels(plan, bf_plan_pixel(plan, x, y), chunk);
  if (mask)
    dropped = plan->kernel->mask_bins(chunk, mask);
  if (job->weights) {
    size_t weight_bytes = job->weight_type == BF_WEIGHT_F32 ? sizeof(float) : sizeof(double);
    plan->kernel->pick_weights(
        chunk, job->weights + y * job->weights_stride_bytes + x * weight_bytes, job->weight_type);
  }
  return dropped;
}

size_t bf_plan_bin_narrowly(const bf_plan *plan, size_t x, size_t y, size_t count,
                            bf_chunk *chunk) {
  const bf_pixels *image = &plan->job.image;
  const uint8_t *data = bf_plan_pixel(plan, x, y);
  if (image->type != BF_PIXEL_U16 || image->mask || plan->table) {
    size_t dropped = bf_plan_bin(plan, x, y, count, chunk);
    plan->kernel->narrow_bins(chunk);
    return dropped;
  }
  chunk->count = count;
  if (image->channels > 1) {
    plan->kernel->pick_words(chunk, data, image->channels);
    data = (const uint8_t *)chunk->words;
  }
  return plan->kernel->bin_narrowly(chunk, data, &plan->words);
}

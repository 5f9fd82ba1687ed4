/* Which bin a value is in, and whether bins and options make sense. */
#include "vote/vote.h"

#include <math.h>

/* The bin by edges: the last edge that is not above value, by halving. */
static size_t find_by_edges(const bf_bins *bins, double value) {
  if (!(value >= bins->edges[0] && value < bins->edges[bins->count]))
    return bins->count;
  size_t from = 0, to = bins->count;
  while (to - from > 1) {
    size_t middle = from + (to - from) / 2;
    if (value >= bins->edges[middle])
      from = middle;
    else
      to = middle;
  }
  return from;
}

size_t bf_bins_find(const bf_bins *bins, double value) {
  if (bins->edges)
    return find_by_edges(bins, value);
  if (!(value >= bins->low && value < bins->high))
    return bins->count;
  size_t bin = (size_t)((value - bins->low) * (double)bins->count / (bins->high - bins->low));
  return bin < bins->count ? bin : bins->count - 1;
}

static int check_edges(const bf_bins *bins, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i <= bins->count; i++) {
    if (isnan(bins->edges[i]))
      return bf_fail(diagnostic, BF_BAD_INPUT, "edge %zu is not a number", i);
    if (i > 0 && bins->edges[i] <= bins->edges[i - 1])
      return bf_fail(diagnostic, BF_BAD_INPUT, "edges must increase: edge %zu is %g after %g", i,
                     bins->edges[i], bins->edges[i - 1]);
  }
  return BF_OK;
}

/* Refuses ranges in which (value - low) * bins could overflow as well as empty ones. */
static int check_range(const bf_bins *bins, bf_diagnostic *diagnostic) {
  double limit = 1e300;
  if (!(bins->low < bins->high))
    return bf_fail(diagnostic, BF_BAD_INPUT, "no values from %g to below %g", bins->low,
                   bins->high);
  if (bins->low < -limit || bins->high > limit)
    return bf_fail(diagnostic, BF_BAD_INPUT, "range %g to %g: even bins need ends within 1e300",
                   bins->low, bins->high);
  return BF_OK;
}

/* The bins that options ask for, for pixels of a type. */
static int make_bins(const bf_histogram_options *options, bf_pixel_type type, bf_bins *bins,
                     bf_diagnostic *diagnostic) {
  static const double whole[] = {[BF_PIXEL_U8] = 256, [BF_PIXEL_U16] = 65536, [BF_PIXEL_F32] = 1};
  if (options->bins < 1 || options->bins > BF_MAX_BINS)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%zu bins: 1 to %d are possible", options->bins,
                   BF_MAX_BINS);
  *bins = (bf_bins){options->bins, options->low, options->high, options->edges};
  if (bins->edges)
    return check_edges(bins, diagnostic);
  if (bins->low == 0 && bins->high == 0)
    bins->high = whole[type];
  return check_range(bins, diagnostic);
}

/* Fills in and checks the stride of weights. */
static int check_weights(const bf_histogram_options *options, bf_vote_job *job,
                         bf_diagnostic *diagnostic) {
  if (options->weight_type != BF_WEIGHT_F32 && options->weight_type != BF_WEIGHT_F64)
    return bf_fail(diagnostic, BF_BAD_INPUT, "weights of unknown type %d",
                   (int)options->weight_type);
  size_t width = job->image.width, height = job->image.height;
  size_t weight_bytes = options->weight_type == BF_WEIGHT_F32 ? sizeof(float) : sizeof(double);
  job->weights = options->weights;
  job->weight_type = options->weight_type;
  if (width > (size_t)PTRDIFF_MAX / weight_bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%zu weights in a row exceed the address space",
                   width);
  size_t stride =
      options->weights_stride_bytes ? options->weights_stride_bytes : width * weight_bytes;
  if (stride < width * weight_bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "weights: a stride of %zu bytes for rows of %zu",
                   stride, width * weight_bytes);
  if (height > 0 && stride > (size_t)PTRDIFF_MAX / height)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "weights: %zu rows of %zu bytes exceed the address space", height, stride);
  job->weights_stride_bytes = stride;
  return BF_OK;
}

int bf_vote_job_make(const bf_pixels *image, const bf_histogram_options *given, bf_vote_job *job,
                     bf_diagnostic *diagnostic) {
  bf_histogram_options options;
  *job = (bf_vote_job){0};
  BF_TRY(bf_pixels_check(image, &job->image, diagnostic));
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_histogram_options", diagnostic));
  BF_TRY(make_bins(&options, image->type, &job->bins, diagnostic));
  if (options.channel >= job->image.channels)
    return bf_fail(diagnostic, BF_BAD_INPUT, "channel %u: the image has channels 0 to %u",
                   options.channel, job->image.channels - 1);
  job->channel = options.channel;
  job->accumulate = options.accumulate;
  job->threads = options.threads ? options.threads : bf_cores();
  return options.weights ? check_weights(&options, job, diagnostic) : BF_OK;
}

/* Edges: Sobel's gradient, Otsu's threshold. */
#include "vote/vote.h"

#include <math.h>
#include <stdlib.h>

/* The value next to pixel x, y by dx, dy; the border repeats, NaN is 0. */
static double value_near(const bf_pixels *image, unsigned channel, size_t x, size_t y, int dx,
                         int dy) {
  if ((dx > 0 && x + 1 < image->width) || (dx < 0 && x > 0))
    x += (size_t)(ptrdiff_t)dx;
  if ((dy > 0 && y + 1 < image->height) || (dy < 0 && y > 0))
    y += (size_t)(ptrdiff_t)dy;
  double value = bf_pixels_value(image, x, y, channel);
  return isnan(value) ? 0 : value;
}

/* |gx| + |gy| at a pixel; 0 where it is masked. */
static double gradient(const bf_pixels *image, unsigned channel, size_t x, size_t y) {
  double v[3][3];
  if (!bf_pixels_counts(image, x, y))
    return 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      v[dy + 1][dx + 1] = value_near(image, channel, x, y, dx, dy);
  double gx = (v[0][2] - v[0][0]) + 2 * (v[1][2] - v[1][0]) + (v[2][2] - v[2][0]);
  double gy = (v[2][0] - v[0][0]) + 2 * (v[2][1] - v[0][1]) + (v[2][2] - v[0][2]);
  return fabs(gx) + fabs(gy);
}

/* The largest gradient; infinite where a pixel is. */
static double largest_gradient(const bf_pixels *image, unsigned channel) {
  double largest = 0;
  for (size_t y = 0; y < image->height; y++)
    for (size_t x = 0; x < image->width; x++) {
      double value = gradient(image, channel, x, y);
      if (!(value <= largest))
        largest = isnan(value) ? (double)INFINITY : value;
    }
  return largest;
}

int bf_sobel(const bf_pixels *image, unsigned channel, unsigned threads, uint8_t *edges,
             size_t stride_bytes, bf_diagnostic *diagnostic) {
  bf_pixels checked;
  (void)threads;
  BF_TRY(bf_pixels_check(image, &checked, diagnostic));
  if (checked.width == 0 || checked.height == 0)
    return BF_OK;
  stride_bytes = stride_bytes ? stride_bytes : checked.width;
  if (!edges || stride_bytes < checked.width || stride_bytes > (size_t)PTRDIFF_MAX / checked.height)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the edges, or a bad stride");
  if (channel >= checked.channels)
    return bf_fail(diagnostic, BF_BAD_INPUT, "channel %u: the image has channels 0 to %u", channel,
                   checked.channels - 1);
  double largest = largest_gradient(&checked, channel);
  if (isinf(largest))
    return bf_fail(diagnostic, BF_BAD_INPUT, "infinite pixels have no gradient");
  for (size_t y = 0; y < checked.height; y++)
    for (size_t x = 0; x < checked.width; x++)
      edges[y * stride_bytes + x] =
          largest > 0 ? (uint8_t)(gradient(&checked, channel, x, y) / largest * 255 + 0.5) : 0;
  return BF_OK;
}

size_t bf_otsu(const uint64_t *counts, size_t bins) {
  double total = 0, moment = 0, below = 0, below_moment = 0, best = 0;
  size_t threshold = 0;
  for (size_t i = 0; i < bins; i++) {
    total += (double)counts[i];
    moment += (double)i * (double)counts[i];
  }
  for (size_t i = 0; i + 1 < bins; i++) {
    below += (double)counts[i];
    below_moment += (double)i * (double)counts[i];
    if (below == 0 || below == total)
      continue;
    double distance = below_moment / below - (moment - below_moment) / (total - below);
    double variance = below / total * ((total - below) / total) * distance * distance;
    if (variance > best) {
      best = variance;
      threshold = i;
    }
  }
  return threshold;
}

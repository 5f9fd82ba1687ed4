/* What the answers are, one pixel after the other. Fast versions are compared with these. */
#include "vote/vote.h"

#include <math.h>
#include <string.h>

void bf_vote_reference(const bf_vote_job *job, uint64_t *counts) {
  for (size_t y = 0; y < job->image.height; y++)
    for (size_t x = 0; x < job->image.width; x++) {
      size_t bin = bf_bins_find(&job->bins, bf_pixels_value(&job->image, x, y, job->channel));
      if (bin < job->bins.count && bf_pixels_counts(&job->image, x, y))
        counts[bin]++;
    }
}

/* The weight of a pixel: 1 where there are none. */
static double weight_of(const bf_vote_job *job, size_t x, size_t y) {
  if (!job->weights)
    return 1;
  const uint8_t *row = job->weights + y * job->weights_stride_bytes;
  float single;
  double weight;
  if (job->weight_type == BF_WEIGHT_F64) {
    memcpy(&weight, row + x * sizeof weight, sizeof weight);
    return weight;
  }
  memcpy(&single, row + x * sizeof single, sizeof single);
  return (double)single;
}

void bf_vote_reference_sums(const bf_vote_job *job, double *sums) {
  for (size_t y = 0; y < job->image.height; y++)
    for (size_t x = 0; x < job->image.width; x++) {
      size_t bin = bf_bins_find(&job->bins, bf_pixels_value(&job->image, x, y, job->channel));
      if (bin < job->bins.count && bf_pixels_counts(&job->image, x, y))
        sums[bin] += weight_of(job, x, y);
    }
}

void bf_vote_reference_hough(const bf_pixels *edges, bool weighted, const bf_hough_space *space) {
  for (size_t angle = 0; angle < space->angles; angle++) {
    bf_angle at = bf_hough_angle(space, angle);
    uint32_t *line = space->votes + angle * space->rhos + space->rho_zero;
    for (size_t y = 0; y < edges->height; y++)
      for (size_t x = 0; x < edges->width; x++) {
        uint32_t value = (uint32_t)bf_pixels_value(edges, x, y, 0);
        if (value == 0 || !bf_pixels_counts(edges, x, y))
          continue;
        float across = (float)x * at.x_factor, down = (float)y * at.y_factor;
        line[(ptrdiff_t)nearbyintf(across + down)] += weighted ? value : 1;
      }
  }
}

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
  double left = (v[0][0] + v[2][0]) + 2 * v[1][0], right = (v[0][2] + v[2][2]) + 2 * v[1][2];
  double top = (v[0][0] + v[0][2]) + 2 * v[0][1], bottom = (v[2][0] + v[2][2]) + 2 * v[2][1];
  return fabs(right - left) + fabs(bottom - top);
}

void bf_vote_reference_sobel(const bf_pixels *image, unsigned channel, uint8_t *edges,
                             size_t stride_bytes) {
  double largest = 0;
  for (size_t y = 0; y < image->height; y++)
    for (size_t x = 0; x < image->width; x++)
      largest = fmax(largest, gradient(image, channel, x, y));
  double scale = largest > 0 ? 255 / largest : 0;
  for (size_t y = 0; y < image->height; y++)
    for (size_t x = 0; x < image->width; x++)
      edges[y * stride_bytes + x] = (uint8_t)(gradient(image, channel, x, y) * scale + 0.5);
}

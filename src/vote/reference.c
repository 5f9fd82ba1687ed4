/* What the answers are, one pixel after the other. Fast versions are compared with these. */
#include "vote/vote.h"

#include <math.h>
#include <string.h>

void bf_histogram_reference(const bf_vote_job *job, uint64_t *counts) {
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

void bf_histogram_reference_sums(const bf_vote_job *job, double *sums) {
  for (size_t y = 0; y < job->image.height; y++)
    for (size_t x = 0; x < job->image.width; x++) {
      size_t bin = bf_bins_find(&job->bins, bf_pixels_value(&job->image, x, y, job->channel));
      if (bin < job->bins.count && bf_pixels_counts(&job->image, x, y))
        sums[bin] += weight_of(job, x, y);
    }
}

void bf_hough_reference(const bf_pixels *edges, bool weighted, const bf_hough_space *space) {
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

/* Hough spaces: their size, the factors of each angle, and the vote. */
#include "vote/kernel.h"

#include <math.h>
#include <stdlib.h>

/* The largest image side, at which float still tells neighbouring pixels apart; bins of rho on
 * either side of 0; and angles. */
enum { MAX_SIDE = 65536, MAX_RHO = 1 << 20, MAX_ANGLES = 1 << 20 };

bool bf_hough_shallow(double theta) { return fabs(cos(theta)) >= fabs(sin(theta)); }

void bf_hough_factors(bf_hough_form form, double theta, double *x_factor, double *y_factor) {
  double c = cos(theta), s = sin(theta);
  if (form == BF_HOUGH_POLAR) {
    *x_factor = c;
    *y_factor = s;
  } else if (bf_hough_shallow(theta)) {
    *x_factor = -s / c;
    *y_factor = 1;
  } else {
    *x_factor = 1;
    *y_factor = -c / s;
  }
}

bf_angle bf_hough_angle(const bf_hough_space *space, size_t angle) {
  double x_factor, y_factor;
  bf_hough_factors(space->form, space->theta_low + (double)angle * space->theta_step, &x_factor,
                   &y_factor);
  return (bf_angle){(float)(x_factor / space->rho_step), (float)(y_factor / space->rho_step)};
}

static int check_edges(const bf_pixels *edges, bf_diagnostic *diagnostic) {
  if (edges->type != BF_PIXEL_U8 || edges->channels != 1)
    return bf_fail(diagnostic, BF_BAD_INPUT, "edges must be an 8-bit image of one channel");
  if (edges->width > MAX_SIDE || edges->height > MAX_SIDE)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%zu x %zu pixels: at most %d on a side",
                   edges->width, edges->height, MAX_SIDE);
  return BF_OK;
}

/* The angles of a space: where they begin, how far apart and how many. */
static int set_angles(const bf_hough_options *options, bf_hough_space *space,
                      bf_diagnostic *diagnostic) {
  double low = options->theta_low, high = options->theta_high, step = options->theta_step;
  if (low == 0 && high == 0) {
    low = options->form == BF_HOUGH_POLAR ? 0 : -M_PI / 4;
    high = low + M_PI;
  }
  if (step == 0)
    step = M_PI / 180;
  if (!isfinite(low) || !isfinite(high) || !(low < high))
    return bf_fail(diagnostic, BF_BAD_INPUT, "no angles from %g to below %g", low, high);
  if (!isfinite(step) || step <= 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "angles cannot be %g apart", step);
  double count = fmax(1, round((high - low) / step));
  if (!(count <= MAX_ANGLES))
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%g angles: at most %d are possible", count,
                   MAX_ANGLES);
  space->angles = (size_t)count;
  space->theta_low = low;
  space->theta_step = step;
  return BF_OK;
}

/* Bins of rho for an image: as far to either side of 0 as its pixels can vote. */
static int set_rhos(const bf_pixels *edges, const bf_hough_options *options, bf_hough_space *space,
                    bf_diagnostic *diagnostic) {
  double step = options->rho_step == 0 ? 1 : options->rho_step;
  double x = edges->width ? (double)(edges->width - 1) : 0;
  double y = edges->height ? (double)(edges->height - 1) : 0;
  if (!isfinite(step) || step <= 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "bins of rho cannot be %g apart", step);
  double reach = ceil((options->form == BF_HOUGH_POLAR ? hypot(x, y) : x + y) / step);
  if (!(reach <= MAX_RHO))
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%g bins of rho: at most %d are possible",
                   2 * reach + 1, 2 * MAX_RHO + 1);
  space->rho_zero = (size_t)reach;
  space->rhos = 2 * space->rho_zero + 1;
  space->rho_step = step;
  return BF_OK;
}

/* The number of pixels of a row that are not 0: counted in bytes side by side, for as long as these
 * cannot overflow. */
static uint64_t count_edges(const uint8_t *row, size_t width) {
  enum { SIDE_BY_SIDE = 64, ROUNDS = 255 };
  uint64_t count = 0;
  size_t x = 0;
  while (width - x >= SIDE_BY_SIDE) {
    uint8_t part[SIDE_BY_SIDE] = {0};
    for (unsigned i = 0; i < ROUNDS && width - x >= SIDE_BY_SIDE; i++, x += SIDE_BY_SIDE)
      for (unsigned j = 0; j < SIDE_BY_SIDE; j++)
        part[j] = (uint8_t)(part[j] + (row[x + j] != 0));
    for (unsigned j = 0; j < SIDE_BY_SIDE; j++)
      count += part[j];
  }
  for (; x < width; x++)
    count += row[x] != 0;
  return count;
}

/* The same with a mask, or with values, which are added to sum. */
static uint64_t sum_edges(const uint8_t *row, const uint8_t *mask, size_t width, uint64_t *sum) {
  uint32_t count = 0, total = 0; /* at most 65536 * 255 */
  for (size_t x = 0; x < width; x++) {
    uint8_t value = mask && mask[x] == 0 ? 0 : row[x];
    count += value != 0;
    total += value;
  }
  *sum += total;
  return count;
}

/* Counts the edge pixels and refuses votes that may not fit. */
static int count_points(const bf_pixels *edges, bool weighted, bf_hough_space *space,
                        bf_diagnostic *diagnostic) {
  uint64_t sum = 0;
  for (size_t y = 0; y < edges->height && edges->width > 0; y++) {
    const uint8_t *row = (const uint8_t *)edges->data + y * edges->stride_bytes;
    const uint8_t *mask = edges->mask ? edges->mask + y * edges->mask_stride_bytes : NULL;
    space->points += mask || weighted ? sum_edges(row, mask, edges->width, &sum)
                                      : count_edges(row, edges->width);
  }
  sum = weighted ? sum : space->points;
  if (sum > UINT32_MAX)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "%llu votes per angle are more than 32 bits can count", (unsigned long long)sum);
  return BF_OK;
}

int bf_hough_vote(const bf_pixels *edges, const bf_hough_options *given, bf_hough_space *space,
                  bf_diagnostic *diagnostic) {
  bf_pixels checked;
  bf_hough_options options;
  if (!space)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no place for the space");
  *space = (bf_hough_space){0};
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_hough_options", diagnostic));
  if (options.form != BF_HOUGH_POLAR && options.form != BF_HOUGH_CARTESIAN)
    return bf_fail(diagnostic, BF_BAD_INPUT, "unknown form %d of lines", (int)options.form);
  space->form = options.form;
  BF_TRY(bf_pixels_check(edges, &checked, diagnostic));
  BF_TRY(check_edges(&checked, diagnostic));
  BF_TRY(set_angles(&options, space, diagnostic));
  BF_TRY(set_rhos(&checked, &options, space, diagnostic));
  BF_TRY(count_points(&checked, options.weighted, space, diagnostic));
  space->votes = calloc(space->angles, space->rhos * sizeof *space->votes);
  if (!space->votes)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory: %zu angles of %zu bins", space->angles,
                   space->rhos);
  int error =
      bf_hough_count(&checked, options.weighted, options.threads ? options.threads : bf_cores(),
                     bf_vote_best(), space, diagnostic);
  if (error)
    bf_hough_space_clear(space);
  return error;
}

void bf_hough_space_clear(bf_hough_space *space) {
  if (!space)
    return;
  free(space->votes);
  *space = (bf_hough_space){0};
}

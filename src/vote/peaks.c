/* Peaks of a Hough space, and the lines they stand for. */
#include "vote/vote.h"

#include <math.h>
#include <stdlib.h>

/* A search for peaks. wraps: the space covers pi, so that angle number -1 is the last one with the
 * sign of rho changed. */
typedef struct search {
  const bf_hough_space *space;
  uint32_t min_votes;
  ptrdiff_t theta_radius, rho_radius;
  bool wraps;
  bool *shallow; /* of each angle, in Cartesian spaces; else NULL */
} search;

static uint32_t votes_at(const bf_hough_space *space, ptrdiff_t angle, ptrdiff_t bin) {
  return space->votes[(size_t)angle * space->rhos + (size_t)bin];
}

/* Moves an angle and a bin that lie beyond the first or last angle to where they are in the space;
 * false where they are not in it. */
static bool settle(const search *peaks, ptrdiff_t *angle, ptrdiff_t *bin) {
  ptrdiff_t angles = (ptrdiff_t)peaks->space->angles, rhos = (ptrdiff_t)peaks->space->rhos;
  if (*angle < 0 || *angle >= angles) {
    if (!peaks->wraps)
      return false;
    *angle += *angle < 0 ? angles : -angles;
    *bin = rhos - 1 - *bin;
  }
  return *bin >= 0 && *bin < rhos;
}

/* Whether bin (angle, bin) yields to a neighbour: one with more votes, or as many and earlier. */
static bool yields(const search *peaks, ptrdiff_t angle, ptrdiff_t bin, ptrdiff_t other_angle,
                   ptrdiff_t other_bin) {
  const bf_hough_space *space = peaks->space;
  if (!settle(peaks, &other_angle, &other_bin))
    return false;
  uint32_t own = votes_at(space, angle, bin), other = votes_at(space, other_angle, other_bin);
  bool earlier = other_angle != angle ? other_angle < angle : other_bin < bin;
  return other > own || (other == own && earlier);
}

/* Whether angle other is in the same half of the space as angle. */
static bool same_half(const search *peaks, ptrdiff_t angle, ptrdiff_t other) {
  if (!peaks->shallow)
    return true;
  return other >= 0 && other < (ptrdiff_t)peaks->space->angles &&
         peaks->shallow[angle] == peaks->shallow[other];
}

/* Whether no bin within the radii beats this one. */
static bool is_peak(const search *peaks, ptrdiff_t angle, ptrdiff_t bin, ptrdiff_t theta_radius,
                    ptrdiff_t rho_radius) {
  for (ptrdiff_t a = angle - theta_radius; a <= angle + theta_radius; a++) {
    if (!same_half(peaks, angle, a))
      continue;
    for (ptrdiff_t b = bin - rho_radius; b <= bin + rho_radius; b++)
      if (yields(peaks, angle, bin, a, b))
        return false;
  }
  return true;
}

/* Whether a bin has enough votes and does not yield to its neighbours at the same angle: most do.
 */
static bool stands_out(const search *peaks, const uint32_t *row, size_t bin) {
  uint32_t own = row[bin];
  return own >= peaks->min_votes && (bin == 0 || row[bin - 1] < own) &&
         (bin + 1 == peaks->space->rhos || row[bin + 1] <= own);
}

static bf_peak peak_at(const bf_hough_space *space, size_t angle, size_t bin) {
  bf_peak peak = {.theta = space->theta_low + (double)angle * space->theta_step,
                  .rho = ((double)bin - (double)space->rho_zero) * space->rho_step,
                  .votes = space->votes[angle * space->rhos + bin],
                  .angle = angle,
                  .bin = bin};
  bf_hough_factors(space->form, peak.theta, &peak.x_factor, &peak.y_factor);
  return peak;
}

/* Orders lines: most votes first, then by place. */
static int compare(const void *left, const void *right) {
  const bf_peak *a = left, *b = right;
  if (a->votes != b->votes)
    return a->votes > b->votes ? -1 : 1;
  if (a->angle != b->angle)
    return a->angle < b->angle ? -1 : 1;
  return a->bin < b->bin ? -1 : a->bin > b->bin;
}

/* Adds a peak; found->peak has room for *capacity. */
static int add_peak(bf_peaks *found, size_t *capacity, bf_peak peak, bf_diagnostic *diagnostic) {
  if (found->count == *capacity) {
    size_t wanted = *capacity ? 2 * *capacity : 64;
    bf_peak *grown = realloc(found->peak, wanted * sizeof *grown);
    if (!grown)
      return bf_no_memory(diagnostic);
    found->peak = grown;
    *capacity = wanted;
  }
  found->peak[found->count++] = peak;
  return BF_OK;
}

/* Adds all peaks, angle by angle, looking near before far. */
static int collect(const search *peaks, bf_peaks *found, bf_diagnostic *diagnostic) {
  const bf_hough_space *space = peaks->space;
  size_t capacity = 0;
  for (size_t angle = 0; angle < space->angles; angle++)
    for (size_t bin = 0; bin < space->rhos; bin++) {
      ptrdiff_t a = (ptrdiff_t)angle, b = (ptrdiff_t)bin;
      if (stands_out(peaks, space->votes + angle * space->rhos, bin) &&
          is_peak(peaks, a, b, peaks->theta_radius ? 1 : 0, 1) &&
          is_peak(peaks, a, b, peaks->theta_radius, peaks->rho_radius))
        BF_TRY(add_peak(found, &capacity, peak_at(space, angle, bin), diagnostic));
    }
  return BF_OK;
}

/* Which angles belong to which half of a Cartesian space. */
static int find_halves(search *peaks, bf_diagnostic *diagnostic) {
  const bf_hough_space *space = peaks->space;
  if (space->form != BF_HOUGH_CARTESIAN)
    return BF_OK;
  peaks->shallow = malloc(space->angles * sizeof *peaks->shallow);
  if (!peaks->shallow)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < space->angles; i++)
    peaks->shallow[i] = bf_hough_shallow(space->theta_low + (double)i * space->theta_step);
  return BF_OK;
}

/* The search that options ask for. */
static search make_search(const bf_hough_space *space, const bf_peak_options *options) {
  size_t theta_radius = options->theta_radius ? options->theta_radius : 1;
  size_t rho_radius = options->rho_radius ? options->rho_radius : 1;
  double span = (double)space->angles * space->theta_step;
  return (search){
      .space = space,
      .min_votes = options->min_votes ? options->min_votes : 1,
      .theta_radius = (ptrdiff_t)(theta_radius < space->angles ? theta_radius : space->angles - 1),
      .rho_radius = (ptrdiff_t)(rho_radius < space->rhos ? rho_radius : space->rhos - 1),
      .wraps = space->form == BF_HOUGH_POLAR && fabs(span - M_PI) < 0.5 * space->theta_step};
}

int bf_hough_peaks(const bf_hough_space *space, const bf_peak_options *given, bf_peaks *found,
                   bf_diagnostic *diagnostic) {
  bf_peak_options options;
  if (!space || !found)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no space or no place for lines");
  *found = (bf_peaks){0};
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_peak_options", diagnostic));
  if (!space->votes || space->angles == 0 || space->rhos != 2 * space->rho_zero + 1)
    return bf_fail(diagnostic, BF_BAD_INPUT, "not a Hough space");
  search peaks = make_search(space, &options);
  int error = find_halves(&peaks, diagnostic);
  if (!error)
    error = collect(&peaks, found, diagnostic);
  free(peaks.shallow);
  if (error) {
    bf_peaks_clear(found);
    return error;
  }
  if (found->count > 0)
    qsort(found->peak, found->count, sizeof *found->peak, compare);
  if (options.max_lines && found->count > options.max_lines)
    found->count = options.max_lines;
  return BF_OK;
}

void bf_peaks_clear(bf_peaks *found) {
  if (!found)
    return;
  free(found->peak);
  *found = (bf_peaks){0};
}

/* Where the line crosses coordinate = at, if that is within 0 to limit of the other coordinate. */
static bool cross(double own_factor, double other_factor, double rho, double at, double limit,
                  double *other) {
  if (other_factor == 0)
    return false;
  *other = (rho - own_factor * at) / other_factor;
  return *other >= -1e-9 && *other <= limit + 1e-9;
}

/* Keeps the pair of points that is farthest apart: crossings at a corner come twice. */
static void keep(double end[4], unsigned *count, double x, double y) {
  double old = *count < 2 ? 0 : hypot(end[2] - end[0], end[3] - end[1]);
  if (*count > 0 && (*count < 2 || hypot(x - end[0], y - end[1]) > old)) {
    end[2] = x;
    end[3] = y;
    *count = 2;
  }
  if (*count == 0) {
    end[0] = x;
    end[1] = y;
    *count = 1;
  }
}

bool bf_peak_clip(const bf_peak *peak, size_t width, size_t height, double end[4]) {
  if (width == 0 || height == 0)
    return false;
  double right = (double)(width - 1), bottom = (double)(height - 1), other;
  unsigned count = 0;
  for (int side = 0; side < 2; side++) {
    double x = side ? right : 0, y = side ? bottom : 0;
    if (cross(peak->x_factor, peak->y_factor, peak->rho, x, bottom, &other))
      keep(end, &count, x, other);
    if (cross(peak->y_factor, peak->x_factor, peak->rho, y, right, &other))
      keep(end, &count, other, y);
  }
  if (count == 1) {
    end[2] = end[0];
    end[3] = end[1];
  }
  return count > 0;
}

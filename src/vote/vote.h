/* vote: histograms and Hough transforms on the CPU. Every fast way has a plain twin here that says
 * what the answer is (reference.c); tests compare the two. The room knows base only. */
#ifndef BF_VOTE_H
#define BF_VOTE_H

#include "base/base.h"

/* ---- Images ---- */

/* Copies image to checked with channels and strides filled in, or says what is wrong with it. */
int bf_pixels_check(const bf_pixels *image, bf_pixels *checked, bf_diagnostic *diagnostic);
size_t bf_pixel_bytes(bf_pixel_type type);
/* The value of one channel of the pixel at column x of row y. The image is checked. */
double bf_pixels_value(const bf_pixels *image, size_t x, size_t y, unsigned channel);
/* Whether the pixel votes, as far as the mask goes. */
bool bf_pixels_counts(const bf_pixels *image, size_t x, size_t y);

/* ---- Histograms ---- */

typedef struct bf_bins {
  size_t count;
  double low, high;
  const double *edges; /* NULL: even bins */
} bf_bins;

/* The bin of value; count where it is dropped. */
size_t bf_bins_find(const bf_bins *bins, double value);

/* A histogram to make: everything is checked, no size or stride is left open. */
typedef struct bf_vote_job {
  bf_pixels image;
  bf_bins bins;
  unsigned channel;
  const uint8_t *weights; /* NULL: each vote is 1 */
  bf_weight_type weight_type;
  size_t weights_stride_bytes;
  bool accumulate;
  unsigned threads;
} bf_vote_job;

int bf_vote_job_make(const bf_pixels *image, const bf_histogram_options *options, bf_vote_job *job,
                     bf_diagnostic *diagnostic);
/* Adds the votes of all pixels to counts or sums, one pixel after the other: the reference. */
void bf_vote_reference(const bf_vote_job *job, uint64_t *counts);
void bf_vote_reference_sums(const bf_vote_job *job, double *sums);

/* ---- Hough ---- */

/* Factors of x and y at one angle, both divided by rho_step. */
typedef struct bf_angle {
  float x_factor, y_factor;
} bf_angle;

/* Whether theta belongs to the half of a Cartesian space that is y - x tan(theta). */
bool bf_hough_shallow(double theta);
/* The factors of x and y in the line's equation. */
void bf_hough_factors(bf_hough_form form, double theta, double *x_factor, double *y_factor);
bf_angle bf_hough_angle(const bf_hough_space *space, size_t angle);
/* Lets every pixel vote, one after the other: the reference. votes are zero before. */
void bf_vote_reference_hough(const bf_pixels *edges, bool weighted, const bf_hough_space *space);

/* ---- Edges ---- */

/* The first half of bf_hough_lines: edges above Otsu's threshold into result, which is cleared
 * after an error by the caller. The image is checked. */
int bf_hough_edges(const bf_pixels *image, unsigned channel, unsigned threads,
                   bf_hough_result *result, bf_diagnostic *diagnostic);

/* bf_sobel of a checked image without infinite pixels, one pixel after the other: the reference. */
void bf_vote_reference_sobel(const bf_pixels *image, unsigned channel, uint8_t *edges,
                             size_t stride_bytes);

#endif

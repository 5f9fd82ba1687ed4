/* Drivers of the Hough transform. */
#include "kernels/hough/hough.h"

#include "kernels/corpus.h"

#include <math.h>

enum { ANGLES = 180, THREADS = 256 };

/* The same operations as in the kernel, each rounded in the same way. */
void bf_corpus_hough_reference(const uint32_t *points, uint32_t point_count, float cosine,
                               float sine, uint32_t *line) {
  for (uint32_t i = 0; i < point_count; i++) {
    const float x = (float)(points[i] & 0xffff), y = (float)(points[i] >> 16);
    const float across = y * sine;
    line[(int)floorf(fmaf(x, cosine, across)) + BF_HOUGH_WIDTH]++;
  }
}

/* Points as edge detection leaves them, row by row: most of them near eight lines, a fifth
 * anywhere. Rows are scanned in order, so that neighbours in the list are neighbours in the image.
 */
static void make_points(unsigned seed, uint32_t point_count, uint32_t *points) {
  bf_corpus_random random = bf_corpus_seed(seed);
  float at[8], slope[8];
  for (unsigned line = 0; line < 8; line++) {
    at[line] = bf_corpus_uniform(&random) * BF_HOUGH_WIDTH;
    slope[line] = bf_corpus_uniform(&random) * 2 - 1;
  }
  for (uint32_t i = 0; i < point_count; i++) {
    const uint32_t y = (uint32_t)((uint64_t)i * BF_HOUGH_HEIGHT / point_count);
    const uint32_t kind = bf_corpus_next(&random) % 10;
    float x = bf_corpus_uniform(&random) * BF_HOUGH_WIDTH;
    if (kind < 8)
      x = at[kind] + slope[kind] * (float)y;
    points[i] = ((uint32_t)(int32_t)floorf(x) % BF_HOUGH_WIDTH) | y << 16;
  }
}

/* Votes of a list of points for all angles. */
static int run_hough(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                     bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t point_count = 2048 * run->scale, votes = ANGLES * BF_HOUGH_BINS;
  uint32_t *points, *reference, *result;
  float cosines[ANGLES], sines[ANGLES];
  BF_TRY(BF_CORPUS_ALLOC(run, &points, point_count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, votes, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, votes, diagnostic));
  make_points(run->seed, point_count, points);
  for (unsigned angle = 0; angle < ANGLES; angle++) {
    const double theta = angle * (acos(-1) / ANGLES);
    cosines[angle] = (float)cos(theta);
    sines[angle] = (float)sin(theta);
    bf_corpus_hough_reference(points, point_count, cosines[angle], sines[angle],
                              reference + angle * BF_HOUGH_BINS);
  }

  uint64_t list, cosine, sine, space;
  BF_TRY(bf_corpus_upload(device, points, point_count * sizeof *points, &list, diagnostic));
  BF_TRY(bf_corpus_upload(device, cosines, sizeof cosines, &cosine, diagnostic));
  BF_TRY(bf_corpus_upload(device, sines, sizeof sines, &sine, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, votes * sizeof *result, &space, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, ANGLES, 1, THREADS, 1, diagnostic, &list,
                          &point_count, &cosine, &sine, &space));
  BF_TRY(device->read(device->context, space, result, votes * sizeof *result, diagnostic));
  bf_corpus_compare_u32(result, reference, votes, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_hough[] = {
    {
        .name = "hough",
        .folder = "hough",
        .summary = "polar Hough voting, 8 copies of a line, copy by copy",
        .is_data_dependent = true,
        .variant = "hough_major",
        .run = run_hough,
    },
    {
        .name = "hough-padded",
        .folder = "hough",
        .summary = "polar Hough voting, 8 copies of a line, with a spare word",
        .is_padded = true,
        .is_data_dependent = true,
        .variant = "hough_padded",
        .run = run_hough,
    },
    {
        .name = "hough-binmajor",
        .folder = "hough",
        .summary = "polar Hough voting, 8 copies of a line, bin by bin",
        .is_data_dependent = true,
        .variant = "hough_binmajor",
        .run = run_hough,
    },
    {0},
};

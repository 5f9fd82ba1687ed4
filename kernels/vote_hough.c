/* The kernels of kernels/hough on edges of the user's. A line of their space has 576 bins, so that
 * an image is voted on in tiles of 256 x 192 pixels, each a launch. */
#include "kernels/hough/hough.h"
#include "kernels/vote.h"

#include <math.h>

enum { THREADS = 256 };
#define MOST_EMULATED_VOTES ((uint64_t)1 << 30)

/* What a kernel votes on. */
typedef struct emulated {
  const char *kernel;
  const bf_hough_space *space;
  const uint8_t *edges; /* of width x height pixels */
  uint32_t width, height;
} emulated;

/* Arrays of a run: factors of every angle, points of a tile, and the spaces to compare. */
typedef struct arrays {
  float *cosines, *sines;
  uint32_t *points;
  uint32_t *expected, *result;
  uint64_t cosines_there, sines_there, space_there;
} arrays;

static int make_arrays(const bf_corpus_run *run, const bf_hough_space *space, arrays *all,
                       bf_diagnostic *diagnostic) {
  const size_t votes = space->angles * BF_HOUGH_BINS;
  const uint64_t factor_bytes = space->angles * sizeof(float);
  BF_TRY(BF_CORPUS_ALLOC(run, &all->cosines, space->angles, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &all->sines, space->angles, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &all->points, BF_HOUGH_WIDTH * BF_HOUGH_HEIGHT, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &all->expected, votes, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &all->result, votes, diagnostic));
  for (size_t i = 0; i < space->angles; i++) {
    const double theta = space->theta_low + (double)i * space->theta_step;
    all->cosines[i] = (float)(cos(theta) / space->rho_step);
    all->sines[i] = (float)(sin(theta) / space->rho_step);
  }
  BF_TRY(
      bf_corpus_upload(run->device, all->cosines, factor_bytes, &all->cosines_there, diagnostic));
  BF_TRY(bf_corpus_upload(run->device, all->sines, factor_bytes, &all->sines_there, diagnostic));
  return bf_corpus_upload(run->device, NULL, votes * sizeof(uint32_t), &all->space_there,
                          diagnostic);
}

/* Edges of the tile whose first pixel is x, y, row by row, as the kernels take them; how many. */
static uint32_t list_points(const emulated *job, uint32_t x, uint32_t y, uint32_t *points) {
  const uint32_t wide = job->width - x, high = job->height - y;
  uint32_t count = 0;
  for (uint32_t dy = 0; dy < high && dy < BF_HOUGH_HEIGHT; dy++)
    for (uint32_t dx = 0; dx < wide && dx < BF_HOUGH_WIDTH; dx++)
      if (job->edges[(size_t)(y + dy) * job->width + x + dx])
        points[count++] = dx | dy << 16;
  return count;
}

/* Votes on one tile and compares. */
static int run_tile(const bf_corpus_run *run, const arrays *all, uint32_t point_count,
                    bf_corpus_outcome *outcome, bf_diagnostic *diagnostic) {
  const emulated *job = run->benchmark->variant;
  const size_t angles = job->space->angles, votes = angles * BF_HOUGH_BINS;
  uint64_t list;
  for (size_t i = 0; i < votes; i++)
    all->expected[i] = 0;
  for (size_t i = 0; i < angles; i++)
    bf_corpus_hough_reference(all->points, point_count, all->cosines[i], all->sines[i],
                              all->expected + i * BF_HOUGH_BINS);
  BF_TRY(bf_corpus_upload(run->device, all->points, point_count * sizeof *all->points, &list,
                          diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(run->device, job->kernel, (uint32_t)angles, 1, THREADS, 1, diagnostic,
                          &list, &point_count, &all->cosines_there, &all->sines_there,
                          &all->space_there));
  BF_TRY(run->device->read(run->device->context, all->space_there, all->result,
                           votes * sizeof *all->result, diagnostic));
  bf_corpus_compare_u32(all->result, all->expected, (uint32_t)votes, outcome);
  return BF_OK;
}

/* bf_corpus_benchmark.run: all tiles that have edges. */
static int run_kernel(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                      bf_diagnostic *diagnostic) {
  const emulated *job = run->benchmark->variant;
  arrays all;
  BF_TRY(make_arrays(run, job->space, &all, diagnostic));
  for (uint32_t y = 0; y < job->height; y += BF_HOUGH_HEIGHT)
    for (uint32_t x = 0; x < job->width; x += BF_HOUGH_WIDTH) {
      const uint32_t count = list_points(job, x, y, all.points);
      if (count > 0 && !outcome->wrong)
        BF_TRY(run_tile(run, &all, count, outcome, diagnostic));
    }
  return BF_OK;
}

/* Fails unless the kernels can vote for this: their rho lies in [-256, 320). */
static int check_space(const bf_hough_space *space, bf_diagnostic *diagnostic) {
  const double last = space->theta_low + (double)(space->angles - 1) * space->theta_step;
  if (space->rho_step < 1 || space->theta_low < 0 || last > acos(-1))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "kernels on the emulator vote for angles from 0 to 180 degrees and distances at "
                   "least 1 apart");
  if (space->points > MOST_EMULATED_VOTES / space->angles)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "%llu edges and %zu angles: kernels on the emulator take at most %llu votes",
                   (unsigned long long)space->points, space->angles,
                   (unsigned long long)MOST_EMULATED_VOTES);
  return BF_OK;
}

int bf_corpus_vote_hough(const bf_hough_space *space, const uint8_t *edges, uint32_t width,
                         uint32_t height, const bf_corpus_settings *settings,
                         bf_corpus_vote kernels[BF_CORPUS_VOTES], bf_diagnostic *diagnostic) {
  static const char *const names[BF_CORPUS_VOTES] = {"hough_major", "hough_padded",
                                                     "hough_binmajor"};
  static const char *const layouts[BF_CORPUS_VOTES] = {
      "copy by copy", "copy by copy, with a spare word", "bin by bin"};
  emulated job = {.space = space, .edges = edges, .width = width, .height = height};
  BF_TRY(check_space(space, diagnostic));
  for (unsigned i = 0; i < BF_CORPUS_VOTES; i++) {
    const bf_corpus_benchmark benchmark = {
        .name = "hough", .folder = "hough", .variant = &job, .run = run_kernel};
    job.kernel = names[i];
    kernels[i] = (bf_corpus_vote){.kernel = names[i], .layout = layouts[i]};
    BF_TRY(bf_corpus_vote_measure(&benchmark, settings, "votes", &kernels[i], diagnostic));
  }
  return BF_OK;
}

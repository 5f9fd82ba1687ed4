/* Document 001, Fig. 8: votes for lines through the edge points of a 640 x 480 picture. Angles and
 * the range of distances are those of document 002: 120 angles, and distances from -width to the
 * diagonal, 1440 bins; a block fills the line of one angle. One multiprocessor of 16 has 7.5 of the
 * angles: here 8, evenly spread. */
#include "reproduce/atomics/edges.h"
#include "reproduce/atomics/figures.h"
#include "reproduce/atomics/photo.h"
#include "reproduce/atomics/vote.h"

#include <math.h>

enum { WIDTH = 640, HEIGHT = 480, BINS = 1440, MOST_COPIES = 6, THREADS = 1024 };

/* The share of pixels that are edges: the average of the pictures of document 002. */
static const double edge_share = 0.21;

typedef struct lines_figure {
  uint32_t *points, point_count, angles;
  double cycles[BF_VOTE_LAYOUTS][MOST_COPIES][BF_VOTE_HASHES];
} lines_figure;

static int make_points(bf_reproduce_run *run, lines_figure *figure, bf_diagnostic *diagnostic) {
  bf_arena *arena = bf_reproduce_arena(run);
  uint16_t *pixels = bf_arena_alloc(arena, (size_t)WIDTH * HEIGHT * sizeof *pixels);
  figure->points = bf_arena_alloc(arena, (size_t)WIDTH * HEIGHT * sizeof *figure->points);
  if (!pixels || !figure->points)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  BF_TRY(bf_photo_make(0, WIDTH, HEIGHT, pixels, diagnostic));
  return bf_edges_find(pixels, WIDTH, HEIGHT, edge_share, figure->points, &figure->point_count,
                       diagnostic);
}

/* Task: one layout, number of copies and hash. */
static int find_point(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const char *const changes[] = {"sms=1", NULL};
  lines_figure *figure = context;
  unsigned hash = index % BF_VOTE_HASHES, step = index / BF_VOTE_HASHES % MOST_COPIES;
  unsigned layout = index / BF_VOTE_HASHES / MOST_COPIES;
  bf_vote_hough hough = {.points = figure->points,
                         .point_count = figure->point_count,
                         .threads = THREADS,
                         .first_angle = BF_VOTE_ANGLES / figure->angles / 2,
                         .angle_step = BF_VOTE_ANGLES / figure->angles,
                         .angles = figure->angles,
                         .offset = WIDTH,
                         .space = {BINS, step + 1, (bf_vote_layout)layout}};
  bf_vote_gpu gpu;
  bf_vote_outcome outcome;
  BF_TRY(bf_vote_gpu_create("gtx580", changes, (bf_vote_hash)hash, &gpu, diagnostic));
  int error = bf_vote_hough_run(&gpu, &hough, &outcome, diagnostic);
  figure->cycles[layout][step][hash] = (double)outcome.cycles;
  bf_vote_gpu_free(&gpu);
  return error;
}

static double speedup(const lines_figure *figure, unsigned layout, unsigned step, unsigned hash) {
  const double *cycles = figure->cycles[layout][step];
  return cycles[BF_VOTE_NONE] / cycles[hash];
}

static void add_table(bf_reproduce_run *run, const lines_figure *figure) {
  bf_reproduce_table *table = bf_reproduce_table_add(run, "hough", "Cycles of the voting step",
                                                     "layout|copies|none|XOR|ADD|speed-up XOR|ADD");
  for (unsigned layout = 0; layout < BF_VOTE_LAYOUTS; layout++)
    for (unsigned step = 0; step < MOST_COPIES; step++) {
      bf_reproduce_cell(table, "%s", bf_vote_layout_names[layout]);
      bf_reproduce_cell(table, "%u", step + 1);
      for (unsigned hash = 0; hash < BF_VOTE_HASHES; hash++)
        bf_reproduce_cell(table, "%.0f", figure->cycles[layout][step][hash]);
      bf_reproduce_cell(table, "%.3f", speedup(figure, layout, step, BF_VOTE_XOR));
      bf_reproduce_cell(table, "%.3f", speedup(figure, layout, step, BF_VOTE_ADD));
    }
}

/* Time over copies, copy by copy. */
static int draw(bf_reproduce_run *run, const lines_figure *figure, bf_diagnostic *diagnostic) {
  double copies[MOST_COPIES], cycles[BF_VOTE_HASHES][MOST_COPIES];
  bf_chart_series series[BF_VOTE_HASHES];
  for (unsigned hash = 0; hash < BF_VOTE_HASHES; hash++) {
    for (unsigned step = 0; step < MOST_COPIES; step++) {
      copies[step] = step + 1;
      cycles[hash][step] = figure->cycles[BF_VOTE_PLAIN][step][hash];
    }
    series[hash] = (bf_chart_series){
        .name = bf_vote_hash_names[hash], .x = copies, .y = cycles[hash], .count = MOST_COPIES};
  }
  return bf_reproduce_chart(run, "hough",
                            &(bf_chart){.title = "Hough transform, copy by copy",
                                        .x_label = "copies",
                                        .y_label = "cycles",
                                        .from_zero = true,
                                        .series = series,
                                        .series_count = BF_VOTE_HASHES},
                            diagnostic);
}

static void claim_all(bf_reproduce_run *run, const lines_figure *figure) {
  double best = 0, least = INFINITY, most = 0;
  unsigned best_copies = 0;
  for (unsigned step = 0; step < MOST_COPIES; step++)
    for (unsigned hash = BF_VOTE_XOR; hash < BF_VOTE_HASHES; hash++) {
      double plain = speedup(figure, BF_VOTE_PLAIN, step, hash);
      double by_bins = speedup(figure, BF_VOTE_BIN_MAJOR, step, hash);
      if (plain > best) {
        best = plain;
        best_copies = step + 1;
      }
      least = fmin(least, by_bins);
      most = fmax(most, by_bins);
    }
  bf_reproduce_fact(run, "largest speed-up", "1.76 with 6 copies",
                    best_copies == MOST_COPIES && fabs(best - 1.76) <= 0.25 * 1.76, false, NULL,
                    "%.2f with %u copies", best, best_copies);
  bf_reproduce_fact(run, "bin-major", "neither faster nor slower", least > 0.9 && most < 1.1, false,
                    NULL, "%.2f to %.2f", least, most);
}

int bf_reproduce_hough_hash(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  lines_figure figure = {.angles = bf_reproduce_is_quick(run) ? 1 : 8};
  BF_TRY(make_points(run, &figure, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, BF_VOTE_LAYOUTS * MOST_COPIES * BF_VOTE_HASHES,
                               "Hough transform", find_point, &figure, diagnostic));
  add_table(run, &figure);
  BF_TRY(draw(run, &figure, diagnostic));
  claim_all(run, &figure);
  bf_reproduce_note(run, "%u edge points, %u angles.", figure.point_count, figure.angles);
  return BF_OK;
}

/* Document 001, Fig. 7: histograms of 32 to 4096 bins in as many copies as fit into 48 KB, in three
 * layouts, without a hash and with XOR and ADD on banks and locks. */
#include "reproduce/atomics/figures.h"
#include "reproduce/atomics/pictures.h"
#include "reproduce/atomics/vote.h"

#include <math.h>
#include <stdio.h>

enum { SIZES = 8, FEWEST_BINS = 32, STEPS = 9, THREADS = 1024, SHARED_WORDS = 12288 };

/* Cycles, averages over the pictures; 0 where the copies do not fit. */
typedef struct sweep_figure {
  bf_pictures pictures;
  unsigned points;
  struct sweep_point {
    bf_vote_space space;
    double cycles[BF_VOTE_HASHES];
  } point[BF_VOTE_LAYOUTS * SIZES * STEPS];
} sweep_figure;

typedef struct sweep_point sweep_point;

/* Lists all spaces that fit; quick runs have fewer. */
static void list_points(sweep_figure *figure, bool quick) {
  for (unsigned layout = 0; layout < BF_VOTE_LAYOUTS; layout++)
    for (unsigned size = 0; size < SIZES; size += quick ? 3 : 1)
      for (unsigned step = 0; step < STEPS; step++) {
        bf_vote_space space = {FEWEST_BINS << size, 1U << step, (bf_vote_layout)layout};
        bool wanted = !quick || step == 0 || step == 2 || step == 5;
        if (wanted && bf_vote_words(&space) <= SHARED_WORDS)
          figure->point[figure->points++].space = space;
      }
}

/* Task: one space under one hash. */
static int find_point(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const char *const changes[] = {"sms=1", NULL};
  sweep_figure *figure = context;
  sweep_point *point = &figure->point[index / BF_VOTE_HASHES];
  bf_vote_hash hash = (bf_vote_hash)(index % BF_VOTE_HASHES);
  bf_vote_histogram histogram = {
      .pixel_count = figure->pictures.pixel_count, .threads = THREADS, .space = point->space};
  bf_vote_gpu gpu;
  BF_TRY(bf_vote_gpu_create("gtx580", changes, hash, &gpu, diagnostic));
  histogram.blocks = bf_vote_blocks_per_sm(gpu.gpu, THREADS, &point->space);
  int error = BF_OK;
  for (unsigned i = 0; i < figure->pictures.count && error == BF_OK; i++) {
    bf_vote_outcome outcome;
    histogram.pixels = figure->pictures.pixels[i];
    error = bf_vote_histogram_run(&gpu, &histogram, &outcome, diagnostic);
    point->cycles[hash] += (double)outcome.cycles / figure->pictures.count;
  }
  bf_vote_gpu_free(&gpu);
  return error;
}

static double speedup(const sweep_point *point, bf_vote_hash hash) {
  return point->cycles[BF_VOTE_NONE] / point->cycles[hash];
}

static void add_table(bf_reproduce_run *run, const sweep_figure *figure) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "histogram", "Cycles of histograms, one multiprocessor's share of a picture",
      "layout|bins|copies|none|XOR|ADD|speed-up XOR|speed-up ADD");
  for (unsigned i = 0; i < figure->points; i++) {
    const sweep_point *point = &figure->point[i];
    bf_reproduce_cell(table, "%s", bf_vote_layout_names[point->space.layout]);
    bf_reproduce_cell(table, "%u", point->space.bins);
    bf_reproduce_cell(table, "%u", point->space.copies);
    for (unsigned hash = 0; hash < BF_VOTE_HASHES; hash++)
      bf_reproduce_cell(table, "%.0f", point->cycles[hash]);
    bf_reproduce_cell(table, "%.3f", speedup(point, BF_VOTE_XOR));
    bf_reproduce_cell(table, "%.3f", speedup(point, BF_VOTE_ADD));
  }
  bf_reproduce_table_csv_only(table);
}

/* The speed-up by XOR over the number of copies, a line for each number of bins. */
static int draw_layout(bf_reproduce_run *run, const sweep_figure *figure, bf_vote_layout layout,
                       bf_diagnostic *diagnostic) {
  double copies[SIZES][STEPS], speedups[SIZES][STEPS];
  bf_chart_series series[SIZES];
  char names[SIZES][16], name[32], title[64];
  unsigned lines = 0;
  for (unsigned size = 0; size < SIZES; size++) {
    unsigned count = 0;
    for (unsigned i = 0; i < figure->points; i++) {
      const sweep_point *point = &figure->point[i];
      if (point->space.layout != layout || point->space.bins != (uint32_t)FEWEST_BINS << size)
        continue;
      copies[lines][count] = point->space.copies;
      speedups[lines][count++] = speedup(point, BF_VOTE_XOR);
    }
    if (count == 0)
      continue;
    snprintf(names[lines], sizeof names[lines], "%u bins", FEWEST_BINS << size);
    series[lines] = (bf_chart_series){
        .name = names[lines], .x = copies[lines], .y = speedups[lines], .count = count};
    lines++;
  }
  snprintf(name, sizeof name, "histogram_%s", bf_vote_layout_names[layout]);
  snprintf(title, sizeof title, "Histograms, %s: speed-up by XOR", bf_vote_layout_names[layout]);
  return bf_reproduce_chart(run, name,
                            &(bf_chart){.title = title,
                                        .x_label = "copies",
                                        .y_label = "time without hash / with XOR",
                                        .log_x = true,
                                        .reference = 1,
                                        .series = series,
                                        .series_count = lines},
                            diagnostic);
}

/* ---- Claims ---- */

/* The point of a layout with the largest speed-up by either hash. */
static const sweep_point *best_point(const sweep_figure *figure, bf_vote_layout layout,
                                     double *best) {
  const sweep_point *found = NULL;
  *best = 0;
  for (unsigned i = 0; i < figure->points; i++) {
    const sweep_point *point = &figure->point[i];
    double xor = speedup(point, BF_VOTE_XOR), add = speedup(point, BF_VOTE_ADD);
    if (point->space.layout == layout && fmax(xor, add) > *best) {
      *best = fmax(xor, add);
      found = point;
    }
  }
  return found;
}

static const sweep_point *find(const sweep_figure *figure, bf_vote_layout layout, uint32_t bins,
                               uint32_t copies) {
  for (unsigned i = 0; i < figure->points; i++) {
    const bf_vote_space *space = &figure->point[i].space;
    if (space->layout == layout && space->bins == bins && space->copies == copies)
      return &figure->point[i];
  }
  return NULL;
}

static void claim_largest(bf_reproduce_run *run, const sweep_figure *figure, bf_vote_layout layout,
                          const char *name, const char *published, double size, const char *why) {
  double best;
  const sweep_point *point = best_point(figure, layout, &best);
  bf_reproduce_fact(run, name, published, fabs(best - size) <= 0.25 * size, false, why,
                    "%.2f at %u bins, %u copies", best, point->space.bins, point->space.copies);
}

/* The slowest hash for a padded histogram of 32 bins. */
static double slowest_padded(const sweep_figure *figure, bf_vote_hash hash) {
  double slowest = INFINITY;
  for (unsigned i = 0; i < figure->points; i++) {
    const sweep_point *point = &figure->point[i];
    if (point->space.layout == BF_VOTE_PADDED && point->space.bins == FEWEST_BINS)
      slowest = fmin(slowest, speedup(point, hash));
  }
  return slowest;
}

static void claim_all(bf_reproduce_run *run, const sweep_figure *figure) {
  claim_largest(run, figure, BF_VOTE_PLAIN, "largest speed-up", "4.91 at 256 bins, 32 copies", 4.91,
                NULL);
  claim_largest(run, figure, BF_VOTE_PADDED, "largest speed-up, padded", "1.79", 1.79, NULL);
  claim_largest(run, figure, BF_VOTE_BIN_MAJOR, "largest speed-up, bin-major", "1.80", 1.80, NULL);
  const sweep_point *point = find(figure, BF_VOTE_PLAIN, 256, 32);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "speed-up at 256 bins, 32 copies",
                                                    .published = 4.91,
                                                    .ours = speedup(point, BF_VOTE_XOR),
                                                    .allowed = 0.25});
  double xor = slowest_padded(figure, BF_VOTE_XOR), add = slowest_padded(figure, BF_VOTE_ADD);
  bf_reproduce_fact(run, "padded, 32 bins, XOR", "slower than without", xor < 1, true, NULL,
                    "down to %.2f", xor);
  bf_reproduce_fact(run, "padded, 32 bins, ADD", "not slower", add > 0.98, true, NULL,
                    "at least %.2f", add);
}

int bf_reproduce_histogram_hash(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bool quick = bf_reproduce_is_quick(run);
  sweep_figure *figure = bf_arena_alloc(bf_reproduce_arena(run), sizeof *figure);
  if (!figure)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  list_points(figure, quick);
  BF_TRY(bf_pictures_make(run, quick ? 1 : BF_PICTURES, 448,
                          quick ? BF_PICTURE_SHARE / 8 : BF_PICTURE_SHARE, &figure->pictures,
                          diagnostic));
  BF_TRY(bf_reproduce_parallel(run, figure->points * BF_VOTE_HASHES, "histograms", find_point,
                               figure, diagnostic));
  add_table(run, figure);
  for (unsigned layout = 0; layout < BF_VOTE_LAYOUTS; layout++)
    BF_TRY(draw_layout(run, figure, (bf_vote_layout)layout, diagnostic));
  claim_all(run, figure);
  return BF_OK;
}

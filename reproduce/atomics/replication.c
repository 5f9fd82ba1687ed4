/* Document 001, Fig. 4: a histogram of 64 bins on the GTX 470, copy by copy in 1 to 128 copies.
 * More copies mean fewer threads that want the same word; from 16 on, a warp's lanes 16 apart still
 * share a lock, because 16 copies of 64 words are as many words as there are locks, and a bank has
 * more different words to serve. */
#include "reproduce/atomics/figures.h"
#include "reproduce/atomics/pictures.h"
#include "reproduce/atomics/vote.h"

enum { STEPS = 8, BINS = 64, THREADS = 1024 };

typedef struct replication_figure {
  bf_pictures pictures;
  double cycles[BF_VOTE_LAYOUTS][STEPS]; /* average of the pictures */
} replication_figure;

/* Task: one number of copies in one layout. */
static int find_point(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const char *const changes[] = {"sms=1", NULL};
  replication_figure *figure = context;
  bf_vote_layout layout = (bf_vote_layout)(index / STEPS);
  bf_vote_histogram histogram = {.pixel_count = figure->pictures.pixel_count, .threads = THREADS};
  histogram.space = (bf_vote_space){BINS, 1U << index % STEPS, layout};
  bf_vote_gpu gpu;
  BF_TRY(bf_vote_gpu_create("gtx470", changes, BF_VOTE_NONE, &gpu, diagnostic));
  histogram.blocks = bf_vote_blocks_per_sm(gpu.gpu, THREADS, &histogram.space);
  double *cycles = &figure->cycles[layout][index % STEPS];
  int error = BF_OK;
  for (unsigned i = 0; i < figure->pictures.count && error == BF_OK; i++) {
    bf_vote_outcome outcome;
    histogram.pixels = figure->pictures.pixels[i];
    error = bf_vote_histogram_run(&gpu, &histogram, &outcome, diagnostic);
    *cycles += (double)outcome.cycles / figure->pictures.count;
  }
  bf_vote_gpu_free(&gpu);
  return error;
}

static unsigned best_step(const double *cycles) {
  unsigned best = 0;
  for (unsigned step = 1; step < STEPS; step++)
    best = cycles[step] < cycles[best] ? step : best;
  return best;
}

static int show(bf_reproduce_run *run, const replication_figure *figure,
                bf_diagnostic *diagnostic) {
  double copies[STEPS];
  bf_chart_series series[BF_VOTE_LAYOUTS];
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "replication", "Cycles of a 64-bin histogram, one multiprocessor's share of a picture",
      "copies|plain|padded|bin-major");
  for (unsigned step = 0; step < STEPS; step++) {
    copies[step] = 1U << step;
    bf_reproduce_cell(table, "%u", 1U << step);
    for (unsigned layout = 0; layout < BF_VOTE_LAYOUTS; layout++)
      bf_reproduce_cell(table, "%.0f", figure->cycles[layout][step]);
  }
  for (unsigned layout = 0; layout < BF_VOTE_LAYOUTS; layout++)
    series[layout] = (bf_chart_series){.name = bf_vote_layout_names[layout],
                                       .x = copies,
                                       .y = figure->cycles[layout],
                                       .count = STEPS};
  return bf_reproduce_chart(run, "replication",
                            &(bf_chart){.title = "64 bins on the GTX 470",
                                        .x_label = "copies",
                                        .y_label = "cycles",
                                        .log_x = true,
                                        .from_zero = true,
                                        .series = series,
                                        .series_count = BF_VOTE_LAYOUTS},
                            diagnostic);
}

int bf_reproduce_replication(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bool quick = bf_reproduce_is_quick(run);
  replication_figure figure = {0};
  BF_TRY(bf_pictures_make(run, quick ? 2 : 8, 448, quick ? BF_PICTURE_SHARE / 8 : BF_PICTURE_SHARE,
                          &figure.pictures, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, BF_VOTE_LAYOUTS * STEPS, "64 bins", find_point, &figure,
                               diagnostic));
  BF_TRY(show(run, &figure, diagnostic));
  unsigned best = best_step(figure.cycles[BF_VOTE_PLAIN]);
  bf_reproduce_fact(run, "best number of copies, 64 bins", "16", best == 4, true, NULL, "%u",
                    1U << best);
  return BF_OK;
}

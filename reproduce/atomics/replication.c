/* braak13, Fig. 4: a histogram of 64 bins on the GTX 470, copy by copy in 1 to 128 copies.
 * More copies leave fewer lanes that want the same word. But 16 copies of 64 words are as many
 * words as there are locks: with more of them, lanes 16 apart share a lock still, and the banks
 * have more different words to serve. braak15, Table 3.6, adds a time on a real GTX 470. */
#include "reproduce/atomics/figures.h"
#include "reproduce/atomics/pictures.h"

enum { STEPS = 8, BINS = 64 };

typedef struct replication_figure {
  bf_pictures pictures;
  double cycles[BF_VOTE_LAYOUTS][STEPS];
  double best_cycles; /* of the fastest one on a GTX 470: 256 bins, bin by bin, 32 copies */
} replication_figure;

/* Task: one number of copies in one layout; the last one is that of Table 3.6. */
static int find_point(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const char *const changes[] = {"sms=1", NULL};
  replication_figure *figure = context;
  bf_picture_run run = {.gpu = "gtx470", .changes = changes, .blocks = 1};
  if (index == BF_VOTE_LAYOUTS * STEPS) {
    run.space = (bf_vote_space){256, 32, BF_VOTE_BIN_MAJOR};
    return bf_pictures_count(&figure->pictures, &run, &figure->best_cycles, diagnostic);
  }
  bf_vote_layout layout = (bf_vote_layout)(index / STEPS);
  unsigned step = index % STEPS;
  run.space = (bf_vote_space){BINS, 1U << step, layout};
  return bf_pictures_count(&figure->pictures, &run, &figure->cycles[layout][step], diagnostic);
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
      run, "replication", "Cycles of a 64-bin histogram, 64 rows of a picture on a multiprocessor",
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

/* The time of a whole picture on all multiprocessors: 0.12 ms were measured. */
static int claim_time(bf_reproduce_run *run, const replication_figure *figure,
                      bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load("gtx470", &gpu, diagnostic));
  double share = (double)figure->pictures.pixel_count / (BF_PICTURE_WIDTH * BF_PICTURE_HEIGHT);
  double milliseconds = figure->best_cycles / share / (double)gpu->sms / (gpu->clock_mhz * 1e3);
  bf_sim_gpu_free(gpu);
  bf_reproduce_claim_add(run,
                         &(bf_reproduce_claim){.name = "256 bins, 32 copies, bin-major, measured",
                                               .published = 0.12,
                                               .ours = milliseconds,
                                               .unit = " ms",
                                               .document = "braak15",
                                               .why = "what a launch costs is not modelled."});
  return BF_OK;
}

int bf_reproduce_replication(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bool quick = bf_reproduce_is_quick(run);
  replication_figure figure = {0};
  BF_TRY(bf_pictures_make(run, "pictures", quick ? 2 : BF_PICTURES, BF_PICTURE_FIRST_ROW,
                          BF_PICTURE_SHARE, &figure.pictures, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, BF_VOTE_LAYOUTS * STEPS + 1, "64 bins", find_point, &figure,
                               diagnostic));
  BF_TRY(show(run, &figure, diagnostic));
  unsigned best = best_step(figure.cycles[BF_VOTE_PLAIN]);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "best number of copies, 64 bins",
                                                    .document = "braak13",
                                                    .published = 16,
                                                    .ours = 1U << best,
                                                    .must_hold = true});
  return quick ? BF_OK : claim_time(run, &figure, diagnostic);
}

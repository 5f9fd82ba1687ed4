/* braak13, Fig. 4: a histogram of 64 bins on the GTX 470, copy by copy in 1 to 128 copies.
 * More copies leave fewer lanes that want the same word. But 16 copies of 64 words are as many
 * words as there are locks: with more of them, lanes 16 apart share a lock still, and the banks
 * have more different words to serve. braak15, Table 3.6, adds a time on a real GTX 470. */
#include "reproduce/atomics/figures.h"
#include "reproduce/atomics/pictures.h"

enum { STEPS = 8, BINS = 64, SIZES = 4, HALF = SIZES - 1 };

/* Eighths of the rows that the original simulator counts: which number of copies is best must not
 * depend on it. */
static const unsigned eighths[SIZES] = {8, 7, 6, 4};

typedef struct replication_figure {
  bf_pictures pictures;
  uint16_t *even; /* a picture whose neighbouring pixels fall into different bins and banks */
  double cycles[BF_VOTE_LAYOUTS][STEPS];
  /* As a simulator that knows no conflicts of atomics has them. */
  double plain_cycles[SIZES][STEPS];
  /* Of the fastest one on a GTX 470: 256 bins, bin by bin, 32 copies; and where the loop of an
   * atomic holds the memory. */
  double best_cycles, held_cycles;
} replication_figure;

/* One number of copies, copy by copy, where atomics take no longer than other accesses whatever
 * they meet: what braak13 calls the original simulator. Every pixel then falls into a bin of its
 * lane's own, in a bank of its own. */
static int find_unmodified(replication_figure *figure, unsigned size, unsigned step,
                           bf_diagnostic *diagnostic) {
  static const char *const changes[] = {"sms=1", "lock_cycles=32", "lock_wavefront_cycles=0.25",
                                        NULL};
  bf_picture_run run = {
      .gpu = "gtx470", .changes = changes, .blocks = 1, .space = {BINS, 1U << step, BF_VOTE_PLAIN}};
  bf_pictures even = {.count = 1, .pixel_count = figure->pictures.pixel_count / 8 * eighths[size]};
  even.pixels[0] = figure->even;
  return bf_pictures_count(&even, &run, &figure->plain_cycles[size][step], diagnostic);
}

/* The configuration of Table 3.6, with one change of the GPU. */
static int find_best(const replication_figure *figure, const char *change, double *cycles,
                     bf_diagnostic *diagnostic) {
  const char *const changes[] = {"sms=1", change, NULL};
  bf_picture_run run = {
      .gpu = "gtx470", .changes = changes, .blocks = 1, .space = {256, 32, BF_VOTE_BIN_MAJOR}};
  return bf_pictures_count(&figure->pictures, &run, cycles, diagnostic);
}

enum { BY_LAYOUT = BF_VOTE_LAYOUTS * STEPS, UNMODIFIED = BY_LAYOUT + 2 };

/* Task: one number of copies in one layout; the next two are that of Table 3.6, and those behind
 * them are of the original simulator. */
static int find_point(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const char *const changes[] = {"sms=1", NULL};
  replication_figure *figure = context;
  bf_picture_run run = {.gpu = "gtx470", .changes = changes, .blocks = 1};
  if (index >= UNMODIFIED)
    return find_unmodified(figure, (index - UNMODIFIED) / STEPS, (index - UNMODIFIED) % STEPS,
                           diagnostic);
  if (index >= BY_LAYOUT)
    return index == BY_LAYOUT
               ? find_best(figure, NULL, &figure->best_cycles, diagnostic)
               : find_best(figure, "lock_holds=loop", &figure->held_cycles, diagnostic);
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
      "copies|plain|padded|bin-major|plain, conflicts of atomics cost nothing|the same, 7/8 of the "
      "rows|6/8|4/8");
  for (unsigned step = 0; step < STEPS; step++) {
    copies[step] = 1U << step;
    bf_reproduce_cell(table, "%u", 1U << step);
    for (unsigned layout = 0; layout < BF_VOTE_LAYOUTS; layout++)
      bf_reproduce_cell(table, "%.0f", figure->cycles[layout][step]);
    for (unsigned size = 0; size < SIZES; size++)
      bf_reproduce_cell(table, "%.0f", figure->plain_cycles[size][step]);
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
  double each = 1 / share / (double)gpu->sms / (gpu->clock_mhz * 1e3);
  double ours = figure->best_cycles * each;
  bf_sim_gpu_free(gpu);
  char why[400];
  snprintf(why, sizeof why,
           "in the model the memory is free between the steps of an atomic's loop; where it is "
           "held it is %.3f ms. What a launch costs is not modelled, but would have to be %.0f us. "
           "The blocks are others than those of Table 3.6, with which histogram-tables has this "
           "number of copies.",
           figure->held_cycles * each, 1e3 * (0.12 - ours));
  bf_reproduce_claim_add(run,
                         &(bf_reproduce_claim){.name = "256 bins, 32 copies, bin-major, measured",
                                               .published = 0.12,
                                               .ours = ours,
                                               .unit = " ms",
                                               .document = "braak15",
                                               .why = why});
  return BF_OK;
}

/* Cycles that copies cost before and behind the votes, by the votes of all rows and of half. */
static double beside_votes(const replication_figure *figure, unsigned step) {
  return 2 * figure->plain_cycles[HALF][step] - figure->plain_cycles[0][step];
}

/* What the document says of the original simulator and of a GTX 470. */
static void claim_others(bf_reproduce_run *run, const replication_figure *figure) {
  unsigned best = best_step(figure->plain_cycles[0]), same = 0;
  const double *all = figure->plain_cycles[0];
  char why[500];
  for (unsigned size = 0; size < SIZES; size++)
    same += best_step(figure->plain_cycles[size]) == best;
  snprintf(why, sizeof why,
           "copies cost as published, %.0f cycles for clearing and adding up with one, %.0f with "
           "two and %.0f with 128; but votes take %.0f cycles with one and %.0f with two, though "
           "no lanes of a warp meet: instructions of warps fall differently, as for %u of %d "
           "numbers of rows. From two copies on the order is the published one.",
           beside_votes(figure, 0), beside_votes(figure, 1), beside_votes(figure, STEPS - 1),
           all[0] - beside_votes(figure, 0), all[1] - beside_votes(figure, 1), same, SIZES);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "best number of copies in the original simulator",
                            .published = 1,
                            .ours = 1U << best,
                            .derived = "where conflicts cost nothing, copies can only cost: they "
                                       "are cleared and added up.",
                            .why = why},
      "%u, one takes %.1f%% longer", 1U << best, 100 * (all[0] / all[best] - 1));
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "correlation with a GTX 470",
                                 .rule = BF_CLAIM_NONE,
                                 .published_text = "99%",
                                 .why = "it cannot be computed here: the measured times are points "
                                        "of a figure without numbers, and no run of ours can take "
                                        "their place; what it would take is a GTX 470, or those "
                                        "points."});
}

int bf_reproduce_replication(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bool quick = bf_reproduce_is_quick(run);
  replication_figure figure = {0};
  BF_TRY(bf_pictures_make(run, "pictures", quick ? 2 : BF_PICTURES, BF_PICTURE_FIRST_ROW,
                          BF_PICTURE_SHARE, &figure.pictures, diagnostic));
  figure.even =
      bf_arena_alloc(bf_reproduce_arena(run), figure.pictures.pixel_count * sizeof *figure.even);
  if (!figure.even)
    return bf_no_memory(diagnostic);
  for (uint32_t i = 0; i < figure.pictures.pixel_count; i++)
    figure.even[i] = (uint16_t)(i % BINS * (4096 / BINS));
  BF_TRY(bf_reproduce_parallel(run, UNMODIFIED + SIZES * STEPS, "64 bins", find_point, &figure,
                               diagnostic));
  BF_TRY(show(run, &figure, diagnostic));
  unsigned best = best_step(figure.cycles[BF_VOTE_PLAIN]);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "best number of copies, 64 bins",
                                                    .document = "braak13",
                                                    .published = 16,
                                                    .ours = 1U << best,
                                                    .must_hold = true});
  claim_others(run, &figure);
  return quick ? BF_OK : claim_time(run, &figure, diagnostic);
}

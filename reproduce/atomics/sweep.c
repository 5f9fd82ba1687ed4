/* braak13, Fig. 7: histograms of 32 to 4096 bins in as many copies as fit into 48 KB, in three
 * layouts, without a hash and with XOR and ADD on banks and locks.
 *
 * Everything is run in two ways. On a GPU the load/store unit serves other warps while one is in
 * its loop with locks; the times of braak15 on a GTX 470 say so. In the simulator of the
 * document the unit is taken by an atomic operation as by any other memory instruction, until it is
 * done (lock_holds=loop). */
#include "reproduce/atomics/figures.h"
#include "reproduce/atomics/pictures.h"
#include "reproduce/atomics/studies.h"

#include <math.h>
#include <stdio.h>

enum { SIZES = 8, FEWEST_BINS = 32, STEPS = 9, SHARED_WORDS = 12288 };
enum { WAYS = 2 }; /* the unit is shared, or held through the loop */

typedef struct sweep_point {
  bf_vote_space space;
  double cycles[WAYS][BF_VOTE_HASHES]; /* averages over the pictures */
} sweep_point;

typedef struct sweep_figure {
  bf_pictures pictures;
  unsigned points;
  sweep_point point[BF_VOTE_LAYOUTS * SIZES * STEPS];
} sweep_figure;

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

/* Task: one space under one hash in one way. */
static int find_point(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const char *const shared[] = {"sms=1", NULL};
  static const char *const held[] = {"sms=1", "lock_holds=loop", NULL};
  sweep_figure *figure = context;
  sweep_point *point = &figure->point[index / BF_VOTE_HASHES / WAYS];
  unsigned hash = index % BF_VOTE_HASHES, way = index / BF_VOTE_HASHES % WAYS;
  bf_picture_run run = {.gpu = "gtx580",
                        .changes = way ? held : shared,
                        .hash = (bf_vote_hash)hash,
                        .space = point->space,
                        .blocks = 1};
  return bf_pictures_count(&figure->pictures, &run, &point->cycles[way][hash], diagnostic);
}

static double speedup(const sweep_point *point, unsigned way, bf_vote_hash hash) {
  return point->cycles[way][BF_VOTE_NONE] / point->cycles[way][hash];
}

static void add_table(bf_reproduce_run *run, const sweep_figure *figure) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "histogram", "Cycles of histograms, 64 rows of a picture on a multiprocessor",
      "layout|bins|copies|none|XOR|ADD|speed-up XOR|speed-up ADD|held: none|held: XOR|held: "
      "ADD|held: speed-up XOR|held: speed-up ADD");
  for (unsigned i = 0; i < figure->points; i++) {
    const sweep_point *point = &figure->point[i];
    bf_reproduce_cell(table, "%s", bf_vote_layout_names[point->space.layout]);
    bf_reproduce_cell(table, "%u", point->space.bins);
    bf_reproduce_cell(table, "%u", point->space.copies);
    for (unsigned way = 0; way < WAYS; way++) {
      for (unsigned hash = 0; hash < BF_VOTE_HASHES; hash++)
        bf_reproduce_cell(table, "%.0f", point->cycles[way][hash]);
      bf_reproduce_cell(table, "%.3f", speedup(point, way, BF_VOTE_XOR));
      bf_reproduce_cell(table, "%.3f", speedup(point, way, BF_VOTE_ADD));
    }
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
      speedups[lines][count++] = speedup(point, 0, BF_VOTE_XOR);
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
static const sweep_point *best_point(const sweep_figure *figure, unsigned way,
                                     bf_vote_layout layout, double *best) {
  const sweep_point *found = NULL;
  *best = 0;
  for (unsigned i = 0; i < figure->points; i++) {
    const sweep_point *point = &figure->point[i];
    double larger = fmax(speedup(point, way, BF_VOTE_XOR), speedup(point, way, BF_VOTE_ADD));
    if (point->space.layout == layout && larger > *best) {
      *best = larger;
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

/* A largest speed-up beside the published one. */
static void claim_largest(bf_reproduce_run *run, const sweep_figure *figure, unsigned way,
                          bf_vote_layout layout, const char *published, double size,
                          const char *why) {
  double best;
  char name[64];
  const sweep_point *point = best_point(figure, way, layout, &best);
  snprintf(name, sizeof name, "largest speed-up, %s%s", bf_vote_layout_names[layout],
           way ? ", unit held" : "");
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = name,
                                                .rule = BF_CLAIM_GAIN,
                                                .published_text = published,
                                                .published = size,
                                                .ours = best,
                                                .why = why},
                          "%.2f at %u bins, %u copies", best, point->space.bins,
                          point->space.copies);
}

/* The least speed-up of a padded histogram of 32 bins. */
static double least_padded(const sweep_figure *figure, bf_vote_hash hash) {
  double least = INFINITY;
  for (unsigned i = 0; i < figure->points; i++) {
    const sweep_point *point = &figure->point[i];
    if (point->space.layout == BF_VOTE_PADDED && point->space.bins == FEWEST_BINS)
      least = fmin(least, fmin(speedup(point, 0, hash), speedup(point, 1, hash)));
  }
  return least;
}

static void claim_speedups(bf_reproduce_run *run, const sweep_figure *figure) {
  static const char *const why[BF_VOTE_LAYOUTS] = {
      "it depends on how many neighbouring pixels fall into one bin, which the document does not "
      "tell: see the table of contrasts.",
      "what a hash can remove here are conflicts between different bins, which depend on the "
      "pictures.",
      "voting itself gains nothing, because neighbouring lanes have neighbouring words; merging "
      "the copies does, and its share depends on the number of blocks: see their table."};
  for (unsigned way = 0; way < WAYS; way++) {
    claim_largest(run, figure, way, BF_VOTE_PLAIN, "4.91 at 256 bins, 32 copies", 4.91,
                  why[BF_VOTE_PLAIN]);
    const sweep_point *point = find(figure, BF_VOTE_PLAIN, 256, 32);
    bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = way ? "256 bins, 32 copies, unit held"
                                                                  : "256 bins, 32 copies",
                                                      .rule = BF_CLAIM_GAIN,
                                                      .published = 4.91,
                                                      .ours = speedup(point, way, BF_VOTE_XOR),
                                                      .why = why[BF_VOTE_PLAIN]});
    claim_largest(run, figure, way, BF_VOTE_PADDED, "1.79", 1.79, why[BF_VOTE_PADDED]);
    claim_largest(run, figure, way, BF_VOTE_BIN_MAJOR, "1.80", 1.80, why[BF_VOTE_BIN_MAJOR]);
  }
}

static void claim_padded(bf_reproduce_run *run, const sweep_figure *figure) {
  double xor_least = least_padded(figure, BF_VOTE_XOR),
         add_least = least_padded(figure, BF_VOTE_ADD);
  bf_reproduce_fact(run, "padded, 32 bins, XOR", "slower than without", xor_least < 0.95, true,
                    NULL, "%.2f in the worst case", xor_least);
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "padded, 32 bins, ADD: not slower",
                                                .rule = BF_CLAIM_AT_LEAST,
                                                .published = 1,
                                                .ours = floor(add_least * 100 + 0.5) / 100,
                                                .must_hold = true},
                          "%.2f in the worst case", add_least);
  const sweep_point *one = find(figure, BF_VOTE_PLAIN, 256, 1), *more;
  more = find(figure, BF_VOTE_PLAIN, 256, 32);
  bf_reproduce_fact(run, "speed-up with one copy", "low: position conflicts stay",
                    fabs(speedup(one, 0, BF_VOTE_XOR) - 1) < 0.05 &&
                        speedup(more, 0, BF_VOTE_XOR) > 2,
                    true, NULL, "%.2f, against %.2f with 32", speedup(one, 0, BF_VOTE_XOR),
                    speedup(more, 0, BF_VOTE_XOR));
}

/* Section V-B: XOR and ADD are alike but for padded histograms of 32 bins, and padding helps where
 * there are copies and no hash. */
static void claim_alike(bf_reproduce_run *run, const sweep_figure *figure) {
  unsigned points = 0, alike = 0, pairs = 0, faster = 0;
  double furthest = 0, least = INFINITY;
  for (unsigned i = 0; i < figure->points; i++) {
    const sweep_point *point = &figure->point[i];
    const bf_vote_space *space = &point->space;
    double ratio = speedup(point, 0, BF_VOTE_XOR) / speedup(point, 0, BF_VOTE_ADD);
    if (space->layout != BF_VOTE_PADDED || space->bins != FEWEST_BINS) {
      points++;
      alike += fabs(ratio - 1) <= 0.15;
      furthest = fabs(ratio - 1) > fabs(furthest - 1) ? ratio : furthest;
    }
    const sweep_point *padded = find(figure, BF_VOTE_PADDED, space->bins, space->copies);
    if (space->layout != BF_VOTE_PLAIN || space->copies == 1 || !padded)
      continue;
    double gain = point->cycles[0][BF_VOTE_NONE] / padded->cycles[0][BF_VOTE_NONE];
    pairs++;
    faster += gain > 1;
    least = fmin(least, gain);
  }
  char why[2][200];
  snprintf(why[0], sizeof why[0], "in the others they are up to a factor of %.2f apart.", furthest);
  snprintf(why[1], sizeof why[1], "the least is %.3f times as fast.", least);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "XOR and ADD, but for padded histograms of 32 bins",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "similar (within 15%) in all cases",
                            .published = points,
                            .ours = alike,
                            .why = why[0]},
      "%u of %u", alike, points);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "copies without a hash, padded against not padded",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "faster",
                            .published = pairs,
                            .ours = faster,
                            .why = why[1]},
      "%u of %u", faster, pairs);
}

int bf_reproduce_histogram_hash(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bool quick = bf_reproduce_is_quick(run);
  sweep_figure *figure = bf_arena_alloc(bf_reproduce_arena(run), sizeof *figure);
  if (!figure)
    return bf_no_memory(diagnostic);
  list_points(figure, quick);
  BF_TRY(bf_pictures_make(run, "pictures", quick ? 1 : BF_PICTURES, BF_PICTURE_FIRST_ROW,
                          quick ? BF_PICTURE_SHARE / 4 : BF_PICTURE_SHARE, &figure->pictures,
                          diagnostic));
  BF_TRY(bf_reproduce_parallel(run, figure->points * BF_VOTE_HASHES * WAYS, "histograms",
                               find_point, figure, diagnostic));
  add_table(run, figure);
  for (unsigned layout = 0; layout < BF_VOTE_LAYOUTS; layout++)
    BF_TRY(draw_layout(run, figure, (bf_vote_layout)layout, diagnostic));
  if (!quick)
    claim_speedups(run, figure);
  claim_padded(run, figure);
  if (!quick)
    claim_alike(run, figure);
  figure->pictures.count = quick ? 1 : 4; /* the studies need fewer */
  BF_TRY(bf_study_contrast(run, &figure->pictures, diagnostic));
  BF_TRY(bf_study_blocks(run, &figure->pictures, diagnostic));
  return quick ? BF_OK : bf_study_share(run, diagnostic);
}

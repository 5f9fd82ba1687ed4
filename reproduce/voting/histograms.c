/* Tables 3.3 to 3.7. Configurations are first tried on a part of the picture: atomics in global
 * memory on the whole GPU with some rows, the other ways on a GPU of one multiprocessor with rows
 * of its share. What a run takes without any pixels is measured too, so that the rest can be scaled
 * to all pixels. The best configuration of each way and the published one then count the whole
 * picture on the whole GPU; those are the times that are shown. */
#include "reproduce/atomics/photo.h"
#include "reproduce/voting/histogram.h"
#include "reproduce/voting/tables.h"

enum {
  GLOBAL_ROWS = 128, /* of a sweep */
  SHARE_ROWS = 36,
  QUICK_ROWS = 16, /* of the picture in quick runs */
  SWEEPS = BF_VOTING_GPUS * BF_VOTING_METHODS * BF_VOTING_LAYOUTS
};

typedef struct histogram_work {
  bool is_quick;
  uint16_t *pixels;
  uint32_t rows;
  bf_voting_sweep sweep[SWEEPS];
  bf_voting_ours ours[BF_VOTING_METHODS][BF_VOTING_GPUS];
  double held[BF_VOTING_GPUS]; /* SHARED, where the loop of an atomic holds the memory */
  /* What the model assumes, halved and doubled: estimated milliseconds of the best configuration,
   * and beside them those as usual. */
  double changed[BF_VOTING_SHARED][BF_VOTING_GPUS][3];
  double one_value, random; /* GLOBAL with one copy on the 8800 GT, of such pictures */
} histogram_work;

static bool can_do(unsigned gpu, bf_voting_method method) {
  return method != BF_VOTING_SHARED || bf_voting_gpus[gpu].has_atomics;
}

/* The sweeps of a way in all layouts. */
static const bf_voting_sweep *sweeps_of(const histogram_work *work, unsigned gpu,
                                        bf_voting_method method) {
  return &work->sweep[(gpu * BF_VOTING_METHODS + method) * BF_VOTING_LAYOUTS];
}

/* ---- What is tried; lists end with 0 ---- */

typedef struct sweep_axes {
  unsigned copies[8], threads[9], blocks[9];
} sweep_axes;

static const sweep_axes full_axes[BF_VOTING_METHODS] = {
    [BF_VOTING_GLOBAL] = {{1, 4, 16, 32, 256, 512}, {32, 256, 512}, {1, 2, 4}},
    [BF_VOTING_THREAD] = {{1}, {32, 64, 96, 128, 192}, {1, 2, 3, 4, 5, 6, 7, 8}},
    [BF_VOTING_WARP] = {{1, 2, 4, 8}, {64, 256, 512, 768}, {1, 2, 3, 4, 8}},
    [BF_VOTING_SHARED] = {{1, 2, 4, 8, 16, 32}, {64, 128, 256, 512, 768, 1024}, {1, 2, 4, 8}},
};

static const sweep_axes quick_axes[BF_VOTING_METHODS] = {
    [BF_VOTING_GLOBAL] = {{1, 16}, {256}, {1}},
    [BF_VOTING_THREAD] = {{1}, {32, 64}, {1, 2}},
    [BF_VOTING_WARP] = {{1, 2}, {64}, {2}},
    [BF_VOTING_SHARED] = {{1, 32}, {512}, {1}},
};

/* Whether a configuration is one to try. One copy is the same in all layouts. */
static bool is_wanted(unsigned gpu, bf_voting_method method, const bf_voting_choice *choice,
                      const bf_sim_gpu *limits) {
  if (choice->copies == 1 && choice->layout != BF_VOTING_BIN_MAJOR)
    return false;
  if (choice->threads > bf_voting_gpus[gpu].most_threads ||
      (method == BF_VOTING_GLOBAL && choice->copies > choice->threads))
    return false;
  return bf_voting_fits(limits, choice->blocks_per_sm, choice->threads,
                        bf_voting_histogram_bytes(method, choice));
}

/* The configurations of the axes that a GPU can have, and the published one. */
static void list_points(bool is_quick, unsigned gpu, bf_voting_method method,
                        bf_voting_layout layout, const bf_sim_gpu *limits, bf_voting_sweep *sweep) {
  const sweep_axes *axes = is_quick ? &quick_axes[method] : &full_axes[method];
  const bf_voting_choice *published = &bf_voting_histogram_tables[method].best[gpu].choice;
  bf_voting_choice choice = {.layout = layout};
  for (const unsigned *copies = axes->copies; *copies; copies++)
    for (const unsigned *threads = axes->threads; *threads; threads++)
      for (const unsigned *blocks = axes->blocks; *blocks; blocks++) {
        choice = (bf_voting_choice){layout, *copies, *threads, *blocks};
        if (is_wanted(gpu, method, &choice, limits))
          bf_voting_sweep_add(sweep, &choice);
      }
  if (published->layout == layout && is_wanted(gpu, method, published, limits))
    bf_voting_sweep_add(sweep, published);
}

/* ---- Sweeps ---- */

/* Time for the whole picture from that for `part` of it (0 to 1) and that for none. */
static double whole_ms(double seconds, double empty_seconds, double part) {
  return 1e3 * (empty_seconds + (seconds - empty_seconds) / part);
}

static int run_points(bf_voting_histogram *histogram, bf_voting_method method, double part,
                      bf_voting_sweep *sweep, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < sweep->count; i++) {
    bf_voting_best *point = &sweep->tried[i];
    double seconds, idle;
    BF_TRY(bf_voting_histogram_run(histogram, method, &point->choice, &seconds, diagnostic));
    BF_TRY(bf_voting_histogram_idle(histogram, method, &point->choice, &idle, diagnostic));
    point->milliseconds = whole_ms(seconds, idle, part);
  }
  return BF_OK;
}

/* Task: one sweep. */
static int find_sweep(void *context, unsigned index, bf_diagnostic *diagnostic) {
  histogram_work *work = context;
  bf_voting_layout layout = index % BF_VOTING_LAYOUTS;
  bf_voting_method method = index / BF_VOTING_LAYOUTS % BF_VOTING_METHODS;
  unsigned gpu = index / BF_VOTING_LAYOUTS / BF_VOTING_METHODS;
  if (!can_do(gpu, method) || (method == BF_VOTING_THREAD && layout != BF_VOTING_BIN_MAJOR))
    return BF_OK;
  bool is_global = method == BF_VOTING_GLOBAL;
  uint32_t rows = is_global ? GLOBAL_ROWS : SHARE_ROWS;
  rows = rows < work->rows ? rows : work->rows;
  const uint16_t *pixels = work->pixels + (size_t)((work->rows - rows) / 2) * BF_VOTING_WIDTH;
  bf_voting_histogram histogram = {0};
  int error = bf_voting_histogram_create(bf_voting_gpus[gpu].name, is_global ? 0 : 1, pixels, rows,
                                         &histogram, diagnostic);
  if (!error) {
    const bf_voting_device *device = &histogram.device;
    double part = (double)rows * bf_voting_gpus[gpu].sms / (double)device->gpu->sms / work->rows;
    list_points(work->is_quick, gpu, method, layout, device->gpu, &work->sweep[index]);
    error = run_points(&histogram, method, part, &work->sweep[index], diagnostic);
  }
  bf_voting_histogram_free(&histogram);
  return error;
}

/* ---- The whole picture ---- */

/* The time of the best configuration where an atomic holds the memory through all of its loop. */
static int find_held(histogram_work *work, unsigned gpu, bf_voting_histogram *histogram,
                     bf_diagnostic *diagnostic) {
  double seconds;
  BF_TRY(bf_sim_gpu_set(histogram->device.gpu, "lock_holds=loop", diagnostic));
  BF_TRY(bf_voting_histogram_run(histogram, BF_VOTING_SHARED,
                                 &work->ours[BF_VOTING_SHARED][gpu].best.choice, &seconds,
                                 diagnostic));
  work->held[gpu] = 1e3 * seconds;
  return BF_OK;
}

/* Runs the best configuration and, where it fits, the published one. */
static int run_whole(histogram_work *work, unsigned gpu, bf_voting_method method,
                     bf_voting_histogram *histogram, bf_diagnostic *diagnostic) {
  const bf_voting_choice *published = &bf_voting_histogram_tables[method].best[gpu].choice;
  bf_voting_ours *ours = &work->ours[method][gpu];
  double seconds;
  ours->best.choice = bf_voting_fastest(sweeps_of(work, gpu, method), BF_VOTING_LAYOUTS, 0)->choice;
  BF_TRY(bf_voting_histogram_run(histogram, method, &ours->best.choice, &seconds, diagnostic));
  ours->best.milliseconds = 1e3 * seconds;
  if (bf_voting_fits(histogram->device.gpu, published->blocks_per_sm, published->threads,
                     bf_voting_histogram_bytes(method, published))) {
    BF_TRY(bf_voting_histogram_run(histogram, method, published, &seconds, diagnostic));
    ours->at_published = 1e3 * seconds;
  }
  if (ours->at_published > 0 && ours->at_published < ours->best.milliseconds)
    ours->best = (bf_voting_best){*published, ours->at_published};
  return method == BF_VOTING_SHARED ? find_held(work, gpu, histogram, diagnostic) : BF_OK;
}

/* Task: one way on one GPU. */
static int find_whole(void *context, unsigned index, bf_diagnostic *diagnostic) {
  histogram_work *work = context;
  bf_voting_method method = index % BF_VOTING_METHODS;
  unsigned gpu = index / BF_VOTING_METHODS;
  if (!can_do(gpu, method))
    return BF_OK;
  bf_voting_histogram histogram;
  int error = bf_voting_histogram_create(bf_voting_gpus[gpu].name, 0, work->pixels, work->rows,
                                         &histogram, diagnostic);
  if (!error)
    error = run_whole(work, gpu, method, &histogram, diagnostic);
  bf_voting_histogram_free(&histogram);
  return error;
}

/* ---- What the model assumes ---- */

/* Milliseconds of a configuration, estimated from some rows on a GPU that may be of one
 * multiprocessor; change is called before it runs. */
static int estimate(const histogram_work *work, unsigned gpu, bf_voting_method method,
                    const bf_voting_choice *choice, const uint16_t *pixels,
                    void (*change)(bf_sim_gpu *gpu, double factor), double factor,
                    double *milliseconds, bf_diagnostic *diagnostic) {
  bool is_global = method == BF_VOTING_GLOBAL;
  uint32_t rows = is_global ? GLOBAL_ROWS : SHARE_ROWS;
  rows = rows < work->rows ? rows : work->rows;
  bf_voting_histogram histogram = {0};
  double seconds, idle;
  int error = bf_voting_histogram_create(bf_voting_gpus[gpu].name, is_global ? 0 : 1, pixels, rows,
                                         &histogram, diagnostic);
  if (!error) {
    change(histogram.device.gpu, factor);
    error = bf_voting_histogram_run(&histogram, method, choice, &seconds, diagnostic);
  }
  if (!error)
    error = bf_voting_histogram_idle(&histogram, method, choice, &idle, diagnostic);
  if (!error)
    *milliseconds = whole_ms(seconds, idle,
                             (double)rows * bf_voting_gpus[gpu].sms /
                                 (double)histogram.device.gpu->sms / work->rows);
  bf_voting_histogram_free(&histogram);
  return error;
}

/* How long a slice takes for an atomic operation. */
static void change_atomics(bf_sim_gpu *gpu, double factor) { gpu->l2_atomic_cycles *= factor; }

/* How long shared memory takes, loads and stores that must be waited for. */
static void change_latency(bf_sim_gpu *gpu, double factor) {
  gpu->shared_cycles = (uint64_t)((double)gpu->shared_cycles * factor);
}

/* Task: one GPU in one way with one factor; and pictures of one value and of random ones. */
static int find_changed(void *context, unsigned index, bf_diagnostic *diagnostic) {
  static const double factors[3] = {0.5, 1, 2};
  histogram_work *work = context;
  unsigned factor = index % 3, gpu = index / 3 % BF_VOTING_GPUS;
  bf_voting_method method = (bf_voting_method)(index / 3 / BF_VOTING_GPUS);
  const uint16_t *middle = work->pixels;
  if (work->rows > GLOBAL_ROWS)
    middle += (size_t)((work->rows - GLOBAL_ROWS) / 2) * BF_VOTING_WIDTH;
  return estimate(work, gpu, method, &work->ours[method][gpu].best.choice, middle,
                  method == BF_VOTING_GLOBAL ? change_atomics : change_latency, factors[factor],
                  &work->changed[method][gpu][factor], diagnostic);
}

/* One copy in global memory on the 8800 GT, where all pixels are alike, and where none is like its
 * neighbours. */
static int find_alike(bf_arena *arena, histogram_work *work, bf_diagnostic *diagnostic) {
  const bf_voting_choice choice = {BF_VOTING_BIN_MAJOR, 1, 256, 1};
  size_t count = (size_t)BF_VOTING_WIDTH * GLOBAL_ROWS;
  uint16_t *pixels = bf_arena_alloc(arena, count * sizeof *pixels);
  uint32_t state = 1;
  if (!pixels)
    return bf_no_memory(diagnostic);
  BF_TRY(estimate(work, 0, BF_VOTING_GLOBAL, &choice, pixels, change_atomics, 1, &work->one_value,
                  diagnostic));
  for (size_t i = 0; i < count; i++) {
    state = state * 1664525 + 1013904223;
    pixels[i] = (uint16_t)(state >> 20);
  }
  return estimate(work, 0, BF_VOTING_GLOBAL, &choice, pixels, change_atomics, 1, &work->random,
                  diagnostic);
}

/* "8800 GT 2.3 and 9.1 ms": the best configuration of each GPU with what is assumed halved and
 * doubled, over that as usual. */
static void list_changed(const histogram_work *work, bf_voting_method method, bf_text *text) {
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
    const double *own = work->changed[method][gpu];
    bf_text_addf(text, "%s%s %.2f and %.2f", gpu ? ", " : "", bf_voting_gpus[gpu].title,
                 own[0] / own[1], own[2] / own[1]);
  }
}

/* How much longer the published configurations take than the best ones here, in a table's words. */
static void list_published(const histogram_work *work, bf_voting_method method, bf_text *text) {
  bf_text_puts(text, "as configured there the GPUs take, times ours: ");
  for (unsigned gpu = 0, listed = 0; gpu < BF_VOTING_GPUS; gpu++) {
    const bf_voting_ours *ours = &work->ours[method][gpu];
    if (bf_voting_histogram_tables[method].best[gpu].milliseconds <= 0)
      continue;
    bf_text_addf(text, "%s%s ", listed++ ? ", " : "", bf_voting_gpus[gpu].title);
    if (ours->at_published > 0)
      bf_text_addf(text, "%.2f", ours->at_published / ours->best.milliseconds);
    else
      bf_text_puts(text, "- (our kernel has no room for its own words beside them)");
  }
  bf_text_puts(text, ".");
}

static const char *text_of(const bf_text *text) { return text->failed ? "" : text->data; }

/* ---- Tables ---- */

static const char *const method_titles[BF_VOTING_METHODS] = {
    "global atomics", "histogram per thread (64 bins)", "histogram per warp", "shared atomics"};

static void add_sweeps(bf_reproduce_run *run, const histogram_work *work) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "sweep", "All configurations, times estimated from a part of the picture",
      "GPU|way|layout|copies|threads|blocks per SM|ms");
  bf_reproduce_table_csv_only(table);
  for (unsigned i = 0; i < SWEEPS; i++)
    bf_voting_show_sweep(table, i / BF_VOTING_LAYOUTS / BF_VOTING_METHODS,
                         method_titles[i / BF_VOTING_LAYOUTS % BF_VOTING_METHODS], &work->sweep[i]);
}

/* ---- Claims ---- */

/* Published times of the 8800 GT with 1, 32 and 512 copies: 100, 22 and 5.88 ms. */
static void claim_global_copies(bf_reproduce_run *run, const histogram_work *work) {
  char why[300];
  snprintf(
      why, sizeof why,
      "in the model an addition takes a slice of memory as long whether others add to the same "
      "word or not: with one copy a picture of a single value takes %.1f ms, one of random "
      "values %.1f ms; the published times say that it is not so there.",
      work->one_value, work->random);
  const bf_voting_sweep *sweeps = sweeps_of(work, 0, BF_VOTING_GLOBAL);
  double one = bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 1)->milliseconds;
  double warp = bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 32)->milliseconds;
  double most = bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 512)->milliseconds;
  const double published[] = {100, 22, 5.88}, ours[] = {one, warp, most};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "8800 GT, global atomics, 1, 32 and 512 copies",
                                 .published_list = published,
                                 .ours_list = ours,
                                 .count = 3,
                                 .unit = " ms",
                                 .why = why});
}

/* Section 3.7: GPUs against 0.24 ms of the CPU, by global atomics and in their best way. */
static void claim_cpu(bf_reproduce_run *run, const histogram_work *work) {
  enum { TITAN = 2 };
  unsigned right = 0, best_right = 0;
  double best[BF_VOTING_GPUS];
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
    best[gpu] = work->ours[0][gpu].best.milliseconds;
    for (unsigned method = 1; method < BF_VOTING_METHODS; method++)
      if (can_do(gpu, method) && work->ours[method][gpu].best.milliseconds < best[gpu])
        best[gpu] = work->ours[method][gpu].best.milliseconds;
    right += (work->ours[BF_VOTING_GLOBAL][gpu].best.milliseconds < 0.24) == (gpu == TITAN);
    best_right += (best[gpu] < 0.24) == (gpu > 0);
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "global atomics against 0.24 ms of a Core i7-4770",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "only the GTX Titan is faster",
                            .published = BF_VOTING_GPUS,
                            .ours = right,
                            .why = "see Table 3.3."},
      "so on %u of %u", right, BF_VOTING_GPUS);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "the best way against 0.24 ms of a Core i7-4770",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "all but the 8800 GT are faster",
                            .published = BF_VOTING_GPUS,
                            .ours = best_right,
                            .why = "see Table 3.7."},
      "%.3g, %.3g, %.3g and %.3g ms", best[0], best[1], best[2], best[3]);
}

/* Table 3.2: as many configurations as the limits of Table 2.2 allow, of 32 to as many threads as a
 * block may have and one to eight blocks. */
static void claim_tried(bf_reproduce_run *run) {
  static const unsigned copies[] = {1, 64, 128, 256, 512, 1024};
  static const unsigned threads_of_sm[BF_VOTING_GPUS] = {768, 1536, 2048, 2048};
  static const double published[BF_VOTING_GPUS][6] = {{53, 46, 32, 15, 1, 0},
                                                      {113, 105, 89, 59, 27, 1},
                                                      {140, 132, 116, 84, 41, 2},
                                                      {140, 132, 116, 84, 41, 2}};
  double list[2][BF_VOTING_GPUS * 6];
  unsigned count = 0;
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    for (unsigned i = 0; i < 6; i++) {
      unsigned found = 0;
      for (unsigned threads = 32; threads <= bf_voting_gpus[gpu].most_threads; threads += 32)
        for (unsigned blocks = 1; blocks <= 8 && threads >= copies[i]; blocks++)
          found += threads * blocks <= threads_of_sm[gpu];
      list[0][count] = published[gpu][i];
      list[1][count++] = found;
    }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Table 3.2, numbers of configurations",
                            .published_list = list[0],
                            .ours_list = list[1],
                            .count = count,
                            .published_text = "24 numbers",
                            .derived = "they follow from the published limits; the 8800 GT has 53 "
                                       "and 46 there, 56 and 48 by its limits, and as published "
                                       "with at most seven blocks."},
      "%.0f and %.0f on the 8800 GT, the others the same", list[1][0], list[1][1]);
}

/* Which layout is best with how many copies in global memory. */
static void claim_layouts_by_copies(bf_reproduce_run *run, const histogram_work *work) {
  enum { NEW = 3 };
  const bf_voting_sweep *sweeps = sweeps_of(work, NEW, BF_VOTING_GLOBAL);
  static const unsigned copies[] = {4, 16, 32, 256};
  unsigned right = 0;
  bf_text found = {0};
  for (unsigned i = 0; i < 4; i++) {
    bf_voting_layout layout =
        bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, copies[i])->choice.layout;
    right += (layout == BF_VOTING_BIN_MAJOR) == (copies[i] >= 16);
    bf_text_addf(&found, "%s%u: %s", i ? ", " : "", copies[i], bf_voting_layout_titles[layout]);
  }
  bf_text why = {0};
  double bin = bf_voting_fastest(&sweeps[BF_VOTING_BIN_MAJOR], 1, 4)->milliseconds;
  double copy = bf_voting_fastest(&sweeps[BF_VOTING_COPY_MAJOR], 1, 4)->milliseconds;
  bf_text_addf(&why, "with four copies %.3f ms bin by bin, %.3f ms copy by copy.", bin, copy);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "GTX 750 Ti, global atomics, best layout by copies",
                                 .rule = BF_CLAIM_ALL,
                                 .published_text = "copy by copy up to 8, bin-major from 16 on",
                                 .published = 4,
                                 .ours = right,
                                 .ours_text = text_of(&found),
                                 .why = text_of(&why)});
  bf_text_free(&found);
  bf_text_free(&why);
}

/* Tables 3.3 to 3.6: what was best there is nearly the best here. */
static void claim_configurations(bf_reproduce_run *run, const histogram_work *work) {
  unsigned all = 0, near = 0;
  bf_text why = {0};
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
      const bf_voting_ours *ours = &work->ours[method][gpu];
      if (!can_do(gpu, method))
        continue;
      bool is_near = ours->at_published > 0 && ours->at_published <= 1.15 * ours->best.milliseconds;
      all++;
      near += is_near;
      if (!is_near)
        bf_text_addf(&why, "%s%s, %s: %s%.2f", why.size ? "; " : "", bf_voting_gpus[gpu].title,
                     method_titles[method], ours->at_published > 0 ? "" : "does not fit ",
                     ours->at_published / ours->best.milliseconds);
    }
  bf_text_puts(&why, " times our best.");
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Tables 3.3 to 3.6, configurations that are within 15% of the "
                                    "best",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "all are best",
                            .published = all,
                            .ours = near,
                            .why = text_of(&why)},
      "%u of %u", near, all);
  bf_text_free(&why);
}

/* Section 3.9: global atomics of the GPUs, and how far configurations are apart (Fig. 3.11). */
static void claim_spread(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_ours *global = work->ours[BF_VOTING_GLOBAL];
  double spread[BF_VOTING_METHODS][BF_VOTING_GPUS];
  unsigned narrower = 0;
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
      spread[method][gpu] = bf_voting_spread(sweeps_of(work, gpu, method), BF_VOTING_LAYOUTS);
  for (unsigned method = 0; method < BF_VOTING_SHARED; method++)
    narrower += spread[method][3] < spread[method][0];
  narrower += spread[BF_VOTING_SHARED][3] < spread[BF_VOTING_SHARED][1];
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "global atomics, GTX Titan against 8800 GT",
                                 .rule = BF_CLAIM_GAIN,
                                 .published = 45,
                                 .ours = global[0].best.milliseconds / global[2].best.milliseconds,
                                 .unit = " times",
                                 .why = "the times of Table 3.3 that it is made of differ."});
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "8800 GT, global atomics, worst over best configuration",
                                 .published = 18,
                                 .ours = spread[BF_VOTING_GLOBAL][0],
                                 .unit = " times",
                                 .why = "copies gain little in the model: see the row about 1, 32 "
                                        "and 512 of them, whose published times are 17 times "
                                        "apart."});
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){.name = "GTX 750 Ti, global atomics, worst over best configuration",
                            .published = 3,
                            .ours = spread[BF_VOTING_GLOBAL][3],
                            .unit = " times",
                            .why = "the slowest has 32 threads on a multiprocessor, as there."});
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Fig. 3.11, times are nearer to each other on newer GPUs",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "for all ways",
                            .published = BF_VOTING_METHODS,
                            .ours = narrower,
                            .why =
                                "worst over best configuration of the GTX 750 Ti against that of "
                                "the 8800 GT, or the GTX 470 where that has no atomics; few "
                                "configurations fit on the old one."},
      "for %u of %d", narrower, BF_VOTING_METHODS);
}

/* Blocks of the fewest threads, as many as fit. */
static void claim_thread(bf_reproduce_run *run, const histogram_work *work) {
  unsigned small = 0, full = 0;
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
    const bf_voting_choice *choice = &work->ours[BF_VOTING_THREAD][gpu].best.choice;
    const bf_voting_sweep *sweep = sweeps_of(work, gpu, BF_VOTING_THREAD);
    unsigned most = 0;
    for (unsigned i = 0; i < sweep->count; i++)
      if (sweep->tried[i].choice.threads == choice->threads &&
          sweep->tried[i].choice.blocks_per_sm > most)
        most = sweep->tried[i].choice.blocks_per_sm;
    small += choice->threads == 32;
    full += choice->blocks_per_sm == most;
  }
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "Table 3.4, threads of a block",
                                                .rule = BF_CLAIM_ALL,
                                                .published_text = "32 on all GPUs",
                                                .published = BF_VOTING_GPUS,
                                                .ours = small,
                                                .must_hold = true},
                          "32 on %u of %u", small, BF_VOTING_GPUS);
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "Table 3.4, blocks",
                                                .rule = BF_CLAIM_ALL,
                                                .published_text = "as many as fit, on all GPUs",
                                                .published = BF_VOTING_GPUS,
                                                .ours = full,
                                                .must_hold = true},
                          "as many as fit on %u of %u", full, BF_VOTING_GPUS);
}

/* Layouts at the published number of copies on the GTX 470, and what holds memory. */
static void claim_shared(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_sweep *sweeps = sweeps_of(work, 1, BF_VOTING_SHARED);
  double bin = bf_voting_fastest(&sweeps[BF_VOTING_BIN_MAJOR], 1, 32)->milliseconds;
  double padded = bf_voting_fastest(&sweeps[BF_VOTING_PADDED], 1, 32)->milliseconds;
  double copy = bf_voting_fastest(&sweeps[BF_VOTING_COPY_MAJOR], 1, 32)->milliseconds;
  const double ranks[] = {1, 2, 3}, found[] = {bin, padded, copy};
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "GTX 470, 32 copies in shared memory",
                                                .rule = BF_CLAIM_ORDER,
                                                .published_text =
                                                    "bin-major faster than padded, padded than "
                                                    "copy-major",
                                                .published_list = ranks,
                                                .ours_list = found,
                                                .count = 3,
                                                .must_hold = true},
                          "%.3g, %.3g, %.3g ms", bin, padded, copy);
  double least[2], most[2];
  for (unsigned i = 0; i < 2; i++) {
    least[i] = work->ours[BF_VOTING_SHARED][1 + i].best.milliseconds;
    most[i] = work->held[1 + i];
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){
          .name = "GTX 470 and Titan, shared atomics, memory free or held between the steps of a "
                  "loop",
          .rule = BF_CLAIM_WORDS,
          .published_text = "0.12 and 0.08 ms in between",
          .is_so = least[0] < 0.12 && 0.12 < most[0] && least[1] < 0.08 && 0.08 < most[1],
          .must_hold = true,
          .fitted = "the ends are fourteen times apart: a range so wide was made to hold the "
                    "published times and says little about them."},
      "%.3g to %.3g and %.3g to %.3g ms", least[0], most[0], least[1], most[1]);
}

/* How often way a is faster than way b, on the GPUs that can do both. */
static unsigned count_faster(const histogram_work *work, bf_voting_method a, bf_voting_method b) {
  unsigned count = 0;
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    count += can_do(gpu, a) && can_do(gpu, b) &&
             work->ours[a][gpu].best.milliseconds < work->ours[b][gpu].best.milliseconds;
  return count;
}

/* The factor between global and shared atomics. */
static double gain(const histogram_work *work, unsigned gpu) {
  return work->ours[BF_VOTING_GLOBAL][gpu].best.milliseconds /
         work->ours[BF_VOTING_SHARED][gpu].best.milliseconds;
}

static void claim_ways(bf_reproduce_run *run, const histogram_work *work) {
  unsigned fastest = BF_VOTING_GPUS;
  for (unsigned method = 0; method < BF_VOTING_SHARED; method++) {
    unsigned count = count_faster(work, BF_VOTING_SHARED, method);
    fastest = count < fastest ? count : fastest;
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Table 3.7, shared atomics",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "fastest on the 3 GPUs that have them",
                            .published = 3,
                            .ours = fastest,
                            .must_hold = true},
      "fastest on %u", fastest);
  if (work->is_quick)
    return;
  const double published[] = {12, 1.6, 11};
  const double gains[] = {gain(work, 1), gain(work, 2), gain(work, 3)};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){
               .name = "Table 3.7, shared against global atomics, GTX 470, Titan, 750 Ti",
               .rule = BF_CLAIM_GAIN,
               .published_list = published,
               .ours_list = gains,
               .count = 3,
               .unit = " times",
               .why = "the order is the published one, but both times of the Titan differ from the "
                      "published: global atomics are slower and shared ones faster here."});
  unsigned private = count_faster(work, BF_VOTING_THREAD, BF_VOTING_WARP);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Table 3.7, per thread (64 bins) against per warp (256)",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "faster on all GPUs",
                            .published = BF_VOTING_GPUS,
                            .ours = private,
                            .why = "see the times of Tables 3.4 and 3.5, and what latencies make "
                                   "of them."},
      "faster on %u of %u", private, BF_VOTING_GPUS);
  double best = work->ours[BF_VOTING_SHARED][3].best.milliseconds;
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "GTX 750 Ti against 0.24 ms of a Core "
                                                            "i7-4770",
                                                    .rule = BF_CLAIM_GAIN,
                                                    .published = 5,
                                                    .ours = 0.24 / best,
                                                    .unit = " times",
                                                    .must_hold = true});
}

/* Reasons, with what was measured for them. */
typedef struct histogram_reasons {
  bf_text atomics, latency[BF_VOTING_SHARED], configured[BF_VOTING_METHODS];
} histogram_reasons;

static void write_reasons(const histogram_work *work, histogram_reasons *reasons) {
  bf_text_puts(
      &reasons->atomics,
      "how long a slice of the second-level cache takes for an operation is a guess on all "
      "four GPUs: halved and doubled, times take, times those as usual: ");
  list_changed(work, BF_VOTING_GLOBAL, &reasons->atomics);
  bf_text_puts(&reasons->atomics, ".");
  for (unsigned method = BF_VOTING_THREAD; method <= BF_VOTING_WARP; method++) {
    bf_text_puts(&reasons->latency[method],
                 "few warps fit, and they wait for their own results: with the latency of shared "
                 "memory halved and doubled times take, times those as usual: ");
    list_changed(work, (bf_voting_method)method, &reasons->latency[method]);
    bf_text_puts(&reasons->latency[method], ". And ");
    list_published(work, (bf_voting_method)method, &reasons->latency[method]);
  }
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    list_published(work, (bf_voting_method)method, &reasons->configured[method]);
}

static void free_reasons(histogram_reasons *reasons) {
  bf_text_free(&reasons->atomics);
  for (unsigned method = 0; method < BF_VOTING_SHARED; method++)
    bf_text_free(&reasons->latency[method]);
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    bf_text_free(&reasons->configured[method]);
}

static void claim_all(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_table *tables = bf_voting_histogram_tables;
  histogram_reasons reasons = {0};
  write_reasons(work, &reasons);
  claim_tried(run);
  bf_voting_claim_times(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL],
                        text_of(&reasons.atomics));
  bf_voting_claim_order(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL], NULL);
  bf_voting_claim_layouts(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL],
                          text_of(&reasons.configured[BF_VOTING_GLOBAL]));
  bf_voting_claim_copies(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL],
                         text_of(&reasons.configured[BF_VOTING_GLOBAL]));
  claim_global_copies(run, work);
  claim_layouts_by_copies(run, work);
  claim_spread(run, work);
  bf_voting_claim_times(run, &tables[BF_VOTING_THREAD], work->ours[BF_VOTING_THREAD],
                        text_of(&reasons.latency[BF_VOTING_THREAD]));
  claim_thread(run, work);
  bf_voting_claim_times(run, &tables[BF_VOTING_WARP], work->ours[BF_VOTING_WARP],
                        text_of(&reasons.latency[BF_VOTING_WARP]));
  bf_voting_claim_layouts(run, &tables[BF_VOTING_WARP], work->ours[BF_VOTING_WARP],
                          text_of(&reasons.configured[BF_VOTING_WARP]));
  bf_voting_claim_copies(run, &tables[BF_VOTING_WARP], work->ours[BF_VOTING_WARP],
                         text_of(&reasons.configured[BF_VOTING_WARP]));
  bf_voting_claim_times(run, &tables[BF_VOTING_SHARED], work->ours[BF_VOTING_SHARED],
                        "in the model the load/store unit is free between the steps of an atomic's "
                        "loop; a claim below shows both ends.");
  bf_voting_claim_layouts(run, &tables[BF_VOTING_SHARED], work->ours[BF_VOTING_SHARED], NULL);
  bf_voting_claim_copies(run, &tables[BF_VOTING_SHARED], work->ours[BF_VOTING_SHARED],
                         text_of(&reasons.configured[BF_VOTING_SHARED]));
  claim_shared(run, work);
  claim_ways(run, work);
  claim_cpu(run, work);
  claim_configurations(run, work);
  free_reasons(&reasons);
}

int bf_voting_histograms(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bf_arena *arena = bf_reproduce_arena(run);
  histogram_work *work = bf_arena_alloc(arena, sizeof *work);
  if (!work)
    return bf_no_memory(diagnostic);
  work->is_quick = bf_reproduce_is_quick(run);
  work->rows = work->is_quick ? QUICK_ROWS : BF_VOTING_HEIGHT;
  work->pixels = bf_arena_alloc(arena, (size_t)BF_VOTING_WIDTH * work->rows * sizeof *work->pixels);
  if (!work->pixels)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_photo_make(0, BF_VOTING_WIDTH, work->rows, work->pixels, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, SWEEPS, "configurations", find_sweep, work, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, BF_VOTING_GPUS * BF_VOTING_METHODS, "whole picture", find_whole,
                               work, diagnostic));
  if (!work->is_quick) {
    BF_TRY(bf_reproduce_parallel(run, BF_VOTING_SHARED * BF_VOTING_GPUS * 3, "what is assumed",
                                 find_changed, work, diagnostic));
    BF_TRY(find_alike(arena, work, diagnostic));
  }
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    bf_voting_show(run, &bf_voting_histogram_tables[method], work->ours[method]);
  bf_voting_show_ways(run, "table_3_7", "Table 3.7: the best times in milliseconds",
                      bf_voting_histogram_tables, BF_VOTING_METHODS, method_titles, work->ours[0]);
  add_sweeps(run, work);
  if (work->is_quick)
    claim_ways(run, work);
  else
    claim_all(run, work);
  return BF_OK;
}

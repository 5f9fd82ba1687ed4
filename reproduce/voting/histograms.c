/* Tables 3.3 to 3.7. Configurations are first tried on a part of the picture: atomics in global
 * memory on the whole GPU with some rows, the other ways on a GPU of one multiprocessor with rows
 * of its share. What a run takes without any pixels is measured too, so that the rest can be scaled
 * to all pixels. The best configuration of each way and the published one then count the whole
 * picture on the whole GPU; those are the times that are shown. */
#include "reproduce/atomics/photo.h"
#include "reproduce/voting/histogram_work.h"

enum {
  GLOBAL_ROWS = 128, /* of a sweep */
  SHARE_ROWS = 36,
  QUICK_ROWS = 16 /* of the picture in quick runs */
};

bool bf_voting_can_count(unsigned gpu, bf_voting_method method) {
  return method != BF_VOTING_SHARED || bf_voting_gpus[gpu].has_atomics;
}

const bf_voting_sweep *bf_voting_count_sweeps(const histogram_work *work, unsigned gpu,
                                              bf_voting_method method) {
  return &work->sweep[(gpu * BF_VOTING_METHODS + method) * BF_VOTING_LAYOUTS];
}

/* ---- What is tried; lists end with 0 ---- */

typedef struct sweep_axes {
  unsigned copies[8], threads[9], blocks[9];
} sweep_axes;

static const sweep_axes full_axes[BF_VOTING_METHODS] = {
    [BF_VOTING_GLOBAL] = {{1, 4, 8, 16, 32, 256, 512}, {32, 256, 512}, {1, 2, 4}},
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
  if (!bf_voting_can_count(gpu, method) ||
      (method == BF_VOTING_THREAD && layout != BF_VOTING_BIN_MAJOR))
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

/* The fastest configuration with more than one warp in a block: with one, the part that is tried is
 * too small to tell the time of the whole. */
static const bf_voting_best *fastest_large(const bf_voting_sweep *sweeps) {
  enum { WARP = 32 };
  const bf_voting_best *best = NULL;
  for (unsigned i = 0; i < BF_VOTING_LAYOUTS; i++)
    for (unsigned k = 0; k < sweeps[i].count; k++) {
      const bf_voting_best *tried = &sweeps[i].tried[k];
      if (tried->choice.threads > WARP && (!best || tried->milliseconds < best->milliseconds))
        best = tried;
    }
  return best;
}

/* Runs the best configuration and, where it fits, the published one. */
static int run_whole(histogram_work *work, unsigned gpu, bf_voting_method method,
                     bf_voting_histogram *histogram, bf_diagnostic *diagnostic) {
  const bf_voting_choice *published = &bf_voting_histogram_tables[method].best[gpu].choice;
  bf_voting_ours *ours = &work->ours[method][gpu];
  double seconds;
  ours->best.choice =
      bf_voting_fastest(bf_voting_count_sweeps(work, gpu, method), BF_VOTING_LAYOUTS, 0)->choice;
  BF_TRY(bf_voting_histogram_run(histogram, method, &ours->best.choice, &seconds, diagnostic));
  ours->best.milliseconds = 1e3 * seconds;
  if (method == BF_VOTING_GLOBAL && !work->is_quick) {
    bf_voting_choice large = fastest_large(bf_voting_count_sweeps(work, gpu, method))->choice;
    BF_TRY(bf_voting_histogram_run(histogram, method, &large, &seconds, diagnostic));
    if (1e3 * seconds < ours->best.milliseconds)
      ours->best = (bf_voting_best){large, 1e3 * seconds};
  }
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
  if (!bf_voting_can_count(gpu, method))
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

/* ---- Tables ---- */

const char *const bf_voting_method_titles[BF_VOTING_METHODS] = {
    "global atomics", "histogram per thread (64 bins)", "histogram per warp", "shared atomics"};

static void add_sweeps(bf_reproduce_run *run, const histogram_work *work) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "sweep", "All configurations, times estimated from a part of the picture",
      "GPU|way|layout|copies|threads|blocks per SM|ms");
  bf_reproduce_table_csv_only(table);
  for (unsigned i = 0; i < SWEEPS; i++)
    bf_voting_show_sweep(table, i / BF_VOTING_LAYOUTS / BF_VOTING_METHODS,
                         bf_voting_method_titles[i / BF_VOTING_LAYOUTS % BF_VOTING_METHODS],
                         &work->sweep[i]);
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
                      bf_voting_histogram_tables, BF_VOTING_METHODS, bf_voting_method_titles,
                      work->ours[0]);
  add_sweeps(run, work);
  if (work->is_quick)
    bf_voting_claim_ways(run, work);
  else
    bf_voting_claim_histograms(run, work);
  return BF_OK;
}

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
    [BF_VOTING_GLOBAL] = {{1, 4, 16, 32, 256, 512}, {256, 512}, {1, 2, 4}},
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
                                 .why = "in the model an addition takes a slice of memory as long "
                                        "whether others add to the same word or not; the published "
                                        "times say that it is not so there."});
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

static const char few_warps[] =
    "only a few warps fit, and they mostly wait for their own results, so that latencies, of which "
    "some are guesses, and the order of instructions decide; and our kernel keeps sums of a block "
    "beside its counters, so that one block less fits where the published one fills the memory.";

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
                            .why = few_warps},
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

static void claim_all(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_table *tables = bf_voting_histogram_tables;
  bf_voting_claim_times(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL],
                        "how many operations a slice of the second-level cache does in a cycle is "
                        "a guess on all four GPUs.");
  bf_voting_claim_order(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL], NULL);
  bf_voting_claim_layouts(
      run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL],
      "in the model every sector that a warp adds to is a request, and copies bin "
      "by bin lie in fewer of them.");
  claim_global_copies(run, work);
  bf_voting_claim_times(run, &tables[BF_VOTING_THREAD], work->ours[BF_VOTING_THREAD], few_warps);
  claim_thread(run, work);
  bf_voting_claim_times(
      run, &tables[BF_VOTING_WARP], work->ours[BF_VOTING_WARP],
      "the GTX Titan takes 27% longer here: latencies of its shared memory are partly "
      "guesses.");
  bf_voting_claim_layouts(run, &tables[BF_VOTING_WARP], work->ours[BF_VOTING_WARP],
                          "the layouts differ by a few percent with two copies.");
  bf_voting_claim_copies(
      run, &tables[BF_VOTING_WARP], work->ours[BF_VOTING_WARP],
      "two copies in blocks of 512 threads fill 64 KB, of which our kernel needs "
      "some bytes for itself.");
  bf_voting_claim_times(run, &tables[BF_VOTING_SHARED], work->ours[BF_VOTING_SHARED],
                        "in the model the load/store unit is free between the steps of an atomic's "
                        "loop; a claim below shows both ends.");
  bf_voting_claim_layouts(run, &tables[BF_VOTING_SHARED], work->ours[BF_VOTING_SHARED], NULL);
  bf_voting_claim_copies(run, &tables[BF_VOTING_SHARED], work->ours[BF_VOTING_SHARED],
                         "with 16 copies two blocks of 768 threads fit, with 32 only one.");
  claim_shared(run, work);
  claim_ways(run, work);
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

/* braak16, section 2, Figs. 1-2: what the degree of bank conflicts does to time and to the
 * counter of replays, on two GPUs whose banks are 4 and 8 bytes wide.
 *
 * One block of 64 threads runs on one multiprocessor: two warps, or one wave of 64 lanes. */
#include "kernels/devices.h"
#include "kernels/sim_device.h"
#include "reproduce/reproduce.h"

#include <math.h>

enum { MOST = 32, THREADS = 64, LANES = 32 };

typedef struct genindex_point {
  double cycles;
  double replays; /* of a read: wavefronts beyond the first */
} genindex_point;

typedef struct genindex_sweep {
  bf_sim_gpu *gpu;
  const char *title;
  unsigned ways, way[MOST], strides, stride[MOST];
  unsigned repeat;               /* reads of a thread */
  genindex_point at[MOST][MOST]; /* by way and stride */
} genindex_sweep;

/* ---- Running ---- */

/* Launches the kernel on a device. */
static int launch(const bf_device *device, uint32_t way, uint32_t stride, uint32_t repeat,
                  bf_diagnostic *diagnostic) {
  uint64_t result;
  BF_TRY(bf_corpus_upload(device, NULL, THREADS * sizeof(uint32_t), &result, diagnostic));
  return BF_CORPUS_LAUNCH(device, "genindex", 1, 1, THREADS, 1, diagnostic, &result, &way, &stride,
                          &repeat);
}

static int measure(const genindex_sweep *sweep, unsigned way, unsigned stride,
                   genindex_point *point, bf_diagnostic *diagnostic) {
  bf_sim_ledger ledger = {.settings = {.gpu = sweep->gpu, .workers = 1}};
  bf_sim_launched total;
  bf_device device;
  BF_TRY(bf_sim_device_create("genindex.ptx", bf_reproduce_ptx("genindex"), &ledger, &device,
                              diagnostic));
  int error = launch(&device, way, stride, sweep->repeat, diagnostic);
  if (!error)
    error = bf_sim_ledger_total(&ledger, &total, diagnostic);
  if (!error)
    *point = (genindex_point){.cycles = (double)total.result.cycles,
                              .replays = (double)total.result.shared_conflicts /
                                         (THREADS / LANES * sweep->repeat)};
  bf_sim_ledger_free(&ledger);
  bf_emu_device_free(&device);
  return error;
}

static int measure_piece(void *context, unsigned index, bf_diagnostic *diagnostic) {
  genindex_sweep *sweep = context;
  unsigned way = index / sweep->strides, stride = index % sweep->strides;
  return measure(sweep, sweep->way[way], sweep->stride[stride], &sweep->at[way][stride],
                 diagnostic);
}

/* All ways and strides from 1 to 32; quick runs take powers of two, and 3 for the odd strides. */
static void choose_points(genindex_sweep *sweep, bool quick) {
  sweep->repeat = quick ? 16 : 256;
  for (unsigned i = 1; i <= MOST; i++) {
    bool is_power = (i & (i - 1)) == 0;
    if (!quick || is_power)
      sweep->way[sweep->ways++] = i;
    if (!quick || is_power || i == 3)
      sweep->stride[sweep->strides++] = i;
  }
}

/* ---- Looking at the results ---- */

/* The points of one stride, over all ways. */
typedef struct genindex_curve {
  unsigned points;
  double way[MOST], time[MOST], replays[MOST]; /* time: that without conflicts is 1 */
} genindex_curve;

static genindex_curve curve_of(const genindex_sweep *sweep, unsigned stride) {
  genindex_curve curve = {0};
  for (unsigned s = 0; s < sweep->strides; s++)
    for (unsigned w = 0; w < sweep->ways && sweep->stride[s] == stride; w++) {
      unsigned i = curve.points++;
      curve.way[i] = sweep->way[w];
      curve.time[i] = sweep->at[w][s].cycles / sweep->at[0][0].cycles;
      curve.replays[i] = sweep->at[w][s].replays;
    }
  return curve;
}

/* Most replays of a stride, with any number of ways. */
static double most_replays(const genindex_sweep *sweep, unsigned stride) {
  genindex_curve curve = curve_of(sweep, stride);
  double most = 0;
  for (unsigned i = 0; i < curve.points; i++)
    most = fmax(most, curve.replays[i]);
  return most;
}

/* Pearson's coefficient: 1 where y is a rising straight line over x. */
static double correlation(const double *x, const double *y, unsigned count) {
  double sum_x = 0, sum_y = 0, xx = 0, yy = 0, xy = 0;
  for (unsigned i = 0; i < count; i++) {
    sum_x += x[i];
    sum_y += y[i];
  }
  for (unsigned i = 0; i < count; i++) {
    double dx = x[i] - sum_x / count, dy = y[i] - sum_y / count;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* Whether a larger power of two never has fewer replays or takes less time. */
static bool powers_are_ordered(const genindex_sweep *sweep) {
  genindex_curve before = curve_of(sweep, 1);
  for (unsigned stride = 2; stride <= MOST; stride *= 2) {
    genindex_curve own = curve_of(sweep, stride);
    for (unsigned i = 0; i < own.points; i++)
      if (own.replays[i] < before.replays[i] || own.time[i] < before.time[i])
        return false;
    before = own;
  }
  return true;
}

/* ---- Reporting ---- */

/* Time or replays over ways, a line for each power of two as stride, as the document draws it. */
static int draw(bf_reproduce_run *run, const genindex_sweep *sweep, bool is_time,
                bf_diagnostic *diagnostic) {
  static const char *const names[] = {"stride 1", "stride 2",  "stride 4",
                                      "stride 8", "stride 16", "stride 32"};
  enum { CURVES = sizeof names / sizeof *names };
  genindex_curve curve[CURVES];
  bf_chart_series series[CURVES];
  for (unsigned i = 0; i < CURVES; i++) {
    curve[i] = curve_of(sweep, 1u << i);
    series[i] = (bf_chart_series){.name = names[i],
                                  .x = curve[i].way,
                                  .y = is_time ? curve[i].time : curve[i].replays,
                                  .count = curve[i].points};
  }
  char name[40], title[100];
  snprintf(name, sizeof name, "%s_%s", sweep->gpu->name, is_time ? "time" : "replays");
  snprintf(title, sizeof title, "%s: %s", sweep->title,
           is_time ? "time, that without conflicts is 1" : "replays of a read");
  return bf_reproduce_chart(run, name,
                            &(bf_chart){.title = title,
                                        .x_label = "lanes that read with the stride (m-way)",
                                        .y_label = is_time ? "time" : "replays",
                                        .series = series,
                                        .series_count = CURVES},
                            diagnostic);
}

static void tabulate(bf_reproduce_run *run, const genindex_sweep *sweep) {
  bf_reproduce_table *table = bf_reproduce_table_add(run, sweep->gpu->name, sweep->title,
                                                     "ways|stride|cycles|time|replays");
  bf_reproduce_table_csv_only(table);
  for (unsigned w = 0; w < sweep->ways; w++)
    for (unsigned s = 0; s < sweep->strides; s++) {
      const genindex_point *point = &sweep->at[w][s];
      bf_reproduce_cell(table, "%u", sweep->way[w]);
      bf_reproduce_cell(table, "%u", sweep->stride[s]);
      bf_reproduce_cell(table, "%.0f", point->cycles);
      bf_reproduce_cell(table, "%.4f", point->cycles / sweep->at[0][0].cycles);
      bf_reproduce_cell(table, "%.4f", point->replays);
    }
}

/* Conflicts of this kernel follow from the banks alone. */
static const char by_banks[] = "which words meet in a bank follows from the published number and "
                               "width of the banks; the kernel only confirms the arithmetic.";
static const char by_replays[] =
    "in the simulator a replay takes a cycle, so that time can only follow replays.";

/* What holds for both GPUs. */
static void claim_families(bf_reproduce_run *run, const genindex_sweep *sweep) {
  genindex_curve widest = curve_of(sweep, MOST);
  double odd = 0, straight = correlation(widest.way, widest.replays, widest.points);
  double follows = correlation(widest.replays, widest.time, widest.points);
  char name[100];
  bf_reproduce_claim words = {
      .name = name, .rule = BF_CLAIM_WORDS, .must_hold = true, .derived = by_banks};
  for (unsigned s = 0; s < sweep->strides; s++)
    if (sweep->stride[s] % 2)
      odd = fmax(odd, most_replays(sweep, sweep->stride[s]));
  snprintf(name, sizeof name, "%s: stride 1", sweep->title);
  words.published_text = "no conflicts";
  words.is_so = most_replays(sweep, 1) == 0;
  bf_reproduce_claim_addf(run, &words, "%g replays", most_replays(sweep, 1));
  snprintf(name, sizeof name, "%s: odd strides", sweep->title);
  words.published_text = "flat";
  words.is_so = odd <= 0.15 * most_replays(sweep, MOST);
  bf_reproduce_claim_addf(run, &words, "at most %g replays, stride 32 has %g", odd,
                          most_replays(sweep, MOST));
  snprintf(name, sizeof name, "%s: powers of two", sweep->title);
  words.published_text = "larger is slower";
  words.is_so = powers_are_ordered(sweep);
  bf_reproduce_claim_addf(run, &words, "%s", words.is_so ? "in order" : "not in order");
  snprintf(name, sizeof name, "%s: stride 32 over ways", sweep->title);
  words.published_text = "straight line";
  words.is_so = straight > 0.99;
  bf_reproduce_claim_addf(run, &words, "correlation %.4f", straight);
  snprintf(name, sizeof name, "%s: time and replays", sweep->title);
  words.published_text = "same shape";
  words.is_so = follows > 0.99;
  words.derived = by_replays;
  bf_reproduce_claim_addf(run, &words, "correlation %.4f", follows);
}

/* What tells the two apart. */
static void claim_differences(bf_reproduce_run *run, const genindex_sweep *k20,
                              const genindex_sweep *hawaii) {
  genindex_curve worst = curve_of(hawaii, MOST);
  double degree = most_replays(k20, MOST) + 1, narrow = most_replays(hawaii, MOST) + 1;
  bf_reproduce_claim words = {.name = "K20: stride 2 of 4-byte elements",
                              .rule = BF_CLAIM_WORDS,
                              .published_text = "no conflicts",
                              .is_so = most_replays(k20, 2) == 0,
                              .must_hold = true,
                              .derived = by_banks};
  bf_reproduce_claim_addf(run, &words, "%g replays", most_replays(k20, 2));
  words.name = "Hawaii: stride 2 of 4-byte elements";
  words.published_text = "conflicts";
  words.is_so = most_replays(hawaii, 2) > 0;
  bf_reproduce_claim_addf(run, &words, "%g replay", most_replays(hawaii, 2));
  words.name = "K20: banks of 8 bytes";
  words.published_text = "fewer conflicts";
  words.is_so = degree < narrow;
  bf_reproduce_claim_addf(run, &words, "stride 32: %g-way, Hawaii %g-way", degree, narrow);
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){
          .name = "Hawaii: time of 32 ways and stride 32",
          .rule = BF_CLAIM_GAIN,
          .published = 1.4,
          .ours = worst.time[worst.points - 1],
          .fitted = "a read without conflicts takes 64 cycles in our description of Hawaii, which "
                    "no document gives: with it 31 replays come to this end of the axis of Fig. 1, "
                    "which is itself no printed value.",
          .why = "the published time is that of a whole program, of which reads are an unknown "
                 "part; ours is that of the kernel, in which a read waits for the one before. The "
                 "number is read from the end of the axis of Fig. 1."});
}

/* ---- All of it ---- */

static int sweep_gpu(bf_reproduce_run *run, const char *gpu, const char *title,
                     genindex_sweep *sweep, bf_diagnostic *diagnostic) {
  *sweep = (genindex_sweep){.title = title};
  choose_points(sweep, bf_reproduce_is_quick(run));
  BF_TRY(bf_sim_gpu_load(gpu, &sweep->gpu, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, sweep->ways * sweep->strides, title, measure_piece, sweep,
                               diagnostic));
  BF_TRY(draw(run, sweep, true, diagnostic));
  BF_TRY(draw(run, sweep, false, diagnostic));
  tabulate(run, sweep);
  claim_families(run, sweep);
  return BF_OK;
}

static int reproduce_genindex(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  genindex_sweep k20 = {0}, hawaii = {0};
  int error = sweep_gpu(run, "hawaii", "Hawaii", &hawaii, diagnostic);
  if (!error)
    error = sweep_gpu(run, "k20", "K20", &k20, diagnostic);
  if (!error)
    claim_differences(run, &k20, &hawaii);
  bf_sim_gpu_free(k20.gpu);
  bf_sim_gpu_free(hawaii.gpu);
  return error;
}

const bf_reproduction bf_reproduce_genindex[] = {
    {"genindex", "the GenIndex microbenchmark", "braak16, Figs. 1-2",
     "Every lane reads shared memory again and again: the first of them (m-way) at a stride, the "
     "others side by side.",
     reproduce_genindex},
    {NULL, NULL, NULL, NULL, NULL},
};

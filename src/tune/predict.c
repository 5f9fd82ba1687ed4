/* From what a block does to the time of a launch. */
#include "tune/predict.h"

#include "tune/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers are those of machines/h200.gpu (tests/unit/test_predict.c compares them). Memory is that
 * of the second-level cache: how much comes from further away is not known, and a kernel that waits
 * for memory neither wins nor loses. */
const bf_predict_gpu bf_predict_h200 = {.multiprocessors = 132,
                                        .schedulers = 4,
                                        .blocks = 32,
                                        .warps = 64,
                                        .registers = 65536,
                                        .shared_bytes = 233472,
                                        .reserved_bytes = 1024,
                                        .bytes_per_cycle = 64,
                                        .launch_cycles = 3300,
                                        .launch_sm_cycles = 3};

enum { LANES = 32 };

/* ---- Blocks on a multiprocessor ---- */

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

unsigned bf_predict_resident(const bf_predict_gpu *gpu, unsigned threads, uint64_t shared_bytes,
                             unsigned registers) {
  unsigned warps = (threads + LANES - 1) / LANES;
  unsigned per_warp = (registers * LANES + 255) / 256 * 256; /* allocation unit */
  unsigned count = least(gpu->blocks, gpu->warps / warps);
  uint64_t bytes = (shared_bytes + 127) / 128 * 128 + gpu->reserved_bytes;
  count = least(count, (unsigned)(gpu->shared_bytes / bytes));
  count = least(count, per_warp ? gpu->registers / (per_warp * warps) : count);
  return count ? count : 1;
}

/* ---- Time ---- */

/* Units of a multiprocessor work at the same time, but not perfectly, and neither do blocks that
 * wait and blocks that are busy: the larger one decides, and the smaller one is felt. How much says
 * the exponent of a norm: 1 adds, and with large ones the larger one is all there is. Time for
 * memory is added. Exponents and the factor of latencies were chosen with half A of the corpus
 * (tests/check/check_predict.c). */
static const double unit_overlap = 6, block_overlap = 3;
/* Between dependent instructions more passes than the latency of their units: ptxas does not find
 * the best order, and warps do not arrive at barriers together. */
static const double latency_factor = 2;

static double joined(double a, double b, double overlap) {
  return pow(pow(a, overlap) + pow(b, overlap), 1 / overlap);
}

double bf_forecast_throughput(const bf_predict_gpu *gpu, const bf_work *work, double overlap) {
  double issue =
      work->issue_cycles > work->integer_cycles ? work->issue_cycles : work->integer_cycles;
  double cycles = joined(issue, work->shared_cycles, overlap);
  cycles = joined(cycles, work->other_cycles, overlap);
  return cycles + work->global_bytes / gpu->bytes_per_cycle;
}

double bf_predict_start(const bf_predict_gpu *gpu) {
  return gpu->launch_cycles + gpu->launch_sm_cycles * gpu->multiprocessors;
}

/* Cycles of a launch, with a given overlap of units. */
static double launch_cycles(const bf_predict_gpu *gpu, const bf_work *work, unsigned resident,
                            uint64_t blocks, double overlap) {
  uint64_t own = (blocks + gpu->multiprocessors - 1) / gpu->multiprocessors;
  double busy = bf_forecast_throughput(gpu, work, overlap);
  double latency = latency_factor * work->latency_cycles;
  double full = (double)(own / resident), rest = (double)(own % resident);
  double cycles = bf_predict_start(gpu) + full * joined(latency, resident * busy, block_overlap);
  return cycles + (rest > 0 ? joined(latency, rest * busy, block_overlap) : 0);
}

double bf_forecast_cycles(const bf_predict_gpu *gpu, const bf_work *work, unsigned resident,
                          uint64_t blocks) {
  return launch_cycles(gpu, work, resident, blocks, unit_overlap);
}

/* ---- Predicting ---- */

/* Blocks that fill a GPU many times. */
enum { FULL_BATCHES = 16 };

/* The error of a share that is left where everything is known: of a launch that keeps its
 * multiprocessors busy, and of one that waits, in which the order of instructions matters that only
 * ptxas knows. */
static const double least_error = 0.03, waiting_error = 0.08;
/* What is added where all instructions are executed by so few warps of a block that schedulers are
 * idle: how blocks fill them is not known. */
static const double lonely_error = 0.35;

/* What fewer blocks at once may cost, as a share of the time: half as many cost at most half the
 * speed, and nothing where enough are left; the root is between both. A launch that has fewer
 * blocks anyway loses none. */
static double occupancy_error(const bf_forecast *f, const unsigned resident[2], uint64_t blocks) {
  uint64_t layers = (blocks + f->gpu->multiprocessors - 1) / f->gpu->multiprocessors;
  double one = (double)(layers < resident[0] ? layers : resident[0]);
  double other = (double)(layers < resident[1] ? layers : resident[1]);
  return other < one ? sqrt(one / other) - 1 : 0;
}

typedef struct times {
  double before, after, share, error;
  unsigned trips; /* which of them */
} times;

/* Whether blocks wait more than a multiprocessor is busy. */
static bool is_waiting(const bf_forecast *f, const bf_work *work, unsigned resident,
                       uint64_t blocks) {
  uint64_t layers = (blocks + f->gpu->multiprocessors - 1) / f->gpu->multiprocessors;
  double together = (double)(layers < resident ? layers : resident);
  return latency_factor * work->latency_cycles >
         together * bf_forecast_throughput(f->gpu, work, unit_overlap);
}

static double lonely_share(const bf_work *work) {
  return work->instructions > 0 ? work->lonely / work->instructions : 0;
}

/* The time of a launch with the hash as a share of that without it, and how far it is off if units
 * overlapped less or more than is assumed: wholly where the hash is then worth less, half where it
 * is worth more. */
static times compare(const bf_forecast *f, const bf_work *before, const bf_work *after,
                     const unsigned resident[2], uint64_t blocks) {
  static const double overlaps[] = {1.5, 16};
  times own = {.before = bf_forecast_cycles(f->gpu, before, resident[0], blocks),
               .after = bf_forecast_cycles(f->gpu, after, resident[1], blocks),
               .error = 0};
  own.share = own.after / own.before;
  for (unsigned i = 0; i < sizeof overlaps / sizeof *overlaps; i++) {
    double share = launch_cycles(f->gpu, after, resident[1], blocks, overlaps[i]) /
                   launch_cycles(f->gpu, before, resident[0], blocks, overlaps[i]);
    double off = share > own.share ? share - own.share : (own.share - share) / 2;
    own.error = off > own.error ? off : own.error;
  }
  own.error = own.error / own.share + lonely_error * lonely_share(after) +
              occupancy_error(f, resident, blocks) +
              (is_waiting(f, before, resident[0], blocks) ? waiting_error : least_error);
  return own;
}

/* Blocks that a multiprocessor holds at once without the hash, and with it: arrays may be padded.
 * Registers are estimated, and taken to be the same; whoever has both compiled knows better. */
static void set_resident(const bf_forecast *f, const bf_work_version *version,
                         unsigned resident[2]) {
  unsigned registers = f->original->registers;
  memcpy(resident, f->resident, sizeof f->resident);
  if (resident[0] && resident[1])
    return;
  resident[0] = bf_predict_resident(f->gpu, f->threads,
                                    f->original->shared_bytes + f->dynamic_bytes, registers);
  resident[1] = bf_predict_resident(
      f->gpu, f->threads, version->shared_bytes + (f->dynamic_bytes + 127) / 128 * 128, registers);
}

/* By what part of itself the unit that gets most more to do does more with the hash, latencies
 * included: however units overlap, a launch does not get slower by more than that. */
static double most_growth(const bf_work *before, const bf_work *after) {
  const double one[] = {before->issue_cycles,  before->integer_cycles, before->other_cycles,
                        before->shared_cycles, before->latency_cycles, before->global_bytes};
  const double other[] = {after->issue_cycles,  after->integer_cycles, after->other_cycles,
                          after->shared_cycles, after->latency_cycles, after->global_bytes};
  double most = 0;
  for (unsigned i = 0; i < sizeof one / sizeof *one; i++)
    if (other[i] > one[i] * (1 + most))
      most = one[i] > 0 ? other[i] / one[i] - 1 : HUGE_VAL;
  return most;
}

/* Whether a launch with this number of iterations cannot lose by the hash what could be measured:
 * most of its time is in loops that the hash does not touch. */
static bool is_harmless(const times *own, const bf_work *before, const bf_work *after,
                        const unsigned resident[2]) {
  const double felt = 0.015;
  return own->share <= 1 && resident[1] >= resident[0] && most_growth(before, after) <= felt;
}

/* The comparison for that number of iterations of open loops for which the hash is worth least; of
 * those for which it cannot do harm only where there are no others. Blocks 0: as many as fill the
 * GPU. */
static times worst(const bf_forecast *f, const bf_work_version *version,
                   const bf_work after[BF_FORECAST_TRIPS], uint64_t blocks) {
  unsigned resident[2];
  times found = {0};
  bool found_harm = false;
  set_resident(f, version, resident);
  if (!blocks)
    blocks = (uint64_t)FULL_BATCHES * resident[0] * f->gpu->multiprocessors;
  for (unsigned i = 0; i < BF_FORECAST_TRIPS; i++) {
    times own = compare(f, &f->before[i], &after[i], resident, blocks);
    bool can_harm = !is_harmless(&own, &f->before[i], &after[i], resident);
    bool is_worse = own.share * (1 + own.error) > found.share * (1 + found.error);
    own.trips = i;
    if (i == 0 || (can_harm && !found_harm) || (can_harm == found_harm && is_worse))
      found = own;
    found_harm |= can_harm;
  }
  return found;
}

/* What the judge is told: cycles of the launch, and counts of one block. */
static bf_comparison as_comparison(const bf_forecast *f, const bf_work *after, const times *t) {
  bf_comparison c = {0};
  const bf_work *before = &f->before[t->trips];
  c.before.wavefronts = (uint64_t)(before->wavefronts + 0.5);
  c.after.wavefronts = (uint64_t)(after[t->trips].wavefronts + 0.5);
  c.after.instructions = (int64_t)(after[t->trips].instructions - before->instructions);
  c.before.predicted_cycles = t->before;
  c.after.predicted_cycles = t->after;
  c.before.error = c.after.error = t->error;
  return c;
}

/* The smallest grid, in whole layers of a block for each multiprocessor, for which the hash is
 * worth it, and for all larger ones up to a full GPU; 0: none is. */
static uint64_t least_blocks(const bf_forecast *f, const bf_work_version *version,
                             const bf_work after[BF_FORECAST_TRIPS]) {
  unsigned resident[2];
  uint64_t least = 0;
  set_resident(f, version, resident);
  for (uint64_t layers = 4u * resident[0]; layers > 0; layers -= (layers + 7) / 8) {
    uint64_t blocks = (layers - 1) * f->gpu->multiprocessors + 1;
    times own = worst(f, version, after, blocks);
    bf_comparison c = as_comparison(f, after, &own);
    if (!bf_judge_is_worth(&c))
      return least;
    least = blocks;
  }
  return least;
}

/* Where the grid is not known, a launch that fills the GPU counts, unless a small one loses more
 * than this. */
static const double small_loss = 0.03;

/* The comparison that counts for a grid of that many blocks, or for an unknown one (0). */
static times judged(const bf_forecast *f, const bf_work_version *version,
                    const bf_work after[BF_FORECAST_TRIPS], uint64_t blocks) {
  times own = worst(f, version, after, blocks);
  if (blocks || f->decides_by_launch)
    return own;
  times small = worst(f, version, after, f->gpu->multiprocessors);
  return small.share > 1 + small_loss ? small : own;
}

void bf_forecast_judge(const bf_forecast *f, const bf_work_version *version,
                       const bf_work after[BF_FORECAST_TRIPS], uint64_t blocks, bf_prediction *p) {
  times own = judged(f, version, after, blocks), full = worst(f, version, after, 0);
  unsigned resident[2];
  set_resident(f, version, resident);
  *p = (bf_prediction){.is_known = true,
                       .share = own.share,
                       .error = own.error,
                       .comparison = as_comparison(f, after, &own),
                       .full_share = full.share,
                       .full_error = full.error};
  if (!blocks)
    blocks = (uint64_t)FULL_BATCHES * resident[0] * f->gpu->multiprocessors;
  p->is_latency_bound = is_waiting(f, &f->before[own.trips], resident[0], blocks);
  p->is_worth = bf_judge_is_worth(&p->comparison);
  p->least_blocks = p->comparison.after.least_blocks = least_blocks(f, version, after);
  bf_text text = {0};
  bf_judge_explain(&p->comparison, &text);
  if (!text.failed && text.data)
    snprintf(p->reason, sizeof p->reason, "%s", text.data);
  bf_text_free(&text);
}

/* ---- One launch ---- */

static int predict(const bf_plans *plans, const bf_plan *plan, const bf_work_version version[2],
                   const bf_predict_options *options, bf_prediction *prediction,
                   bf_diagnostic *diagnostic) {
  const bf_predict_launch *launch = options->launch;
  bf_forecast forecast;
  bf_forecast_hashes own = {plans, plan};
  bf_work_hashes hashes = bf_forecast_hash(&own);
  bf_work after[BF_FORECAST_TRIPS];
  bf_work_counters counters = {0};
  bool is_known = false;
  int error = bf_forecast_make(plans->module, bf_plan_examined(plans, plan), &version[0], options,
                               launch->block, &counters, &forecast, diagnostic);
  if (!error && !forecast.reason[0])
    error = bf_forecast_count(&forecast, &version[1], &hashes, after, &is_known, diagnostic);
  if (!error && is_known)
    bf_forecast_judge(&forecast, &version[1], after,
                      (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2], prediction);
  else if (!error)
    snprintf(prediction->reason, sizeof prediction->reason, "%s",
             forecast.reason[0] ? forecast.reason : "the rewritten kernel cannot be compared");
  bf_forecast_free(&forecast);
  bf_work_counters_free(&counters);
  return error;
}

/* Both versions of a kernel. */
struct bf_predict_pair {
  const bf_plans *plans;
  const bf_plan *plan;
  bf_work_version version[2]; /* as it is, and rewritten */
};

int bf_predict_prepare(const bf_plans *plans, const bf_plan *plan,
                       const bf_ptx_module *rewritten_module, const bf_ptx_function *rewritten,
                       bf_predict_pair **pair, bf_diagnostic *diagnostic) {
  const bf_ptx_function *kernel = bf_ptx_find(plans->module, plan->name);
  bf_predict_pair *made = *pair = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->plans = plans;
  made->plan = plan;
  if (!kernel || !rewritten)
    return BF_OK;
  BF_TRY(bf_work_version_make(plans->module, kernel, &made->version[0], diagnostic));
  return bf_work_version_make(rewritten_module, rewritten, &made->version[1], diagnostic);
}

void bf_predict_pair_free(bf_predict_pair *pair) {
  for (unsigned i = 0; pair && i < 2; i++)
    bf_work_version_free(&pair->version[i]);
  free(pair);
}

int bf_predict(const bf_predict_pair *pair, const bf_predict_options *options,
               bf_prediction *prediction, bf_diagnostic *diagnostic) {
  *prediction = (bf_prediction){0};
  if (options->launch && options->launch->block[0] && pair->version[0].function &&
      pair->version[1].function)
    return predict(pair->plans, pair->plan, pair->version, options, prediction, diagnostic);
  snprintf(prediction->reason, sizeof prediction->reason, "the shape of its blocks is not known");
  return BF_OK;
}

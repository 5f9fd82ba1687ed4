#include "sim/sample.h"

#include "hash/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A launch is simulated for so many waves at least; where they are short for more, until so many
 * cycles have passed or waves have ended: caches fill and blocks get out of step by then. */
enum { LEAST_WAVES = 6, LEAST_CYCLES = 50000, ENOUGH_WAVES = 24 };
enum {
  FIRST_LAUNCHES = 5,
  MOST_CPI = 64, /* launches of a shape that are remembered */
};
/* The pace of waves is even where its mean may be off by so little. */
static const double steady = 0.02;
/* The second-level cache counts as filled when so much of it is: from then on lines have to go. */
static const double filled = 0.9;
/* What may be off besides what waves and launches show. */
static const double besides = 0.09;

/* Launches of one kernel, shape and hash. */
typedef struct repeat {
  const bf_emu_kernel *kernel;
  char *hash; /* as text; NULL: none */
  uint32_t grid[3], block[3];
  uint64_t seen, next;  /* launches; which is simulated next */
  double cpi[MOST_CPI]; /* cycles per instruction of those simulated, the last ones */
  uint64_t simulated;
  bf_sim_result last; /* without its arena and sites */
  bf_sim_site *site;
  unsigned sites;
} repeat;

struct bf_sim_sampler {
  double share;
  repeat *repeat;
  size_t repeats;
};

bf_sim_sampler *bf_sim_sampler_create(double share) {
  bf_sim_sampler *made = calloc(1, sizeof *made);
  if (made)
    made->share = share;
  return made;
}

void bf_sim_sampler_free(bf_sim_sampler *sampler) {
  if (!sampler)
    return;
  for (size_t i = 0; i < sampler->repeats; i++) {
    free(sampler->repeat[i].site);
    free(sampler->repeat[i].hash);
  }
  free(sampler->repeat);
  free(sampler);
}

bool bf_sim_sample_share(const char *text, double *share) {
  char *end;
  *share = 0;
  if (strcmp(text, "auto") == 0)
    return true;
  *share = strtod(text, &end);
  if (end != text && *end == '%') {
    *share /= 100;
    end++;
  }
  return end != text && !*end && *share > 0 && *share <= 1;
}

/* ---- Means and how sure they are ---- */

/* Half the 95% interval of a mean by Student's t, for so many values. */
static double student(unsigned values) {
  static const double t[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26,
                             2.23,  2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10};
  unsigned most = sizeof t / sizeof *t;
  if (values < 2)
    return t[0];
  return values - 2 < most ? t[values - 2] : 2.0;
}

/* The mean of values; *half is how far it may be off: by chance, or because the values drift. */
static double mean_of(const double *value, unsigned count, double *half) {
  double sum = 0, first = 0, squares = 0;
  for (unsigned i = 0; i < count; i++) {
    sum += value[i];
    first += i < count / 2 ? value[i] : 0;
  }
  double mean = sum / count;
  for (unsigned i = 0; i < count; i++)
    squares += (value[i] - mean) * (value[i] - mean);
  double deviation = count > 1 ? sqrt(squares / (count - 1)) : mean;
  *half = student(count) * deviation / sqrt(count);
  if (count >= 4) {
    double drift = fabs(first / (count / 2) - (sum - first) / (count - count / 2));
    *half = 2 * drift > *half ? 2 * drift : *half; /* it may go on */
  }
  return mean;
}

/* ---- Scaling counts ---- */

static void scale(uint64_t *value, double by) { *value = (uint64_t)llround((double)*value * by); }

static void scale_site(bf_sim_site *site, double by) {
  scale(&site->executions, by);
  scale(&site->wavefronts, by);
  scale(&site->conflicts, by);
  scale(&site->waited_cycles, by);
}

/* Makes counts of a part those of all. */
static void scale_counts(bf_sim_result *result, double by) {
  uint64_t *counts[] = {&result->issued,
                        &result->guarded,
                        &result->turns,
                        &result->resident_warp_cycles,
                        &result->shared_lanes,
                        &result->shared_instructions,
                        &result->shared_wavefronts,
                        &result->shared_parts,
                        &result->shared_conflicts,
                        &result->global_instructions,
                        &result->global_sectors,
                        &result->l1_hits,
                        &result->l1_misses,
                        &result->l2_hits,
                        &result->l2_misses,
                        &result->dram_read_bytes,
                        &result->dram_row_hits,
                        &result->dram_written_bytes,
                        &result->dram_row_misses,
                        &result->history_unknown,
                        &result->history_right,
                        &result->history_wrong};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    scale(counts[i], by);
  for (unsigned i = 0; i < BF_SIM_ACTIVITIES; i++)
    scale(&result->activity[i], by);
  for (unsigned i = 0; i < BF_SIM_STALLS; i++)
    scale(&result->stalls[i], by);
  for (unsigned i = 0; i < result->sites; i++)
    scale_site(&result->site[i], by);
}

/* Sets the time of a launch and its interval, which does not reach below `least`. */
static void set_cycles(const bf_sim_gpu *gpu, bf_sim_result *result, double cycles, double half,
                       double least) {
  double low = cycles - half > least ? cycles - half : least;
  result->cycles = (uint64_t)llround(cycles);
  result->cycles_low = (uint64_t)low;
  result->cycles_high = (uint64_t)ceil(cycles + half);
  result->seconds = cycles / (gpu->clock_mhz * 1e6);
}

/* ---- Blocks ---- */

/* The first blocks of a launch, of which waves of `wave` fit on the GPU at once. */
typedef struct part {
  uint64_t blocks;     /* of the grid */
  uint64_t most_waves; /* to simulate */
  double *middle;      /* by wave: mean of the cycles at which its blocks have ended */
  double *used;        /* by wave: the part of the second-level cache in use behind it */
  uint64_t middles;    /* of them known */
  uint64_t filling;    /* waves that have ended while the second-level cache was being filled */
  double wave_cycles;  /* mean of the later half of those simulated, and how far it may be off */
  double half;
  bf_sim_excerpt excerpt;
} part;

/* Works out the middles of the waves that have ended, and notes what of the cache is in use. The
 * last block of a wave says less of its pace: blocks end in bunches. */
static void find_middles(part *own, const uint64_t *ended, uint64_t waves) {
  uint64_t wave = own->excerpt.wave;
  for (; own->middles < waves; own->middles++) {
    double sum = 0;
    for (uint64_t i = 0; i < wave; i++)
      sum += (double)ended[own->middles * wave + i];
    own->middle[own->middles] = sum / (double)wave;
    own->used[own->middles] = own->excerpt.cache_used;
  }
}

/* Whether the second-level cache is being filled, and will be full before the launch ends if it
 * goes on as in the later half of the waves: then lines have to go, and waves take longer. */
static bool is_filling(const part *own, uint64_t waves) {
  double used = own->used[waves - 1], before = own->used[waves / 2];
  double left = (double)(own->blocks / own->excerpt.wave - waves);
  return used < filled && used + (used - before) / (double)(waves - waves / 2) * left > filled;
}

/* Whether waves have come to an even pace: the later half of those that have ended do not differ
 * much. The first ones begin together, with empty caches, and take longer. Those in which the
 * second-level cache was being filled say nothing of later ones, and are not looked at unless no
 * more are to be simulated. */
static bool is_steady(void *context, const uint64_t *ended, uint64_t waves) {
  part *own = context;
  enum { MOST = 512 };
  double cycles[MOST];
  unsigned count = 0;
  find_middles(own, ended, waves);
  own->filling = is_filling(own, waves) ? waves : own->filling;
  if (waves < LEAST_WAVES || (waves < ENOUGH_WAVES && own->middle[waves - 1] < LEAST_CYCLES))
    return false;
  bool is_early = waves < own->filling + LEAST_WAVES;
  if (is_early && waves < own->most_waves)
    return false;
  uint64_t window = (waves - (is_early ? 0 : own->filling)) / 2;
  window = window < MOST ? window : MOST;
  for (uint64_t i = waves - window; i < waves; i++)
    cycles[count++] = own->middle[i] - own->middle[i - 1];
  own->wave_cycles = mean_of(cycles, count, &own->half);
  return own->half < steady * own->wave_cycles || waves >= own->most_waves;
}

/* Whether a launch has so many blocks that a part of them may do. */
static bool plan(const bf_sim_settings *settings, double share, const bf_emu_launch *launch,
                 part *own) {
  const char *limit;
  own->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  uint64_t wave = bf_sim_blocks_per_sm(settings->gpu, launch, &limit) * settings->gpu->sms;
  if (wave == 0 || launch->cooperative || settings->watch || share >= 1 ||
      own->blocks / wave < LEAST_WAVES + LEAST_WAVES / 2)
    return false;
  own->excerpt.wave = wave;
  own->most_waves = share > 0 ? (uint64_t)ceil(share * (double)(own->blocks / wave)) : UINT64_MAX;
  return true;
}

/* The time of all blocks, from that of those simulated and the instructions of the others. */
static void extrapolate(const bf_sim_gpu *gpu, const part *own, const bf_emu_result *rest,
                        bf_sim_result *result) {
  double instructions = (double)result->emu.warp_instructions, detailed = (double)result->cycles;
  double of_wave = instructions / (double)own->excerpt.simulated * (double)own->excerpt.wave;
  double waves = (double)rest->warp_instructions / of_wave;
  double half = own->half > besides * own->wave_cycles ? own->half : besides * own->wave_cycles;
  scale_counts(result, (instructions + (double)rest->warp_instructions) / instructions);
  set_cycles(gpu, result, detailed + waves * own->wave_cycles, waves * half, detailed);
  result->simulated_blocks = own->excerpt.simulated;
  result->blocks = own->blocks;
  result->emu.warp_instructions += rest->warp_instructions;
  result->emu.thread_instructions += rest->thread_instructions;
}

/* Runs the blocks that were not simulated on the emulator. */
static int run_rest(const bf_sim_settings *settings, bf_emu *emu, const bf_emu_launch *launch,
                    const part *own, bf_emu_result *rest, bf_diagnostic *diagnostic) {
  uint64_t first = own->excerpt.simulated;
  bf_sample_block *list = malloc((own->blocks - first) * sizeof *list);
  if (!list)
    return bf_no_memory(diagnostic);
  for (uint64_t i = first; i < own->blocks; i++)
    list[i - first] = (bf_sample_block){.block = i, .weight = 1};
  bf_emu_launch others = *launch;
  others.sample = list;
  others.samples = own->blocks - first;
  others.skips_rest = true;
  others.workers = settings->workers;
  int error = bf_emu_run(emu, &others, rest, diagnostic);
  free(list);
  return error;
}

/* Simulates the first blocks, and lets the others run. */
static int run_part(const bf_sim_settings *settings, bf_emu *emu, const bf_emu_launch *launch,
                    part *own, bf_sim_result *result, bf_diagnostic *diagnostic) {
  bf_sim_settings of_part = *settings;
  own->excerpt.is_enough = is_steady;
  own->excerpt.context = own;
  own->excerpt.ended = malloc(own->blocks * sizeof *own->excerpt.ended);
  own->middle = malloc((own->blocks / own->excerpt.wave + 1) * sizeof *own->middle);
  own->used = malloc((own->blocks / own->excerpt.wave + 1) * sizeof *own->used);
  of_part.excerpt = &own->excerpt;
  int error = own->excerpt.ended && own->middle && own->used
                  ? bf_sim_run(&of_part, emu, launch, result, diagnostic)
                  : bf_no_memory(diagnostic);
  free(own->excerpt.ended);
  free(own->middle);
  free(own->used);
  if (error || result->emu.fault.kind || own->excerpt.simulated == own->blocks)
    return error;
  bf_emu_result rest;
  error = run_rest(settings, emu, launch, own, &rest, diagnostic);
  if (error) {
    bf_arena_free(&result->arena);
    return error;
  }
  result->emu.fault = rest.fault;
  extrapolate(settings->gpu, own, &rest, result);
  return BF_OK;
}

/* Simulates a launch, or a part of its blocks. */
static int run_blocks(const bf_sim_sampler *sampler, const bf_sim_settings *settings, bf_emu *emu,
                      const bf_emu_launch *launch, bf_sim_result *result,
                      bf_diagnostic *diagnostic) {
  part own = {0};
  if (!plan(settings, sampler->share, launch, &own))
    return bf_sim_run(settings, emu, launch, result, diagnostic);
  double start = bf_seconds();
  int error = run_part(settings, emu, launch, &own, result, diagnostic);
  result->host_seconds = bf_seconds() - start;
  return error;
}

/* ---- Launches ---- */

static bool is_like(const repeat *own, const char *hash, const bf_emu_launch *launch) {
  bool is_hash = hash && own->hash ? strcmp(hash, own->hash) == 0 : !hash && !own->hash;
  return is_hash && own->kernel == launch->kernel &&
         memcmp(own->grid, launch->grid, sizeof own->grid) == 0 &&
         memcmp(own->block, launch->block, sizeof own->block) == 0;
}

/* What is known of launches like this one; NULL: out of memory. */
static repeat *find_repeat(bf_sim_sampler *sampler, const bf_sim_settings *settings,
                           const bf_emu_launch *launch) {
  const char *hash = settings->hash ? bf_hash_text(settings->hash) : NULL;
  for (size_t i = 0; i < sampler->repeats; i++)
    if (is_like(&sampler->repeat[i], hash, launch))
      return &sampler->repeat[i];
  repeat *grown = realloc(sampler->repeat, (sampler->repeats + 1) * sizeof *grown);
  if (!grown)
    return NULL;
  sampler->repeat = grown;
  repeat *made = &grown[sampler->repeats++];
  *made = (repeat){.kernel = launch->kernel, .hash = hash ? strdup(hash) : NULL};
  if (hash && !made->hash)
    return NULL;
  memcpy(made->grid, launch->grid, sizeof made->grid);
  memcpy(made->block, launch->block, sizeof made->block);
  return made;
}

/* Keeps what a launch that was simulated has cost. */
static bool remember(repeat *own, const bf_sim_result *result) {
  bf_sim_site *site = realloc(own->site, (result->sites + 1) * sizeof *site);
  if (!site)
    return false;
  own->site = site;
  own->sites = result->sites;
  memcpy(site, result->site, result->sites * sizeof *site);
  own->last = *result;
  double instructions = (double)result->emu.warp_instructions;
  own->cpi[own->simulated++ % MOST_CPI] =
      instructions > 0 ? (double)result->cycles / instructions : 0;
  own->next = own->seen < FIRST_LAUNCHES ? own->seen : own->seen + own->seen / 2;
  return true;
}

/* How far the cycles of a launch of which a part was simulated may be off, as a share of them. */
static double relative_half(const bf_sim_result *result) {
  double width = (double)(result->cycles_high - result->cycles_low);
  return result->cycles ? width / 2 / (double)result->cycles : 0;
}

/* Lets a launch run on the emulator; its cost is that of the ones simulated, by instructions. */
static int infer(const repeat *own, const bf_sim_settings *settings, bf_emu *emu,
                 const bf_emu_launch *launch, bf_sim_result *result, bf_diagnostic *diagnostic) {
  bf_emu_launch run = *launch;
  bf_emu_result done;
  double start = bf_seconds(), half;
  run.workers = settings->workers;
  *result = own->last;
  result->arena = (bf_arena){0};
  BF_TRY(bf_emu_run(emu, &run, &done, diagnostic));
  result->site = bf_arena_alloc(&result->arena, (own->sites + 1) * sizeof *result->site);
  if (!result->site)
    return bf_no_memory(diagnostic);
  memcpy(result->site, own->site, own->sites * sizeof *own->site);
  unsigned count = own->simulated < MOST_CPI ? (unsigned)own->simulated : MOST_CPI;
  double mean = mean_of(own->cpi, count, &half), all = (double)done.warp_instructions;
  double before = (double)own->last.emu.warp_instructions;
  scale_counts(result, before > 0 ? all / before : 1);
  double most = half > besides * mean ? half : besides * mean;
  most += own->last.cycles_high ? mean * relative_half(&own->last) : 0;
  set_cycles(settings->gpu, result, mean * all, most * all, 0);
  result->emu = done;
  result->is_inferred = true;
  result->host_seconds = bf_seconds() - start;
  return BF_OK;
}

int bf_sim_sampler_run(bf_sim_sampler *sampler, const bf_sim_settings *settings, bf_emu *emu,
                       const bf_emu_launch *launch, bf_sim_result *result,
                       bf_diagnostic *diagnostic) {
  repeat *own = find_repeat(sampler, settings, launch);
  if (!own)
    return bf_no_memory(diagnostic);
  bool is_due = own->seen >= own->next || settings->watch;
  own->seen++;
  if (!is_due)
    return infer(own, settings, emu, launch, result, diagnostic);
  BF_TRY(run_blocks(sampler, settings, emu, launch, result, diagnostic));
  if (!result->emu.fault.kind && !remember(own, result)) {
    bf_arena_free(&result->arena);
    return bf_no_memory(diagnostic);
  }
  return BF_OK;
}

/* Inputs go to the device, the kernel runs under the simulator, results come back and are compared.
 * Angles are rounded to float the same way for kernel and reference. */
#include "reproduce/atomics/vote.h"

#include "kernels/devices.h"
#include "reproduce/reproduce.h"

#include <math.h>
#include <string.h>

enum { LANES = 32, LEVELS = 4096 };

const char *const bf_vote_layout_names[BF_VOTE_LAYOUTS] = {"plain", "padded", "bin-major"};
const char *const bf_vote_hash_names[BF_VOTE_HASHES] = {"none", "XOR", "ADD"};

/* ---- Spaces ---- */

static uint32_t bin_stride(const bf_vote_space *space) {
  return space->layout == BF_VOTE_BIN_MAJOR ? space->copies : 1;
}

static uint32_t copy_stride(const bf_vote_space *space) {
  return space->layout == BF_VOTE_BIN_MAJOR ? 1 : space->bins + (space->layout == BF_VOTE_PADDED);
}

uint32_t bf_vote_words(const bf_vote_space *space) {
  return space->layout == BF_VOTE_PADDED ? (space->bins + 1) * space->copies
                                         : space->bins * space->copies;
}

/* ---- GPUs ---- */

int bf_vote_gpu_create(const char *name, const char *const *changes, bf_vote_hash hash,
                       bf_vote_gpu *gpu, bf_diagnostic *diagnostic) {
  static const char *const texts[BF_VOTE_HASHES] = {"none", "fixed", "add"};
  static const bf_lock_hash locks[BF_VOTE_HASHES] = {BF_LOCK_PLAIN, BF_LOCK_XOR, BF_LOCK_ADD};
  *gpu = (bf_vote_gpu){.locks = locks[hash]};
  int error = bf_sim_gpu_load(name, &gpu->gpu, diagnostic);
  if (!error)
    error = bf_sim_gpu_set(gpu->gpu, "hash_cycles=0", diagnostic);
  for (; !error && *changes; changes++)
    error = bf_sim_gpu_set(gpu->gpu, *changes, diagnostic);
  if (!error)
    error = bf_sim_gpu_check(gpu->gpu, diagnostic);
  if (!error) {
    bf_geometry geometry = bf_machine_geometry(gpu->gpu->machine);
    error = bf_hash_parse(texts[hash], &geometry, &gpu->banks, diagnostic);
  }
  if (error)
    bf_vote_gpu_free(gpu);
  return error;
}

void bf_vote_gpu_free(bf_vote_gpu *gpu) {
  bf_hash_free(gpu->banks);
  bf_sim_gpu_free(gpu->gpu);
  *gpu = (bf_vote_gpu){0};
}

/* ---- Simulated launches ---- */

typedef struct vote_simulation {
  bf_sim_settings settings;
  bf_vote_outcome outcome; /* of the last launch */
} vote_simulation;

/* Simulates a launch, in place of bf_emu_run. */
static int simulate(void *context, bf_emu *emu, const bf_emu_launch *launch, bf_emu_result *result,
                    bf_diagnostic *diagnostic) {
  vote_simulation *simulation = context;
  bf_sim_result simulated = {0};
  int error = bf_sim_run(&simulation->settings, emu, launch, &simulated, diagnostic);
  *result = simulated.emu;
  simulation->outcome = (bf_vote_outcome){simulated.cycles, simulated.emu.warp_instructions,
                                          simulated.shared_wavefronts};
  bf_arena_free(&simulated.arena);
  return error;
}

/* A device whose launches fill simulation->outcome. */
static int create_device(const bf_vote_gpu *gpu, vote_simulation *simulation, bf_device *device,
                         bf_diagnostic *diagnostic) {
  simulation->settings = (bf_sim_settings){.gpu = gpu->gpu,
                                           .hash = gpu->locks == BF_LOCK_PLAIN ? NULL : gpu->banks,
                                           .lock_hash = gpu->locks,
                                           .workers = 1};
  bf_emu_device_options options = {.workers = 1, .execute = simulate, .context = simulation};
  return bf_emu_device_create("atomics.ptx", bf_reproduce_ptx("atomics"), &options, device,
                              diagnostic);
}

/* Runs a kernel in a row of blocks with votes in dynamic shared memory. */
static int launch_kernel(const bf_device *device, const char *kernel, uint32_t blocks,
                         uint32_t threads, uint32_t words, const void *const *parameter,
                         unsigned parameters, bf_diagnostic *diagnostic) {
  bf_device_launch described = {.kernel = kernel,
                                .grid = {blocks, 1, 1},
                                .block = {threads, 1, 1},
                                .dynamic_shared_bytes = (uint64_t)words * 4,
                                .parameters = parameters,
                                .parameter = parameter};
  return device->launch(device->context, &described, diagnostic);
}

#define LAUNCH(device, kernel, blocks, threads, words, diagnostic, ...)                            \
  launch_kernel(                                                                                   \
      (device), (kernel), (blocks), (threads), (words), (const void *const[]){__VA_ARGS__},        \
      (unsigned)(sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)), (diagnostic))

/* Reads votes back; BF_BAD_INPUT where they are not those of the reference. */
static int compare(const bf_device *device, uint64_t address, const uint32_t *reference,
                   uint32_t count, uint32_t *result, bf_diagnostic *diagnostic) {
  BF_TRY(device->read(device->context, address, result, (uint64_t)count * 4, diagnostic));
  for (uint32_t i = 0; i < count; i++)
    if (result[i] != reference[i])
      return bf_fail(diagnostic, BF_BAD_INPUT, "bin %u has %u votes where the reference has %u", i,
                     result[i], reference[i]);
  return BF_OK;
}

/* ---- Histograms ---- */

void bf_vote_histogram_reference(const uint16_t *pixels, uint32_t pixel_count, uint32_t bin_count,
                                 uint32_t *bins) {
  for (uint32_t i = 0; i < pixel_count; i++)
    bins[pixels[i] / (LEVELS / bin_count)]++;
}

static int run_histogram(const bf_device *device, const bf_vote_histogram *histogram,
                         bf_diagnostic *diagnostic) {
  const bf_vote_space *space = &histogram->space;
  uint32_t reference[LEVELS] = {0}, result[LEVELS];
  uint32_t per_block = (histogram->pixel_count + histogram->blocks - 1) / histogram->blocks;
  uint32_t shift = (uint32_t)__builtin_ctz(LEVELS / space->bins);
  uint32_t bins = bin_stride(space), copies = copy_stride(space), words = bf_vote_words(space);
  uint64_t pixels, votes;
  BF_TRY(bf_corpus_upload(device, histogram->pixels, (uint64_t)histogram->pixel_count * 2, &pixels,
                          diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, (uint64_t)space->bins * 4, &votes, diagnostic));
  BF_TRY(LAUNCH(device, "histogram", histogram->blocks, histogram->threads, words, diagnostic,
                &pixels, &histogram->pixel_count, &per_block, &shift, &space->copies, &bins,
                &copies, &words, &votes));
  bf_vote_histogram_reference(histogram->pixels, histogram->pixel_count, space->bins, reference);
  return compare(device, votes, reference, space->bins, result, diagnostic);
}

int bf_vote_histogram_run(const bf_vote_gpu *gpu, const bf_vote_histogram *histogram,
                          bf_vote_outcome *outcome, bf_diagnostic *diagnostic) {
  vote_simulation simulation;
  bf_device device;
  BF_TRY(create_device(gpu, &simulation, &device, diagnostic));
  int error = run_histogram(&device, histogram, diagnostic);
  *outcome = simulation.outcome;
  bf_emu_device_free(&device);
  return error;
}

/* ---- Hough transform ---- */

void bf_vote_hough_reference(const bf_vote_hough *hough, float cosine, float sine, uint32_t *line) {
  for (uint32_t i = 0; i < hough->point_count; i++) {
    const float x = (float)(hough->points[i] & 0xffff), y = (float)(hough->points[i] >> 16);
    const float across = y * sine;
    line[(int)floorf(fmaf(x, cosine, across)) + (int)hough->offset]++;
  }
}

/* Angles as in braak15, Listing 4.1: from 0 to 180 degrees, both included. */
static void fill_angles(const bf_vote_hough *hough, float *cosines, float *sines) {
  for (uint32_t i = 0; i < hough->angles; i++) {
    const uint32_t angle = hough->first_angle + i * hough->angle_step;
    const double theta = angle * acos(-1) / (BF_VOTE_ANGLES - 1);
    cosines[i] = (float)cos(theta);
    sines[i] = (float)sin(theta);
  }
}

static int run_hough(const bf_device *device, bf_arena *arena, const bf_vote_hough *hough,
                     bf_diagnostic *diagnostic) {
  const bf_vote_space *space = &hough->space;
  float cosines[BF_VOTE_ANGLES], sines[BF_VOTE_ANGLES];
  uint32_t votes = hough->angles * space->bins, words = bf_vote_words(space);
  uint32_t bins = bin_stride(space), copies = copy_stride(space);
  uint32_t *reference = bf_arena_alloc(arena, (size_t)votes * 4);
  uint32_t *result = bf_arena_alloc(arena, (size_t)votes * 4);
  if (!reference || !result)
    return bf_no_memory(diagnostic);
  fill_angles(hough, cosines, sines);
  uint64_t points, cosine, sine, lines;
  BF_TRY(bf_corpus_upload(device, hough->points, (uint64_t)hough->point_count * 4, &points,
                          diagnostic));
  BF_TRY(bf_corpus_upload(device, cosines, hough->angles * sizeof *cosines, &cosine, diagnostic));
  BF_TRY(bf_corpus_upload(device, sines, hough->angles * sizeof *sines, &sine, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, (uint64_t)votes * 4, &lines, diagnostic));
  BF_TRY(LAUNCH(device, "hough", hough->angles, hough->threads, words, diagnostic, &points,
                &hough->point_count, &cosine, &sine, &hough->offset, &space->bins, &space->copies,
                &bins, &copies, &words, &lines));
  for (uint32_t i = 0; i < hough->angles; i++)
    bf_vote_hough_reference(hough, cosines[i], sines[i], reference + (size_t)i * space->bins);
  return compare(device, lines, reference, votes, result, diagnostic);
}

int bf_vote_hough_run(const bf_vote_gpu *gpu, const bf_vote_hough *hough, bf_vote_outcome *outcome,
                      bf_diagnostic *diagnostic) {
  vote_simulation simulation;
  bf_device device;
  bf_arena arena = {0};
  BF_TRY(create_device(gpu, &simulation, &device, diagnostic));
  int error = run_hough(&device, &arena, hough, diagnostic);
  *outcome = simulation.outcome;
  bf_arena_free(&arena);
  bf_emu_device_free(&device);
  return error;
}

/* ---- Latency ---- */

/* Every lane has seen a count from 1 to the number of lanes that add to its word. */
static int check_counts(const uint32_t *word, const uint32_t *counts, bf_diagnostic *diagnostic) {
  for (unsigned lane = 0; lane < LANES; lane++) {
    uint32_t lanes = 0;
    for (unsigned other = 0; other < LANES; other++)
      lanes += word[other] == word[lane];
    if (counts[lane] < 1 || counts[lane] > lanes)
      return bf_fail(diagnostic, BF_BAD_INPUT, "lane %u has seen %u of %u additions", lane,
                     counts[lane], lanes);
  }
  return BF_OK;
}

static int run_latency(const bf_device *device, const uint32_t *word, uint32_t *cycles,
                       bf_diagnostic *diagnostic) {
  uint32_t times[3 * LANES], words = 0;
  for (unsigned lane = 0; lane < LANES; lane++)
    words = word[lane] >= words ? word[lane] + 1 : words;
  uint64_t index, clocks, sums;
  BF_TRY(bf_corpus_upload(device, word, LANES * sizeof *word, &index, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, sizeof times, &clocks, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, (uint64_t)words * 4, &sums, diagnostic));
  BF_TRY(LAUNCH(device, "latency", 1, LANES, words, diagnostic, &index, &words, &clocks, &sums));
  BF_TRY(device->read(device->context, clocks, times, sizeof times, diagnostic));
  *cycles = times[LANES] - times[0];
  return check_counts(word, times + 2 * LANES, diagnostic);
}

int bf_vote_latency_run(const bf_vote_gpu *gpu, const uint32_t *word, uint32_t *cycles,
                        bf_diagnostic *diagnostic) {
  vote_simulation simulation;
  bf_device device;
  BF_TRY(create_device(gpu, &simulation, &device, diagnostic));
  int error = run_latency(&device, word, cycles, diagnostic);
  bf_emu_device_free(&device);
  return error;
}

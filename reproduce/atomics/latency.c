/* braak13, Fig. 5: three synthetic tests of one warp. Lane l adds to word l * stride where
 * l < conflicts, else to word l.
 *
 * The text gives what the figure shows as constants. The simulated line of the document is that of
 * its four states: an iteration costs 32 cycles for each level of bank conflicts when it reads, 18,
 * 36 for each level when it writes, and 32. The measured points are given by braak15, section
 * 5.1.3: 108 cycles, 120 more for each position conflict, and steps of 32 for each level of bank
 * conflicts in a read or write. */
#include "reproduce/atomics/figures.h"
#include "reproduce/atomics/vote.h"

#include <math.h>

enum { LANES = 32, TESTS = 3, BASE = 108, POSITION = 120, BANK = 32 };

static const uint32_t strides[TESTS] = {0, 32, 256};

/* What one point of a test is, by the documents and by simulation. */
typedef struct latency_point {
  double states;   /* the simulated line of the document */
  double measured; /* the line of its measurements, as far as the text gives it */
  uint32_t cycles; /* ours */
  bf_count count;  /* of the access, for the numbers of conflicts */
} latency_point;

typedef struct latency_figure {
  latency_point point[BF_VOTE_HASHES][TESTS][LANES];
} latency_figure;

static void fill_words(uint32_t stride, unsigned conflicts, uint32_t *word) {
  for (uint32_t lane = 0; lane < LANES; lane++)
    word[lane] = lane < conflicts ? lane * stride : lane;
}

/* 108 + 120 per further iteration + 32 per further level of bank conflicts, reads and writes. */
static double measured_line(const bf_count *count) {
  return BASE + POSITION * (count->lock_iterations - 1.0) +
         BANK * ((double)count->wavefronts_load + count->wavefronts_store -
                 2.0 * count->lock_iterations);
}

static int find_point(const bf_vote_gpu *gpu, uint32_t stride, unsigned conflicts,
                      latency_point *point, bf_diagnostic *diagnostic) {
  uint32_t word[LANES];
  bf_access access = {.op = BF_OP_ATOM, .width_bytes = 4, .mask = UINT32_MAX, .count = 1};
  fill_words(stride, conflicts, word);
  for (unsigned lane = 0; lane < LANES; lane++)
    access.address[lane] = word[lane] * 4;
  BF_TRY(bf_memory_count_locked(gpu->gpu->machine, gpu->banks, gpu->locks, &access, &point->count,
                                diagnostic));
  point->states = point->count.latency_cycles;
  point->measured = measured_line(&point->count);
  return bf_vote_latency_run(gpu, word, &point->cycles, diagnostic);
}

/* Task: one test under one hash. */
static int find_test(void *context, unsigned index, bf_diagnostic *diagnostic) {
  latency_figure *figure = context;
  unsigned hash = index / TESTS, test = index % TESTS;
  static const char *const changes[] = {"sms=1", NULL};
  bf_vote_gpu gpu;
  BF_TRY(bf_vote_gpu_create("gtx580", changes, (bf_vote_hash)hash, &gpu, diagnostic));
  int error = BF_OK;
  for (unsigned conflicts = 1; conflicts <= LANES && !error; conflicts++)
    error = find_point(&gpu, strides[test], conflicts, &figure->point[hash][test][conflicts - 1],
                       diagnostic);
  bf_vote_gpu_free(&gpu);
  return error;
}

static void add_table(bf_reproduce_run *run, const latency_figure *figure) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "latency", "Cycles of an atomic addition",
                             "stride|conflicts|states (published)|measured "
                             "(published)|none|XOR|ADD|iterations|bank levels "
                             "read|iterations XOR|bank levels read XOR");
  for (unsigned test = 0; test < TESTS; test++)
    for (unsigned i = 0; i < LANES; i++) {
      const latency_point *none = &figure->point[BF_VOTE_NONE][test][i];
      const latency_point *hashed = &figure->point[BF_VOTE_XOR][test][i];
      bf_reproduce_cell(table, "%u", strides[test]);
      bf_reproduce_cell(table, "%u", i + 1);
      bf_reproduce_cell(table, "%g", none->states);
      bf_reproduce_cell(table, "%g", none->measured);
      for (unsigned hash = 0; hash < BF_VOTE_HASHES; hash++)
        bf_reproduce_cell(table, "%u", figure->point[hash][test][i].cycles);
      bf_reproduce_cell(table, "%u", none->count.lock_iterations);
      bf_reproduce_cell(table, "%u", none->count.wavefronts_load);
      bf_reproduce_cell(table, "%u", hashed->count.lock_iterations);
      bf_reproduce_cell(table, "%u", hashed->count.wavefronts_load);
    }
  bf_reproduce_table_csv_only(table);
}

static int draw_test(bf_reproduce_run *run, const latency_figure *figure, unsigned test,
                     bf_diagnostic *diagnostic) {
  static const char *const names[TESTS] = {"latency_position", "latency_bank", "latency_lock"};
  static const char *const titles[TESTS] = {"Stride 0: position conflicts",
                                            "Stride 32: bank conflicts",
                                            "Stride 256: bank and lock conflicts"};
  double conflicts[LANES], y[4][LANES];
  for (unsigned i = 0; i < LANES; i++) {
    conflicts[i] = i + 1;
    y[0][i] = figure->point[BF_VOTE_NONE][test][i].measured;
    y[1][i] = figure->point[BF_VOTE_NONE][test][i].states;
    y[2][i] = figure->point[BF_VOTE_NONE][test][i].cycles;
    y[3][i] = figure->point[BF_VOTE_XOR][test][i].cycles;
  }
  const bf_chart_series series[] = {
      {.name = "measured (published constants)",
       .x = conflicts,
       .y = y[0],
       .count = LANES,
       .dashed = true},
      {.name = "states (published)", .x = conflicts, .y = y[1], .count = LANES, .dashed = true},
      {.name = "ours", .x = conflicts, .y = y[2], .count = LANES},
      {.name = "ours, XOR", .x = conflicts, .y = y[3], .count = LANES}};
  return bf_reproduce_chart(run, names[test],
                            &(bf_chart){.title = titles[test],
                                        .x_label = "conflict degree",
                                        .y_label = "cycles",
                                        .from_zero = true,
                                        .series = series,
                                        .series_count = 4},
                            diagnostic);
}

/* ---- Claims ---- */

/* Average and largest |ours - line| / ours over one test, in percent: the 8.5% that the document
 * gives for 108 against 118 cycles are those of the 118. */
typedef struct latency_error {
  double average, largest;
} latency_error;

static latency_error error_of(const latency_figure *figure, unsigned test, bool against_states) {
  latency_error error = {0};
  for (unsigned i = 0; i < LANES; i++) {
    const latency_point *point = &figure->point[BF_VOTE_NONE][test][i];
    double line = against_states ? point->states : point->measured;
    double part = 100 * fabs(point->cycles - line) / point->cycles;
    error.average += part / LANES;
    error.largest = part > error.largest ? part : error.largest;
  }
  return error;
}

static void claim_errors(bf_reproduce_run *run, const latency_figure *figure) {
  double states = 0;
  for (unsigned test = 0; test < TESTS; test++)
    states += error_of(figure, test, true).average / TESTS;
  latency_error position = error_of(figure, 0, false);
  latency_error bank = error_of(figure, 1, false), lock = error_of(figure, 2, false);
  bf_reproduce_fact(run, "average error against the four states", "<= 2.9%", states <= 2.9, true,
                    NULL, "%.2f%%", states);
  bf_reproduce_fact(run, "position conflicts, average error", "<= 2.9%", position.average <= 2.9,
                    true, NULL, "%.2f%%", position.average);
  bf_reproduce_fact(run, "the same, largest error", "8.5% (118 against 108)",
                    position.largest <= 8.5, true, NULL, "%.2f%%", position.largest);
  bf_reproduce_fact(
      run, "strides 32 and 256, average error", "<= 2.9%", (bank.average + lock.average) / 2 <= 2.9,
      false,
      "the text gives 32 cycles for a level of bank conflicts in reads and writes alike, but 32 "
      "and "
      "36 as the states that come to 2.9% of what was measured; the measured points themselves are "
      "only in the figure.",
      "%.2f%% and %.2f%%", bank.average, lock.average);
}

/* Stride 256 gains an iteration with every fourth conflict. */
static bool is_stair(const latency_figure *figure) {
  for (unsigned i = 1; i < LANES; i++) {
    const latency_point *now = &figure->point[BF_VOTE_NONE][2][i], *before = now - 1;
    bool steps = i % 4 == 0;
    if ((now->count.lock_iterations > before->count.lock_iterations) != steps)
      return false;
    if (steps && now->cycles - before->cycles <= before->cycles - before[-1].cycles)
      return false;
  }
  return true;
}

static void claim_hashes(bf_reproduce_run *run, const latency_figure *figure) {
  bool same = true, banks_gone = true, locks_gone = true;
  uint32_t most_levels = 0;
  for (unsigned i = 0; i < LANES; i++) {
    for (unsigned test = 0; test < TESTS; test++)
      same = same && figure->point[BF_VOTE_XOR][test][i].cycles ==
                         figure->point[BF_VOTE_ADD][test][i].cycles;
    const latency_point *point = &figure->point[BF_VOTE_XOR][1][i];
    banks_gone = banks_gone && point->count.conflicts == 0 &&
                 point->cycles == figure->point[BF_VOTE_XOR][1][0].cycles;
    point = &figure->point[BF_VOTE_XOR][2][i];
    locks_gone = locks_gone && point->count.lock_iterations == 1;
    if (point->count.wavefronts_load > most_levels)
      most_levels = point->count.wavefronts_load;
  }
  const latency_point *lock = figure->point[BF_VOTE_XOR][2];
  bf_reproduce_fact(run, "XOR and ADD", "give the same results", same, true, NULL, "%s",
                    same ? "the same" : "different");
  bf_reproduce_fact(run, "stride 32 with a hash", "no bank conflicts", banks_gone, true, NULL, "%s",
                    banks_gone ? "none" : "some");
  bf_reproduce_fact(run, "stride 256 with a hash", "bank conflicts only",
                    locks_gone && most_levels > 1, true, NULL, "%s, %u levels at most",
                    locks_gone ? "bank conflicts only" : "lock conflicts", most_levels);
  bf_reproduce_fact(
      run, "stride 256 with a hash, 2 and 3 conflicts", "two words in a bank (section V-A)",
      lock[1].count.wavefronts_load == 2 && lock[2].count.wavefronts_load == 2, true, NULL,
      "%u and %u words", lock[1].count.wavefronts_load, lock[2].count.wavefronts_load);
}

int bf_reproduce_atomic_latency(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  latency_figure *figure = bf_arena_alloc(bf_reproduce_arena(run), sizeof *figure);
  if (!figure)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_reproduce_parallel(run, BF_VOTE_HASHES * TESTS, "synthetic tests", find_test, figure,
                               diagnostic));
  add_table(run, figure);
  for (unsigned test = 0; test < TESTS; test++)
    BF_TRY(draw_test(run, figure, test, diagnostic));
  claim_errors(run, figure);
  bool stair = is_stair(figure);
  bf_reproduce_fact(run, "shape of stride 256", "a step every 4 conflicts", stair, true, NULL, "%s",
                    stair ? "a step every 4 conflicts" : "other steps");
  claim_hashes(run, figure);
  return BF_OK;
}

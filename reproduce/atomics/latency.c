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
  static const char from_states[] =
      "the cycles of the states are the published ones, and both lines are made of published "
      "constants: it is their difference, whatever the simulator does.";
  bf_reproduce_claim_add(run,
                         &(bf_reproduce_claim){.name = "average error against the four states",
                                               .rule = BF_CLAIM_AT_MOST,
                                               .published = 2.9,
                                               .ours = states,
                                               .unit = "%",
                                               .must_hold = true,
                                               .derived = "both sides are the four published "
                                                          "states: the simulator runs what it is "
                                                          "compared with."});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "position conflicts, average error",
                                                    .rule = BF_CLAIM_AT_MOST,
                                                    .published = 2.9,
                                                    .ours = position.average,
                                                    .unit = "%",
                                                    .must_hold = true,
                                                    .derived = from_states});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "the same, largest error (118 to 108)",
                                                    .published = 8.5,
                                                    .ours = position.largest,
                                                    .unit = "%",
                                                    .must_hold = true,
                                                    .derived = from_states});
  const double most[] = {2.9, 2.9}, both[] = {bank.average, lock.average};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "strides 32 and 256, average error",
                                 .rule = BF_CLAIM_AT_MOST,
                                 .published_list = most,
                                 .ours_list = both,
                                 .count = 2,
                                 .unit = "%",
                                 .why = "the text gives 32 cycles for a level of bank conflicts in "
                                        "reads and writes alike, but 32 and 36 as the states that "
                                        "come to 2.9% of what was measured; the measured points "
                                        "themselves are only in the figure."});
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
  bf_reproduce_claim words = {.name = "XOR and ADD",
                              .rule = BF_CLAIM_WORDS,
                              .published_text = "give the same results",
                              .is_so = same,
                              .must_hold = true,
                              .derived = "which words meet in a bank or share a lock follows from "
                                         "the published hash and the published locks."};
  bf_reproduce_claim_addf(run, &words, "%s", same ? "the same" : "different");
  words.name = "stride 32 with a hash";
  words.published_text = "no bank conflicts";
  words.is_so = banks_gone;
  bf_reproduce_claim_addf(run, &words, "%s", banks_gone ? "none" : "some");
  words.name = "stride 256 with a hash";
  words.published_text = "bank conflicts only";
  words.is_so = locks_gone && most_levels > 1;
  bf_reproduce_claim_addf(run, &words, "%s, %u levels at most",
                          locks_gone ? "bank conflicts only" : "lock conflicts", most_levels);
  words.name = "stride 256 with a hash, 2 and 3 conflicts";
  words.published_text = "two words in a bank (section V-A)";
  words.is_so = lock[1].count.wavefronts_load == 2 && lock[2].count.wavefronts_load == 2;
  bf_reproduce_claim_addf(run, &words, "%u and %u words", lock[1].count.wavefronts_load,
                          lock[2].count.wavefronts_load);
}

/* Banks of four that a diagonal of the square of 4 x 4 words uses, which begins in a column. */
static unsigned diagonal_banks(bf_vote_hash hash, unsigned column, unsigned stride) {
  unsigned used = 0;
  for (unsigned row = 0; row < 4; row++) {
    unsigned word = column + stride * row, low = word & 3, high = word >> 2;
    if (word < 16)
      used |= 1u << ((hash == BF_VOTE_NONE  ? low
                      : hash == BF_VOTE_XOR ? low ^ high
                                            : low + high) &
                     3);
  }
  return (unsigned)__builtin_popcount(used);
}

/* Section IV, Fig. 6: strides of four and of five words in four banks. */
static void claim_square(bf_reproduce_run *run) {
  unsigned banks[3], padded[3][2];
  for (unsigned hash = 0; hash < 3; hash++) {
    banks[hash] = diagonal_banks((bf_vote_hash)hash, 0, 4);
    for (unsigned column = 0; column < 2; column++)
      padded[hash][column] = diagonal_banks((bf_vote_hash)hash, column, 5);
  }
  bf_reproduce_claim claim = {.name = "Fig. 6, banks of four with a stride of four",
                              .rule = BF_CLAIM_WORDS,
                              .published_text = "1 without a hash, 4 with XOR and ADD",
                              .is_so = banks[BF_VOTE_NONE] == 1 && banks[BF_VOTE_XOR] == 4 &&
                                       banks[BF_VOTE_ADD] == 4,
                              .must_hold = true,
                              .derived = "it follows from the published hashes."};
  bf_reproduce_claim_addf(run, &claim, "%u, %u and %u", banks[BF_VOTE_NONE], banks[BF_VOTE_XOR],
                          banks[BF_VOTE_ADD]);
  claim.name = "Fig. 6, the same padded by one word";
  claim.published_text = "4 without a hash, 1 or 2 with XOR, 2 with ADD";
  claim.is_so = padded[BF_VOTE_NONE][0] == 4 && padded[BF_VOTE_XOR][0] == 1 &&
                padded[BF_VOTE_XOR][1] == 2 && padded[BF_VOTE_ADD][0] == 2 &&
                padded[BF_VOTE_ADD][1] == 2;
  bf_reproduce_claim_addf(run, &claim, "%u; %u or %u; %u or %u", padded[BF_VOTE_NONE][0],
                          padded[BF_VOTE_XOR][0], padded[BF_VOTE_XOR][1], padded[BF_VOTE_ADD][0],
                          padded[BF_VOTE_ADD][1]);
}

/* Section II, Fig. 2: which threads wait for each other's locks. */
static int claim_locks(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  static const uint32_t first[] = {0, 32, 1, 33, 0, 1024, 1056, 2048};
  bf_access access = {.op = BF_OP_RED, .width_bytes = 4, .count = 1, .mask = UINT32_MAX};
  bf_machine *machine;
  bf_count count;
  for (uint32_t i = 0; i < 32; i++)
    access.address[i] = 4 * (i < 8 ? first[i] : i);
  BF_TRY(bf_machine_load("fermi", NULL, &machine, diagnostic));
  int error = bf_memory_count(machine, NULL, &access, &count, diagnostic);
  bf_machine_free(machine);
  BF_TRY(error);
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){
          .name = "Fig. 2, times that the loop of the atomics runs",
          .published = 4,
          .published_text = "4: threads 0, 4, 5 and 7 one after the other",
          .ours = count.lock_iterations,
          .must_hold = true,
          .derived = "it follows from the published pattern and the published table of locks."});
  return BF_OK;
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
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "shape of stride 256",
                                 .rule = BF_CLAIM_SAME,
                                 .published_text = "a step every 4 conflicts",
                                 .ours_text = stair ? "a step every 4 conflicts" : "other steps",
                                 .must_hold = true,
                                 .derived =
                                     "stride 256 has four locks by the published table of locks."});
  claim_hashes(run, figure);
  claim_square(run);
  return claim_locks(run, diagnostic);
}

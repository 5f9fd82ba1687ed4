/* Races between threads of a block, and between launches, beside a model that looks at one lane
 * after the other: rows of bytes, halves, words and longer, words apart, one place, two halves
 * alike, anywhere, all lanes or some, loads, stores and atomics, with barriers or without, in
 * global and in shared memory; also where records may take less memory than they need. */
#include "emu.h"
#include "random.h"

#include <stdio.h>

enum { THREADS = 64, ACCESSES = 3, MOST_ACCESSES = 6, BYTES = 4096, ROUNDS = 3000 };

typedef enum kind { LOAD, STORE, ATOMIC } kind;

/* How a launch lies to those before it: the host waited for them, they are ordered before it, or it
 * runs beside those that nobody has waited for. */
typedef enum relation { SETTLED, FOLLOWS, BESIDE } relation;

/* What all threads do, one access after the other. place is an offset in bytes, or -1: no part. */
typedef struct script {
  struct step {
    kind kind;
    unsigned width;
    bool barrier_before;
    bool launch_before; /* with this relation; where there are launches the first step has it */
    relation relation;
    int32_t place[THREADS];
  } step[MOST_ACCESSES];
  unsigned steps;
  bool is_shared;
  uint64_t race_bytes; /* that records may take; 0: any */
} script;

/* Where a run of steps from first on ends: at the next launch or barrier (also_barriers). */
static unsigned end_of(const script *all, unsigned first, bool also_barriers) {
  unsigned end = first + 1;
  while (end < all->steps && !all->step[end].launch_before &&
         !(also_barriers && all->step[end].barrier_before))
    end++;
  return end;
}

/* ---- The model ---- */

typedef struct record {
  int thread; /* -1: none */
  unsigned bytes, interval, step;
  bool is_strong;
  unsigned launch;
} record;

typedef struct model {
  record write[BYTES / 4], read[BYTES / 4][2];
  uint8_t memory[BYTES];
  unsigned settled; /* the last launch that the host has waited for */
  relation relation;
} model;

static bool is_unordered(const model *at, const record *old, const record *now) {
  if (old->thread < 0 || !(old->bytes & now->bytes) || (old->is_strong && now->is_strong))
    return false;
  if (old->launch != now->launch)
    return at->relation == BESIDE && old->launch > at->settled;
  return old->interval == now->interval && old->thread != now->thread;
}

/* The value that a thread stores in a step; its low byte tells threads apart. */
static uint64_t value_of(unsigned step, unsigned thread) {
  return UINT64_C(0x0101010101010101) * (1 + thread + THREADS * step);
}

/* One thread at one word; true: a race. */
static bool visit_word(model *at, const struct step *step, unsigned word, record now,
                       const uint8_t *value) {
  record *write = &at->write[word], *read = at->read[word];
  bool is_same = value;
  for (unsigned i = 0, k = 0; value && i < 4; i++)
    if (now.bytes >> i & 1)
      is_same &= at->memory[4 * word + i] == value[k++];
  bool is_own = write->step == now.step && write->thread / 32 == now.thread / 32;
  if (is_unordered(at, write, &now) && !(step->kind != LOAD && is_own) &&
      !(is_same && !write->is_strong))
    return true;
  if (step->kind == LOAD) {
    if (read[0].thread != now.thread || read[0].launch != now.launch)
      read[1] = read[0];
    read[0] = now;
    return false;
  }
  if (is_unordered(at, &read[0], &now) || is_unordered(at, &read[1], &now))
    return true;
  *write = now;
  return false;
}

/* Whether two lanes of a store meet. */
static bool do_meet(const struct step *step, const int32_t *place) {
  for (int i = 0; step->kind == STORE && i < 32; i++)
    for (int k = 0; k < i; k++)
      if (place[i] >= 0 && place[k] >= 0 && abs(place[i] - place[k]) < (int)step->width)
        return true;
  return false;
}

/* Whether a lane of a warp, all of whose lanes read, is left out: two readers are all that is kept,
 * and of two halves that read the same only one is. */
static bool is_left_out(const struct step *step, const int32_t *place, int lane) {
  bool alike = true;
  if (step->kind != LOAD)
    return false;
  for (int i = 0; i < 32; i++) {
    alike &= place[i] == place[(i + 16) % 32];
    if (place[i] < 0)
      return false;
  }
  return (lane > 1 && place[lane] == place[lane - 1] && place[lane] == place[lane - 2]) ||
         (alike && lane > 15);
}

/* What a warp does in a step; true: a race. */
static bool visit(model *at, const script *all, unsigned index, unsigned warp, unsigned interval,
                  unsigned launch) {
  const struct step *step = &all->step[index];
  const int32_t *place = step->place + 32 * warp;
  if (do_meet(step, place))
    return true;
  for (int lane = 0; lane < 32; lane++) {
    if (place[lane] < 0 || is_left_out(step, place, lane))
      continue;
    uint64_t value = value_of(index, 32 * warp + (unsigned)lane);
    const uint8_t *bytes = (const uint8_t *)&value;
    for (unsigned done = 0, some; done < step->width; done += some) {
      unsigned byte = (unsigned)place[lane] + done;
      some = 4 - byte % 4 < step->width - done ? 4 - byte % 4 : step->width - done;
      record now = {(int)(32 * warp) + lane,
                    ((1u << some) - 1) << byte % 4,
                    interval,
                    index,
                    step->kind == ATOMIC,
                    launch};
      if (visit_word(at, step, byte / 4, now, step->kind == STORE ? bytes + done : NULL))
        return true;
    }
  }
  for (int lane = 0; lane < 32; lane++) {
    uint64_t value = value_of(index, 32 * warp + (unsigned)lane);
    uint32_t sum;
    if (place[lane] >= 0 && step->kind == STORE)
      memcpy(at->memory + place[lane], &value, step->width);
    if (place[lane] < 0 || step->kind != ATOMIC)
      continue;
    memcpy(&sum, at->memory + place[lane], 4);
    sum += (uint32_t)value;
    memcpy(at->memory + place[lane], &sum, 4);
  }
  return false;
}

/* The two warps run one after the other from barrier to barrier; the last at a barrier goes on. */
static bool has_race(const script *all) {
  static model at;
  memset(&at, 0, sizeof at);
  for (unsigned i = 0; i < BYTES / 4; i++)
    at.write[i].thread = at.read[i][0].thread = at.read[i][1].thread = -1;
  unsigned interval = 0, turn = 0, launch = 1;
  for (unsigned first = 0, next; first < all->steps; first = next, interval++, turn++) {
    next = end_of(all, first, true);
    if (all->step[first].launch_before) {
      launch += first > 0;
      turn = 0;
      at.relation = all->step[first].relation;
      at.settled = at.relation == SETTLED ? launch - 1 : at.settled;
    }
    for (unsigned k = 0; k < 2; k++)
      for (unsigned i = first; i < next; i++)
        if (visit(&at, all, i, (turn + k) % 2, interval, launch))
          return true;
  }
  return false;
}

/* ---- The emulator ---- */

enum { MOST_TEXT = 1 << 15 };

/* The kernel kI of the steps of one launch, which begin with step I. */
static int put_kernel(char *text, const script *all, unsigned first) {
  const char *space = all->is_shared ? "shared" : "global";
  int at = snprintf(text, MOST_TEXT,
                    ".visible .entry k%u(.param .u64 table, .param .u64 memory) {\n"
                    ".shared .align 16 .b8 s[%u];\n"
                    ".reg .b32 %%t, %%o, %%r, %%s; .reg .b64 %%table, %%m, %%a, %%w, %%d;\n"
                    ".reg .b16 %%h; .reg .pred %%p;\n"
                    "mov.u32 %%t, %%tid.x; ld.param.u64 %%table, [table];\n"
                    "ld.param.u64 %%m, [memory]; mul.wide.u32 %%w, %%t, 4;\n"
                    "add.u64 %%table, %%table, %%w; mov.u32 %%s, s;\n",
                    first, BYTES);
  for (unsigned i = first; i < end_of(all, first, false); i++) {
    const struct step *step = &all->step[i];
    const char *from = all->is_shared ? "%o" : "%a", *value = step->width == 8   ? "%d"
                                                              : step->width == 4 ? "%r"
                                                                                 : "%h";
    if (step->barrier_before && i > first)
      at += snprintf(text + at, MOST_TEXT - (size_t)at, "bar.sync 0;\n");
    at += snprintf(text + at, MOST_TEXT - (size_t)at,
                   "ld.global.u32 %%o, [%%table+%u]; setp.ge.s32 %%p, %%o, 0;\n"
                   "cvt.u64.u32 %%a, %%o; add.u64 %%a, %%a, %%m; add.u32 %%o, %%o, %%s;\n"
                   "add.u32 %%r, %%t, %u; cvt.u64.u32 %%d, %%r;\n"
                   "mul.lo.u64 %%d, %%d, 72340172838076673; cvt.u32.u64 %%r, %%d;\n"
                   "cvt.u16.u32 %%h, %%r;\n",
                   i * THREADS * 4, 1 + THREADS * i);
    if (step->kind == ATOMIC)
      at += snprintf(text + at, MOST_TEXT - (size_t)at, "@%%p red.%s.add.u32 [%s], %%r;\n", space,
                     from);
    else if (step->kind == LOAD)
      at += snprintf(text + at, MOST_TEXT - (size_t)at, "@%%p ld.%s.b%u %s, [%s];\n", space,
                     8 * step->width, value, from);
    else
      at += snprintf(text + at, MOST_TEXT - (size_t)at, "@%%p st.%s.b%u [%s], %s;\n", space,
                     8 * step->width, from, value);
  }
  at += snprintf(text + at, MOST_TEXT - (size_t)at, "ret; }\n");
  assert_in_range(at, 1, MOST_TEXT - 1);
  return at;
}

static char *make_text(const script *all) {
  char *text = malloc(MOST_ACCESSES * MOST_TEXT);
  assert_non_null(text);
  int at = sprintf(text, ".version 8.0\n.target sm_90\n.address_size 64\n");
  for (unsigned first = 0; first < all->steps; first = end_of(all, first, false))
    at += put_kernel(text + at, all, first);
  return text;
}

static bool yes(void *context, uint32_t number) {
  (void)context;
  (void)number;
  return true;
}

static bool no(void *context, uint32_t number) { return !yes(context, number); }

/* Runs a script: whether there is a race, and in left_out whether some memory was not looked at. */
static bool finds_race(const script *all, bool *left_out) {
  bed at;
  char *text = make_text(all), name[16];
  bed_open_text(&at, "races", text, strlen(text), NULL);
  struct {
    uint64_t table, memory;
  } parameters = {bed_alloc(&at, sizeof(int32_t[MOST_ACCESSES][THREADS]), 0),
                  bed_alloc(&at, BYTES, 0)};
  for (unsigned i = 0; i < all->steps; i++)
    memcpy((char *)(uintptr_t)parameters.table + i * sizeof all->step[i].place, all->step[i].place,
           sizeof all->step[i].place);
  bf_emu_fault_kind fault = BF_EMU_NO_FAULT;
  uint32_t number = 0, settled = 0;
  *left_out = false;
  for (unsigned i = 0; i < all->steps && !fault; i = end_of(all, i, false)) {
    snprintf(name, sizeof name, "k%u", i);
    bf_emu_launch launch = bed_launch(&at, name, 1, THREADS, &parameters, sizeof parameters);
    launch.check_races = true;
    launch.race_bytes = all->race_bytes;
    if (all->step[i].launch_before) {
      settled = all->step[i].relation == SETTLED ? number : settled;
      launch.number = ++number;
      launch.settled = settled;
      launch.follows = all->step[i].relation == BESIDE ? no : yes;
    }
    bf_emu_result result = bed_run(&at, &launch);
    fault = result.fault.kind;
    *left_out |= result.leaves_out_races;
  }
  assert_true(fault == BF_EMU_RACE || fault == BF_EMU_NO_FAULT);
  bed_close(&at);
  free(text);
  return fault == BF_EMU_RACE;
}

/* ---- Scripts ---- */

/* Where the lanes of a warp are: rows mostly, since these have short ways. */
static void draw_places(test_random *random, struct step *step, unsigned warp, unsigned row) {
  unsigned shape = (unsigned)random_below(random, 10), width = step->width;
  unsigned base = (row + (unsigned)random_below(random, 2) * warp) * 32 * width;
  for (unsigned lane = 0; lane < 32; lane++) {
    unsigned place = base + lane * width;
    if (shape == 4)
      place = base;
    else if (shape == 5)
      place = base + lane % 16 * width;
    else if (shape == 6)
      place = (unsigned)random_below(random, 64) * width;
    else if (shape == 7)
      place += 4 * width;
    else if (shape == 8)
      place = row * 16 + lane * 16;
    else if (shape == 9)
      place = 4 * width + lane * 2 * width;
    step->place[32 * warp + lane] = (int32_t)(place % (BYTES / 2));
    if (shape == 3 && random_below(random, 4) == 0)
      step->place[32 * warp + lane] = -1;
  }
}

static script draw(test_random *random) {
  script all = {.is_shared = random_below(random, 2), .steps = ACCESSES};
  unsigned row = (unsigned)random_below(random, 2);
  bool has_loaded = false;
  for (unsigned i = 0; i < ACCESSES; i++) {
    struct step *step = &all.step[i];
    step->kind = (kind)random_below(random, 3);
    step->width =
        step->kind == ATOMIC || random_below(random, 2) ? 4 : 1u << random_below(random, 4);
    /* Warps that store to shared memory behind a load let the others go first: not here. */
    step->barrier_before =
        random_below(random, 3) == 0 || (all.is_shared && has_loaded && step->kind != LOAD);
    has_loaded = (has_loaded && !step->barrier_before) || step->kind == LOAD;
    for (unsigned warp = 0; warp < THREADS / 32; warp++)
      draw_places(random, step, warp, row);
  }
  return all;
}

/* A row from the begin of a line on, one lane somewhere in it, or nothing, for each warp. */
static void draw_readers(test_random *random, struct step *step) {
  enum { ROW, ONE, NONE };
  for (unsigned warp = 0; warp < THREADS / 32; warp++) {
    unsigned shape = (unsigned)random_below(random, 3), one = (unsigned)random_below(random, 32);
    for (unsigned lane = 0; lane < 32; lane++) {
      int32_t *place = &step->place[32 * warp + lane];
      *place = shape == ROW ? (int32_t)(lane * step->width) : -1;
      if (shape == ONE && lane == one)
        *place = (int32_t)(random_below(random, 8) * step->width);
    }
  }
}

/* Readers in two steps, and then a single thread that writes among the first of them: which two
 * readers of a word are known, and which of them is forgotten first, decides what it meets. */
static script draw_last_readers(test_random *random) {
  script all = {.steps = ACCESSES};
  for (unsigned i = 0; i < ACCESSES; i++) {
    struct step *step = &all.step[i];
    step->kind = i + 1 < ACCESSES ? LOAD : STORE;
    step->width = 1u << random_below(random, 3);
    if (step->kind == LOAD)
      draw_readers(random, step);
    else {
      /* Half of the writers have read the place themselves. */
      uint64_t at = random_below(random, 8), warp = random_below(random, 2);
      uint64_t lane = random_below(random, 2) ? at : random_below(random, 32);
      memset(step->place, -1, sizeof step->place);
      step->place[32 * warp + lane] = (int32_t)(at * step->width);
    }
  }
  return all;
}

/* The same in shared memory, where reads are noted only once somebody writes: before which there
 * may be a barrier, or a store of all behind which some read again. */
static script draw_shared_readers(test_random *random) {
  script all = draw_last_readers(random);
  all.is_shared = true;
  for (unsigned i = 0; i < ACCESSES; i++) {
    struct step *step = &all.step[i];
    if (random_below(random, 4) == 0)
      continue;
    for (unsigned k = 0; k < THREADS; k++)
      step->place[k] *= step->place[k] < 0 ? 1 : 4 / (int32_t)step->width;
    step->width = 4; /* loads of these are put off */
  }
  unsigned barrier = (unsigned)random_below(random, 2 * ACCESSES);
  if (barrier < ACCESSES)
    all.step[barrier].barrier_before = true;
  for (unsigned warp = 0; barrier == ACCESSES && warp < THREADS / 32; warp++) {
    all.step[0].kind = STORE;
    draw_places(random, &all.step[0], warp, 0);
  }
  return all;
}

/* A row of words, some words apart, then the same row with some lanes left out, maybe one lane on:
 * who was where in a row counts. */
static script draw_rows(test_random *random) {
  script all = {.is_shared = random_below(random, 2), .steps = ACCESSES};
  unsigned width = 4u << random_below(random, 2), first = 4 * (unsigned)random_below(random, 4);
  unsigned step = width << random_below(random, 3);
  for (unsigned i = 0; i < ACCESSES; i++) {
    struct step *now = &all.step[i];
    now->kind = (kind)random_below(random, 2);
    now->width = i == 1 && random_below(random, 4) == 0 ? 4 : width;
    /* Warps that store to shared memory behind a load let the others go first: not here. */
    now->barrier_before = all.is_shared && i && now->kind == STORE && all.step[i - 1].kind == LOAD;
    unsigned on = i && random_below(random, 4) == 0;
    for (unsigned k = 0; k < THREADS; k++) {
      bool is_left_out = i && random_below(random, 4) == 0;
      unsigned place = first / width * width + k % 32 * step + on * step + k / 32 * 1024;
      now->place[k] = is_left_out ? -1 : (int32_t)place;
    }
  }
  return all;
}

/* Lanes in few lines of global memory, by words or less or more, in a row or anywhere, of one
 * launch after the other: what is known of a line has every form, one after the other. Most load.
 */
static script draw_launches(test_random *random) {
  script all = {.steps = MOST_ACCESSES};
  for (unsigned i = 0; i < all.steps; i++) {
    struct step *step = &all.step[i];
    step->kind = random_below(random, 3) ? LOAD : (kind)random_below(random, 3);
    step->width =
        step->kind == ATOMIC || random_below(random, 2) ? 4 : 1u << random_below(random, 4);
    step->launch_before = i == 0 || random_below(random, 2);
    step->relation = (relation)random_below(random, 3);
    step->barrier_before = random_below(random, 3) == 0;
    /* Stores of lanes that do not meet, mostly. */
    unsigned odd = 1 + 2 * (unsigned)random_below(random, 32),
             shape = (unsigned)random_below(random, 4);
    for (unsigned k = 0; k < THREADS; k++) {
      unsigned place = shape == 0   ? k
                       : shape == 1 ? (unsigned)random_below(random, 2 * THREADS)
                                    : k * odd % (2 * THREADS);
      step->place[k] =
          random_below(random, 8) && (step->kind == LOAD || random_below(random, 6) == 0)
              ? (int32_t)(place * step->width)
              : -1;
    }
  }
  return all;
}

/* The same with little memory for records. */
static script draw_poor(test_random *random) {
  script all = draw_launches(random);
  all.race_bytes = 1 + random_below(random, 80000);
  return all;
}

/* Compares the emulator with the model on scripts. */
static void compare(script (*drawn)(test_random *), uint64_t seed) {
  test_random random = {seed};
  unsigned found = 0, poor = 0;
  for (unsigned i = 0; i < ROUNDS; i++) {
    script all = drawn(&random);
    bool left_out, expected = has_race(&all), has = finds_race(&all, &left_out);
    poor += left_out;
    assert_true(all.race_bytes || !left_out);
    if (has != expected && !(left_out && expected)) {
      print_message("%s\n", make_text(&all));
      fail_msg("round %u: %s", i, has ? "a race that is none" : "a race is not found");
    }
    found += has;
  }
  assert_in_range(found, ROUNDS / 8, ROUNDS * 7 / 8);
  if (drawn == draw_poor)
    assert_in_range(poor, ROUNDS / 8, ROUNDS * 7 / 8);
}

static void races_are_those_of_single_lanes(void **state) {
  (void)state;
  compare(draw, 20);
}

static void rows_know_their_threads(void **state) {
  (void)state;
  compare(draw_rows, 23);
}

static void the_last_two_readers_are_known(void **state) {
  (void)state;
  compare(draw_last_readers, 21);
}

static void reads_that_were_put_off_are_known(void **state) {
  (void)state;
  compare(draw_shared_readers, 22);
}

static void launches_are_known(void **state) {
  (void)state;
  compare(draw_launches, 24);
}

static void what_exceeds_the_memory_is_left_out(void **state) {
  (void)state;
  compare(draw_poor, 25);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(races_are_those_of_single_lanes),
                                     cmocka_unit_test(rows_know_their_threads),
                                     cmocka_unit_test(the_last_two_readers_are_known),
                                     cmocka_unit_test(reads_that_were_put_off_are_known),
                                     cmocka_unit_test(launches_are_known),
                                     cmocka_unit_test(what_exceeds_the_memory_is_left_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

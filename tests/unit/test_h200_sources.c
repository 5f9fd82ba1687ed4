/* Copies of 16 bytes from known places and atomics of 8 bytes against the counters of an H200
 * (tests/data/h200/atomics_copies.csv; its README says what the numbers of a row are). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/memory.h"

enum { LANES = 32, TURNS = 8 };

typedef struct row {
  char kind[8], op[16];
  double load, atomic, copy;
  unsigned repeats;
  bf_access access;
  uint64_t second[LANES]; /* of copies: sources; of atomics: operands */
} row;

/* Reads a line; false: one of several warps, which has no addresses. */
static bool read_row(char *line, row *r) {
  memset(r, 0, sizeof *r);
  double cycles;
  int at = 0;
  assert_int_equal(sscanf(line, "%7[^,],%15[^,],%lf,%lf,%lf,%lf,%n", r->kind, r->op, &cycles,
                          &r->load, &r->atomic, &r->copy, &at),
                   6);
  if (strcmp(r->kind, "many") == 0)
    return false;
  char *number = line + at;
  r->repeats = strcmp(r->kind, "copy") == 0 ? (unsigned)strtoul(number, &number, 10) : TURNS;
  r->access.mask = strtoull(number, &number, 16);
  for (unsigned lane = 0; lane < LANES; lane++)
    r->access.address[lane] = (uint32_t)strtoul(number, &number, 10);
  for (unsigned lane = 0; lane < LANES; lane++)
    r->second[lane] = strtoull(number, &number, 10);
  r->access.count = 1;
  return true;
}

typedef struct tally {
  unsigned rows, equal, sure, sure_equal;
  double counted, measured;
} tally;

static void add(tally *sums, double counted, double measured, bool is_sure) {
  sums->rows++;
  sums->equal += counted == measured;
  sums->sure += is_sure;
  sums->sure_equal += is_sure && counted == measured;
  sums->counted += counted;
  sums->measured += measured;
}

/* Calls look for all rows of a kind, the first half of which was seen when the rules were found. */
static void for_each_row(const char *kind, unsigned rows,
                         void (*look)(const bf_machine *machine, row *r, tally *sums),
                         tally sums[2]) {
  FILE *file = fopen("tests/data/h200/atomics_copies.csv", "r");
  char line[4096];
  row r;
  bf_machine *machine;
  assert_non_null(file);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  assert_non_null(fgets(line, sizeof line, file));
  unsigned seen = 0;
  while (fgets(line, sizeof line, file))
    if (read_row(line, &r) && strcmp(r.kind, kind) == 0)
      look(machine, &r, &sums[seen++ >= (rows + 1) / 2]);
  assert_int_equal(seen, rows);
  fclose(file);
  bf_machine_free(machine);
}

/* ---- Copies ---- */

static void look_at_copy(const bf_machine *machine, row *r, tally *sums, bool is_cached) {
  bf_count count;
  if ((strcmp(r->op, "ca") == 0) != is_cached)
    return;
  r->access.op = BF_OP_CP16;
  r->access.width_bytes = 16;
  assert_int_equal(
      bf_memory_count_copy(machine, NULL, &r->access, r->second, is_cached, &count, NULL), BF_OK);
  assert_true(count.ideal <= count.wavefronts_store && count.ideal > 0);
  add(sums, count.wavefronts_store, r->copy / r->repeats, !count.estimated);
}

static void look_past(const bf_machine *machine, row *r, tally *sums) {
  look_at_copy(machine, r, sums, false);
}

static void look_through(const bf_machine *machine, row *r, tally *sums) {
  look_at_copy(machine, r, sums, true);
}

/* Three rows in which several lanes read the same halves of a sector differ, by 16 of 6342. */
static void copies_past_the_cache(void **state) {
  (void)state;
  tally sums[2] = {{0}};
  for_each_row("copy", 640, look_past, sums);
  assert_int_equal(sums[0].rows, 160);
  assert_int_equal(sums[0].equal, 157);
  assert_int_equal(sums[1].rows, 160);
  assert_int_equal(sums[1].equal, 160);
}

static void copies_through_the_cache(void **state) {
  (void)state;
  tally sums[2] = {{0}};
  for_each_row("copy", 640, look_through, sums);
  for (unsigned half = 0; half < 2; half++) {
    assert_int_equal(sums[half].rows, 160);
    assert_int_equal(sums[half].sure_equal, sums[half].sure);
    assert_true(sums[half].sure > 120);
    double off = sums[half].counted / sums[half].measured - 1;
    assert_true(off < 0.01 && off > -0.01);
  }
}

/* Without sources, and from sources lane by lane, the count is the same. */
static void sources_lane_by_lane_change_nothing(void **state) {
  (void)state;
  bf_machine *machine;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  uint64_t from[LANES], seed = 1;
  for (unsigned lane = 0; lane < LANES; lane++)
    from[lane] = 0x7000 + 16 * lane;
  for (unsigned i = 0; i < 2000; i++) {
    bf_access access = {.op = BF_OP_CP16, .width_bytes = 16, .count = 1};
    bf_count plain, known;
    for (unsigned lane = 0; lane < LANES; lane++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      access.address[lane] = (uint32_t)(seed >> 40) % (i % 2 ? 48 : 512) * 16;
      access.mask |= (uint64_t)(seed >> 35 & 3 || i % 3 == 0) << lane;
    }
    access.mask |= 1;
    assert_int_equal(bf_memory_count(machine, NULL, &access, &plain, NULL), BF_OK);
    assert_int_equal(bf_memory_count_copy(machine, NULL, &access, from, false, &known, NULL),
                     BF_OK);
    assert_memory_equal(&plain, &known, sizeof plain);
  }
  bf_machine_free(machine);
}

/* ---- Atomics ---- */

/* Additions whose operands all change what they are added to. */
static void look_at_addition(const bf_machine *machine, row *r, tally *sums) {
  bf_count count;
  bool is_addition = strcmp(r->op, "add64") == 0 || strcmp(r->op, "redadd64") == 0;
  for (unsigned lane = 0; lane < LANES; lane++)
    is_addition = is_addition && (r->second[lane] || !(r->access.mask >> lane & 1));
  if (!is_addition)
    return;
  r->access.op = BF_OP_ADD64;
  r->access.width_bytes = 8;
  assert_int_equal(bf_memory_count(machine, NULL, &r->access, &count, NULL), BF_OK);
  assert_false(count.estimated);
  bool same =
      count.wavefronts_load * TURNS == r->load && count.wavefronts_atomic * TURNS == r->atomic;
  add(sums, same, 1, true);
}

static void additions_of_8_bytes(void **state) {
  (void)state;
  tally sums[2] = {{0}};
  for_each_row("wide", 325, look_at_addition, sums);
  for (unsigned half = 0; half < 2; half++)
    assert_int_equal(sums[half].equal, sums[half].rows);
  assert_int_equal(sums[0].rows, 45);
  assert_int_equal(sums[1].rows, 38);
}

/* Exchanges and compare-and-swaps, which are one instruction. */
static void look_at_exchange(const bf_machine *machine, row *r, tally *sums) {
  bf_count count;
  bool is_swap = strcmp(r->op, "cas64") == 0;
  if (!is_swap && strcmp(r->op, "exch64") != 0)
    return;
  r->access.op = is_swap ? BF_OP_CAS64 : BF_OP_EXCH64;
  r->access.width_bytes = 8;
  assert_int_equal(bf_memory_count(machine, NULL, &r->access, &count, NULL), BF_OK);
  assert_false(count.estimated);
  add(sums,
      count.wavefronts_load * TURNS == r->load && count.wavefronts_atomic * TURNS == r->atomic, 1,
      true);
}

static void exchanges_of_8_bytes(void **state) {
  (void)state;
  tally sums[2] = {{0}};
  for_each_row("wide", 325, look_at_exchange, sums);
  assert_int_equal(sums[0].rows + sums[1].rows, 50);
  assert_int_equal(sums[0].equal + sums[1].equal, 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_past_the_cache),
      cmocka_unit_test(copies_through_the_cache),
      cmocka_unit_test(sources_lane_by_lane_change_nothing),
      cmocka_unit_test(additions_of_8_bytes),
      cmocka_unit_test(exchanges_of_8_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

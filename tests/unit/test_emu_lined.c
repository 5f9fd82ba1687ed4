/* Accesses whose lanes lie in line: five numbers tell all addresses, tiles of 16 columns and warps
 * with lanes off included, and another access is never taken for one that was counted. */
#include "emu/lined.h"
#include "emu_lanes.h"
#include "random.h"

#include <stdlib.h>

enum { ROUNDS = 20000, SITE = 3, LONGEST_JUMP = 16384 };

/* Five numbers of which the first two lanes and, where there is one, that 16 behind the first tell
 * the others: these take part. */
static bf_lined_key draw(test_random *random) {
  unsigned first = (unsigned)random_below(random, 31);
  if (first == 15)
    first = 0;
  uint32_t behind = (uint32_t)random_bits(random) | 1 | 1 << 15;
  if (random_below(random, 2))
    behind = UINT32_MAX;
  return (bf_lined_key){
      SITE, (1u << first) | behind << first << 1, (uint32_t)random_below(random, 4096) + 65536,
      (uint32_t)random_below(random, 80) - 40, (uint32_t)random_below(random, 2048) - 1024};
}

/* Where the lanes are, lane by lane from the first on. */
static void put_offsets(const bf_lined_key *key, uint32_t offset[BF_EMU_LANES]) {
  unsigned first = BF_FIRST_LANE(key->mask);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    bool is_above = lane >= 16 && first < 16;
    offset[lane] = key->first + (lane % 16 - first % 16) * key->step + (is_above ? key->jump : 0);
    if (!(key->mask >> lane & 1))
      offset[lane] = 0xdeadbeef;
  }
}

static void five_numbers_tell_all_lanes(void **state) {
  (void)state;
  test_random random = {5};
  for (unsigned i = 0; i < ROUNDS; i++) {
    bf_lined_key drawn = draw(&random), found;
    uint32_t offset[BF_EMU_LANES], back[BF_EMU_LANES];
    put_offsets(&drawn, offset);
    assert_true(bf_lined_find(SITE, drawn.mask, offset, &found));
    bf_lined_entry entry = {.key = found};
    bf_lined_cost cost = {.first = found.first};
    bf_lined_addresses(&entry, &cost, back);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      if (drawn.mask >> lane & 1)
        assert_int_equal(back[lane], offset[lane]);
    /* One that is elsewhere; the first, the second and that 16 behind the first tell the others. */
    unsigned first = BF_FIRST_LANE(drawn.mask), lane = (unsigned)random_below(&random, 32);
    if (!(drawn.mask >> lane & 1) || lane < first + 2 || lane == first + 16)
      continue;
    offset[lane] += 1 + (uint32_t)random_below(&random, 64);
    assert_false(bf_lined_find(SITE, drawn.mask, offset, &found));
  }
}

static bool counts(bf_lined *tally, const bf_lined_key *key) {
  return bf_lined_count(tally, key, 0) || bf_lined_count_beside(tally, key, 0);
}

/* Keys that differ in one number, here the jump, there the step and so on, until every set of the
 * table has been filled: those that were not remembered are not found. */
static void only_the_same_is_counted(void **state) {
  (void)state;
  const bf_lined_key like = {SITE, UINT32_MAX, 4096, 4, 64};
  for (unsigned field = 0; field < 5; field++) {
    bf_lined *tally = bf_lined_create();
    assert_non_null(tally);
    for (uint32_t i = 1; i < LONGEST_JUMP; i++) {
      bf_lined_key key = like;
      uint32_t *const number[] = {&key.site, &key.mask, &key.first, &key.step, &key.jump};
      *number[field] = field == 1 ? i : *number[field] + i;
      assert_false(counts(tally, &key));
      bf_lined_cost *cost;
      bf_lined_entry *entry = bf_lined_place(tally, &key, &cost);
      if (!entry)
        continue;
      *entry = (bf_lined_entry){.key = key};
      tally->left = BF_LINED_TURN;
      assert_true(counts(tally, &key));
      assert_int_equal(entry->times, 1);
      bf_lined_entry *again = bf_lined_place(tally, &key, &cost);
      assert_true(!again || again == entry); /* each is there once */
    }
    free(tally);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(five_numbers_tell_all_lanes),
                                     cmocka_unit_test(only_the_same_is_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

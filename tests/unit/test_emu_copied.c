/* What copies cost is remembered: found again wherever their sources are moved by whole lines, and
 * then as bf_memory_count_copy counts them there. */
#include "emu/copied.h"
#include "emu_lanes.h"
#include "random.h"

enum { COPIES = 2000, LINE_BYTES = 128, TILE_BYTES = 16384 };

typedef struct copy {
  uint64_t from[BF_EMU_LANES];
  uint32_t to[BF_EMU_LANES];
  bf_emu_event event;
} copy;

/* A copy as programs make them: rows of some bytes from memory with a pitch, or anything. */
static void make_copy(test_random *random, copy *made) {
  uint64_t base = UINT64_C(0x7f0000000000) + 16 * random_below(random, 1000);
  uint64_t pitch = 16 * (1 + random_below(random, 64)), in_row = UINT64_C(1)
                                                                 << random_below(random, 6);
  bool is_wild = random_below(random, 4) == 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    made->from[lane] = base + (is_wild ? 16 * random_below(random, 64)
                                       : lane / in_row * pitch + lane % in_row * 16);
    made->to[lane] = (uint32_t)(is_wild ? 16 * random_below(random, TILE_BYTES / 16) : 16 * lane);
  }
  uint32_t mask = random_below(random, 3) ? UINT32_MAX : (uint32_t)random_bits(random) | 1;
  made->event = (bf_emu_event){.op = BF_OP_CP16,
                               .space = BF_PTX_SPACE_SHARED,
                               .width_bytes = 16,
                               .mask = mask,
                               .shared_address = made->to,
                               .global_address = made->from,
                               .is_cached = random_below(random, 2)};
}

static bf_count count_of(const bf_machine *machine, const copy *made) {
  bf_access access = {.op = BF_OP_CP16, .width_bytes = 16, .mask = made->event.mask, .count = 1};
  bf_count count;
  memcpy(access.address, made->to, sizeof made->to);
  assert_int_equal(
      bf_memory_count_copy(machine, NULL, &access, made->from, made->event.is_cached, &count, NULL),
      BF_OK);
  return count;
}

static void moved_copies_cost_the_same(void **state) {
  (void)state;
  test_random random = {11};
  bf_machine *machine;
  bf_copied *copied = NULL;
  unsigned conflicts = 0;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  for (unsigned i = 0; i < COPIES; i++) {
    copy made;
    bf_copied_cost cost = {.pattern = {i + 1, 0}}, found = {.pattern = {0, 0}};
    make_copy(&random, &made);
    cost.count = count_of(machine, &made);
    conflicts += cost.count.conflicts != 0;
    bf_copied_keep(&copied, &made.event, &cost);
    uint64_t by = LINE_BYTES * random_below(&random, 100000);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      made.from[lane] += by;
    assert_true(bf_copied_find(copied, &made.event, &found));
    bf_count moved = count_of(machine, &made);
    assert_in_range(found.pattern.number, 1, i + 1); /* an equal one may be older */
    assert_memory_equal(&found.count, &moved, sizeof moved);
    made.from[BF_FIRST_LANE(made.event.mask)] += LINE_BYTES; /* one of them alone is another copy */
    assert_true((made.event.mask & (made.event.mask - 1)) == 0 ||
                !bf_copied_find(copied, &made.event, &found));
  }
  assert_true(conflicts > COPIES / 10 && conflicts < COPIES);
  bf_copied_free(copied);
  bf_machine_free(machine);
}

static void nothing_is_found_that_was_not_kept(void **state) {
  (void)state;
  test_random random = {12};
  bf_copied *copied = NULL;
  bf_copied_cost cost = {.pattern = {1, 0}};
  copy made;
  make_copy(&random, &made);
  assert_false(bf_copied_find(copied, &made.event, &cost));
  bf_copied_keep(&copied, &made.event, &cost);
  made.event.is_cached = !made.event.is_cached;
  assert_false(bf_copied_find(copied, &made.event, &cost));
  made.event.is_cached = !made.event.is_cached;
  made.to[BF_FIRST_LANE(made.event.mask)] ^= 16;
  assert_false(bf_copied_find(copied, &made.event, &cost));
  bf_copied_free(copied);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(moved_copies_cost_the_same),
                                     cmocka_unit_test(nothing_is_found_that_was_not_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

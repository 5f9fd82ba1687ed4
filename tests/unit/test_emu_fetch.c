/* Warps that run while memory is fetched for another one: what they load is right, for all lanes
 * and for some; they take turns where loads miss the host's cache and nowhere else, in the same
 * order in every run; and a warp that waits for another one is not held up by its loads. */
#include "emu.h"

#include <string.h>

enum { BLOCKS = 3, THREADS = 320, ALL = BLOCKS * THREADS, TURNS = 200, LARGE = 1 << 22 };

/* Every thread whose bit of mask is set sums up TURNS words at random places of a table; the first
 * lane of each warp draws a number after each. */
static const char gather[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 table, .param .u64 sums, .param .u64 drawn, .param .u64 count,\n"
    ".param .u32 words, .param .u32 lanes) {\n"
    ".reg .b32 %t, %n, %c, %w, %k, %at, %p, %v, %s, %o, %words, %l;\n"
    ".reg .b64 %table, %a, %count, %d; .reg .pred %q, %first, %in;\n"
    "mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %w, %ntid.x;\n"
    "mad.lo.u32 %n, %c, %w, %t; ld.param.u32 %words, [words]; ld.param.u32 %l, [lanes];\n"
    "ld.param.u64 %table, [table]; ld.param.u64 %count, [count]; ld.param.u64 %d, [drawn];\n"
    "and.b32 %p, %t, 31; setp.eq.u32 %first, %p, 0; shr.u32 %l, %l, %p; and.b32 %l, %l, 1;\n"
    "setp.ne.u32 %in, %l, 0; shr.u32 %p, %n, 5; mul.lo.u32 %p, %p, 800; cvt.u64.u32 %a, %p;\n"
    "add.u64 %d, %d, %a; mov.u32 %s, 0; mov.u32 %k, 0; mul.lo.u32 %at, %n, 0x9e3779b9;\n"
    "again: shr.u32 %p, %at, 7; rem.u32 %p, %p, %words; mul.wide.u32 %a, %p, 4;\n"
    "add.u64 %a, %a, %table; @%in ld.global.u32 %v, [%a]; @%in add.u32 %s, %s, %v;\n"
    "@%first atom.global.add.u32 %o, [%count], 1; @%first st.global.u32 [%d], %o;\n"
    "add.u64 %d, %d, 4; mad.lo.u32 %at, %at, 1664525, 1013904223;\n"
    "add.u32 %k, %k, 1; setp.lt.u32 %q, %k, 200; @%q bra again;\n"
    "ld.param.u64 %a, [sums]; mul.wide.u32 %d, %n, 4; add.u64 %a, %a, %d;\n"
    "st.global.u32 [%a], %s; ret; }\n";

typedef struct tables {
  uint64_t table, sums, drawn, count;
  uint32_t words, lanes;
} tables;

/* Each word of the table is its own number, mixed. */
static uint32_t word_at(uint32_t place) { return place * 2654435761u ^ place >> 3; }

static void check_sums(const tables *own) {
  const uint32_t *sums = (const uint32_t *)(uintptr_t)own->sums;
  for (uint32_t n = 0; n < ALL; n++) {
    uint32_t sum = 0, at = n * 0x9e3779b9u;
    for (unsigned k = 0; k < TURNS && own->lanes >> n % 32 & 1; k++) {
      sum += word_at((at >> 7) % own->words);
      at = at * 1664525u + 1013904223u;
    }
    assert_int_equal(sums[n], sum);
  }
}

/* How often the numbers of a warp do not follow each other. */
static unsigned count_turns(const tables *own) {
  const uint32_t *drawn = (const uint32_t *)(uintptr_t)own->drawn;
  unsigned turns = 0;
  for (unsigned warp = 0; warp < ALL / 32; warp++)
    for (unsigned k = 1; k < TURNS; k++)
      turns += drawn[warp * TURNS + k] != drawn[warp * TURNS + k - 1] + 1;
  return turns;
}

static void loads_are_right_and_warps_take_turns(void **state) {
  (void)state;
  static const char *const sets[] = {"plain", "avx2", "avx512"};
  static const uint32_t lanes[] = {UINT32_MAX, 0x7fffffff, 0x55555555, 0x00ffff01, 0x80000000};
  static uint32_t before[ALL / 32 * TURNS];
  for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++) {
    bed at;
    if (!bf_emu_isa_find(sets[i]))
      continue;
    bed_open_text(&at, "gather", gather, strlen(gather), sets[i]);
    tables own = {.table = bed_alloc(&at, sizeof(uint32_t[LARGE]), 0),
                  .sums = bed_alloc(&at, sizeof(uint32_t[ALL]), 0),
                  .drawn = bed_alloc(&at, sizeof before, 0),
                  .count = bed_alloc(&at, 4, 0)};
    for (uint32_t k = 0; k < LARGE; k++)
      ((uint32_t *)(uintptr_t)own.table)[k] = word_at(k);
    bf_emu_launch launch = bed_launch(&at, "k", BLOCKS, THREADS, &own, sizeof own);
    launch.workers = 1;
    for (unsigned k = 0; k < sizeof lanes / sizeof *lanes; k++)
      for (unsigned run = 0; run < 3; run++) {
        own.lanes = lanes[k];
        own.words = run == 2 ? 1000 : LARGE;
        *(uint32_t *)(uintptr_t)own.count = 0;
        bed_run_well(&at, &launch);
        check_sums(&own);
        if (run == 1)
          assert_memory_equal(before, (const void *)(uintptr_t)own.drawn, sizeof before);
        memcpy(before, (const void *)(uintptr_t)own.drawn, sizeof before);
        if (run == 2 || lanes[k] == 0x80000000)
          assert_in_range(count_turns(&own), 0, ALL / 32 * TURNS / 4);
        else
          assert_in_range(count_turns(&own), ALL / 32 * TURNS / 2, ALL / 32 * TURNS);
      }
    launch.workers = 3;
    own.lanes = UINT32_MAX;
    own.words = LARGE;
    bed_run_well(&at, &launch);
    check_sums(&own);
    bed_close(&at);
  }
}

/* The lanes of the first warp wait for a word that the last warp writes, and load at random in each
 * turn; of each warp the odd lanes wait for lane 0, which does the same. */
static const char waiting[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 table, .param .u64 word) {\n"
    ".reg .b32 %t, %at, %p, %v, %s, %l; .reg .b64 %table, %a, %word; .reg .pred %q;\n"
    "mov.u32 %t, %tid.x; ld.param.u64 %table, [table]; ld.param.u64 %word, [word];\n"
    "mul.lo.u32 %at, %t, 0x9e3779b9; mov.u32 %s, 0;\n"
    "setp.ge.u32 %q, %t, 224; @%q bra last; and.b32 %l, %t, 1; setp.eq.u32 %q, %l, 0;\n"
    "@%q bra even; add.u64 %word, %word, 4;\n"
    "odd: shr.u32 %p, %at, 10; mul.wide.u32 %a, %p, 4; add.u64 %a, %a, %table;\n"
    "ld.global.u32 %v, [%a]; add.u32 %s, %s, %v; mad.lo.u32 %at, %at, 1664525, 1013904223;\n"
    "ld.volatile.global.u32 %v, [%word]; setp.eq.u32 %q, %v, 0; @%q bra odd; ret;\n"
    "even: shr.u32 %p, %at, 10; mul.wide.u32 %a, %p, 4; add.u64 %a, %a, %table;\n"
    "ld.global.u32 %v, [%a]; add.u32 %s, %s, %v; mad.lo.u32 %at, %at, 1664525, 1013904223;\n"
    "ld.volatile.global.u32 %v, [%word]; setp.eq.u32 %q, %v, 0; @%q bra even;\n"
    "st.volatile.global.u32 [%word+4], %v; ret;\n"
    "last: st.volatile.global.u32 [%word], 1; ret; }\n";

static void warps_that_wait_are_not_held_up(void **state) {
  (void)state;
  bed at;
  bed_open_text(&at, "waiting", waiting, strlen(waiting), NULL);
  struct {
    uint64_t table, word;
  } own = {bed_alloc(&at, sizeof(uint32_t[LARGE]), 0), bed_alloc(&at, 8, 0)};
  bf_emu_launch launch = bed_launch(&at, "k", 1, 256, &own, sizeof own);
  bed_run_well(&at, &launch);
  assert_int_equal(((uint32_t *)(uintptr_t)own.word)[1], 1);
  bed_close(&at);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(loads_are_right_and_warps_take_turns),
                                     cmocka_unit_test(warps_that_wait_are_not_held_up)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

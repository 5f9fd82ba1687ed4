/* Atomics of neighbouring lanes at one place, by several threads of the host: every number is drawn
 * once, in the order of the lanes, and nothing is lost. */
#include "emu.h"

#include <string.h>

enum { BLOCKS = 64, THREADS = 128, ALL = BLOCKS * THREADS, PLACES = THREADS };

/* Thread t of a block works at place t / run of each table; its number in the grid is n. */
static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 sums, .param .u64 most, .param .u64 bits, .param .u64 floats,\n"
    ".param .u64 olds, .param .u32 run) {\n"
    ".reg .b32 %t, %n, %c, %w, %run, %p, %v, %o; .reg .b64 %a, %at, %off; .reg .f32 %f;\n"
    "mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %w, %ntid.x;\n"
    "mad.lo.u32 %n, %c, %w, %t; ld.param.u32 %run, [run]; div.u32 %p, %t, %run;\n"
    "mul.wide.u32 %off, %p, 4;\n"
    "ld.param.u64 %a, [sums]; add.u64 %at, %a, %off; atom.global.add.u32 %o, [%at], 1;\n"
    "ld.param.u64 %a, [most]; add.u64 %at, %a, %off; red.global.max.u32 [%at], %n;\n"
    "and.b32 %v, %n, 31; shl.b32 %v, 1, %v;\n"
    "ld.param.u64 %a, [bits]; add.u64 %at, %a, %off; red.global.or.b32 [%at], %v;\n"
    "ld.param.u64 %a, [floats]; add.u64 %at, %a, %off; red.global.add.f32 [%at], 0f3f800000;\n"
    "ld.param.u64 %a, [olds]; mul.wide.u32 %off, %n, 4; add.u64 %a, %a, %off;\n"
    "st.global.u32 [%a], %o;\nret; }\n";

typedef struct tables {
  uint64_t sums, most, bits, floats, olds;
  uint32_t run;
} tables;

/* Whether thread number n of the grid works at a place. */
static bool is_there(unsigned n, unsigned place, unsigned run) {
  return n % THREADS / run == place;
}

static void check_place(const tables *own, unsigned place) {
  const uint32_t *sums = (const uint32_t *)(uintptr_t)own->sums;
  const uint32_t *olds = (const uint32_t *)(uintptr_t)own->olds;
  static bool is_drawn[ALL];
  uint32_t count = 0, most = 0, bits = 0;
  memset(is_drawn, 0, sizeof is_drawn);
  for (unsigned n = 0; n < ALL; n++) {
    if (!is_there(n, place, own->run))
      continue;
    count++;
    most = n;
    bits |= UINT32_C(1) << n % 32;
    assert_true(olds[n] < ALL && !is_drawn[olds[n]]);
    is_drawn[olds[n]] = true;
    if (n % 32 && is_there(n - 1, place, own->run)) /* in the order of lanes */
      assert_int_equal(olds[n], olds[n - 1] + 1);
  }
  assert_int_equal(sums[place], count);
  assert_int_equal(((const uint32_t *)(uintptr_t)own->most)[place], most);
  assert_int_equal(((const uint32_t *)(uintptr_t)own->bits)[place], bits);
  assert_true(((const float *)(uintptr_t)own->floats)[place] == (float)count);
}

static void numbers_drawn(void **state) {
  (void)state;
  static const uint32_t runs[] = {1, 2, 5, 32, 48, 128};
  for (unsigned i = 0; i < 2 * sizeof runs / sizeof *runs; i++) {
    bed at;
    bed_open_text(&at, "draws.ptx", text, sizeof text - 1, NULL);
    tables own = {bed_alloc(&at, 4 * PLACES, 0), bed_alloc(&at, 4 * PLACES, 0),
                  bed_alloc(&at, 4 * PLACES, 0), bed_alloc(&at, 4 * PLACES, 0),
                  bed_alloc(&at, 4 * ALL, 0),    runs[i / 2]};
    bf_emu_launch launch = bed_launch(&at, "k", BLOCKS, THREADS, &own, sizeof own);
    launch.workers = i % 2 ? 3 : 1;
    bed_run_well(&at, &launch);
    for (unsigned place = 0; place * own.run < THREADS; place++)
      check_place(&own, place);
    bed_close(&at);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_drawn)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

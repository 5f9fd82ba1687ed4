/* Kernels that wait for a time, by each clock that they have. */
#include "emu.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define BEGIN(name)                                                                                \
  ".visible .entry " name                                                                          \
  "(.param .u64 p) {\n.reg .b64 %t0, %t1, %a; .reg .b32 %v; .reg .pred %p;\n"                      \
  "ld.param.u64 %a, [p];\n"
#define END "ret; }\n"

/* Loops that only look at a clock; that sleep; and one that polls memory beside its clock. */
static const char text[] = HEAD BEGIN(
    "by_cycles") "mov.u64 %t0, %clock64;\n"
                 "L: mov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\n"
                 "setp.lt.u64 %p, %t1, 1000000000;\n@%p bra L;\n" END BEGIN(
                     "by_time") "mov.u64 %t0, %globaltimer;\n"
                                "L: mov.u64 %t1, %globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
                                "setp.lt.u64 %p, %t1, 10000000000;\n@%p bra L;\n" END BEGIN(
                                    "by_sleep") "mov.u64 %t0, %globaltimer;\n"
                                                "L: nanosleep.u32 1000000;\nmov.u64 %t1, "
                                                "%globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
                                                "setp.lt.u64 %p, %t1, 10000000000;\n@%p bra "
                                                "L;\n" END BEGIN(
                                                    "by_memory") "mov.u64 %t0, %clock64;\n"
                                                                 "L: ld.volatile.global.u32 %v, "
                                                                 "[%a];\nmov.u64 %t1, "
                                                                 "%clock64;\nsub.u64 %t1, %t1, "
                                                                 "%t0;\n"
                                                                 "setp.lt.u64 %p, %t1, "
                                                                 "10000000;\n@%p bra L;\n" END
                                                                     BEGIN(
                                                                         "by_hand") "mov.u64 %t0, "
                                                                                    "%clock64;"
                                                                                    "\nmov.u64 "
                                                                                    "%t1, "
                                                                                    "%clock64;"
                                                                                    "\nsub.u64 "
                                                                                    "%t1, %t1, "
                                                                                    "%t0;\n"
                                                                                    "st.global.u64 "
                                                                                    "[%a], "
                                                                                    "%t1;\n" END;

/* Instructions that a warp of a block executes until it has waited. */
static uint64_t waited(bed *at, const char *name, unsigned block, uint64_t *out) {
  uint64_t memory = bed_alloc(at, 8, 0);
  bf_emu_launch launch = bed_launch(at, name, 1, block, &memory, sizeof memory);
  uint64_t instructions = bed_run_well(at, &launch).warp_instructions;
  *out = *(uint64_t *)(uintptr_t)memory;
  bf_emu_release(at->emu, memory, NULL);
  return instructions;
}

/* Seconds pass in few looks; looks that follow each other are as near as ever. */
static void time_passes(void **state) {
  (void)state;
  bed at;
  uint64_t out;
  bed_open_text(&at, "clock.ptx", text, sizeof text - 1, NULL);
  for (unsigned block = 1; block <= 32; block += 31) {
    assert_in_range(waited(&at, "by_cycles", block, &out), 1000, 100000);
    assert_in_range(waited(&at, "by_time", block, &out), 1000, 1000000);
    assert_in_range(waited(&at, "by_hand", block, &out), 1, 20);
    assert_in_range(out, 16, 20);
  }
  bed_close(&at);
}

static void sleepers_need_not_be_waited_for(void **state) {
  (void)state;
  bed at;
  uint64_t out;
  bed_open_text(&at, "clock.ptx", text, sizeof text - 1, NULL);
  assert_in_range(waited(&at, "by_sleep", 32, &out), 1000, 10000 * 6);
  bed_close(&at);
}

/* Who waits for others gives them all the time there is. */
static void polls_are_not_hurried(void **state) {
  (void)state;
  bed at;
  uint64_t out;
  bed_open_text(&at, "clock.ptx", text, sizeof text - 1, NULL);
  for (unsigned block = 1; block <= 32; block += 31)
    assert_true(waited(&at, "by_memory", block, &out) > 10000000 / 32);
  bed_close(&at);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(time_passes),
                                     cmocka_unit_test(sleepers_need_not_be_waited_for),
                                     cmocka_unit_test(polls_are_not_hurried)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

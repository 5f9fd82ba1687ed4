/* The search for hashes of a program (exec --save-hashes) ends when its time is up. The clock is
 * this test's: every look at it takes a millisecond, so that the outcome does not depend on how
 * fast the machine is or what else runs on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "tune/program.h"

/* ---- The clock ---- */

static uint64_t looks;

int clock_gettime(clockid_t clock, struct timespec *now) {
  uint64_t milliseconds = __atomic_add_fetch(&looks, 1, __ATOMIC_SEQ_CST);
  (void)clock;
  now->tv_sec = (time_t)(milliseconds / 1000);
  now->tv_nsec = (long)(milliseconds % 1000 * 1000000);
  return 0;
}

/* ---- A program whose best hashes take long to find ---- */

enum { KERNELS = 4, ACCESSES = 400, LANES = 32 };

static const char kernel_text[] =
    ".visible .entry k%u(.param .u64 out) {\n"
    ".reg .b64 %%a; .reg .b32 %%r<4>; .shared .align 16 .b8 buffer%u[16384];\n"
    "ld.param.u64 %%a, [out]; mov.u32 %%r0, %%tid.x; shl.b32 %%r1, %%r0, 2;\n"
    "mov.u32 %%r2, buffer%u; add.u32 %%r2, %%r2, %%r1; st.shared.u32 [%%r2], %%r0;\n"
    "ld.shared.u32 %%r3, [%%r2]; st.global.u32 [%%a], %%r3; ret; }\n";

/* Accesses at random: no hash serves them all, and none is easily seen to be the best. */
static bf_workload *random_accesses(uint32_t seed) {
  bf_workload *made;
  assert_int_equal(bf_workload_create(&made), BF_OK);
  for (unsigned i = 0; i < ACCESSES; i++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = UINT32_MAX, .count = 1};
    for (unsigned lane = 0; lane < LANES; lane++) {
      seed = seed * 1664525 + 1013904223;
      access.address[lane] = (seed >> 16 & 4095) * 4;
    }
    assert_int_equal(bf_workload_add(made, &access), BF_OK);
  }
  return made;
}

static void make_program(bf_accesses *accesses) {
  bf_text ptx = {0};
  *accesses = (bf_accesses){0};
  bf_text_puts(&ptx, ".version 8.0\n.target sm_90\n.address_size 64\n");
  for (unsigned i = 0; i < KERNELS; i++)
    bf_text_addf(&ptx, kernel_text, i, i, i);
  bf_accesses_module *module = bf_accesses_add_module(accesses, ptx.data);
  assert_non_null(module);
  for (unsigned i = 0; i < KERNELS; i++) {
    char name[8];
    snprintf(name, sizeof name, "k%u", i);
    bf_accesses_kernel *kernel = bf_accesses_add_kernel(accesses, module, name);
    assert_non_null(kernel);
    kernel->launches = 1;
    kernel->written = random_accesses(i + 1);
    kernel->merged = random_accesses(i + 1);
  }
  bf_text_free(&ptx);
}

/* Seconds, by the clock of the test, that the search takes with so many to spend. */
static double search_seconds(double limit_seconds) {
  bf_accesses accesses;
  bf_program program = {0};
  bf_machine *machine;
  bf_diagnostic diagnostic = {.caret = -1};
  make_program(&accesses);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  if (bf_program_make(&accesses, &program, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  double begun = bf_seconds();
  bf_plans_search search = {.machine = machine, .deadline = begun + limit_seconds};
  if (bf_program_propose(&program, &search, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  double seconds = bf_seconds() - begun;
  bf_program_free(&program);
  bf_accesses_free(&accesses);
  bf_machine_free(machine);
  return seconds;
}

/* ---- Tests ---- */

/* What searches may take beyond their time: each has at least a millisecond, and some looks at the
 * clock to begin and to end. */
static const double slack_seconds = 0.5;

static void searches_end_in_time(void **state) {
  (void)state;
  double short_seconds = search_seconds(2);
  if (short_seconds > 2 + slack_seconds)
    fail_msg("%g seconds of 2", short_seconds);
  double no_seconds = search_seconds(1e-6);
  if (no_seconds > slack_seconds)
    fail_msg("%g seconds of none", no_seconds);
}

/* The searches would take longer: the limit is what ends them. */
static void searches_need_the_limit(void **state) {
  (void)state;
  double seconds = search_seconds(8);
  if (seconds < 4 || seconds > 8 + slack_seconds)
    fail_msg("%g seconds of 8", seconds);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(searches_end_in_time),
      cmocka_unit_test(searches_need_the_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Gains with their intervals, and energy: the numbers agree with each other and with the GPU's
 * file. */
#include "sim/worth.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static bf_sim_gpu *load(const char *name) {
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_sim_gpu_load(name, &gpu, &diagnostic), BF_OK);
  return gpu;
}

static bool is_near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

/* A measured gain at an end of the interval is off by the GPU's share; one inside by less. */
static void intervals_are_those_of_the_share(void **state) {
  (void)state;
  bf_sim_gpu *gpu = load("h200");
  static const double after[] = {50, 80, 99, 100, 101, 130};
  assert_true(gpu->worth_share > 0);
  assert_true(gpu->rewrite_share > gpu->worth_share); /* code differs, too */
  for (unsigned i = 0; i < sizeof after / sizeof *after; i++) {
    bf_sim_worth worth = bf_sim_worth_find(gpu->worth_share, 100, after[i]);
    assert_true(is_near(worth.gain, 100 / after[i]));
    assert_true(worth.low < worth.gain && worth.gain < worth.high);
    assert_true(is_near(bf_sim_worth_score(worth.low, worth.gain), gpu->worth_share));
    assert_true(is_near(bf_sim_worth_score(worth.high, worth.gain), gpu->worth_share));
    assert_true(bf_sim_worth_score(sqrt(worth.high * worth.gain), worth.gain) < gpu->worth_share);
  }
  bf_sim_gpu_free(gpu);
}

/* Energy is the sum of its parts, each by the number of the GPU's file; conflicts are a part of it.
 */
static void energy_adds_up(void **state) {
  (void)state;
  bf_sim_gpu *gpu = load("h200");
  bf_sim_result result = {.seconds = 1e-5,
                          .activity = {[BF_SIM_ACTIVITY_FLOAT] = 1000, [BF_SIM_ACTIVITY_INT] = 10},
                          .shared_wavefronts = 500,
                          .shared_conflicts = 400,
                          .global_sectors = 70,
                          .dram_read_bytes = 3200,
                          .turns = 100,
                          .stalls = {[BF_SIM_CONFLICT] = 25}};
  bf_sim_energy energy;
  assert_true(bf_sim_energy_find(gpu, &result, &energy));
  assert_true(is_near(energy.idle, gpu->static_watts * 1e-5));
  assert_true(
      is_near(energy.issue, 1e-12 * (1000 * gpu->float_picojoules + 10 * gpu->int_picojoules)));
  assert_true(is_near(energy.dram, 1e-12 * 3200 * gpu->dram_picojoules));
  assert_true(is_near(energy.total, energy.idle + energy.issue + energy.shared + energy.l1 +
                                        energy.l2 + energy.dram));
  assert_true(is_near(energy.conflicts, 0.8 * energy.shared + 0.25 * energy.idle));
  bf_sim_gpu_free(gpu);
}

static void energy_may_be_unknown(void **state) {
  (void)state;
  bf_sim_gpu *gpu = load("gtx580");
  bf_sim_result result = {.seconds = 1};
  bf_sim_energy energy;
  assert_false(bf_sim_energy_find(gpu, &result, &energy));
  bf_sim_gpu_free(gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intervals_are_those_of_the_share),
      cmocka_unit_test(energy_adds_up),
      cmocka_unit_test(energy_may_be_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

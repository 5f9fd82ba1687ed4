/* How much more a GPU may count where atomics of several warps try again: the bound of
 * docs/memory.md. */
#include "emu/costs.h"
#include "emu_lanes.h"

/* Every thread of a block adds to one word, by an instruction. */
static bf_costs_line cost_of(const char *instruction, unsigned threads) {
  char text[512];
  bed at;
  bf_diagnostic diagnostic;
  bf_machine *machine;
  bf_profile *profile;
  bf_costs costs = {0};
  snprintf(
      text, sizeof text,
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
      ".shared .align 8 .b64 word; .reg .f32 %%f; .reg .b32 %%r; .reg .f64 %%d;\n"
      "mov.f32 %%f, 0f3f800000; mov.u32 %%r, 1; mov.f64 %%d, 0d3ff0000000000000;\n%s\nret;\n}\n",
      instruction);
  bed_open_text(&at, "retries.ptx", text, strlen(text), NULL);
  uint64_t none = 0;
  bf_emu_launch launch = bed_launch(&at, "k", 2, threads, &none, 0);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  assert_int_equal(bf_profile_create(machine, NULL, launch.kernel, 1, &profile, &diagnostic),
                   BF_OK);
  bf_emu_observer observer = bf_profile_observer(profile);
  launch.observer = &observer;
  launch.workers = 1;
  bf_emu_result result = bed_run_well(&at, &launch);
  assert_int_equal(bf_costs_add_launch(&costs, launch.kernel, profile, &result, 0, &diagnostic),
                   BF_OK);
  assert_int_equal(costs.kernel[0].lines, 1);
  bf_costs_line line = costs.kernel[0].line[0];
  bf_costs_free(&costs);
  bf_profile_free(profile);
  bf_machine_free(machine);
  bed_close(&at);
  return line;
}

static void retries_are_bounded(void **state) {
  (void)state;
  static const char *loops[] = {"red.shared.add.f32 [word], %f;", "red.shared.add.f64 [word], %d;"};
  for (unsigned i = 0; i < 2; i++) {
    bf_costs_line one = cost_of(loops[i], 32), three = cost_of(loops[i], 96);
    assert_int_equal(one.retries_most, 0); /* a warp alone loses against nobody */
    assert_int_equal(three.wavefronts, 3 * one.wavefronts);
    assert_int_equal(three.retries_most, 2 * three.wavefronts);
  }
  assert_int_equal(cost_of("red.shared.add.u32 [word], %r;", 96).retries_most, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(retries_are_bounded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

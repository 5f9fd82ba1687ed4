/* The registers a kernel is said to need. */
#include "emu.h"

#include <string.h>

/* Registers of the kernel called k with that body; directives stand before it. */
static unsigned estimate(const char *directives, const char *body) {
  bf_text text = {0};
  bed at;
  bf_text_addf(&text,
               ".version 8.0\n.target sm_90\n.address_size 64\n"
               ".visible .entry k(.param .u64 out) %s {\n"
               ".reg .b64 %%o; .reg .b32 %%r<200>; .reg .pred %%p;\n"
               "ld.param.u64 %%o, [out]; mov.u32 %%r0, %%tid.x;\n%s ret; }\n",
               directives, body);
  bed_open_text(&at, "pressure.ptx", text.data, text.size, NULL);
  bf_emu_launch launch = bed_launch(&at, "k", 1, 32, NULL, 0);
  unsigned registers = bf_emu_kernel_needs(launch.kernel)->registers;
  bed_close(&at);
  bf_text_free(&text);
  return registers;
}

/* count values computed one after the other; all of them read at the end where keep is set. */
static unsigned estimate_chain(const char *directives, unsigned count, bool keep) {
  bf_text body = {0};
  for (unsigned i = 1; i <= count; i++)
    bf_text_addf(&body, "add.u32 %%r%u, %%r%u, %u;\n", i, i - 1, i);
  for (unsigned i = 1; i <= count; i++)
    if (keep || i == count)
      bf_text_addf(&body, "st.global.u32 [%%o+%u], %%r%u;\n", 4 * i, i);
  unsigned registers = estimate(directives, body.data);
  bf_text_free(&body);
  return registers;
}

/* Values that are dead do not count, however many there are. */
static void only_live_values_count(void **state) {
  (void)state;
  assert_int_equal(estimate_chain("", 150, false), 16);
  assert_in_range(estimate_chain("", 100, true), 102, 120);
}

/* What is read in the next round of a loop is alive throughout it. */
static void loops_keep_values(void **state) {
  (void)state;
  bf_text body = {0};
  for (unsigned i = 1; i <= 60; i++)
    bf_text_addf(&body, "mov.u32 %%r%u, %u;\n", i, i);
  bf_text_addf(&body, "LOOP: add.u32 %%r0, %%r0, 1;\n");
  for (unsigned i = 1; i <= 60; i++)
    bf_text_addf(&body, "add.u32 %%r0, %%r0, %%r%u;\n", i);
  bf_text_addf(&body, "setp.lt.u32 %%p, %%r0, 1000; @%%p bra LOOP; st.global.u32 [%%o], %%r0;\n");
  assert_in_range(estimate("", body.data), 62, 75);
  bf_text_free(&body);
}

/* A block of .maxntid threads can always be launched. */
static void directives_limit(void **state) {
  (void)state;
  assert_int_equal(estimate_chain(".maxntid 1024, 1, 1", 150, true), 64);
  assert_int_equal(estimate_chain(".maxnreg 40", 150, true), 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_live_values_count),
      cmocka_unit_test(loops_keep_values),
      cmocka_unit_test(directives_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

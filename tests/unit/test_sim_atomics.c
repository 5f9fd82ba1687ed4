/* Atomics in the second-level cache: when their results come, and what those on one word cost. */
#include "sim_bed.h"

/* Cycles of a warp that does `line` four times; %d3 is its word among those of the warp, %d0 the
 * first of them. */
static uint64_t cycles_of(const char *line, const char *changes) {
  static sim_bed own;
  bf_text text = {0}, gpu = {0};
  bf_text_puts(&text,
               "mov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.s64 %d3, %d0, %d1;\n"
               "mul.wide.u32 %d2, %r0, 8;\nadd.s64 %d4, %d0, %d2;\n"
               "mov.u32 %r1, 1;\nmov.f32 %f1, 0f3F800000;\nmov.f64 %e1, 0d3FF0000000000000;\n");
  for (unsigned i = 0; i < 4; i++)
    bf_text_puts(&text, line);
  bf_text_puts(&text, "st.global.u32 [%d3+1024], %r1;\nret;");
  bf_text_addf(&gpu, "sms=1 l2_atomics=words l2_atomic_lines=4 l2_sector_cycles=0.1 %s", changes);
  sim_bed_make(&own, text.data, gpu.data);
  uint64_t cycles = sim_bed_run(&own, "made", 1, 32).cycles;
  sim_bed_close(&own);
  bf_text_free(&text);
  bf_text_free(&gpu);
  return cycles;
}

/* Results of 32 words, or of eight that lanes share, come later, one behind the other; those of one
 * word, and those that nobody
 * reads, do not. */
static void results_of_many_words_come_later(void **state) {
  (void)state;
  static const struct {
    const char *line;
    unsigned later; /* cycles, with 10 for each further word */
  } rows[] = {{"atom.global.exch.b32 %r1, [%d3], %r1;\n", 4 * 310},
              {"atom.global.exch.b32 %r1, [%d0], %r1;\n", 0},
              {"and.b32 %r3, %r0, 7;\nmul.wide.u32 %d5, %r3, 256;\nadd.s64 %d5, %d0, %d5;\n"
               "atom.global.exch.b32 %r1, [%d5], %r1;\n",
               4 * 70},
              {"atom.global.add.u32 %r2, [%d3], %r1;\n", 0},
              {"red.global.add.u32 [%d3], %r1;\n", 0},
              {"ld.global.u32 %r2, [%d3];\nadd.u32 %r1, %r1, %r2;\n", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(cycles_of(rows[i].line, "l2_atomic_answer_cycles=10"),
                     cycles_of(rows[i].line, "l2_atomic_answer_cycles=0") + rows[i].later);
}

/* Floats are added to a word one behind the other; integers, and floats of other words, are not. */
static void floats_are_added_in_turn(void **state) {
  (void)state;
  static const struct {
    const char *line;
    bool is_slow;
  } rows[] = {{"red.global.add.f32 [%d0], %f1;\n", true},
              {"red.global.add.f64 [%d0], %e1;\n", true},
              {"red.global.add.f32 [%d3], %f1;\n", false},
              {"red.global.add.u32 [%d0], %r1;\n", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t before = cycles_of(rows[i].line, "l2_atomic_cycles=1"),
             after = cycles_of(rows[i].line, "l2_atomic_cycles=1 l2_atomic_float_cycles=6");
    if (rows[i].is_slow) /* 4 x 32 of them, each of which took one cycle */
      assert_in_range(after, before + 4 * 32 * 5 - 8, before + 4 * 32 * 5 + 8);
    else
      assert_in_range(after, before, before + 4 * 6);
  }
}

/* 32 words of 8 bytes take the units as long as 32 of 4 bytes. */
static void wide_words(void **state) {
  (void)state;
  uint64_t narrow = cycles_of("red.global.add.u32 [%d3], %r1;\n", "l2_atomic_cycles=50"),
           wide = cycles_of("red.global.add.f64 [%d4], %e1;\n", "l2_atomic_cycles=50");
  assert_in_range(wide, narrow - 20, narrow + 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_of_many_words_come_later),
      cmocka_unit_test(floats_are_added_in_turn),
      cmocka_unit_test(wide_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

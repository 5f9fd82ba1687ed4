/* Findings against limits and baselines: what is worse is found, whatever moves. */
#include "report/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void add(bf_gate *gate, const char *file, uint64_t line, const char *name,
                uint64_t conflicts) {
  bf_finding own = {.file = file,
                    .line = line,
                    .name = name,
                    .wavefronts = conflicts + 10,
                    .conflicts = conflicts};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_gate_add(gate, &own, &diagnostic), BF_OK);
}

/* Judges, and says whether it is bad. */
static bool judge(bf_gate *gate, bf_gate_limits limits, const char *baseline, bf_text *said) {
  bool is_bad;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_gate_judge(gate, &limits, "base", baseline, &is_bad, said, &diagnostic),
                   BF_OK);
  return is_bad;
}

static void limits_are_kept(void **state) {
  (void)state;
  bf_gate gate = {.findings = 0};
  bf_text said = {0};
  add(&gate, "a.cu", 1, "f", 5);
  add(&gate, "a.cu", 1, "f", 2);
  add(&gate, NULL, 0, "g", 0);
  assert_int_equal(gate.findings, 2);
  assert_false(judge(&gate, (bf_gate_limits){.has_conflicts = true, .conflicts = 7}, NULL, &said));
  assert_true(judge(&gate, (bf_gate_limits){.has_conflicts = true, .conflicts = 6}, NULL, &said));
  assert_false(
      judge(&gate, (bf_gate_limits){.has_wavefronts = true, .wavefronts = 37}, NULL, &said));
  assert_true(
      judge(&gate, (bf_gate_limits){.has_wavefronts = true, .wavefronts = 36}, NULL, &said));
  bf_text_free(&said);
  bf_gate_free(&gate);
}

/* A baseline of the same code with lines moved, and in another folder, says nothing; one conflict
 * more is said. */
static void lines_may_move(void **state) {
  (void)state;
  bf_gate before = {.findings = 0}, after = {.findings = 0};
  bf_text baseline = {0}, said = {0};
  add(&before, "/home/a/x.cu", 10, "f", 5);
  add(&before, "/home/a/x.cu", 12, "f", 3);
  add(&before, "/home/a/x.cu", 40, "g", 1);
  bf_gate_write_baseline(&before, &baseline);
  assert_string_equal(baseline.data, "bankfold baseline 1\n8\t28\tx.cu f\n1\t11\tx.cu g\n");
  add(&after, "/tmp/x.cu", 17, "f", 5);
  add(&after, "/tmp/x.cu", 19, "f", 3);
  add(&after, "/tmp/x.cu", 2, "g", 0);
  assert_false(judge(&after, (bf_gate_limits){.conflicts = 0}, baseline.data, &said));
  assert_null(said.data);
  add(&after, "/tmp/x.cu", 3, "g", 2);
  for (size_t i = 0; i < after.findings; i++)
    after.finding[i].before = 0;
  assert_true(judge(&after, (bf_gate_limits){.conflicts = 0}, baseline.data, &said));
  assert_string_equal(said.data, "x.cu g: 2 conflicts, 1 before\n");
  bf_text_free(&said);
  bf_text_free(&baseline);
  bf_gate_free(&before);
  bf_gate_free(&after);
}

static void annotations_are_escaped(void **state) {
  (void)state;
  bf_gate gate = {.findings = 0};
  bf_text text = {0};
  add(&gate, "a,b:c.cu", 3, "100%\nf", 2);
  bf_gate_write_annotations(&gate, false, &text);
  assert_string_equal(text.data, "::warning file=a%2Cb%3Ac.cu,line=3,title=Bank "
                                 "conflicts::100%25%0Af: 2 bank conflicts, 12 wavefronts\n");
  bf_text_free(&text);
  bf_gate_free(&gate);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_are_kept),
      cmocka_unit_test(lines_may_move),
      cmocka_unit_test(annotations_are_escaped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

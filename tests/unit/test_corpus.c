/* The benchmarks of kernels/: their list, and the references that results are compared with. */
#include "kernels/corpus.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- The list ---- */

static void every_benchmark_is_complete(void **state) {
  (void)state;
  const bf_corpus_benchmark *at;
  for (unsigned i = 0; (at = bf_corpus_get(i)) != NULL; i++) {
    assert_ptr_equal(bf_corpus_find(at->name), at); /* names are unique */
    assert_non_null(at->summary);
    assert_non_null(at->run);
    const char *ptx = bf_corpus_ptx(at->folder);
    assert_non_null(ptx);
    assert_non_null(strstr(ptx, ".version"));
  }
  assert_null(bf_corpus_find("no such benchmark"));
  assert_null(bf_corpus_ptx("no such folder"));
}

/* ---- What drivers share ---- */

static void uniform_numbers_fill_the_interval(void **state) {
  (void)state;
  bf_corpus_random random = bf_corpus_seed(0);
  double sum = 0;
  for (int i = 0; i < 10000; i++) {
    float value = bf_corpus_uniform(&random);
    assert_true(value >= 0 && value < 1);
    sum += (double)value;
  }
  assert_true(fabs(sum / 10000 - 0.5) < 0.02);
}

static void comparison_counts_what_is_too_far_off(void **state) {
  (void)state;
  const float reference[] = {0, 100, NAN, 1}, result[] = {0.5f, 101, NAN, NAN};
  bf_corpus_outcome outcome = {0};
  bf_corpus_compare_f32(result, reference, 3, 0.011, &outcome);
  assert_int_equal(outcome.elements, 3);
  assert_int_equal(outcome.wrong, 1); /* 1 of 100 is 0.01; NaN equals NaN */
  assert_true(outcome.worst_error == 0.5);
  assert_string_equal(outcome.first_wrong, "element 0 is 0.5, the reference 0");
  bf_corpus_compare_f32(result + 3, reference + 3, 1, 0.011, &outcome);
  assert_int_equal(outcome.wrong, 2);
  assert_true(isinf(outcome.worst_error));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_benchmark_is_complete),
      cmocka_unit_test(uniform_numbers_fill_the_interval),
      cmocka_unit_test(comparison_counts_what_is_too_far_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

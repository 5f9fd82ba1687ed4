/* The benchmarks of kernels/: their list, and the references that results are compared with. */
#include "hash/hash.h"
#include "kernels/corpus.h"
#include "kernels/published.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
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

/* ---- The published tables ---- */

/* Every hash can be counted under. Those of four benchmarks have bits that depend on each other, by
 * Givargis's heuristic on pairs, and bf_hash_parse refuses just these. */
static void published_hashes_are_hashes(void **state) {
  (void)state;
  const bf_geometry geometry = {.bank_bits = 5, .address_bits = 14, .word_bytes = 4};
  unsigned rows = 0, sharing = 0;
  for (const bf_published_row *row = bf_published_rows; row->name; row++, rows++)
    for (unsigned i = 0; i < BF_PUBLISHED_METHODS; i++) {
      bf_hash *hash;
      bf_diagnostic diagnostic;
      if (bf_hash_parse_banks(row->hash[i], &geometry, &hash, &diagnostic) != BF_OK)
        fail_msg("%s: %s: %s", row->name, row->hash[i], diagnostic.message);
      bool shares = bf_hash_find_sharing(hash, NULL);
      bf_hash_free(hash);
      if (shares) {
        sharing++;
        assert_int_equal(i, 3);
      }
      bool refused = bf_hash_parse(row->hash[i], &geometry, &hash, &diagnostic) != BF_OK;
      assert_int_equal(refused, shares);
      bf_hash_free(hash);
    }
  assert_int_equal(sharing, 4);
  assert_int_equal(rows, 22);
}

static void published_names_are_rows(void **state) {
  (void)state;
  const bf_corpus_benchmark *at;
  for (unsigned i = 0; (at = bf_corpus_get(i)) != NULL; i++)
    if (at->published_name && !bf_published_find(at->published_name))
      fail_msg("%s: no row %s", at->name, at->published_name);
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

/* ---- Drivers ---- */

/* A device that has memory but computes nothing, and whose calls fail when their count is fails_at
 * (0: never). */
typedef struct idle_device {
  unsigned calls, fails_at, launches;
  void *memory[64];
  unsigned allocations;
  uint8_t variable[1 << 16];
} idle_device;

static int count_call(idle_device *idle, bf_diagnostic *diagnostic) {
  return ++idle->calls == idle->fails_at ? bf_fail(diagnostic, BF_IO, "call %u", idle->calls)
                                         : BF_OK;
}

static int idle_alloc(void *context, uint64_t bytes, uint64_t *address, bf_diagnostic *diagnostic) {
  idle_device *idle = context;
  assert_true(idle->allocations < sizeof idle->memory / sizeof *idle->memory);
  void *memory = idle->memory[idle->allocations++] = calloc(1, bytes);
  *address = (uint64_t)(uintptr_t)memory;
  return count_call(idle, diagnostic);
}

static int idle_write(void *context, uint64_t address, const void *bytes, uint64_t size,
                      bf_diagnostic *diagnostic) {
  memcpy((void *)(uintptr_t)address, bytes, size);
  return count_call(context, diagnostic);
}

static int idle_read(void *context, uint64_t address, void *bytes, uint64_t size,
                     bf_diagnostic *diagnostic) {
  memcpy(bytes, (const void *)(uintptr_t)address, size);
  return count_call(context, diagnostic);
}

static int idle_symbol(void *context, const char *name, uint64_t *address, uint64_t *bytes,
                       bf_diagnostic *diagnostic) {
  (void)name;
  idle_device *idle = context;
  *address = (uint64_t)(uintptr_t)idle->variable;
  *bytes = sizeof idle->variable;
  return count_call(idle, diagnostic);
}

/* Sizes must be such that a GPU accepts them, and parameters must be there. */
static int idle_launch(void *context, const bf_device_launch *launch, bf_diagnostic *diagnostic) {
  idle_device *idle = context;
  idle->launches++;
  assert_non_null(launch->kernel);
  for (int i = 0; i < 3; i++)
    assert_true(launch->grid[i] > 0 && launch->block[i] > 0);
  assert_true(launch->block[0] * launch->block[1] * launch->block[2] <= 1024);
  for (unsigned i = 0; i < launch->parameters; i++)
    assert_non_null(launch->parameter[i]);
  return count_call(idle, diagnostic);
}

/* Runs a benchmark on an idle device whose call number fails_at fails. */
static int run_idle(const bf_corpus_benchmark *benchmark, unsigned fails_at, idle_device *idle,
                    bf_corpus_outcome *outcome) {
  *idle = (idle_device){.fails_at = fails_at};
  const bf_device device = {idle, idle_alloc, idle_write, idle_read, idle_symbol, idle_launch};
  bf_diagnostic diagnostic;
  int error = bf_corpus_execute(benchmark, &device, 1, 0, outcome, &diagnostic);
  for (unsigned i = 0; i < idle->allocations; i++)
    free(idle->memory[i]);
  return error;
}

/* Results left at zero are never taken for right ones. */
static void a_device_that_computes_nothing_is_noticed(void **state) {
  (void)state;
  static idle_device idle;
  const bf_corpus_benchmark *at;
  for (unsigned i = 0; (at = bf_corpus_get(i)) != NULL; i++) {
    bf_corpus_outcome outcome;
    assert_int_equal(run_idle(at, 0, &idle, &outcome), BF_OK);
    assert_true(idle.launches > 0);
    if (outcome.elements == 0 || outcome.wrong == 0 || outcome.first_wrong[0] == 0)
      fail_msg("%s does not notice", at->name);
  }
}

static void errors_of_the_device_end_the_run(void **state) {
  (void)state;
  static idle_device idle;
  bf_corpus_outcome outcome;
  const bf_corpus_benchmark *benchmark = bf_corpus_find("convolution-rows");
  assert_int_equal(run_idle(benchmark, 0, &idle, &outcome), BF_OK);
  for (unsigned calls = idle.calls, n = 1; n <= calls; n++) {
    assert_int_equal(run_idle(benchmark, n, &idle, &outcome), BF_IO);
    assert_int_equal(idle.calls, n);
  }
}

/* A name that is nearly one is asked about. */
static void names_are_guessed(void **state) {
  (void)state;
  const bf_corpus_benchmark *benchmark;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_corpus_named("fft512", &benchmark, &diagnostic), BF_OK);
  assert_string_equal(benchmark->name, "fft512");
  assert_int_equal(bf_corpus_named("fft513", &benchmark, &diagnostic), BF_BAD_INPUT);
  assert_non_null(strstr(diagnostic.message, "no benchmark 'fft513' (did you mean 'fft512'?)"));
  assert_null(benchmark);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_benchmark_is_complete),
      cmocka_unit_test(published_hashes_are_hashes),
      cmocka_unit_test(published_names_are_rows),
      cmocka_unit_test(uniform_numbers_fill_the_interval),
      cmocka_unit_test(comparison_counts_what_is_too_far_off),
      cmocka_unit_test(a_device_that_computes_nothing_is_noticed),
      cmocka_unit_test(errors_of_the_device_end_the_run),
      cmocka_unit_test(names_are_guessed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Alignment: bf_align against a count of every word at every base, the published example, and bad
 * input. */
#include "sanitized.h"
#include "search/align.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- The reference: definitions only, no symmetry and no sliding ---- */

/* Conflicts of the words base + stride * i, i < count. */
static uint64_t naive_strided(const bf_hash *hash, uint64_t base, uint64_t stride, uint64_t count) {
  static bool taken[1 << 16];
  uint64_t conflicts = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint32_t bank = bf_hash_bank(hash, base + stride * i);
    conflicts += taken[bank];
    taken[bank] = true;
  }
  for (uint64_t i = 0; i < count; i++)
    taken[bf_hash_bank(hash, base + stride * i)] = false;
  return conflicts;
}

static uint64_t naive_conflicts(const bf_hash *hash, const bf_align_pattern *pattern,
                                uint64_t base) {
  uint64_t conflicts = 0;
  for (uint64_t p = 0; p < pattern->patterns; p++)
    conflicts += naive_strided(hash, base + pattern->distance * p, pattern->stride, pattern->count);
  for (uint64_t i = 0; pattern->also_transposed && i < pattern->count; i++)
    conflicts +=
        naive_strided(hash, base + pattern->stride * i, pattern->distance, pattern->patterns);
  return conflicts;
}

static bool is_optimal(const bf_alignment *alignment, uint64_t base) {
  for (size_t i = 0; i < alignment->optimal_count; i++)
    if (base >= alignment->optimal[i].from && base <= alignment->optimal[i].to)
      return true;
  return false;
}

static void assert_ascending(const bf_alignment *alignment, uint64_t from, uint64_t to) {
  assert_true(alignment->optimal_count > 0);
  assert_true(alignment->optimal[0].from >= from);
  assert_true(alignment->optimal[alignment->optimal_count - 1].to <= to);
  for (size_t i = 0; i < alignment->optimal_count; i++)
    assert_true(alignment->optimal[i].from <= alignment->optimal[i].to);
  for (size_t i = 1; i < alignment->optimal_count; i++)
    assert_true(alignment->optimal[i].from > alignment->optimal[i - 1].to + 1);
  for (size_t i = 1; i < alignment->symmetry_count; i++)
    assert_true(alignment->symmetry_points[i] > alignment->symmetry_points[i - 1]);
}

/* Every base mirrored about a symmetry point must have the same conflicts. */
static void assert_symmetric(const bf_hash *hash, const bf_align_pattern *pattern, double point) {
  uint64_t twice = (uint64_t)(2 * point);
  assert_true((double)twice == 2 * point);
  for (uint64_t base = 0; base <= twice / 2 && base < 200; base++)
    assert_int_equal(naive_conflicts(hash, pattern, base),
                     naive_conflicts(hash, pattern, twice - base));
}

static void assert_agrees(const bf_hash *hash, const bf_align_pattern *pattern, uint64_t from,
                          uint64_t to, const bf_alignment *alignment) {
  uint64_t best = UINT64_MAX, worst = 0;
  assert_ascending(alignment, from, to);
  for (uint64_t base = from; base <= to; base++) {
    uint64_t conflicts = naive_conflicts(hash, pattern, base);
    best = conflicts < best ? conflicts : best;
    worst = conflicts > worst ? conflicts : worst;
    assert_int_equal(conflicts == alignment->conflicts, is_optimal(alignment, base));
  }
  assert_int_equal(alignment->conflicts, best);
  assert_int_equal(alignment->worst, worst);
  assert_int_equal(alignment->bases, to - from + 1);
  assert_true(alignment->evaluated >= 1 && alignment->evaluated <= alignment->bases);
  for (size_t i = 0; i < alignment->symmetry_count; i++)
    assert_symmetric(hash, pattern, alignment->symmetry_points[i]);
}

/* ---- Random cases ---- */

static uint64_t random_state = 0x9e3779b97f4a7c15;

/* A number from 0 to limit - 1 (xorshift). */
static uint64_t random_below(uint64_t limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (random_state >> 11) % limit;
}

static bf_hash *random_linear_hash(void) {
  bf_hash *hash = NULL;
  while (!hash) {
    unsigned banks = (unsigned)random_below(5);
    bf_geometry geometry = {banks, banks + (unsigned)random_below(8), 4};
    uint64_t row[16];
    for (unsigned i = 0; i < banks; i++)
      row[i] = random_below((uint64_t)1 << geometry.address_bits);
    bf_hash_from_rows(row, &geometry, &hash, NULL);
  }
  return hash;
}

static bf_hash *parse(const char *text, unsigned bank_bits, unsigned address_bits) {
  bf_geometry geometry = {bank_bits, address_bits, 4};
  bf_diagnostic diagnostic;
  bf_hash *hash = NULL;
  assert_int_equal(bf_hash_parse(text, &geometry, &hash, &diagnostic), BF_OK);
  return hash;
}

static bf_align_pattern random_pattern(void) {
  bf_align_pattern pattern = {.stride = 1 + random_below(random_below(4) ? 9 : 40),
                              .count = 1 + random_below(12),
                              .distance = 1 + random_below(random_below(4) ? 9 : 60),
                              .patterns = random_below(3) ? 1 + random_below(9) : 1,
                              .also_transposed = random_below(2)};
  return pattern;
}

static void run_random_case(const bf_hash *hash, bool use_symmetry) {
  bf_align_pattern pattern = random_pattern();
  uint64_t from = random_below(2) ? 0 : random_below(3000);
  uint64_t to = from + random_below(random_below(3) ? 60 : 700);
  bf_alignment alignment;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_align_search(hash, &pattern, from, to, use_symmetry, &alignment, &diagnostic),
                   BF_OK);
  assert_agrees(hash, &pattern, from, to, &alignment);
  bf_alignment_clear(&alignment);
}

static void test_random_linear(void **state) {
  (void)state;
  for (int i = 0; i < (IS_SANITIZED ? 800 : 4000); i++) {
    bf_hash *hash = random_linear_hash();
    run_random_case(hash, true);
    bf_hash_free(hash);
  }
}

static void test_random_without_symmetry(void **state) {
  (void)state;
  for (int i = 0; i < 500; i++) {
    bf_hash *hash = random_linear_hash();
    run_random_case(hash, false);
    bf_hash_free(hash);
  }
}

static void test_random_arithmetic_hashes(void **state) {
  (void)state;
  static const char *const texts[] = {"add", "mod:7", "mod:16", "pad:10+3", "pad:16+1"};
  for (int i = 0; i < (IS_SANITIZED ? 300 : 1000); i++) {
    bf_hash *hash = parse(texts[i % 5], 4, 4 + (unsigned)random_below(8));
    run_random_case(hash, random_below(2));
    bf_hash_free(hash);
  }
}

/* ---- Named cases ---- */

static bf_alignment align(const bf_hash *hash, bf_align_pattern pattern, uint64_t from,
                          uint64_t to) {
  bf_alignment alignment;
  bf_diagnostic diagnostic;
  int error = bf_align(hash, &pattern, from, to, &alignment, &diagnostic);
  if (error != BF_OK)
    fail_msg("%s", diagnostic.message);
  return alignment;
}

static const bf_align_pattern square_976 = {976, 976, 1, 976, true};

/* 2^13 sets, two slices of 13 bits XORed, a 976x976 matrix. Of the ranges, the first is published;
 * the second is its image about 3718016. */
static void check_976(const bf_alignment *alignment) {
  assert_int_equal(alignment->optimal_count, 2);
  assert_int_equal(alignment->optimal[0].from, 3539056);
  assert_int_equal(alignment->optimal[0].to, 3539296);
  assert_int_equal(alignment->optimal[1].from, 3896736);
  assert_int_equal(alignment->optimal[1].to, 3896976);
  assert_int_equal(alignment->conflicts, 11952);
  double saved = 1 - (double)alignment->conflicts / (double)alignment->worst;
  assert_true(saved > 0.5875 && saved < 0.5885);
  static const double points[] = {48000, 572288, 1620864, 3718016};
  assert_int_equal(alignment->symmetry_count, 4);
  for (int i = 0; i < 4; i++)
    assert_true(alignment->symmetry_points[i] == points[i]);
  assert_int_equal(alignment->bases, 5000001);
}

static void test_976(void **state) {
  (void)state;
  bf_hash *hash = parse("xor:0,13,8191", 13, 26);
  bf_alignment fast = align(hash, square_976, 0, 5000000), full;
  check_976(&fast);
  /* 48001 bases up to the first point, and half the extent around 2^20, 2^21 and 2^22. */
  assert_int_equal(fast.evaluated, 48001 + 3 * 476288);
  assert_int_equal(bf_align_search(hash, &square_976, 0, 5000000, false, &full, NULL), BF_OK);
  check_976(&full);
  assert_int_equal(full.evaluated, full.bases);
  assert_true(bf_align_same(&fast, &full));
  full.optimal[1].to++;
  assert_false(bf_align_same(&fast, &full));
  assert_int_equal(naive_conflicts(hash, &square_976, 3539056), 11952);
  assert_true(naive_conflicts(hash, &square_976, 3539055) > 11952);
  assert_int_equal(naive_conflicts(hash, &square_976, 3539296), 11952);
  assert_true(naive_conflicts(hash, &square_976, 3539297) > 11952);
  bf_alignment_clear(&fast);
  bf_alignment_clear(&full);
  bf_hash_free(hash);
}

/* A range in the middle evaluates only what it needs, and sees only its own optimum. */
static void test_976_part(void **state) {
  (void)state;
  bf_hash *hash = parse("xor:0,13,8191", 13, 26);
  bf_alignment alignment = align(hash, square_976, 3896800, 3897999);
  assert_int_equal(alignment.optimal_count, 1);
  assert_int_equal(alignment.optimal[0].from, 3896800);
  assert_int_equal(alignment.optimal[0].to, 3896976);
  assert_int_equal(alignment.conflicts, 11952);
  assert_int_equal(alignment.evaluated, 1200);
  bf_alignment_clear(&alignment);
  bf_hash_free(hash);
}

/* stride 3, 4 words: extent 9, centres (2^K - 10) / 2; stride 2, 4 words: extent 6, centres
 * (2^K - 7) / 2 between two bases. */
static void test_symmetry_points(void **state) {
  (void)state;
  bf_hash *hash = parse("fixed", 3, 8);
  bf_alignment whole = align(hash, (bf_align_pattern){3, 4, 0, 1, false}, 0, 300);
  static const double whole_points[] = {3, 11, 27, 59, 123, 251};
  assert_int_equal(whole.symmetry_count, 6);
  for (int i = 0; i < 6; i++)
    assert_true(whole.symmetry_points[i] == whole_points[i]);
  bf_alignment half = align(hash, (bf_align_pattern){2, 4, 0, 1, false}, 4, 61);
  static const double half_points[] = {4.5, 12.5, 28.5, 60.5};
  assert_int_equal(half.symmetry_count, 4);
  for (int i = 0; i < 4; i++)
    assert_true(half.symmetry_points[i] == half_points[i]);
  bf_alignment_clear(&whole);
  bf_alignment_clear(&half);
  bf_hash_free(hash);
}

/* The centre that the paper's formula gives for a single strided pattern, doubled: 2^k +
 * ceil(S / 2) - ceil(W S / 2), plus a half where S is even. */
static uint64_t printed_centre_doubled(uint64_t power, uint64_t stride, uint64_t count) {
  uint64_t centre = power + (stride + 1) / 2 - (count * stride + 1) / 2;
  return 2 * centre + (stride % 2 == 0);
}

/* True if conflicts at base and twice - base agree for all small bases. */
static bool mirrors(const bf_hash *hash, const bf_align_pattern *pattern, uint64_t twice) {
  for (uint64_t base = 0; base <= twice; base++)
    if (naive_conflicts(hash, pattern, base) != naive_conflicts(hash, pattern, twice - base))
      return false;
  return true;
}

/* Counting shows that the printed formula is off: by one, or by a half for odd S and W. */
static void test_printed_formula_is_off(void **state) {
  (void)state;
  static const struct {
    uint64_t stride, count, excess_doubled;
  } cases[] = {{2, 4, 2}, {2, 5, 2}, {3, 4, 2}, {3, 5, 1}, {7, 9, 1}, {6, 6, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_align_pattern pattern = {cases[i].stride, cases[i].count, 1, 1, false};
    uint64_t printed = printed_centre_doubled(64, pattern.stride, pattern.count);
    unsigned printed_fails = 0;
    for (int j = 0; j < 50; j++) {
      bf_hash *hash = random_linear_hash();
      assert_true(mirrors(hash, &pattern, printed - cases[i].excess_doubled));
      printed_fails += !mirrors(hash, &pattern, printed);
      bf_hash_free(hash);
    }
    assert_true(printed_fails > 0);
  }
}

static void test_no_symmetry_points_without_xor(void **state) {
  (void)state;
  bf_hash *hash = parse("add", 3, 8);
  bf_alignment alignment = align(hash, (bf_align_pattern){3, 4, 0, 1, false}, 0, 300);
  assert_int_equal(alignment.symmetry_count, 0);
  assert_int_equal(alignment.evaluated, alignment.bases);
  bf_alignment_clear(&alignment);
  bf_hash_free(hash);
}

/* Past the end of the allocation addresses wrap, so a long range costs no more than one period. */
static void test_wrap(void **state) {
  (void)state;
  bf_hash *hash = parse("xor:0,3,7", 3, 6);
  const bf_align_pattern patterns[] = {{5, 4, 0, 1, false}, {7, 30, 3, 4, true}};
  for (int i = 0; i < 2; i++) {
    bf_alignment alignment = align(hash, patterns[i], 10, 9999);
    assert_true(alignment.evaluated <= 34);
    assert_agrees(hash, &patterns[i], 10, 9999, &alignment);
    bf_alignment_clear(&alignment);
  }
  bf_hash_free(hash);
}

/* Far more bases than could be evaluated one by one. The hash ignores address bits from 26 on, so
 * that every optimum comes back every 2^26 words. */
static void test_huge_range(void **state) {
  (void)state;
  bf_hash *hash = parse("xor:0,13,8191", 13, 40);
  uint64_t from = (uint64_t)1 << 39, period = (uint64_t)1 << 26;
  bf_alignment one = align(hash, square_976, from, from + period - 1);
  bf_alignment many = align(hash, square_976, from, from + 100 * period - 1);
  assert_true(many.bases / many.evaluated > 1000);
  assert_int_equal(many.conflicts, one.conflicts);
  assert_int_equal(many.worst, one.worst);
  assert_int_equal(many.optimal_count, 100 * one.optimal_count);
  for (size_t i = 0; i < many.optimal_count; i++) {
    uint64_t copy = i / one.optimal_count * period;
    assert_int_equal(many.optimal[i].from, one.optimal[i % one.optimal_count].from + copy);
    assert_int_equal(many.optimal[i].to, one.optimal[i % one.optimal_count].to + copy);
  }
  bf_alignment_clear(&one);
  bf_alignment_clear(&many);
  bf_hash_free(hash);
}

static void test_too_many_answers(void **state) {
  (void)state;
  bf_hash *hash = parse("fixed", 2, 4);
  bf_align_pattern pattern = {3, 3, 0, 1, false};
  bf_alignment alignment;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_align(hash, &pattern, 0, (uint64_t)1 << 31, &alignment, &diagnostic),
                   BF_UNSUPPORTED);
  assert_non_null(strstr(diagnostic.message, "ranges of optimal bases"));
  assert_int_equal(bf_align(hash, &pattern, 0, (uint64_t)1 << 50, &alignment, &diagnostic),
                   BF_UNSUPPORTED);
  assert_non_null(strstr(diagnostic.message, "copies of the same bases"));
  assert_null(alignment.optimal);
  bf_hash_free(hash);
}

/* A large stride with few bases must not walk all classes. */
static void test_large_stride(void **state) {
  (void)state;
  bf_hash *hash = parse("fixed", 5, 40);
  const bf_align_pattern patterns[] = {{(uint64_t)1 << 38, 3, 0, 1, false},
                                       {1, 4, (uint64_t)1 << 30, 40, true}};
  for (int i = 0; i < 2; i++) {
    bf_alignment alignment = align(hash, patterns[i], 12345, 12999);
    assert_agrees(hash, &patterns[i], 12345, 12999, &alignment);
    bf_alignment_clear(&alignment);
  }
  bf_hash_free(hash);
}

static void test_one_word(void **state) {
  (void)state;
  bf_hash *hash = parse("none", 5, 20);
  bf_alignment alignment = align(hash, (bf_align_pattern){1, 1, 1, 1, true}, 3, (uint64_t)1 << 61);
  assert_int_equal(alignment.conflicts, 0);
  assert_int_equal(alignment.worst, 0);
  assert_int_equal(alignment.evaluated, 1);
  assert_int_equal(alignment.optimal_count, 1);
  assert_int_equal(alignment.optimal[0].from, 3);
  assert_int_equal(alignment.optimal[0].to, (uint64_t)1 << 61);
  bf_alignment_clear(&alignment);
  bf_hash_free(hash);
}

/* ---- Bad input ---- */

static void test_bad_input(void **state) {
  (void)state;
  static const struct {
    bf_align_pattern pattern;
    uint64_t from, to;
    int error;
    const char *message;
  } cases[] = {
      {{1, 0, 1, 1, false}, 0, 9, BF_BAD_INPUT, "no words"},
      {{1, 1, 1, 0, false}, 0, 9, BF_BAD_INPUT, "no words"},
      {{0, 4, 1, 1, false}, 0, 9, BF_BAD_INPUT, "stride must be at least 1"},
      {{1, 4, 0, 2, false}, 0, 9, BF_BAD_INPUT, "distance must be at least 1"},
      {{1, 4, 1, 1, false}, 9, 8, BF_BAD_INPUT, "range is empty: 9 is greater than 8"},
      {{1, 4, 1, 1, false}, 0, UINT64_MAX, BF_UNSUPPORTED, "must stay below 2^62"},
      {{UINT64_MAX, 4, 1, 1, false}, 0, 9, BF_UNSUPPORTED, "must stay below 2^62"},
      {{1, UINT64_MAX, 1, 1, false}, 0, 9, BF_UNSUPPORTED, "must stay below 2^62"},
      {{1, 4, UINT64_MAX, UINT64_MAX, false}, 0, 9, BF_UNSUPPORTED, "must stay below 2^62"},
      {{1, (uint64_t)1 << 33, 1, 1, false}, 0, 9, BF_UNSUPPORTED, "the pattern has more than"},
      {{1, (uint64_t)1 << 30, 1, 1, false},
       0,
       9,
       BF_UNSUPPORTED,
       "a strided pattern has more than"},
      {{1, 4, 1, (uint64_t)1 << 20, false}, 0, 0, BF_OK, NULL},
      {{(uint64_t)1 << 20, (uint64_t)1 << 20, 0, 1, false},
       0,
       1 << 24,
       BF_UNSUPPORTED,
       "words to look at"},
  };
  bf_hash *hash = parse("fixed", 5, 40);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_alignment alignment;
    bf_diagnostic diagnostic;
    bf_align_pattern pattern = cases[i].pattern;
    assert_int_equal(bf_align(hash, &pattern, cases[i].from, cases[i].to, &alignment, &diagnostic),
                     cases[i].error);
    if (cases[i].message)
      assert_non_null(strstr(diagnostic.message, cases[i].message));
    bf_alignment_clear(&alignment);
    assert_int_equal(bf_align(hash, &pattern, cases[i].from, cases[i].to, &alignment, NULL),
                     cases[i].error);
    bf_alignment_clear(&alignment);
  }
  bf_hash_free(hash);
}

static void test_too_much_without_symmetry(void **state) {
  (void)state;
  bf_hash *hash = parse("mod:31", 5, 40);
  bf_align_pattern pattern = {3, 32, 0, 1, false};
  bf_alignment alignment;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_align(hash, &pattern, 0, (uint64_t)1 << 40, &alignment, &diagnostic),
                   BF_UNSUPPORTED);
  assert_non_null(strstr(diagnostic.message, "bases to evaluate"));
  assert_null(alignment.optimal);
  bf_hash_free(hash);
}

static void test_parse_matrix(void **state) {
  (void)state;
  bf_align_pattern pattern;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_align_parse_matrix("3x5", &pattern, &diagnostic), BF_OK);
  assert_int_equal(pattern.stride, 5);
  assert_int_equal(pattern.count, 3);
  assert_int_equal(pattern.distance, 1);
  assert_int_equal(pattern.patterns, 5);
  assert_true(pattern.also_transposed);
  static const struct {
    const char *text;
    uint32_t column;
  } bad[] = {{"", 1},         {"x", 1},    {"976", 4}, {"976x", 5},
             {"976x976x", 8}, {"0x5", 1},  {"5x0", 3}, {"-3x4", 1},
             {"3 x4", 2},     {"3x 4", 3}, {"3X4", 2}, {"99999999999999999999x3", 1}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(bf_align_parse_matrix(bad[i].text, &pattern, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.file, "matrix");
    assert_int_equal(diagnostic.column, bad[i].column);
  }
}

static void test_parse_range(void **state) {
  (void)state;
  uint64_t from, to;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_align_parse_range("0x10:5000000", &from, &to, &diagnostic), BF_OK);
  assert_int_equal(from, 16);
  assert_int_equal(to, 5000000);
  assert_int_equal(bf_align_parse_range("7:7", &from, &to, &diagnostic), BF_OK);
  static const struct {
    const char *text;
    uint32_t column;
  } bad[] = {{"", 1},    {"5", 2},     {"5:", 3},  {":5", 1},
             {"5:4", 3}, {"1:2:3", 4}, {"1-2", 2}, {"1:99999999999999999999", 3}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(bf_align_parse_range(bad[i].text, &from, &to, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.file, "range");
    assert_int_equal(diagnostic.column, bad[i].column);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_linear),
      cmocka_unit_test(test_random_without_symmetry),
      cmocka_unit_test(test_random_arithmetic_hashes),
      cmocka_unit_test(test_976),
      cmocka_unit_test(test_976_part),
      cmocka_unit_test(test_symmetry_points),
      cmocka_unit_test(test_printed_formula_is_off),
      cmocka_unit_test(test_no_symmetry_points_without_xor),
      cmocka_unit_test(test_wrap),
      cmocka_unit_test(test_huge_range),
      cmocka_unit_test(test_too_many_answers),
      cmocka_unit_test(test_large_stride),
      cmocka_unit_test(test_one_word),
      cmocka_unit_test(test_bad_input),
      cmocka_unit_test(test_too_much_without_symmetry),
      cmocka_unit_test(test_parse_matrix),
      cmocka_unit_test(test_parse_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

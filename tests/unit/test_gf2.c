/* Room gf2 against a naive reference that works on one bit at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "gf2/gf2.h"
#include "random.h"

/* ---- The reference ---- */

static bool bit(uint64_t x, unsigned i) { return x >> i & 1; }

static unsigned naive_parity(uint64_t x) {
  unsigned ones = 0;
  for (unsigned i = 0; i < 64; i++)
    ones += bit(x, i);
  return ones % 2;
}

static uint64_t naive_apply(const bf_gf2_matrix *matrix, uint64_t x) {
  uint64_t result = 0;
  for (unsigned i = 0; i < matrix->rows; i++) {
    bool sum = false;
    for (unsigned j = 0; j < matrix->columns; j++)
      sum ^= bit(matrix->row[i], j) && bit(x, j);
    result |= (uint64_t)sum << i;
  }
  return result;
}

/* Rank by elimination column by column, on a copy. */
static unsigned naive_rank(const uint64_t *vectors, unsigned count) {
  uint64_t left[128];
  unsigned rank = 0;
  memcpy(left, vectors, count * sizeof *left);
  for (unsigned column = 0; column < 64; column++)
    for (unsigned i = rank; i < count; i++)
      if (bit(left[i], column)) {
        uint64_t pivot = left[i];
        left[i] = left[rank];
        left[rank++] = pivot;
        for (unsigned k = rank; k < count; k++)
          if (bit(left[k], column))
            left[k] ^= pivot;
        break;
      }
  return rank;
}

/* Whether some sum of the vectors is x, by trying all sums. */
static bool naive_spans(const uint64_t *vectors, unsigned count, uint64_t x) {
  for (uint64_t choice = 0; choice < (uint64_t)1 << count; choice++) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
      sum ^= bit(choice, i) ? vectors[i] : 0;
    if (sum == x)
      return true;
  }
  return false;
}

/* ---- Random input ---- */

static bf_gf2_matrix random_matrix(test_random *random, unsigned rows, unsigned columns) {
  bf_gf2_matrix matrix = {.rows = rows, .columns = columns};
  for (unsigned i = 0; i < rows; i++)
    matrix.row[i] = random_bits(random) & bf_gf2_low_bits(columns);
  return matrix;
}

static bf_gf2_matrix random_invertible(test_random *random, unsigned size) {
  bf_gf2_matrix matrix;
  do
    matrix = random_matrix(random, size, size);
  while (naive_rank(matrix.row, size) < size);
  return matrix;
}

/* ---- Tests ---- */

static void parity_and_low_bits(void **state) {
  (void)state;
  test_random random = {1};
  for (int i = 0; i < 10000; i++) {
    uint64_t x = random_bits(&random);
    assert_int_equal(bf_gf2_parity(x), naive_parity(x));
  }
  assert_true(bf_gf2_low_bits(0) == 0);
  assert_true(bf_gf2_low_bits(1) == 1);
  assert_true(bf_gf2_low_bits(63) == UINT64_MAX >> 1);
  assert_true(bf_gf2_low_bits(64) == UINT64_MAX);
}

static void basis_spans_what_was_inserted(void **state) {
  (void)state;
  test_random random = {2};
  for (int round = 0; round < 400; round++) {
    unsigned count = 1 + (unsigned)random_below(&random, 7);
    uint64_t vectors[7];
    bf_gf2_basis basis = {0};
    for (unsigned i = 0; i < count; i++) {
      vectors[i] = random_bits(&random) & (uint64_t)0x81 << round % 50;
      vectors[i] ^= random_below(&random, 16) << round % 50;
      bool is_new = !naive_spans(vectors, i, vectors[i]);
      assert_int_equal(bf_gf2_insert(&basis, vectors[i]), is_new);
    }
    assert_int_equal(basis.dimension, naive_rank(vectors, count));
    for (int probe = 0; probe < 20; probe++) {
      uint64_t x = probe % 2 ? random_bits(&random) : vectors[random_below(&random, count)];
      x ^= vectors[random_below(&random, count)];
      assert_int_equal(bf_gf2_reduce(&basis, x) == 0, naive_spans(vectors, count, x));
    }
  }
}

static void reduced_basis_is_reduced(void **state) {
  (void)state;
  test_random random = {3};
  for (int round = 0; round < 500; round++) {
    bf_gf2_basis basis = {0}, before;
    for (unsigned i = 0; i < random_below(&random, 40); i++)
      bf_gf2_insert(&basis, random_bits(&random));
    before = basis;
    bf_gf2_make_reduced(&basis);
    assert_int_equal(basis.dimension, before.dimension);
    for (unsigned p = 0; p < 64; p++) {
      assert_int_equal(bf_gf2_reduce(&before, basis.vector[p]), 0);
      assert_int_equal(bf_gf2_reduce(&basis, before.vector[p]), 0);
      for (unsigned q = 0; q < 64; q++)
        if (q != p && basis.vector[q])
          assert_false(bit(basis.vector[p], q));
    }
  }
}

static void rank_equals_reference(void **state) {
  (void)state;
  test_random random = {4};
  for (int round = 0; round < 2000; round++) {
    unsigned rows = (unsigned)random_below(&random, 65), columns = 1 + round % 64;
    bf_gf2_matrix matrix = random_matrix(&random, rows, columns);
    for (unsigned i = 2; i < rows; i += 3) /* some dependent rows */
      matrix.row[i] = matrix.row[i - 1] ^ matrix.row[i - 2];
    assert_int_equal(bf_gf2_rank(matrix.row, rows), naive_rank(matrix.row, rows));
  }
}

static void apply_and_multiply(void **state) {
  (void)state;
  test_random random = {5};
  for (int round = 0; round < 1000; round++) {
    unsigned inner = 1 + (unsigned)random_below(&random, 64);
    bf_gf2_matrix a = random_matrix(&random, 1 + round % 64, inner);
    bf_gf2_matrix b = random_matrix(&random, inner, 1 + (round * 7) % 64);
    bf_gf2_matrix product = bf_gf2_multiply(&a, &b);
    uint64_t x = random_bits(&random) & bf_gf2_low_bits(b.columns);
    assert_true(bf_gf2_apply(&a, x) == naive_apply(&a, x));
    assert_true(bf_gf2_apply(&product, x) == naive_apply(&a, naive_apply(&b, x)));
    assert_int_equal(product.rows, a.rows);
    assert_int_equal(product.columns, b.columns);
  }
}

static void inverse_undoes(void **state) {
  (void)state;
  test_random random = {6};
  for (unsigned size = 0; size <= 64; size++)
    for (int round = 0; round < 8; round++) {
      bf_gf2_matrix matrix = random_invertible(&random, size), inverse;
      assert_true(bf_gf2_invert(&matrix, &inverse));
      bf_gf2_matrix product = bf_gf2_multiply(&matrix, &inverse), one = bf_gf2_identity(size);
      assert_memory_equal(product.row, one.row, sizeof one.row);
      if (size < 2)
        continue;
      matrix.row[size - 1] = matrix.row[0];
      assert_false(bf_gf2_invert(&matrix, &inverse));
    }
  bf_gf2_matrix wide = {.rows = 2, .columns = 3, .row = {1, 2}}, inverse;
  assert_false(bf_gf2_invert(&wide, &inverse));
}

/* Given rows first, then single coordinates, each in its own row unless it lies below the rows. */
static void assert_completes(const bf_gf2_matrix *matrix) {
  bf_gf2_matrix completed;
  assert_true(bf_gf2_complete(matrix, &completed));
  assert_int_equal(completed.rows, matrix->columns);
  assert_int_equal(naive_rank(completed.row, completed.rows), matrix->columns);
  assert_memory_equal(completed.row, matrix->row, matrix->rows * sizeof *matrix->row);
  for (unsigned i = matrix->rows; i < matrix->columns; i++) {
    uint64_t row = completed.row[i];
    assert_true(row && (row & (row - 1)) == 0);
    assert_true(row == (uint64_t)1 << i || row < (uint64_t)1 << matrix->rows);
  }
}

static void completion_is_invertible(void **state) {
  (void)state;
  test_random random = {7};
  for (unsigned columns = 0; columns <= 64; columns++)
    for (unsigned rows = 0; rows <= columns; rows++) {
      bf_gf2_matrix matrix = random_invertible(&random, columns);
      matrix.rows = rows;
      assert_completes(&matrix);
      if (rows < 2)
        continue;
      bf_gf2_matrix completed;
      matrix.row[rows - 1] = matrix.row[0];
      assert_false(bf_gf2_complete(&matrix, &completed));
    }
}

/* Where the first columns are invertible, every further row stays where it is. */
static void completion_keeps_rows(void **state) {
  (void)state;
  test_random random = {8};
  for (int round = 0; round < 500; round++) {
    unsigned rows = 1 + (unsigned)random_below(&random, 8), columns = rows + 1 + round % 8;
    bf_gf2_matrix matrix = random_invertible(&random, rows), completed;
    matrix.columns = columns;
    for (unsigned i = 0; i < rows; i++)
      matrix.row[i] |= random_below(&random, 1u << (columns - rows)) << rows;
    assert_true(bf_gf2_complete(&matrix, &completed));
    for (unsigned i = rows; i < columns; i++)
      assert_true(completed.row[i] == (uint64_t)1 << i);
  }
}

static void scatter(void **state) {
  (void)state;
  test_random random = {9};
  for (int round = 0; round < 5000; round++) {
    uint64_t x = random_bits(&random), mask = random_bits(&random) & random_bits(&random);
    uint64_t gathered = 0;
    unsigned next = 0;
    for (unsigned i = 0; i < 64; i++)
      if (bit(mask, i))
        gathered |= (uint64_t)bit(x, i) << next++;
    assert_true(bf_gf2_scatter(gathered, mask) == (x & mask));
  }
  assert_true(bf_gf2_scatter(5, UINT64_MAX) == 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parity_and_low_bits),
      cmocka_unit_test(basis_spans_what_was_inserted),
      cmocka_unit_test(reduced_basis_is_reduced),
      cmocka_unit_test(rank_equals_reference),
      cmocka_unit_test(apply_and_multiply),
      cmocka_unit_test(inverse_undoes),
      cmocka_unit_test(completion_is_invertible),
      cmocka_unit_test(completion_keeps_rows),
      cmocka_unit_test(scatter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Products of matrices of any type. All sums are made in double precision and rounded once, so that
 * results differ from cuBLAS's in the last places. */
#include "blas.h"

#include <stdlib.h>

/* A matrix of doubles by columns, real and imaginary part apart. */
typedef struct packed {
  int64_t rows, columns;
  double *part[2]; /* the second NULL: real */
} packed;

static void release(packed *matrix) {
  free(matrix->part[0]);
  free(matrix->part[1]);
}

/* Room for a matrix, all 0; false where memory is exhausted. */
static bool reserve(int64_t rows, int64_t columns, bool is_complex, packed *matrix) {
  size_t count = (size_t)rows * (size_t)columns;
  *matrix = (packed){.rows = rows, .columns = columns};
  for (int i = 0; i < 1 + is_complex; i++) {
    matrix->part[i] = calloc(count ? count : 1, sizeof(double));
    if (!matrix->part[i])
      return false;
  }
  return true;
}

/* Fills a matrix with op(from). */
static void pack(packed *to, int op, int type, const void *from, int64_t lead) {
  for (int64_t column = 0; column < to->columns; column++)
    for (int64_t row = 0; row < to->rows; row++) {
      int64_t at = op == AS_IT_IS ? row + column * lead : column + row * lead;
      number value = stand_in_load(type, from, at);
      to->part[0][row + column * to->rows] = value.re;
      if (to->part[1])
        to->part[1][row + column * to->rows] = op == CONJUGATED ? -value.im : value.im;
    }
}

/* C += sign A B: four columns of C at a time, so that A is read a quarter as often. */
static void accumulate(double *restrict c, const double *restrict a, const double *restrict b,
                       int64_t m, int64_t n, int64_t k, double sign) {
  for (int64_t j = 0; j < n; j += 4) {
    int64_t more[4]; /* columns; the last ones may be the same one, with factor 0 */
    for (int64_t q = 0; q < 4; q++)
      more[q] = j + q < n ? j + q : -1;
    double *restrict c0 = c + j * m;
    for (int64_t l = 0; l < k; l++) {
      const double *restrict column = a + l * m;
      for (int64_t q = 0; q < 4; q++) {
        if (more[q] < 0)
          continue;
        double factor = sign * b[l + more[q] * k];
        double *restrict to = c0 + q * m;
        for (int64_t i = 0; i < m; i++)
          to[i] += column[i] * factor;
      }
    }
  }
}

/* The sums of a product of complex or real matrices. */
static void sum(packed *c, const packed *a, const packed *b) {
  int64_t m = c->rows, n = c->columns, k = a->columns;
  accumulate(c->part[0], a->part[0], b->part[0], m, n, k, 1);
  if (!c->part[1])
    return;
  if (a->part[1] && b->part[1])
    accumulate(c->part[0], a->part[1], b->part[1], m, n, k, -1);
  if (b->part[1])
    accumulate(c->part[1], a->part[0], b->part[1], m, n, k, 1);
  if (a->part[1])
    accumulate(c->part[1], a->part[1], b->part[0], m, n, k, 1);
}

/* Writes alpha sums + beta C; C is not read where beta is 0. */
static void finish(const blas_product *p, const packed *sums, void *c) {
  for (int64_t column = 0; column < p->n; column++)
    for (int64_t row = 0; row < p->m; row++) {
      int64_t at = row + column * p->lead_c;
      number value = {sums->part[0][row + column * p->m],
                      sums->part[1] ? sums->part[1][row + column * p->m] : 0};
      value = multiply(p->alpha, value);
      if (!is_zero(p->beta))
        value = add(value, multiply(p->beta, stand_in_load(p->type_c, c, at)));
      stand_in_store(p->type_c, c, at, value);
    }
}

/* One product; a cublasStatus_t. */
static int multiply_one(const blas_product *p, const void *a, const void *b, void *c) {
  packed left = {0}, right = {0}, sums = {0};
  bool is_complex = stand_in_is_complex(p->type_c);
  bool has_sums = !is_zero(p->alpha) && p->k > 0; /* else A and B are not read */
  int64_t inner = has_sums ? p->k : 0;
  int status = BLAS_NO_MEMORY;
  if (reserve(p->m, inner, stand_in_is_complex(p->type_a), &left) &&
      reserve(inner, p->n, stand_in_is_complex(p->type_b), &right) &&
      reserve(p->m, p->n, is_complex, &sums)) {
    if (has_sums) {
      pack(&left, p->op_a, p->type_a, a, p->lead_a);
      pack(&right, p->op_b, p->type_b, b, p->lead_b);
      sum(&sums, &left, &right);
    }
    finish(p, &sums, c);
    status = BLAS_OK;
  }
  release(&left);
  release(&right);
  release(&sums);
  return status;
}

/* Whether op, sizes and leading dimensions can be. */
static bool is_valid(const blas_product *p) {
  int64_t rows_a = p->op_a == AS_IT_IS ? p->m : p->k, rows_b = p->op_b == AS_IT_IS ? p->k : p->n;
  return p->op_a >= 0 && p->op_a <= 2 && p->op_b >= 0 && p->op_b <= 2 && p->m >= 0 && p->n >= 0 &&
         p->k >= 0 && p->batches >= 0 && p->lead_a >= (rows_a > 1 ? rows_a : 1) &&
         p->lead_b >= (rows_b > 1 ? rows_b : 1) && p->lead_c >= (p->m > 1 ? p->m : 1);
}

/* The matrix number i of a batch. */
static const void *item(const void *base, const void *const *table, int type, int64_t step,
                        int64_t i) {
  return table ? table[i] : (const char *)base + (int64_t)stand_in_bytes(type) * step * i;
}

int blas_multiply(const blas_context *handle, const blas_product *p) {
  if (!blas_is_handle(handle))
    return BLAS_NOT_INITIALISED;
  if (!stand_in_bytes(p->type_a) || !stand_in_bytes(p->type_b) || !stand_in_bytes(p->type_c))
    return stand_in_refuse("a product of matrices of such types", BLAS_NOT_SUPPORTED);
  if (!is_valid(p))
    return BLAS_BAD_VALUE;
  for (int64_t i = 0; i < p->batches && p->m && p->n; i++) {
    int status = multiply_one(
        p, item(p->a, p->table_a, p->type_a, p->step_a, i),
        item(p->b, p->table_b, p->type_b, p->step_b, i),
        (void *)(uintptr_t)item(p->c, (const void *const *)p->table_c, p->type_c, p->step_c, i));
    if (status != BLAS_OK)
      return status;
  }
  return BLAS_OK;
}

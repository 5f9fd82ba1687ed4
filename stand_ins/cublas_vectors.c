/* cuBLAS: vectors, sums of matrices and products of vectors that are matrices. Each function has a
 * form with int and, ending in _64, one with int64_t. Sums are made in double precision. */
#include "blas.h"

#include <math.h>

/* A vector of n numbers. */
typedef struct vector {
  int type;
  const void *base;
  int64_t n, step;
} vector;

/* Number i of a vector; with a step below 0 the first is the last. */
static int64_t place(const vector *v, int64_t i) {
  return v->step >= 0 ? i * v->step : (i - (v->n - 1)) * v->step;
}

static number get(const vector *v, int64_t i) {
  return stand_in_load(v->type, v->base, place(v, i));
}

static void put(const vector *v, int64_t i, number value) {
  stand_in_store(v->type, (void *)(uintptr_t)v->base, place(v, i), value);
}

/* Leaves the function where the handle is none. */
#define CHECK(handle)                                                                              \
  if (!blas_is_handle(handle))                                                                     \
  return BLAS_NOT_INITIALISED

/* ---- Vectors from vectors ---- */

#define AXPY(name, type, INT)                                                                      \
  API(name, blas_context *handle, INT n, const void *alpha, const void *x, INT step_x, void *y,    \
      INT step_y) {                                                                                \
    CHECK(handle);                                                                                 \
    number factor = stand_in_load(type, alpha, 0);                                                 \
    vector from = {type, x, n, step_x}, to = {type, y, n, step_y};                                 \
    for (int64_t i = 0; i < n && !is_zero(factor); i++)                                            \
      put(&to, i, add(multiply(factor, get(&from, i)), get(&to, i)));                              \
    return BLAS_OK;                                                                                \
  }

#define COPY(name, type, INT)                                                                      \
  API(name, blas_context *handle, INT n, const void *x, INT step_x, void *y, INT step_y) {         \
    CHECK(handle);                                                                                 \
    vector from = {type, x, n, step_x}, to = {type, y, n, step_y};                                 \
    for (int64_t i = 0; i < n; i++)                                                                \
      put(&to, i, get(&from, i));                                                                  \
    return BLAS_OK;                                                                                \
  }

#define SWAP(name, type, INT)                                                                      \
  API(name, blas_context *handle, INT n, void *x, INT step_x, void *y, INT step_y) {               \
    CHECK(handle);                                                                                 \
    vector from = {type, x, n, step_x}, to = {type, y, n, step_y};                                 \
    for (int64_t i = 0; i < n; i++) {                                                              \
      number kept = get(&to, i);                                                                   \
      put(&to, i, get(&from, i));                                                                  \
      put(&from, i, kept);                                                                         \
    }                                                                                              \
    return BLAS_OK;                                                                                \
  }

#define SCAL(name, type, scalar, INT)                                                              \
  API(name, blas_context *handle, INT n, const void *alpha, void *x, INT step_x) {                 \
    CHECK(handle);                                                                                 \
    number factor = stand_in_load(scalar, alpha, 0);                                               \
    vector to = {type, x, n, step_x};                                                              \
    for (int64_t i = 0; i < n && step_x > 0; i++)                                                  \
      put(&to, i, multiply(factor, get(&to, i)));                                                  \
    return BLAS_OK;                                                                                \
  }

/* ---- Numbers from vectors ---- */

#define DOT(name, type, conjugates, INT)                                                           \
  API(name, blas_context *handle, INT n, const void *x, INT step_x, const void *y, INT step_y,     \
      void *result) {                                                                              \
    CHECK(handle);                                                                                 \
    number sum = {0, 0};                                                                           \
    vector left = {type, x, n, step_x}, right = {type, y, n, step_y};                              \
    for (int64_t i = 0; i < n; i++) {                                                              \
      number factor = get(&left, i);                                                               \
      sum = add(sum, multiply(conjugates ? conjugate(factor) : factor, get(&right, i)));           \
    }                                                                                              \
    stand_in_store(type, result, 0, sum);                                                          \
    return BLAS_OK;                                                                                \
  }

/* The root of the sum of squares, for sizes whose squares are out of range too. */
static double norm(const vector *v) {
  double largest = 0, sum = 0;
  for (int64_t i = 0; i < v->n && v->step > 0; i++) {
    number value = get(v, i);
    if (isnan(value.re) || isnan(value.im))
      return NAN;
    largest = fmax(largest, fmax(fabs(value.re), fabs(value.im)));
  }
  if (largest == 0 || isinf(largest))
    return largest;
  for (int64_t i = 0; i < v->n; i++) {
    number value = get(v, i);
    double re = value.re / largest, im = value.im / largest;
    sum += re * re + im * im;
  }
  return largest * sqrt(sum);
}

/* What BLAS takes for the size of a number: the sum of the sizes of its parts. */
static double size_of(number value) { return fabs(value.re) + fabs(value.im); }

static double sum_of_sizes(const vector *v) {
  double sum = 0;
  for (int64_t i = 0; i < v->n && v->step > 0; i++)
    sum += size_of(get(v, i));
  return sum;
}

/* The number, from 1, of the first largest or smallest; 0 where the vector is empty. */
static int64_t extreme(const vector *v, bool largest) {
  int64_t best = 0;
  double size = 0;
  for (int64_t i = 0; i < v->n && v->step > 0; i++) {
    double own = size_of(get(v, i));
    if (!best || (largest ? own > size : own < size)) {
      best = i + 1;
      size = own;
    }
  }
  return best;
}

#define REDUCE(name, type, real, function, INT)                                                    \
  API(name, blas_context *handle, INT n, const void *x, INT step_x, void *result) {                \
    CHECK(handle);                                                                                 \
    stand_in_store(real, result, 0, (number){function(&(vector){type, x, n, step_x}), 0});         \
    return BLAS_OK;                                                                                \
  }

#define EXTREME(name, type, largest, INT)                                                          \
  API(name, blas_context *handle, INT n, const void *x, INT step_x, INT *result) {                 \
    CHECK(handle);                                                                                 \
    *result = (INT)extreme(&(vector){type, x, n, step_x}, largest);                                \
    return BLAS_OK;                                                                                \
  }

/* ---- Matrices ---- */

#define GER(name, type, conjugates, INT)                                                           \
  API(name, blas_context *handle, INT m, INT n, const void *alpha, const void *x, INT step_x,      \
      const void *y, INT step_y, void *a, INT lead) {                                              \
    CHECK(handle);                                                                                 \
    if (m < 0 || n < 0 || lead < (m > 1 ? m : 1) || !step_x || !step_y)                            \
      return BLAS_BAD_VALUE;                                                                       \
    number factor = stand_in_load(type, alpha, 0);                                                 \
    vector left = {type, x, m, step_x}, right = {type, y, n, step_y};                              \
    for (int64_t column = 0; column < n; column++) {                                               \
      number value = get(&right, column);                                                          \
      value = multiply(factor, conjugates ? conjugate(value) : value);                             \
      vector to = {type, (char *)a + (int64_t)stand_in_bytes(type) * column * lead, m, 1};         \
      for (int64_t row = 0; row < m; row++)                                                        \
        put(&to, row, add(get(&to, row), multiply(get(&left, row), value)));                       \
    }                                                                                              \
    return BLAS_OK;                                                                                \
  }

/* op(A) at a row and column. */
static number at(int type, const void *matrix, int64_t lead, int op, int64_t row, int64_t column) {
  number value =
      stand_in_load(type, matrix, op == AS_IT_IS ? row + column * lead : column + row * lead);
  return op == CONJUGATED ? conjugate(value) : value;
}

#define GEAM(name, type, INT)                                                                      \
  API(name, blas_context *handle, int op_a, int op_b, INT m, INT n, const void *alpha,             \
      const void *a, INT lda, const void *beta, const void *b, INT ldb, void *c, INT ldc) {        \
    CHECK(handle);                                                                                 \
    if (m < 0 || n < 0 || ldc < (m > 1 ? m : 1))                                                   \
      return BLAS_BAD_VALUE;                                                                       \
    number left = stand_in_load(type, alpha, 0), right = stand_in_load(type, beta, 0);             \
    for (int64_t column = 0; column < n; column++)                                                 \
      for (int64_t row = 0; row < m; row++) {                                                      \
        number sum = {0, 0};                                                                       \
        if (!is_zero(left))                                                                        \
          sum = multiply(left, at(type, a, lda, op_a, row, column));                               \
        if (!is_zero(right))                                                                       \
          sum = add(sum, multiply(right, at(type, b, ldb, op_b, row, column)));                    \
        stand_in_store(type, c, row + column * ldc, sum);                                          \
      }                                                                                            \
    return BLAS_OK;                                                                                \
  }

/* ---- All types ---- */

#define OF_TYPE(S, s, type, real, real_S, END, INT)                                                \
  AXPY(cublas##S##axpy_v2##END, type, INT)                                                         \
  COPY(cublas##S##copy_v2##END, type, INT)                                                         \
  SWAP(cublas##S##swap_v2##END, type, INT)                                                         \
  SCAL(cublas##S##scal_v2##END, type, type, INT)                                                   \
  REDUCE(cublas##real_S##nrm2_v2##END, type, real, norm, INT)                                      \
  REDUCE(cublas##real_S##asum_v2##END, type, real, sum_of_sizes, INT)                              \
  EXTREME(cublasI##s##amax_v2##END, type, true, INT)                                               \
  EXTREME(cublasI##s##amin_v2##END, type, false, INT)                                              \
  GEAM(cublas##S##geam##END, type, INT)

#define OF_INDEX(END, INT)                                                                         \
  OF_TYPE(S, s, R_32F, R_32F, S, END, INT)                                                         \
  OF_TYPE(D, d, R_64F, R_64F, D, END, INT)                                                         \
  OF_TYPE(C, c, C_32F, R_32F, Sc, END, INT)                                                        \
  OF_TYPE(Z, z, C_64F, R_64F, Dz, END, INT)                                                        \
  SCAL(cublasCsscal_v2##END, C_32F, R_32F, INT)                                                    \
  SCAL(cublasZdscal_v2##END, C_64F, R_64F, INT)                                                    \
  DOT(cublasSdot_v2##END, R_32F, false, INT)                                                       \
  DOT(cublasDdot_v2##END, R_64F, false, INT)                                                       \
  DOT(cublasCdotu_v2##END, C_32F, false, INT)                                                      \
  DOT(cublasCdotc_v2##END, C_32F, true, INT)                                                       \
  DOT(cublasZdotu_v2##END, C_64F, false, INT)                                                      \
  DOT(cublasZdotc_v2##END, C_64F, true, INT)                                                       \
  GER(cublasSger_v2##END, R_32F, false, INT)                                                       \
  GER(cublasDger_v2##END, R_64F, false, INT)                                                       \
  GER(cublasCgeru_v2##END, C_32F, false, INT)                                                      \
  GER(cublasCgerc_v2##END, C_32F, true, INT)                                                       \
  GER(cublasZgeru_v2##END, C_64F, false, INT)                                                      \
  GER(cublasZgerc_v2##END, C_64F, true, INT)

OF_INDEX(, int)
OF_INDEX(_64, int64_t)

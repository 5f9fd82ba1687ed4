/* cuBLAS: products of matrices, and of matrices and vectors. Each function has a form with int and,
 * ending in _64, one with int64_t. */
#include "blas.h"

/* A product of one type; the arguments of all functions below have the names that this uses. */
#define PRODUCT(type)                                                                              \
  .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k, .type_a = type, .type_b = type,              \
  .type_c = type, .lead_a = lda, .lead_b = ldb, .lead_c = ldc

/* Scalars are read only where there is something to do: handles and pointers may be wrong. */
#define SCALARS(type) .alpha = stand_in_load(type, alpha, 0), .beta = stand_in_load(type, beta, 0)
#define CHECK_SCALARS(handle)                                                                      \
  if (!blas_is_handle(handle))                                                                     \
    return BLAS_NOT_INITIALISED;                                                                   \
  if (!alpha || !beta)                                                                             \
  return BLAS_BAD_VALUE

#define GEMM(name, type, INT)                                                                      \
  API(name, blas_context *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha,      \
      const void *a, INT lda, const void *b, INT ldb, const void *beta, void *c, INT ldc) {        \
    CHECK_SCALARS(handle);                                                                         \
    blas_product product = {PRODUCT(type), SCALARS(type), .a = a, .b = b, .c = c, .batches = 1};   \
    return blas_multiply(handle, &product);                                                        \
  }

#define STRIDED(name, type, INT)                                                                   \
  API(name, blas_context *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha,      \
      const void *a, INT lda, long long step_a, const void *b, INT ldb, long long step_b,          \
      const void *beta, void *c, INT ldc, long long step_c, INT count) {                           \
    CHECK_SCALARS(handle);                                                                         \
    blas_product product = {PRODUCT(type),    SCALARS(type),    .a = a,                            \
                            .b = b,           .c = c,           .step_a = step_a,                  \
                            .step_b = step_b, .step_c = step_c, .batches = count};                 \
    return blas_multiply(handle, &product);                                                        \
  }

#define BATCHED(name, type, INT)                                                                   \
  API(name, blas_context *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha,      \
      const void *const *a, INT lda, const void *const *b, INT ldb, const void *beta,              \
      void *const *c, INT ldc, INT count) {                                                        \
    CHECK_SCALARS(handle);                                                                         \
    blas_product product = {PRODUCT(type), SCALARS(type), .table_a = a,                            \
                            .table_b = b,  .table_c = c,  .batches = count};                       \
    return blas_multiply(handle, &product);                                                        \
  }

#define GEMV(name, type, INT)                                                                      \
  API(name, blas_context *handle, int op, INT m, INT n, const void *alpha, const void *a, INT lda, \
      const void *x, INT step_x, const void *beta, void *y, INT step_y) {                          \
    CHECK_SCALARS(handle);                                                                         \
    return matrix_vector(                                                                          \
        &(matrix_and_vector){op, m, n, SCALARS(type), type, a, lda, x, step_x, y, step_y});        \
  }

/* y = alpha op(A) x + beta y. */
typedef struct matrix_and_vector {
  int op;
  int64_t m, n;
  number alpha, beta;
  int type;
  const void *a;
  int64_t lead;
  const void *x;
  int64_t step_x;
  void *y;
  int64_t step_y;
} matrix_and_vector;

/* Where number i of a vector of n lies; with a step below 0 the first is the last. */
static int64_t place(int64_t i, int64_t n, int64_t step) {
  return step >= 0 ? i * step : (i - (n - 1)) * step;
}

static int matrix_vector(const matrix_and_vector *v) {
  if (v->op < 0 || v->op > 2 || v->m < 0 || v->n < 0 || v->lead < (v->m > 1 ? v->m : 1) ||
      !v->step_x || !v->step_y)
    return BLAS_BAD_VALUE;
  int64_t rows = v->op == AS_IT_IS ? v->m : v->n, columns = v->op == AS_IT_IS ? v->n : v->m;
  for (int64_t row = 0; row < rows; row++) {
    number sum = {0, 0};
    for (int64_t column = 0; column < columns && !is_zero(v->alpha); column++) {
      int64_t at = v->op == AS_IT_IS ? row + column * v->lead : column + row * v->lead;
      number factor = stand_in_load(v->type, v->a, at);
      if (v->op == CONJUGATED)
        factor = conjugate(factor);
      sum = add(sum,
                multiply(factor, stand_in_load(v->type, v->x, place(column, columns, v->step_x))));
    }
    int64_t at = place(row, rows, v->step_y);
    number value = multiply(v->alpha, sum);
    if (!is_zero(v->beta))
      value = add(value, multiply(v->beta, stand_in_load(v->type, v->y, at)));
    stand_in_store(v->type, v->y, at, value);
  }
  return BLAS_OK;
}

/* ---- One type for all ---- */

#define PRODUCTS(S, type)                                                                          \
  GEMM(cublas##S##gemm_v2, type, int)                                                              \
  GEMM(cublas##S##gemm_v2_64, type, int64_t)                                                       \
  GEMV(cublas##S##gemv_v2, type, int)                                                              \
  GEMV(cublas##S##gemv_v2_64, type, int64_t)                                                       \
  STRIDED(cublas##S##gemmStridedBatched, type, int)                                                \
  STRIDED(cublas##S##gemmStridedBatched_64, type, int64_t)                                         \
  BATCHED(cublas##S##gemmBatched, type, int)                                                       \
  BATCHED(cublas##S##gemmBatched_64, type, int64_t)

PRODUCTS(S, R_32F)
PRODUCTS(D, R_64F)
PRODUCTS(C, C_32F)
PRODUCTS(Z, C_64F)
GEMM(cublasHgemm, R_16F, int)
GEMM(cublasHgemm_64, R_16F, int64_t)
GEMM(cublasCgemm3m, C_32F, int)
GEMM(cublasZgemm3m, C_64F, int)
STRIDED(cublasHgemmStridedBatched, R_16F, int)
STRIDED(cublasHgemmStridedBatched_64, R_16F, int64_t)
BATCHED(cublasHgemmBatched, R_16F, int)
BATCHED(cublasHgemmBatched_64, R_16F, int64_t)

/* ---- Types by argument ---- */

/* The type of alpha and beta for a kind of arithmetic (cublasComputeType_t) and of result; -1 where
 * there is none here. */
static int scalar_type(int compute, int type_c) {
  bool is_complex = stand_in_is_complex(type_c);
  switch (compute) {
  case 64: /* 16 bits */
  case 65:
    return R_16F;
  case 68: /* 32 bits, also by way of shorter ones */
  case 69:
  case 74:
  case 75:
  case 77:
  case 78:
    return is_complex ? C_32F : R_32F;
  case 70: /* 64 bits */
  case 71:
    return is_complex ? C_64F : R_64F;
  case 72: /* whole numbers */
  case 73:
    return R_32I;
  default:
    return -1;
  }
}

#define GEMM_EX(name, INT)                                                                         \
  API(name, blas_context *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha,      \
      const void *a, int type_a, INT lda, const void *b, int type_b, INT ldb, const void *beta,    \
      void *c, int type_c, INT ldc, int compute, int algorithm) {                                  \
    (void)algorithm;                                                                               \
    CHECK_SCALARS(handle);                                                                         \
    int scalar = scalar_type(compute, type_c);                                                     \
    if (scalar < 0)                                                                                \
      return stand_in_refuse(#name " with this type of arithmetic", BLAS_NOT_SUPPORTED);           \
    blas_product product = {                                                                       \
        PRODUCT(type_a), SCALARS(scalar), .a = a, .b = b, .c = c, .batches = 1};                   \
    product.type_b = type_b;                                                                       \
    product.type_c = type_c;                                                                       \
    return blas_multiply(handle, &product);                                                        \
  }
GEMM_EX(cublasGemmEx, int)
GEMM_EX(cublasGemmEx_64, int64_t)

#define STRIDED_EX(name, INT)                                                                      \
  API(name, blas_context *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha,      \
      const void *a, int type_a, INT lda, long long step_a, const void *b, int type_b, INT ldb,    \
      long long step_b, const void *beta, void *c, int type_c, INT ldc, long long step_c,          \
      INT count, int compute, int algorithm) {                                                     \
    (void)algorithm;                                                                               \
    CHECK_SCALARS(handle);                                                                         \
    int scalar = scalar_type(compute, type_c);                                                     \
    if (scalar < 0)                                                                                \
      return stand_in_refuse(#name " with this type of arithmetic", BLAS_NOT_SUPPORTED);           \
    blas_product product = {PRODUCT(type_a),  SCALARS(scalar),  .a = a,                            \
                            .b = b,           .c = c,           .step_a = step_a,                  \
                            .step_b = step_b, .step_c = step_c, .batches = count};                 \
    product.type_b = type_b;                                                                       \
    product.type_c = type_c;                                                                       \
    return blas_multiply(handle, &product);                                                        \
  }
STRIDED_EX(cublasGemmStridedBatchedEx, int)
STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)

#define BATCHED_EX(name, INT)                                                                      \
  API(name, blas_context *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha,      \
      const void *const *a, int type_a, INT lda, const void *const *b, int type_b, INT ldb,        \
      const void *beta, void *const *c, int type_c, INT ldc, INT count, int compute,               \
      int algorithm) {                                                                             \
    (void)algorithm;                                                                               \
    CHECK_SCALARS(handle);                                                                         \
    int scalar = scalar_type(compute, type_c);                                                     \
    if (scalar < 0)                                                                                \
      return stand_in_refuse(#name " with this type of arithmetic", BLAS_NOT_SUPPORTED);           \
    blas_product product = {PRODUCT(type_a), SCALARS(scalar), .table_a = a,                        \
                            .table_b = b,    .table_c = c,    .batches = count};                   \
    product.type_b = type_b;                                                                       \
    product.type_c = type_c;                                                                       \
    return blas_multiply(handle, &product);                                                        \
  }
BATCHED_EX(cublasGemmBatchedEx, int)
BATCHED_EX(cublasGemmBatchedEx_64, int64_t)

/* Matrices of other types than the scalars. */
#define MIXED(name, scalar, INT)                                                                   \
  API(name, blas_context *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha,      \
      const void *a, int type_a, INT lda, const void *b, int type_b, INT ldb, const void *beta,    \
      void *c, int type_c, INT ldc) {                                                              \
    CHECK_SCALARS(handle);                                                                         \
    blas_product product = {                                                                       \
        PRODUCT(type_a), SCALARS(scalar), .a = a, .b = b, .c = c, .batches = 1};                   \
    product.type_b = type_b;                                                                       \
    product.type_c = type_c;                                                                       \
    return blas_multiply(handle, &product);                                                        \
  }
MIXED(cublasSgemmEx, R_32F, int)
MIXED(cublasSgemmEx_64, R_32F, int64_t)
MIXED(cublasCgemmEx, C_32F, int)
MIXED(cublasCgemmEx_64, C_32F, int64_t)

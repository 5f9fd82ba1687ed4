/* Inside stand_ins: cuBLAS. Matrices are stored by columns. */
#ifndef STAND_IN_BLAS_H
#define STAND_IN_BLAS_H

#include "stand_in.h"

/* cublasStatus_t */
enum {
  BLAS_OK = 0,
  BLAS_NOT_INITIALISED = 1,
  BLAS_NO_MEMORY = 3,
  BLAS_BAD_VALUE = 7,
  BLAS_NOT_SUPPORTED = 15,
};

/* cublasOperation_t */
enum { AS_IT_IS = 0, TRANSPOSED = 1, CONJUGATED = 2 };

/* What a handle points to. */
typedef struct blas_context {
  uint32_t magic;
  void *stream;
  int pointer_mode, math_mode, atomics_mode;
} blas_context;

bool blas_is_handle(const blas_context *handle);

/* C = alpha op(A) op(B) + beta C for `batches` products; matrices of a batch lie `step` numbers
 * apart, or each where its table says. */
typedef struct blas_product {
  int op_a, op_b;
  int64_t m, n, k;
  number alpha, beta;
  int type_a, type_b, type_c;
  const void *a, *b;
  void *c;
  int64_t lead_a, lead_b, lead_c;
  int64_t batches, step_a, step_b, step_c;
  const void *const *table_a, *const *table_b; /* or NULL */
  void *const *table_c;
} blas_product;

/* A cublasStatus_t. */
int blas_multiply(const blas_context *handle, const blas_product *product);

#endif

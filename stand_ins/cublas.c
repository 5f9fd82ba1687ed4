/* cuBLAS: handles and what they hold, copies of vectors and matrices, and the names of everything
 * that is not here. */
#include "blas.h"

#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0x62664c41, VERSION = 130000 };

bool blas_is_handle(const blas_context *handle) { return handle && handle->magic == MAGIC; }

/* ---- Handles ---- */

API(cublasCreate_v2, blas_context **handle) {
  blas_context *made = handle ? calloc(1, sizeof *made) : NULL;
  if (!made)
    return handle ? BLAS_NO_MEMORY : BLAS_BAD_VALUE;
  made->magic = MAGIC;
  *handle = made;
  return BLAS_OK;
}

API(cublasDestroy_v2, blas_context *handle) {
  if (!blas_is_handle(handle))
    return BLAS_NOT_INITIALISED;
  handle->magic = 0;
  free(handle);
  return BLAS_OK;
}

API(cublasGetVersion_v2, const blas_context *handle, int *version) {
  (void)handle;
  *version = VERSION;
  return BLAS_OK;
}

API(cublasGetProperty, int type, int *value) {
  *value = type == 0 ? VERSION / 10000 : 0;
  return BLAS_OK;
}

/* A member of the handle that is set and got. */
#define MEMBER(Set, Get, type, member)                                                             \
  API(Set, blas_context *handle, type value) {                                                     \
    if (!blas_is_handle(handle))                                                                   \
      return BLAS_NOT_INITIALISED;                                                                 \
    handle->member = value;                                                                        \
    return BLAS_OK;                                                                                \
  }                                                                                                \
  API(Get, const blas_context *handle, type *value) {                                              \
    if (!blas_is_handle(handle))                                                                   \
      return BLAS_NOT_INITIALISED;                                                                 \
    *value = handle->member;                                                                       \
    return BLAS_OK;                                                                                \
  }
MEMBER(cublasSetStream_v2, cublasGetStream_v2, void *, stream)
MEMBER(cublasSetPointerMode_v2, cublasGetPointerMode_v2, int, pointer_mode)
MEMBER(cublasSetMathMode, cublasGetMathMode, int, math_mode)
MEMBER(cublasSetAtomicsMode, cublasGetAtomicsMode, int, atomics_mode)

API(cublasSetWorkspace_v2, const blas_context *handle, void *workspace, size_t bytes) {
  (void)workspace, (void)bytes;
  return blas_is_handle(handle) ? BLAS_OK : BLAS_NOT_INITIALISED;
}

/* Texts for statuses, which are numbers of the interface. */
static const struct {
  int status;
  const char *name, *text;
} statuses[] = {
    {0, "CUBLAS_STATUS_SUCCESS", "success"},
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {7, "CUBLAS_STATUS_INVALID_VALUE", "an unsupported value or parameter was passed"},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality is not supported"},
};

const char *cublasGetStatusName(int status);
const char *cublasGetStatusName(int status) {
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
    if (statuses[i].status == status)
      return statuses[i].name;
  return "CUBLAS_STATUS_UNKNOWN";
}

const char *cublasGetStatusString(int status);
const char *cublasGetStatusString(int status) {
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
    if (statuses[i].status == status)
      return statuses[i].text;
  return "unknown error";
}

/* ---- Copies between host and device, which are the same ---- */

/* Copies count numbers, step apart; a cublasStatus_t. */
static int copy_vector(int64_t count, int64_t bytes, const char *from, int64_t step_from, char *to,
                       int64_t step_to) {
  if (count < 0 || bytes <= 0 || step_from <= 0 || step_to <= 0)
    return BLAS_BAD_VALUE;
  for (int64_t i = 0; i < count; i++)
    memcpy(to + i * step_to * bytes, from + i * step_from * bytes, (size_t)bytes);
  return BLAS_OK;
}

/* Copies a matrix; a cublasStatus_t. */
static int copy_matrix(int64_t rows, int64_t columns, int64_t bytes, const char *from,
                       int64_t lead_from, char *to, int64_t lead_to) {
  if (rows < 0 || columns < 0 || bytes <= 0 || lead_from < rows || lead_to < rows)
    return BLAS_BAD_VALUE;
  for (int64_t i = 0; i < columns; i++)
    memcpy(to + i * lead_to * bytes, from + i * lead_from * bytes, (size_t)(rows * bytes));
  return BLAS_OK;
}

#define VECTOR(name, INT, STREAM)                                                                  \
  API(name, INT n, INT bytes, const void *x, INT step_x, void *y, INT step_y STREAM) {             \
    return copy_vector(n, bytes, x, step_x, y, step_y);                                            \
  }
#define MATRIX(name, INT, STREAM)                                                                  \
  API(name, INT rows, INT columns, INT bytes, const void *a, INT lda, void *b, INT ldb STREAM) {   \
    return copy_matrix(rows, columns, bytes, a, lda, b, ldb);                                      \
  }
#define NONE
#define STREAM , __attribute__((unused)) void *stream
VECTOR(cublasSetVector, int, NONE)
VECTOR(cublasGetVector, int, NONE)
VECTOR(cublasSetVectorAsync, int, STREAM)
VECTOR(cublasGetVectorAsync, int, STREAM)
VECTOR(cublasSetVector_64, int64_t, NONE)
VECTOR(cublasGetVector_64, int64_t, NONE)
MATRIX(cublasSetMatrix, int, NONE)
MATRIX(cublasGetMatrix, int, NONE)
MATRIX(cublasSetMatrixAsync, int, STREAM)
MATRIX(cublasGetMatrixAsync, int, STREAM)
MATRIX(cublasSetMatrix_64, int64_t, NONE)
MATRIX(cublasGetMatrix_64, int64_t, NONE)

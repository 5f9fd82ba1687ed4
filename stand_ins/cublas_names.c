/* Every name that cuBLAS exports and no other file here defines. */
#include "blas.h"

#define X(name)                                                                                    \
  int name(void);                                                                                  \
  __attribute__((weak)) int name(void) { return stand_in_refuse(#name, BLAS_NOT_SUPPORTED); }
#include "cublas.def"

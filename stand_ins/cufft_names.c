/* Every name that cuFFT exports and no other file here defines. */
#include "stand_in.h"

enum { NOT_SUPPORTED = 16 }; /* CUFFT_NOT_SUPPORTED */

#define X(name)                                                                                    \
  int name(void);                                                                                  \
  __attribute__((weak)) int name(void) { return stand_in_refuse(#name, NOT_SUPPORTED); }
#include "cufft.def"

/* Every name that cuRAND exports and no other file here defines. */
#include "random.h"

#define X(name)                                                                                    \
  int name(void);                                                                                  \
  __attribute__((weak)) int name(void) { return stand_in_refuse(#name, TYPE_ERROR); }
#include "curand.def"

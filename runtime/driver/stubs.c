/* Every name that libcuda exports and no other file here defines: the definitions below are weak,
 * so that a real one takes their place. names.def is made by tools/driver_names.py. */
int rt_refuse(const char *name);

#define X(name)                                                                                    \
  int name(void);                                                                                  \
  __attribute__((weak)) int name(void) { return rt_refuse(#name); }
#include "names.def"

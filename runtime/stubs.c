/* Every name that libcudart exports and no other file here defines: the definitions below are weak,
 * so that a real one takes their place. names.def is made by tools/cudart_names.sh. */
int rt_refuse(const char *name);

#define X(name)                                                                                    \
  int name(void);                                                                                  \
  __attribute__((weak)) int name(void) { return rt_refuse(#name); }
#include "names.def"
#if CUDART_MAJOR < 13
#include "names_12.def"
#endif
#if CUDART_MAJOR == 11
#include "names_11.def"
#endif

/* For programs that hold a runtime themselves, whose calls are led here (lead/): one that only the
 * program's runtime has. */
int bankfoldRefuse(const char *name);
int bankfoldRefuse(const char *name) { return rt_refuse(name); }

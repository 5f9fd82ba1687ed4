/* Programs that compile while they run, with NVIDIA's library for that (NVRTC), ask it for machine
 * code or for PTX. Machine code cannot be emulated; where this library comes first, what is asked
 * for as machine code is PTX, which loads just as well. */
#include "driver.h"

#include <dlfcn.h>

/* What NVRTC returns where it fails in itself. */
enum { INTERNAL_ERROR = 11 };

API(nvrtcGetCUBINSize, void *program, size_t *bytes) {
  int (*ask)(void *, size_t *) =
      (int (*)(void *, size_t *))(uintptr_t)dlsym(RTLD_NEXT, "nvrtcGetPTXSize");
  return ask ? ask(program, bytes) : INTERNAL_ERROR;
}

API(nvrtcGetCUBIN, void *program, char *to) {
  int (*ask)(void *, char *) = (int (*)(void *, char *))(uintptr_t)dlsym(RTLD_NEXT, "nvrtcGetPTX");
  return ask ? ask(program, to) : INTERNAL_ERROR;
}

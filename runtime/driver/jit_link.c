/* Programs that link intermediate code while they run, with NVIDIA's library for that (nvJitLink,
 * option -lto), ask it for machine code. Where this library comes first, the linked code is PTX,
 * which loads just as well. Code that is linked without -lto is machine code. The functions of each
 * version of CUDA have names of their own. */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What nvJitLink returns where it fails in itself. */
enum { INTERNAL_ERROR = 6 };

typedef int make(void **handle, uint32_t count, const char *const *options);
typedef int ask_size(void *handle, size_t *bytes);
typedef int ask_code(void *handle, void *to);

/* The library's own function NAME of a version; NULL where there is none. */
static void *next(const char *name, const char *version) {
  char full[64];
  snprintf(full, sizeof full, "__nvJitLink%s_%s", name, version);
  return dlsym(RTLD_NEXT, full);
}

/* Begins a link; one of intermediate code is to end with PTX. */
static int begin(const char *version, void **handle, uint32_t count, const char *const *options) {
  make *create = (make *)(uintptr_t)next("Create", version);
  const char **all = calloc((size_t)count + 1, sizeof *all);
  uint32_t used = count;
  if (!create || !all) {
    free(all);
    return INTERNAL_ERROR;
  }
  for (uint32_t i = 0; i < count; i++) {
    all[i] = options[i];
    if (strcmp(options[i], "-lto") == 0)
      used = count + 1;
  }
  all[count] = "-ptx";
  int error = create(handle, used, all);
  free(all);
  return error;
}

/* How long the linked code is, as PTX where there is any. */
static int size(const char *version, void *handle, size_t *bytes, bool *is_ptx) {
  ask_size *ptx = (ask_size *)(uintptr_t)next("GetLinkedPtxSize", version);
  ask_size *code = (ask_size *)(uintptr_t)next("GetLinkedCubinSize", version);
  *is_ptx = ptx && ptx(handle, bytes) == 0 && *bytes > 0;
  return *is_ptx ? 0 : code ? code(handle, bytes) : INTERNAL_ERROR;
}

static int copy(const char *version, void *handle, void *to) {
  size_t bytes;
  bool is_ptx;
  int error = size(version, handle, &bytes, &is_ptx);
  ask_code *ask = (ask_code *)(uintptr_t)next(is_ptx ? "GetLinkedPtx" : "GetLinkedCubin", version);
  return error ? error : ask ? ask(handle, to) : INTERNAL_ERROR;
}

#define VERSION(v)                                                                                 \
  API(__nvJitLinkCreate_##v, void **handle, uint32_t count, const char *const *options) {          \
    return begin(#v, handle, count, options);                                                      \
  }                                                                                                \
  API(__nvJitLinkGetLinkedCubinSize_##v, void *handle, size_t *bytes) {                            \
    bool is_ptx;                                                                                   \
    return size(#v, handle, bytes, &is_ptx);                                                       \
  }                                                                                                \
  API(__nvJitLinkGetLinkedCubin_##v, void *handle, void *to) { return copy(#v, handle, to); }

VERSION(12_0)
VERSION(12_1)
VERSION(12_2)
VERSION(12_3)
VERSION(12_4)
VERSION(12_5)
VERSION(12_6)
VERSION(12_7)
VERSION(12_8)
VERSION(12_9)
VERSION(13_0)
VERSION(13_1)
VERSION(13_2)

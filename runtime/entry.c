/* Functions of the driver by their names. They are in the libcuda.so.1 beside this library, which
 * shares the context. */
#include "context.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* cuGetProcAddress of the driver's interface; NULL where there is none. */
typedef int get_proc(const char *name, void **function, int version, uint64_t flags, int *status);
static get_proc *find_get_proc(void) {
  Dl_info here;
  char path[PATH_MAX];
  if (!dladdr((void *)(uintptr_t)find_get_proc, &here) || !here.dli_fname)
    return NULL;
  const char *slash = strrchr(here.dli_fname, '/');
  int folder = slash ? (int)(slash - here.dli_fname) : 0;
  int written =
      snprintf(path, sizeof path, "%.*s%slibcuda.so.1", folder, here.dli_fname, slash ? "/" : "");
  void *driver = written < (int)sizeof path ? dlopen(path, RTLD_NOW) : NULL;
  return driver ? (get_proc *)(uintptr_t)dlsym(driver, "cuGetProcAddress_v2") : NULL;
}

/* The functions of the default stream, by flags. */
enum { PER_THREAD_STREAM = 2 };

/* The driver is asked without the lock, which it takes itself. */
API(cudaGetDriverEntryPointByVersion, const char *name, void **function, unsigned version,
    unsigned long long flags, int *status) {
  RT_ENTER_DEVICE(context);
  rt_leave(context, cudaSuccess);
  get_proc *get = find_get_proc();
  int error = get ? get(name, function, (int)version, flags, status) : cudaErrorInsufficientDriver;
  return rt_leave(rt_enter(), error);
}

API(cudaGetDriverEntryPointByVersion_ptsz, const char *name, void **function, unsigned version,
    unsigned long long flags, int *status) {
  return cudaGetDriverEntryPointByVersion(name, function, version,
                                          flags ? flags : PER_THREAD_STREAM, status);
}

API(cudaGetDriverEntryPoint, const char *name, void **function, unsigned long long flags,
    int *status) {
  return cudaGetDriverEntryPointByVersion(name, function, RT_VERSION, flags, status);
}

API(cudaGetDriverEntryPoint_ptsz, const char *name, void **function, unsigned long long flags,
    int *status) {
  return cudaGetDriverEntryPointByVersion_ptsz(name, function, RT_VERSION, flags, status);
}

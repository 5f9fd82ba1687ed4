/* How programs find the driver: by linking with libcuda.so.1, which finds the functions of driver.c
 * first; or by dlopen and dlsym, as the CUDA runtime does, which is caught here. */
#include "inject.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

typedef void *find_symbol(void *handle, const char *name);

/* libc's dlsym. It is asked for by version, by a function that is not replaced here: 2.34 or what
 * the processor's first version was. */
static find_symbol *real_dlsym(void) {
  static _Atomic(find_symbol *) found;
  static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
  find_symbol *real = atomic_load(&found);
  for (size_t i = 0; !real && i < sizeof versions / sizeof *versions; i++)
    real = (find_symbol *)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
  atomic_store(&found, real);
  return real;
}

/* Whether the function of that name at an address lies in the driver's library. Other libraries may
 * have functions of the same names, which call the driver's in the end. */
static bool is_of_driver(const char *name, const void *address) {
  Dl_info info;
  if (!address || !dladdr(address, &info) || !info.dli_fname)
    return false;
  const char *slash = strrchr(info.dli_fname, '/');
  bool is_driver = strncmp(slash ? slash + 1 : info.dli_fname, "libcuda.so", 10) == 0;
  if (!is_driver)
    inject_log("%s is that of %s, not the driver's, and is not replaced", name, info.dli_fname);
  return is_driver;
}

/* The library, which is loaded where anybody can ask for its functions. */
static void *driver_library(void) {
  static _Atomic(void *) found;
  void *library = atomic_load(&found);
  if (!library)
    library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!library)
    library = dlopen("libcuda.so.1", RTLD_LAZY);
  atomic_store(&found, library);
  return library;
}

void *inject_driver(const char *name) {
  find_symbol *real = real_dlsym();
  void *library = driver_library();
  return real && library ? real(library, name) : NULL;
}

/* What stands in the place of a function of the driver. Our own is found where a program asks for
 * the first of all libraries; it is good where there is a driver. */
static void *find_replaced(find_symbol *real, void *handle, const char *name) {
  void *address = real(handle, name);
  if (address && address == inject_replace(name, NULL))
    return inject_driver(name) ? address : NULL;
  return is_of_driver(name, address) ? inject_replace(name, address) : address;
}

/* libc's function looks at where it was called from when it is asked for the next library. So it
 * must not be called from here but jumped to, which compilers do with a call in a return. */
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name) {
  find_symbol *real = real_dlsym();
  if (!real)
    return NULL;
  if (handle == RTLD_NEXT || !inject_replaces(name))
    return real(handle, name);
  return find_replaced(real, handle, name);
}

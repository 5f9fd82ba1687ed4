/* NVIDIA's libcurand, whose generators for the CPU do what the stand-in does not have. It is looked
 * for by its path, because its name stands for the stand-in. */
#include "random.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "libcurand.so.10"

/* Opens the library in a folder, unless that is the stand-in itself. */
static void *open_in(const char *folder, size_t length) {
  char path[4096];
  if (length == 0 ||
      snprintf(path, sizeof path, "%.*s/" NAME, (int)length, folder) >= (int)sizeof path)
    return NULL;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library && dlsym(library, "curandGenerate") == dlsym(RTLD_DEFAULT, "curandGenerate")) {
    dlclose(library);
    return NULL;
  }
  return library;
}

/* The library in the folders of LD_LIBRARY_PATH, then where toolkits and Debian have it. */
static void *open_other(void) {
  static const char *const folders[] = {"/usr/local/cuda/lib64", "/usr/local/cuda/lib",
                                        "/usr/local/cuda/targets/x86_64-linux/lib",
                                        "/usr/lib/x86_64-linux-gnu", "/opt/cuda/lib64"};
  void *library = NULL;
  for (const char *at = getenv("LD_LIBRARY_PATH"); at && *at && !library;) {
    size_t length = strcspn(at, ":");
    library = open_in(at, length);
    at += length + (at[length] == ':');
  }
  for (size_t i = 0; i < sizeof folders / sizeof *folders && !library; i++)
    library = open_in(folders[i], strlen(folders[i]));
  return library;
}

other_call *other_function(const char *name) {
  static void *library;
  static bool is_tried;
  if (!is_tried)
    library = open_other();
  is_tried = true;
  return library ? (other_call *)(uintptr_t)dlsym(library, name) : NULL;
}

/* What loading fat binaries costs on the GPU of this machine, through the functions of the driver
 * that the injection library replaces:
 *
 *   loads NAME FILE.fatbin...
 *
 * Each file is loaded as a module, and then every kernel of it, which drivers put off otherwise.
 * Prints a line for each file, and one for all: NAME, file, bytes, kernels, microseconds until the
 * module is there, and until its kernels are. gpu/run.sh runs it with and without the library. */
#include "base/base.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 64 };

typedef struct driver {
  int (*init)(unsigned);
  int (*device_get)(int *, int);
  int (*retain)(void **, int);
  int (*set_current)(void *);
  int (*load)(void **, const void *);
  int (*unload)(void *);
  int (*function_count)(unsigned *, void *);
  int (*functions)(void **, unsigned, void *);
  int (*function_load)(void *);
} driver;

/* Finds a function of the driver; ends the program where there is none. */
static void find(void *library, const char *name, void *function) {
  *(void **)function = dlsym(library, name);
  if (!*(void **)function) {
    fprintf(stderr, "loads: the driver has no %s\n", name);
    exit(2);
  }
}

/* Opens the driver and makes a context. */
static bool start(driver *d) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
  int device;
  if (!library)
    return false;
  find(library, "cuInit", &d->init);
  find(library, "cuDeviceGet", &d->device_get);
  find(library, "cuDevicePrimaryCtxRetain", &d->retain);
  find(library, "cuCtxSetCurrent", &d->set_current);
  find(library, "cuModuleLoadData", &d->load);
  find(library, "cuModuleUnload", &d->unload);
  find(library, "cuModuleGetFunctionCount", &d->function_count);
  find(library, "cuModuleEnumerateFunctions", &d->functions);
  find(library, "cuFuncLoad", &d->function_load);
  return d->init(0) == 0 && d->device_get(&device, 0) == 0 && d->retain(&context, device) == 0 &&
         d->set_current(context) == 0;
}

typedef struct timing {
  size_t bytes;
  unsigned kernels;
  double module_us, kernels_us; /* since the start */
} timing;

/* Loads an image and all its kernels. */
static bool load(const driver *d, const void *image, timing *taken) {
  void *module, *function[MOST_KERNELS];
  double begin = bf_seconds();
  if (d->load(&module, image) != 0)
    return false;
  taken->module_us = (bf_seconds() - begin) * 1e6;
  bool good = d->function_count(&taken->kernels, module) == 0 && taken->kernels <= MOST_KERNELS &&
              d->functions(function, taken->kernels, module) == 0;
  for (unsigned i = 0; good && i < taken->kernels; i++)
    good = d->function_load(function[i]) == 0;
  taken->kernels_us = (bf_seconds() - begin) * 1e6;
  return d->unload(module) == 0 && good;
}

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  void *bytes = NULL;
  long length = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
  if (length > 0 && (bytes = malloc((size_t)length))) {
    rewind(file);
    *size = fread(bytes, 1, (size_t)length, file);
  }
  if (file)
    fclose(file);
  return bytes;
}

static int compare(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* Median and largest of sorted numbers. */
static void print_all(const char *name, double *module_us, double *kernels_us, int count) {
  qsort(module_us, (size_t)count, sizeof *module_us, compare);
  qsort(kernels_us, (size_t)count, sizeof *kernels_us, compare);
  printf("# %s: %d images; until the module is there, median %.0f us, slowest %.0f us; until its "
         "kernels are, median %.0f us, slowest %.0f us\n",
         name, count, module_us[count / 2], module_us[count - 1], kernels_us[count / 2],
         kernels_us[count - 1]);
}

int main(int argc, char **argv) {
  driver d;
  if (argc < 3)
    return fprintf(stderr, "usage: loads NAME FILE.fatbin...\n"), 2;
  if (!start(&d))
    return fprintf(stderr, "loads: no driver, or no GPU\n"), 77;
  double *module_us = calloc((size_t)argc, sizeof *module_us);
  double *kernels_us = calloc((size_t)argc, sizeof *kernels_us);
  if (!module_us || !kernels_us)
    return fprintf(stderr, "loads: out of memory\n"), 2;
  for (int i = 2; i < argc; i++) {
    timing taken = {0};
    void *image = read_file(argv[i], &taken.bytes);
    if (!image || !load(&d, image, &taken))
      return fprintf(stderr, "loads: cannot load %s\n", argv[i]), 2;
    printf("%s,%s,%zu,%u,%.1f,%.1f\n", argv[1],
           strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i], taken.bytes, taken.kernels,
           taken.module_us, taken.kernels_us);
    module_us[i - 2] = taken.module_us;
    kernels_us[i - 2] = taken.kernels_us;
    free(image);
  }
  print_all(argv[1], module_us, kernels_us, argc - 2);
  free(module_us);
  free(kernels_us);
  return 0;
}

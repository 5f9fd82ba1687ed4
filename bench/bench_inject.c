/* What the injection library costs a program, with a driver that does nothing (tests/inject): time
 * to load fat binaries with an empty and with a filled cache, and time of a launch, with the
 * library and without. Prints JSON lines.
 *
 *   bench_inject BUILD_FOLDER FILE.ptx...
 *   bench_inject --launch|--get|--function FILE.ptx KERNEL COUNT
 *
 * Each file becomes a fat binary packed with zstd, as nvcc makes them. The second form launches a
 * kernel so many times, or asks a library for it, or a kernel for its function, as CUDA runtimes
 * may do before each launch, and prints nothing: bench/inject_calls.py counts its instructions. */
#include "base/base.h"
#include "exchange/settings.h"
#include "inject/abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

enum { LAUNCHES = 1000000, REPEATS = 5, HEADERS_BYTES = 16 + 64, DYNAMIC_BYTES = 1000 };

/* Ends the program with a message. */
static void die(const char *what) {
  fprintf(stderr, "bench_inject: %s\n", what);
  exit(2);
}

/* ---- Fat binaries ---- */

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0)
    die(path);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = calloc(1, *size + 1);
  if (!bytes || fread(bytes, 1, *size, file) != *size)
    die(path);
  fclose(file);
  return bytes;
}

static void put(unsigned char *at, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++)
    at[i] = (unsigned char)(value >> (8 * i));
}

/* A fat binary with the PTX of a file for sm_90, packed with zstd; src/ptx/fatbin.c reads it. */
static unsigned char *make_fatbin(const char *path, size_t *size) {
  size_t text_bytes;
  char *text = read_file(path, &text_bytes);
  size_t most = ZSTD_compressBound(text_bytes + 1) + HEADERS_BYTES + 8;
  unsigned char *fatbin = calloc(1, most);
  if (!fatbin)
    die("out of memory");
  size_t packed =
      ZSTD_compress(fatbin + HEADERS_BYTES, most - HEADERS_BYTES, text, text_bytes + 1, 3);
  if (ZSTD_isError(packed))
    die("zstd fails");
  uint64_t padded = (packed + 7) / 8 * 8;
  unsigned char *image = fatbin + 16;
  put(fatbin, 0xBA55ED50u, 4);
  put(fatbin + 4, 1, 2);
  put(fatbin + 6, 16, 2);
  put(fatbin + 8, 64 + padded, 8);
  put(image, 1, 2);
  put(image + 2, 0x0101, 2);
  put(image + 4, 64, 4);
  put(image + 8, padded, 8);
  put(image + 16, packed, 4);
  put(image + 24, 0, 2);
  put(image + 26, 9, 2);
  put(image + 28, 90, 4);
  put(image + 40, 0x8011, 8);
  put(image + 56, text_bytes + 1, 8);
  free(text);
  *size = (size_t)(HEADERS_BYTES + padded);
  return fatbin;
}

/* ---- The program that is measured ---- */

static void *find(const char *name) {
  static void *library;
  if (!library)
    library = dlopen("libcuda.so.1", RTLD_NOW);
  void *found = library ? dlsym(library, name) : NULL;
  if (!found)
    die(name);
  return found;
}

/* Loads all files, and prints the time of all and of the slowest. */
static void measure_loads(const char *name, char **paths, int count) {
  int (*load)(void **, const void *);
  double all = 0, slowest = 0;
  size_t bytes = 0, slowest_bytes = 0;
  void *module;
  *(void **)&load = find("cuModuleLoadData");
  for (int i = 0; i < count; i++) {
    size_t size;
    unsigned char *fatbin = make_fatbin(paths[i], &size);
    double start = bf_seconds();
    if (load(&module, fatbin) != CUDA_SUCCESS)
      die("an image is refused");
    double taken = bf_seconds() - start;
    all += taken;
    bytes += size;
    if (taken > slowest) {
      slowest = taken;
      slowest_bytes = size;
    }
    free(fatbin);
  }
  printf("{\"bench\": \"inject\", \"load\": \"%s\", \"images\": %d, \"bytes\": %zu, "
         "\"milliseconds\": %.3f, \"slowest_bytes\": %zu, \"slowest_milliseconds\": %.3f}\n",
         name, count, bytes, all * 1e3, slowest_bytes, slowest * 1e3);
}

typedef int launch_kernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *, void **, void **);

/* Launches a kernel again and again, with a size of dynamic shared memory. */
static void measure_launches(const char *name, void *function, unsigned bytes) {
  launch_kernel *launch;
  double best = 1e9;
  void *stream = (void *)2;
  *(void **)&launch = find("cuLaunchKernel");
  for (unsigned round = 0; round < REPEATS; round++) {
    double start = bf_seconds();
    for (unsigned i = 0; i < LAUNCHES / REPEATS; i++)
      launch(function, 1, 2, 3, 4, 5, 6, bytes, stream, stream, NULL);
    double taken = (bf_seconds() - start) / (LAUNCHES / REPEATS);
    best = taken < best ? taken : best;
  }
  printf(
      "{\"bench\": \"inject\", \"launch\": \"%s\", \"shared_bytes\": %u, \"nanoseconds\": %.1f}\n",
      name, bytes, best * 1e9);
}

/* A kernel of a file of PTX. */
static void *load_kernel(const char *path, const char *kernel) {
  int (*load)(void **, const void *);
  int (*get)(void **, void *, const char *);
  size_t size;
  void *module, *function;
  *(void **)&load = find("cuModuleLoadData");
  *(void **)&get = find("cuModuleGetFunction");
  if (load(&module, read_file(path, &size)) != CUDA_SUCCESS ||
      get(&function, module, kernel) != CUDA_SUCCESS)
    die("no kernel");
  return function;
}

/* Launches a kernel with dynamic shared memory of the first file. */
static void measure_kernel(const char *name, const char *path) {
  void *function = load_kernel(path, "rotate");
  measure_launches(name, function, 0);
  measure_launches(name, function, DYNAMIC_BYTES);
}

static int launch_often(const char *path, const char *kernel, unsigned long count) {
  launch_kernel *launch;
  void *function = load_kernel(path, kernel), *stream = (void *)2;
  *(void **)&launch = find("cuLaunchKernel");
  for (unsigned long i = 0; i < count; i++)
    if (launch(function, 1, 2, 3, 4, 5, 6, 0, stream, stream, NULL) != CUDA_SUCCESS)
      die("a launch is refused");
  return 0;
}

/* Asks a library for a kernel, or for the function of that kernel, so many times. */
static int ask_often(bool for_function, const char *path, const char *name, unsigned long count) {
  int (*load)(void **, const void *, int *, void **, unsigned, int *, void **, unsigned);
  int (*get)(void **, void *, const char *);
  int (*get_function)(void **, void *);
  size_t size;
  void *library, *kernel, *function;
  *(void **)&load = find("cuLibraryLoadData");
  *(void **)&get = find("cuLibraryGetKernel");
  *(void **)&get_function = find("cuKernelGetFunction");
  if (load(&library, read_file(path, &size), NULL, NULL, 0, NULL, NULL, 0) != CUDA_SUCCESS ||
      get(&kernel, library, name) != CUDA_SUCCESS)
    die("no kernel");
  for (unsigned long i = 0; i < count; i++)
    if ((for_function ? get_function(&function, kernel) : get(&kernel, library, name)) !=
        CUDA_SUCCESS)
      die("a kernel is refused");
  return 0;
}

/* ---- The processes ---- */

/* Runs this program again as `part` with the library, or without. */
static void run(const char *part, const char *library, char **paths, int count) {
  char **arguments = calloc((size_t)count + 4, sizeof *arguments);
  if (!arguments)
    die("out of memory");
  static char self[] = "/proc/self/exe", measured[] = "--measured";
  arguments[0] = self;
  arguments[1] = measured;
  arguments[2] = (char *)part;
  memcpy(arguments + 3, paths, (size_t)count * sizeof *paths);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (library)
      setenv("LD_PRELOAD", library, 1);
    execv(self, arguments);
    _exit(2);
  }
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    die("a process fails");
  free(arguments);
}

static int measure(const char *part, char **paths, int count) {
  if (strcmp(part, "launches") == 0)
    measure_kernel(getenv("LD_PRELOAD") ? "with the library" : "without", paths[0]);
  else
    measure_loads(part, paths, count);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 3 && strcmp(argv[1], "--measured") == 0)
    return measure(argv[2], argv + 3, argc - 3);
  if (argc == 5 && strcmp(argv[1], "--launch") == 0)
    return launch_often(argv[2], argv[3], strtoul(argv[4], NULL, 10));
  if (argc == 5 && (strcmp(argv[1], "--get") == 0 || strcmp(argv[1], "--function") == 0))
    return ask_often(argv[1][2] == 'f', argv[2], argv[3], strtoul(argv[4], NULL, 10));
  if (argc < 3)
    die("usage: bench_inject BUILD_FOLDER FILE.ptx...");
  char library[4096], drivers[4096], cache[] = "/tmp/bench_inject.XXXXXX", remove[64];
  snprintf(library, sizeof library, "%s/inject/libbankfold-inject.so", argv[1]);
  snprintf(drivers, sizeof drivers, "%s/tests/inject", argv[1]);
  if (!mkdtemp(cache))
    die("no folder for the cache");
  setenv("LD_LIBRARY_PATH", drivers, 1);
  bf_rewriting_settings settings = {.hash = "cute:3,4,3", .cache = cache};
  if (bf_rewriting_settings_put(&settings, NULL) != BF_OK)
    die("the environment cannot be set");
  char rotate[] = "tests/data/ptx/tile.sm_90.ptx", *kernel[] = {rotate};
  run("without", NULL, argv + 2, argc - 2);
  run("empty cache", library, argv + 2, argc - 2);
  run("filled cache", library, argv + 2, argc - 2);
  run("launches", NULL, kernel, 1);
  run("launches", library, kernel, 1);
  snprintf(remove, sizeof remove, "rm -rf %s", cache);
  return system(remove) == 0 ? 0 : 2;
}

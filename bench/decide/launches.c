/* Loaded before a program that uses a shared CUDA runtime, for bench/decisions.py: kernels are not
 * run, and every launch is a line of the file DECIDE_LAUNCHES: kernel, grid, block, bytes of
 * dynamic shared memory, and the bytes of each parameter as hexadecimal digits. DECIDE_LAYOUT is a
 * file with a line for each kernel: its name, and the sizes of its parameters. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct size3 {
  unsigned x, y, z;
} size3;

enum { MOST_KERNELS = 4096 };
static struct {
  const void *stub; /* the function of the host that stands for it */
  const char *name;
} kernel[MOST_KERNELS];
static int kernels;

/* The sizes of a kernel's parameters, as text; NULL: they are not known. */
static const char *find_sizes(const char *name) {
  static char *layout;
  size_t room = 0, length = strlen(name);
  FILE *file = layout ? NULL : fopen(getenv("DECIDE_LAYOUT"), "r");
  if (file && getdelim(&layout, &room, 0, file) < 0)
    return NULL;
  if (file)
    fclose(file);
  for (const char *at = layout; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
    if (strncmp(at, name, length) == 0 && (at[length] == ' ' || at[length] == '\n'))
      return at + length;
  return NULL;
}

/* Writes a line for a launch. */
static int note(const void *stub, size3 grid, size3 block, void **parameter, size_t bytes) {
  static FILE *out;
  int found = kernels;
  while (found > 0 && kernel[found - 1].stub != stub)
    found--;
  const char *sizes = found ? find_sizes(kernel[found - 1].name) : NULL;
  if (!out)
    out = fopen(getenv("DECIDE_LAUNCHES"), "w");
  if (!sizes || !out)
    return 0;
  fprintf(out, "%s %u %u %u %u %u %u %zu", kernel[found - 1].name, grid.x, grid.y, grid.z, block.x,
          block.y, block.z, bytes);
  for (char *end; *sizes == ' '; sizes = end, parameter++) {
    long size = strtol(sizes, &end, 10);
    fputc(' ', out);
    for (long i = 0; i < size; i++)
      fprintf(out, "%02x", ((unsigned char *)*parameter)[i]);
  }
  fputc('\n', out);
  return fflush(out);
}

#define API(name, ...)                                                                             \
  int name(__VA_ARGS__);                                                                           \
  int name(__VA_ARGS__)
#define U __attribute__((unused))

void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *,
                            void *, void *, int *);
void __cudaRegisterFunction(void **image, const char *stub, char *own, const char *name, int limit,
                            void *thread, void *block, void *blocks, void *grid, int *warp) {
  __typeof__(&__cudaRegisterFunction) real;
  *(void **)&real = dlsym(RTLD_NEXT, "__cudaRegisterFunction");
  if (kernels < MOST_KERNELS) {
    kernel[kernels].stub = stub;
    kernel[kernels++].name = strdup(name);
  }
  real(image, stub, own, name, limit, thread, block, blocks, grid, warp);
}

/* Newer programs launch by a handle, which is the stub here. */
API(__cudaGetKernel, const void **handle, const void *stub) { return *handle = stub, 0; }
API(__cudaLaunchKernel, const void *stub, size3 grid, size3 block, void **parameter, size_t bytes,
    U void *stream) {
  return note(stub, grid, block, parameter, bytes);
}
API(cudaLaunchKernel, const void *stub, size3 grid, size3 block, void **parameter, size_t bytes,
    U void *stream) {
  return note(stub, grid, block, parameter, bytes);
}
API(cudaLaunchCooperativeKernel, const void *stub, size3 grid, size3 block, void **parameter,
    size_t bytes, U void *stream) {
  return note(stub, grid, block, parameter, bytes);
}

typedef struct config {
  size3 grid, block;
  size_t bytes;
} config;
API(cudaLaunchKernelExC, const config *how, const void *stub, void **parameter) {
  return note(stub, how->grid, how->block, parameter, how->bytes);
}

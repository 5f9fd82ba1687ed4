/* A libcuda.so.1 that runs nothing, for bench/decisions.py: it has PTX compiled by ptxas for sm_90,
 * and says what functions need and how many of their blocks an H200 holds at once. An image that is
 * no PTX is taken for the one whose PTX the file DECIDE_PTX holds. DECIDE_PTXAS names ptxas. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API(name, ...)                                                                             \
  int name(__VA_ARGS__);                                                                           \
  int name(__VA_ARGS__)
#define QUIET(name, ...)                                                                           \
  API(name, __VA_ARGS__) { return 0; }
#define U __attribute__((unused))

enum { MOST_NAME = 1024, MOST_BLOCK = 1024, NOT_FOUND = 500, INVALID_IMAGE = 200 };
/* Of an H200: CUDA C++ programming guide, compute capability 9.0. */
enum { SMS = 132, WARPS = 64, BLOCKS = 32, REGISTERS = 65536, QUARTERS = 4, SHARED = 228 << 10 };
enum { RESERVED = 1024, SHARED_UNIT = 128, REGISTER_UNIT = 256 };

/* What ptxas says of a kernel. */
typedef struct need {
  char name[MOST_NAME];
  int registers, local_bytes, shared_bytes, most_threads;
} need;

typedef struct module {
  need *kernel;
  int count;
} module;

typedef struct function {
  module *from;
  need *own;
} function;

static void fail(const char *what) {
  fprintf(stderr, "decide: %s\n", what);
  _exit(99);
}

static void *get(size_t bytes) {
  void *made = calloc(1, bytes);
  if (!made)
    fail("out of memory");
  return made;
}

/* ---- Compiling ---- */

/* Takes a line of what ptxas -v prints. */
static void take_line(module *to, const char *line) {
  static const char smem[] = " bytes smem";
  char name[MOST_NAME];
  need *last = to->count ? &to->kernel[to->count - 1] : NULL;
  const char *used = strstr(line, "Used "), *shared = strstr(line, smem);
  if (sscanf(line, "ptxas info    : Compiling entry function '%1023[^']'", name) == 1) {
    to->kernel = realloc(to->kernel, (size_t)(to->count + 1) * sizeof *to->kernel);
    if (!to->kernel)
      fail("out of memory");
    last = &to->kernel[to->count++];
    *last = (need){.most_threads = MOST_BLOCK};
    memcpy(last->name, name, sizeof name);
  } else if (last && strstr(line, "bytes stack frame")) {
    last->local_bytes = atoi(line);
  } else if (last && used) {
    last->registers = atoi(used + 5);
    while (shared && shared > line && shared[-1] != ',')
      shared--;
    last->shared_bytes = shared ? atoi(shared) : 0;
  } else if (strstr(line, "error") || strstr(line, "fatal")) {
    fputs(line, stderr);
  }
}

/* The threads that a kernel's directives allow. */
static int find_limit(const char *text, const char *name) {
  static const char *const directive[] = {".maxntid", ".reqntid"};
  char entry[MOST_NAME + 16];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  const char *from = strstr(text, entry), *body = from ? strchr(from, '{') : NULL;
  for (int i = 0; i < 2 && body; i++) {
    const char *found = strstr(from, directive[i]);
    int x = 1, y = 1, z = 1;
    if (found && found < body && sscanf(found + 8, " %d , %d , %d", &x, &y, &z) > 0)
      return x * y * z;
  }
  return MOST_BLOCK;
}

static module *compile(const char *text) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  module *made = get(sizeof *made);
  char path[] = "/tmp/bankfold-decide-XXXXXX", command[512], line[4096];
  int file = mkstemp(path);
  size_t size = strlen(text);
  if (file < 0 || write(file, text, size) != (ssize_t)size || close(file) != 0)
    fail("cannot write PTX");
  snprintf(command, sizeof command, "env -u LD_PRELOAD '%s' -arch=sm_90 -v -o /dev/null '%s' 2>&1",
           getenv("DECIDE_PTXAS") ? getenv("DECIDE_PTXAS") : "ptxas", path);
  pthread_mutex_lock(&lock);
  FILE *out = popen(command, "r");
  while (out && fgets(line, sizeof line, out))
    take_line(made, line);
  int status = out ? pclose(out) : -1;
  pthread_mutex_unlock(&lock);
  unlink(path);
  for (int i = 0; i < made->count; i++)
    made->kernel[i].most_threads = find_limit(text, made->kernel[i].name);
  return status ? NULL : made;
}

static int load(void **made, const void *image) {
  const char *path = getenv("DECIDE_PTX");
  char *text = NULL;
  size_t room = 0;
  if (((const char *)image)[0] && strstr(image, ".version")) {
    *made = compile(image);
    return *made ? 0 : INVALID_IMAGE;
  }
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file || getdelim(&text, &room, 0, file) < 0)
    fail("cannot read the PTX of the image");
  fclose(file);
  *made = compile(text);
  free(text);
  return *made ? 0 : INVALID_IMAGE;
}

API(cuModuleLoadData, void **made, const void *image) { return load(made, image); }
API(cuModuleLoadDataEx, void **made, const void *image, U unsigned count, U int *options,
    U void **values) {
  return load(made, image);
}
API(cuModuleLoadFatBinary, void **made, const void *image) { return load(made, image); }
API(cuLibraryLoadData, void **made, const void *image, U int *options, U void **values,
    U unsigned count, U int *more, U void **more_values, U unsigned more_count) {
  return load(made, image);
}
QUIET(cuModuleUnload, U void *of)
QUIET(cuLibraryUnload, U void *of)

/* ---- Kernels ---- */

static int find(void **made, module *of, const char *name) {
  for (int i = 0; i < of->count; i++)
    if (strcmp(of->kernel[i].name, name) == 0) {
      function *found = *made = get(sizeof *found);
      *found = (function){of, &of->kernel[i]};
      return 0;
    }
  return NOT_FOUND;
}

API(cuModuleGetFunction, void **made, void *of, const char *name) { return find(made, of, name); }
API(cuLibraryGetKernel, void **made, void *of, const char *name) { return find(made, of, name); }
API(cuKernelGetFunction, void **made, void *kernel) { return *made = kernel, 0; }
API(cuFuncGetModule, void **made, void *of) { return *made = ((function *)of)->from, 0; }
API(cuFuncGetName, const char **name, void *of) { return *name = ((function *)of)->own->name, 0; }

/* Warps whose registers fit: they are handed out by the warp, in each quarter of a multiprocessor.
 */
static int warps_by_registers(const need *own) {
  int warp = (own->registers * 32 + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
  return warp ? REGISTERS / QUARTERS / warp * QUARTERS : WARPS;
}

API(cuFuncGetAttribute, int *value, int attribute, void *of) {
  const need *own = ((function *)of)->own;
  int most = warps_by_registers(own) * 32;
  int threads = most < own->most_threads ? most : own->most_threads;
  *value = attribute == 0   ? threads
           : attribute == 1 ? own->shared_bytes
           : attribute == 3 ? own->local_bytes
           : attribute == 4 ? own->registers
           : attribute == 8 ? 48 << 10
                            : 0;
  return 0;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *of, int threads, size_t bytes) {
  const need *own = ((function *)of)->own;
  int warps = (threads + 31) / 32, most[3] = {WARPS / warps, warps_by_registers(own) / warps};
  size_t shared = (size_t)own->shared_bytes + bytes + RESERVED + SHARED_UNIT - 1;
  most[2] = (int)(SHARED / (shared / SHARED_UNIT * SHARED_UNIT));
  *blocks = BLOCKS;
  for (int i = 0; i < 3; i++)
    *blocks = most[i] < *blocks ? most[i] : *blocks;
  return 0;
}

QUIET(cuFuncSetAttribute, U void *of, U int attribute, U int value)
QUIET(cuKernelSetAttribute, U int attribute, U int value, U void *of, U int device)
QUIET(cuFuncSetCacheConfig, U void *of, U int config)
QUIET(cuLaunchKernel, U void *of, U unsigned gx, U unsigned gy, U unsigned gz, U unsigned bx,
      U unsigned by, U unsigned bz, U unsigned bytes, U void *stream, U void **parameters,
      U void **extra)

/* ---- The device, memory, events ---- */

QUIET(cuInit, U unsigned flags)
API(cuDriverGetVersion, int *version) { return *version = 13000, 0; }
API(cuDeviceGetCount, int *count) { return *count = 1, 0; }
API(cuDeviceGet, int *device, int number) { return *device = number, 0; }
API(cuDeviceGetName, char *name, int room, U int device) {
  return snprintf(name, (size_t)room, "NVIDIA H200") < 0;
}
API(cuDeviceGetAttribute, int *value, int attribute, U int device) {
  return *value = attribute == 16 ? SMS : attribute == 75 ? 9 : 0, 0;
}
API(cuCtxGetCurrent, void **context) { return *context = (void *)8, 0; }
QUIET(cuCtxSetCurrent, U void *context)
QUIET(cuCtxSynchronize, void)
API(cuCtxGetDevice, int *device) { return *device = 0; }
API(cuDevicePrimaryCtxRetain, void **context, U int device) { return *context = (void *)8, 0; }
QUIET(cuDevicePrimaryCtxRelease_v2, U int device)
API(cuGetErrorName, U int error, const char **name) { return *name = "an error", 0; }

static int allocate(uint64_t *address, size_t bytes) {
  *address = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 256) / 256 * 256);
  return 0;
}

API(cuMemAlloc_v2, uint64_t *address, size_t bytes) { return allocate(address, bytes); }
API(cuModuleGetGlobal_v2, uint64_t *address, size_t *bytes, U void *of, U const char *name) {
  return allocate(address, *bytes = 1 << 20);
}
API(cuMemFree_v2, uint64_t address) { return free((void *)(uintptr_t)address), 0; }
QUIET(cuMemcpyHtoD_v2, U uint64_t to, U const void *from, U size_t bytes)
QUIET(cuMemcpyDtoH_v2, U void *to, U uint64_t from, U size_t bytes)
QUIET(cuMemcpyDtoD_v2, U uint64_t to, U uint64_t from, U size_t bytes)
QUIET(cuMemsetD8_v2, U uint64_t to, U unsigned char value, U size_t bytes)
API(cuStreamIsCapturing, U void *stream, int *is) { return *is = 0; }
QUIET(cuThreadExchangeStreamCaptureMode, U int *mode)
API(cuEventCreate, void **event, U unsigned flags) { return *event = get(8), 0; }
QUIET(cuEventRecord, U void *event, U void *stream)
QUIET(cuEventQuery, U void *event)
QUIET(cuEventSynchronize, U void *event)
API(cuEventElapsedTime, float *milliseconds, U void *from, U void *to) {
  return *milliseconds = 0.1f, 0;
}
API(cuEventDestroy_v2, void *event) { return free(event), 0; }

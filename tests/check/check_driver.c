/* The library libcuda.so.1 as a program meets it, without nvcc: every name; every function called
 * with zeros, in every state of the library; functions by name and version; kernels from PTX; and
 * what it shares with libcudart.so.12 and .13 in the same process. Skipped where the build has no
 * such libraries. */
#include "exchange/settings.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned faults;

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("line %d: not so: %s\n", __LINE__, #condition);                                       \
      faults++;                                                                                    \
    }                                                                                              \
  } while (0)

/* Numbers of errors that are looked at here. */
enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  NOT_INITIALIZED = 3,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  INVALID_PTX = 218,
  INVALID_IMAGE = 200,
  NO_BINARY = 209,
  FILE_NOT_FOUND = 301,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  ILLEGAL_ADDRESS = 700,
  NOT_SUPPORTED = 801,
};

static const char *const names[] = {
#define X(name) #name,
#include "../../runtime/driver/names.def"
#undef X
};
enum { NAMES = sizeof names / sizeof *names };

static void *driver;

/* A library of this build; NULL where there is none. */
static void *open_library(const char *name) {
  char path[4200], self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = 0;
  char *slash = strrchr(self, '/');
  if (slash)
    *slash = 0;
  snprintf(path, sizeof path, "%s/../runtime/%s", self, name);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (!address) {
    printf("no %s\n", name);
    exit(1);
  }
  return address;
}

/* Calls a function of a library with arguments as ints and pointers. */
#define CALL_OF(library, name, types, ...)                                                         \
  ((int(*) types)(uintptr_t)symbol(library, #name))(__VA_ARGS__)
#define CALL(name, types, ...) CALL_OF(driver, name, types, __VA_ARGS__)

/* ---- Functions with zeros ---- */

typedef long l;
/* Registers and stack are zero, however many arguments there are and however they are handed over.
 */
typedef int any(l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, l);

static int call_with_zeros(const char *name) {
  any *function = (any *)(uintptr_t)symbol(driver, name);
  return function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

/* Functions that zeros are good enough for. */
static bool is_fine(const char *name) {
  static const char *const fine[] = {
#define X(name) #name,
#include "driver_zeros.def"
#undef X
  };
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
    if (strcmp(name, fine[i]) == 0)
      return true;
  return false;
}

/* In which state functions are called. */
typedef enum state { OFF, ON, WITH_CONTEXT } state;

/* Errors that zeros may give: also that there are no peers (217, 705), that the default stream
 * cannot be captured (900), and that it is not being captured (401). */
static bool is_expected(const char *name, state when, int error) {
  if (error == SUCCESS)
    return when == WITH_CONTEXT ? is_fine(name) : true;
  if (when == WITH_CONTEXT && is_fine(name))
    return false;
  return error == INVALID_VALUE || error == NOT_SUPPORTED || error == INVALID_HANDLE ||
         error == NOT_FOUND || error == INVALID_CONTEXT ||
         (when == OFF ? error == NOT_INITIALIZED
                      : error == 217 || error == 401 || error == 705 || error == 900);
}

/* Calls all functions in a state; returns how many answer wrongly. *now is the one that is called.
 */
static int call_all(state when, const char *volatile *now) {
  int wrong = 0;
  void *context;
  for (int i = 0; i < NAMES; i++) {
    *now = names[i];
    if (when == OFF && strcmp(names[i], "cuInit") == 0)
      continue;
    if (when != OFF)
      CALL(cuInit, (unsigned), 0);
    if (when == WITH_CONTEXT && CALL(cuCtxCreate_v2, (void *, unsigned, int), &context, 0, 0) != 0)
      return 1;
    int error = call_with_zeros(names[i]);
    if (!is_expected(names[i], when, error)) {
      printf("state %d: %s gives %d\n", when, names[i], error);
      wrong++;
    }
    if (when == WITH_CONTEXT)
      CALL(cuCtxDestroy_v2, (void *), context);
  }
  fflush(stdout);
  return wrong;
}

/* The same in a process of its own, which may crash. */
static void check_zeros(state when) {
  const char *volatile *now =
      mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0)
    _exit(call_all(when, now) != 0);
  bool is_done = child > 0 && waitpid(child, &status, 0) == child;
  if (is_done && WIFSIGNALED(status))
    printf("state %d: %s ends with signal %d\n", when, *now, WTERMSIG(status));
  faults += !is_done || status != 0;
  munmap((void *)(uintptr_t)now, sizeof *now);
}

/* ---- Functions by name ---- */

static void *ask(const char *name, int version, long flags, int *status) {
  void *function = NULL;
  int error = CALL(cuGetProcAddress_v2, (const char *, void **, int, long, int *), name, &function,
                   version, flags, status);
  EXPECT(error == SUCCESS);
  return function;
}

static void check_procs(void) {
  int status = -1;
  EXPECT(ask("cuInit", 12000, 0, &status) == symbol(driver, "cuInit") && status == 0);
  EXPECT(ask("cuMemAlloc", 2000, 0, &status) == symbol(driver, "cuMemAlloc"));
  EXPECT(ask("cuMemAlloc", 3020, 0, &status) == symbol(driver, "cuMemAlloc_v2"));
  EXPECT(ask("cuCtxCreate", 11030, 0, &status) == symbol(driver, "cuCtxCreate_v2"));
  EXPECT(ask("cuCtxCreate", 12000, 0, &status) == symbol(driver, "cuCtxCreate_v3"));
  EXPECT(ask("cuCtxCreate", 13000, 0, &status) == symbol(driver, "cuCtxCreate_v4"));
  EXPECT(ask("cuMemcpyHtoD", 12000, 2, &status) == symbol(driver, "cuMemcpyHtoD_v2_ptds"));
  EXPECT(ask("cuMemcpyHtoD", 12000, 1, &status) == symbol(driver, "cuMemcpyHtoD_v2"));
  EXPECT(ask("cuLaunchKernel", 12000, 2, &status) == symbol(driver, "cuLaunchKernel_ptsz"));
  EXPECT(ask("cuLaunchKernelEx", 11000, 0, &status) == NULL && status == 2);
  EXPECT(ask("cuNoSuchFunction", 12000, 0, &status) == NULL && status == 1);
  EXPECT(CALL(cuGetProcAddress_v2, (const char *, void **, int, long, int *), "cuInit", NULL, 12000,
              0, NULL) == INVALID_VALUE);
}

/* ---- Kernels ---- */

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .u32 factor = 2;\n"
                          ".visible .entry twice(.param .u64 data) {\n"
                          ".reg .b32 %r<4>; .reg .b64 %d<4>;\n"
                          "ld.param.u64 %d0, [data];\n"
                          "mov.u32 %r0, %tid.x;\n"
                          "mul.wide.u32 %d1, %r0, 4;\n"
                          "add.u64 %d0, %d0, %d1;\n"
                          "ld.global.u32 %r1, [%d0];\n"
                          "ld.global.u32 %r2, [factor];\n"
                          "mul.lo.u32 %r1, %r1, %r2;\n"
                          "st.global.u32 [%d0], %r1;\n"
                          "ret;\n}\n";

/* Doubles 32 numbers at an address that either interface may have given; a CUresult. */
static int launch(void *function, uint64_t data, void *stream) {
  void *arguments[] = {&data};
  return CALL(cuLaunchKernel,
              (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
               void **, void **),
              function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
}

static void check_kernel(void) {
  void *module, *function, *context;
  uint64_t data;
  unsigned host[32], count = 0;
  EXPECT(CALL(cuInit, (unsigned), 0) == SUCCESS);
  EXPECT(CALL(cuModuleLoadData, (void *, const void *), &module, ptx) == INVALID_CONTEXT);
  EXPECT(CALL(cuCtxCreate_v2, (void *, unsigned, int), &context, 0, 0) == SUCCESS);
  EXPECT(CALL(cuModuleLoadData, (void *, const void *), &module, ptx) == SUCCESS);
  EXPECT(CALL(cuModuleGetFunctionCount, (unsigned *, void *), &count, module) == SUCCESS);
  EXPECT(count == 1);
  EXPECT(CALL(cuModuleGetFunction, (void *, void *, const char *), &function, module, "twice") ==
         SUCCESS);
  EXPECT(CALL(cuModuleGetFunction, (void *, void *, const char *), &function, context, "twice") ==
         INVALID_HANDLE);
  EXPECT(CALL(cuMemAlloc_v2, (uint64_t *, size_t), &data, sizeof host) == SUCCESS);
  for (unsigned i = 0; i < 32; i++)
    host[i] = i;
  EXPECT(CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), data, host, sizeof host) ==
         SUCCESS);
  EXPECT(launch(function, data, NULL) == SUCCESS);
  EXPECT(CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), host, data, sizeof host) == SUCCESS);
  for (unsigned i = 0; i < 32; i++)
    EXPECT(host[i] == 2 * i);
  EXPECT(launch(module, data, NULL) == INVALID_HANDLE);
  EXPECT(launch(function, data, context) == INVALID_HANDLE);
  /* A fault ends with its context, and what was made in it with it. */
  EXPECT(launch(function, 16, NULL) == SUCCESS);
  EXPECT(CALL(cuCtxSynchronize, (void), ) == ILLEGAL_ADDRESS);
  EXPECT(CALL(cuMemFree_v2, (uint64_t), data) == ILLEGAL_ADDRESS);
  EXPECT(CALL(cuCtxDestroy_v2, (void *), context) == SUCCESS);
  EXPECT(CALL(cuCtxCreate_v2, (void *, unsigned, int), &context, 0, 0) == SUCCESS);
  EXPECT(CALL(cuCtxSynchronize, (void), ) == SUCCESS);
  EXPECT(CALL(cuModuleUnload, (void *), module) == INVALID_HANDLE);
  EXPECT(CALL(cuModuleLoadData, (void *, const void *), &module, "") == INVALID_IMAGE);
  EXPECT(CALL(cuModuleLoadData, (void *, const void *), &module, "\177ELF") == NO_BINARY);
  EXPECT(CALL(cuModuleLoadData, (void *, const void *), &module, ".version 7.0\nnonsense") ==
         INVALID_PTX);
  EXPECT(CALL(cuModuleLoad, (void *, const char *), &module, "/no/such/file") == FILE_NOT_FOUND);
  EXPECT(CALL(cuCtxDestroy_v2, (void *), context) == SUCCESS);
}

/* A stream, memory and a kernel of one interface are those of the other. */
static void check_shared(const char *name) {
  void *runtime = open_library(name), *library, *kernel, *stream, *context = NULL, *address;
  unsigned host[32];
  EXPECT(CALL(cuInit, (unsigned), 0) == SUCCESS);
  EXPECT(CALL_OF(runtime, cudaMalloc, (void **, size_t), &address, sizeof host) == SUCCESS);
  EXPECT(CALL(cuCtxGetCurrent, (void *), &context) == SUCCESS && context);
  EXPECT(CALL_OF(runtime, cudaStreamCreate, (void **), &stream) == SUCCESS);
  EXPECT(CALL_OF(runtime, cudaLibraryLoadData,
                 (void **, const void *, void *, void *, unsigned, void *, void *, unsigned),
                 &library, ptx, NULL, NULL, 0, NULL, NULL, 0) == SUCCESS);
  EXPECT(CALL_OF(runtime, cudaLibraryGetKernel, (void **, void *, const char *), &kernel, library,
                 "twice") == SUCCESS);
  EXPECT(CALL(cuMemsetD32_v2, (uint64_t, unsigned, size_t), (uint64_t)(uintptr_t)address, 21, 32) ==
         SUCCESS);
  EXPECT(launch(kernel, (uint64_t)(uintptr_t)address, stream) == SUCCESS);
  EXPECT(CALL_OF(runtime, cudaMemcpy, (void *, void *, size_t, int), host, address, sizeof host,
                 2) == SUCCESS);
  EXPECT(host[0] == 42 && host[31] == 42);
  EXPECT(CALL(cuMemFree_v2, (uint64_t), (uint64_t)(uintptr_t)address) == SUCCESS);
  EXPECT(CALL_OF(runtime, cudaFree, (void *), address) == INVALID_VALUE);
  EXPECT(CALL(cuStreamDestroy_v2, (void *), stream) == SUCCESS);
  EXPECT(CALL_OF(runtime, cudaStreamQuery, (void *), stream) == INVALID_HANDLE);
}

static void check_thirteen(void) { check_shared("libcudart.so.13"); }
static void check_twelve(void) { check_shared("libcudart.so.12"); }

/* Runs a check in a process of its own. */
static void check_apart(void (*check)(void)) {
  int status = 1;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    check();
    fflush(stdout);
    _exit(faults != 0);
  }
  faults += child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

int main(void) {
  bf_run_settings settings = {.quiet = true};
  driver = open_library("libcuda.so.1");
  if (!driver) {
    puts("no libcuda.so.1 beside the program");
    return 77;
  }
  if (bf_run_settings_put(&settings, NULL) != BF_OK)
    return 1;
  for (int i = 0; i < NAMES; i++)
    symbol(driver, names[i]);
  EXPECT(!dlsym(driver, "cudaMalloc") && !dlsym(driver, "bf_emu_create"));
  check_apart(check_procs);
  check_apart(check_kernel);
  check_apart(check_thirteen);
  check_apart(check_twelve);
  check_zeros(OFF);
  check_zeros(ON);
  check_zeros(WITH_CONTEXT);
  printf("%d names, %u faults\n", NAMES, faults);
  return faults != 0;
}

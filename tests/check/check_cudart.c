/* The libraries libcudart.so.11.0, .12 and .13 as a program meets them, without nvcc: every name
 * with its version, memory, copies, streams, events, errors, properties, and a kernel from a fat
 * binary, emulated and simulated. Skipped where the build has no such libraries. */
#include "exchange/cuda_file.h"
#include "exchange/settings.h"
#include "ptx/fatbin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
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
  OUT_OF_MEMORY = 2,
  INVALID_CONFIGURATION = 9,
  INVALID_SYMBOL = 13,
  INVALID_DIRECTION = 21,
  INVALID_FUNCTION = 98,
  INVALID_DEVICE = 101,
  INVALID_HANDLE = 400,
  ILLEGAL_ADDRESS = 700,
  NOT_SUPPORTED = 801,
};
enum { TO_DEVICE = 1, TO_HOST = 2, BETWEEN = 3, DEFAULT = 4 };

static const char *const names[] = {
#define X(name) #name,
#include "../../runtime/names.def"
#undef X
};

/* A library under test. */
typedef struct library {
  void *handle;
  int major;
  bool is_simulated;
  char version[32];
} library;

static void *symbol(const library *from, const char *name) {
  void *address = dlvsym(from->handle, name, from->version);
  if (!address) {
    printf("%s: no %s\n", from->version, name);
    faults++;
    exit(1);
  }
  return address;
}

/* Calls function name with arguments as ints and pointers. */
#define CALL(name, types, ...) ((int(*) types)(uintptr_t)symbol(from, #name))(__VA_ARGS__)

static int last_error(const library *from) { return CALL(cudaGetLastError, (void), ); }

static void check_names(const library *from) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    EXPECT(symbol(from, names[i]) != NULL);
  EXPECT(!dlsym(from->handle, "bf_emu_create"));
  const char *(*text)(int) = (const char *(*)(int))(uintptr_t)symbol(from, "cudaGetErrorString");
  EXPECT(strcmp(text(ILLEGAL_ADDRESS), "an illegal memory access was encountered") == 0);
  EXPECT(strcmp(text(-5), "unrecognized error code") == 0);
}

static void check_memory(const library *from) {
  char *device = NULL, *second = NULL, host[256], back[256];
  size_t pitch = 0;
  for (int i = 0; i < 256; i++)
    host[i] = (char)i;
  EXPECT(CALL(cudaMalloc, (void *, size_t), &device, 256) == SUCCESS);
  EXPECT(((uintptr_t)device & 255) == 0);
  EXPECT(CALL(cudaMemcpy, (void *, void *, size_t, int), device, host, 256, TO_DEVICE) == SUCCESS);
  EXPECT(CALL(cudaMemset, (void *, int, size_t), device + 16, 7, 16) == SUCCESS);
  EXPECT(CALL(cudaMemcpy, (void *, void *, size_t, int), back, device, 256, DEFAULT) == SUCCESS);
  EXPECT(memcmp(back, host, 16) == 0 && back[16] == 7 && back[31] == 7 && back[32] == 32);
  EXPECT(last_error(from) == SUCCESS);
  EXPECT(CALL(cudaMemcpy, (void *, void *, size_t, int), device, host, 257, TO_DEVICE) ==
         INVALID_VALUE);
  EXPECT(CALL(cudaMemcpy, (void *, void *, size_t, int), host, device, 4, TO_DEVICE) ==
         INVALID_VALUE);
  EXPECT(CALL(cudaMemcpy, (void *, void *, size_t, int), device, host, 4, 9) == INVALID_DIRECTION);
  EXPECT(CALL(cudaMemset, (void *, int, size_t), host, 1, 4) == INVALID_VALUE);
  EXPECT(last_error(from) == INVALID_VALUE && last_error(from) == SUCCESS);
  EXPECT(CALL(cudaMallocPitch, (void *, size_t *, size_t, size_t), &second, &pitch, 100, 3) ==
         SUCCESS);
  EXPECT(pitch >= 100 && pitch % 32 == 0);
  EXPECT(CALL(cudaMemcpy2D, (void *, size_t, void *, size_t, size_t, size_t, int), second, pitch,
              host, 50, 50, 3, TO_DEVICE) == SUCCESS);
  EXPECT(CALL(cudaMemcpy2D, (void *, size_t, void *, size_t, size_t, size_t, int), back, 40, second,
              pitch, 40, 3, TO_HOST) == SUCCESS);
  EXPECT(back[0] == 0 && back[40] == 50 && back[119] == (char)139);
  EXPECT(CALL(cudaFree, (void *), second + 1) == INVALID_VALUE);
  EXPECT(CALL(cudaFree, (void *), second) == SUCCESS);
  EXPECT(CALL(cudaFree, (void *), second) == INVALID_VALUE);
  EXPECT(CALL(cudaMalloc, (void *, size_t), &second, (size_t)1 << 52) == OUT_OF_MEMORY);
  EXPECT(CALL(cudaMemcpyToSymbol, (void *, void *, size_t, size_t, int), &faults, host, 4, 0,
              TO_DEVICE) == INVALID_SYMBOL);
  EXPECT(CALL(cudaFree, (void *), device) == SUCCESS);
  last_error(from);
}

static void check_streams(const library *from) {
  void *stream, *event, *other;
  float milliseconds = -1;
  EXPECT(CALL(cudaStreamCreate, (void *), &stream) == SUCCESS);
  EXPECT(CALL(cudaEventCreate, (void *), &event) == SUCCESS);
  EXPECT(CALL(cudaEventCreate, (void *), &other) == SUCCESS);
  EXPECT(CALL(cudaEventElapsedTime, (void *, void *, void *), &milliseconds, event, other) ==
         INVALID_HANDLE);
  EXPECT(CALL(cudaEventRecord, (void *, void *), event, stream) == SUCCESS);
  EXPECT(CALL(cudaEventRecord_ptsz, (void *, void *), other, NULL) == SUCCESS);
  EXPECT(CALL(cudaEventElapsedTime, (void *, void *, void *), &milliseconds, event, other) ==
         SUCCESS);
  EXPECT(milliseconds >= 0);
  EXPECT(CALL(cudaStreamSynchronize, (void *), stream) == SUCCESS);
  EXPECT(CALL(cudaStreamSynchronize, (void *), event) == INVALID_HANDLE);
  EXPECT(CALL(cudaStreamDestroy, (void *), stream) == SUCCESS);
  EXPECT(CALL(cudaStreamQuery, (void *), stream) == INVALID_HANDLE);
  EXPECT(CALL(cudaEventDestroy, (void *), event) == SUCCESS);
  EXPECT(CALL(cudaStreamQuery, (void *), (void *)2) == SUCCESS);
  last_error(from);
}

static void check_device(const library *from) {
  int value = 0;
  static char properties[4096];
  const char *call = from->major == 12 ? "cudaGetDeviceProperties_v2" : "cudaGetDeviceProperties";
  int (*get)(void *, int) = (int (*)(void *, int))(uintptr_t)symbol(from, call);
  memset(properties, 0x5a, sizeof properties);
  EXPECT(get(properties, 0) == SUCCESS);
  EXPECT(strstr(properties, "H200"));
  size_t bytes = from->major == 11 ? 728 : from->major == 12 ? 1032 : 1008;
  EXPECT(properties[bytes] == 0x5a && properties[bytes - 1] == 0);
  EXPECT(get(properties, 1) == INVALID_DEVICE);
  EXPECT(CALL(cudaDeviceGetAttribute, (int *, int, int), &value, 16, 0) == SUCCESS && value == 132);
  EXPECT(CALL(cudaDeviceGetAttribute, (int *, int, int), &value, 0, 0) == INVALID_VALUE);
  EXPECT(CALL(cudaGetDeviceCount, (int *), &value) == SUCCESS && value == 1);
  EXPECT(CALL(cudaSetDevice, (int), 99) == INVALID_DEVICE);
  EXPECT(CALL(cudaRuntimeGetVersion, (int *), &value) == SUCCESS && value / 1000 == from->major);
  EXPECT(CALL(cudaImportExternalSemaphore, (void *, const void *), NULL, NULL) == NOT_SUPPORTED);
  EXPECT(last_error(from) == NOT_SUPPORTED);
}

/* ---- A kernel ---- */

typedef struct dim3 {
  unsigned x, y, z;
} dim3;

typedef struct wrapper {
  uint32_t magic, version;
  const void *module;
  void *rest;
} wrapper;

/* Stands for the stub that nvcc makes. */
static void stub(void) {}

static int launch(const library *from, unsigned blocks, unsigned threads, void **arguments) {
  return CALL(cudaLaunchKernel, (void *, dim3, dim3, void **, size_t, void *),
              (void *)(uintptr_t)stub, (dim3){blocks, 1, 1}, (dim3){threads, 1, 1}, arguments, 0,
              NULL);
}

/* Milliseconds between two events around so many launches. */
static float time_launches(const library *from, unsigned launches, void **arguments) {
  void *start, *stop;
  float milliseconds = -1;
  EXPECT(CALL(cudaEventCreate, (void *), &start) == SUCCESS);
  EXPECT(CALL(cudaEventCreate, (void *), &stop) == SUCCESS);
  EXPECT(CALL(cudaEventRecord, (void *, void *), start, NULL) == SUCCESS);
  for (unsigned i = 0; i < launches; i++)
    EXPECT(launch(from, 1, 32, arguments) == SUCCESS);
  EXPECT(CALL(cudaEventRecord, (void *, void *), stop, NULL) == SUCCESS);
  EXPECT(CALL(cudaEventElapsedTime, (void *, void *, void *), &milliseconds, start, stop) ==
         SUCCESS);
  return milliseconds;
}

/* The time of a simulated GPU runs during launches only, and depends on nothing else. */
static void check_time(const library *from, void **arguments) {
  int clock_khz = 0;
  EXPECT(CALL(cudaDeviceGetAttribute, (int *, int, int), &clock_khz, 13, 0) == SUCCESS);
  EXPECT(clock_khz == (from->is_simulated ? 1000000 : 1980000));
  if (!from->is_simulated)
    return;
  float once = time_launches(from, 1, arguments), thrice = time_launches(from, 3, arguments);
  EXPECT(time_launches(from, 0, arguments) == 0);
  EXPECT(once > 0.0001F && once < 1);
  EXPECT(thrice > 2.999F * once && thrice < 3.001F * once);
  EXPECT(CALL(bankfoldSetHash, (const char *), "fixed") == SUCCESS);
  EXPECT(launch(from, 1, 32, arguments) == SUCCESS);
}

/* Hashes that programs choose; also without a simulator. */
static void check_hashes(const library *from) {
  EXPECT(CALL(bankfoldSetHash, (const char *), "xor:0,5,31") == SUCCESS);
  EXPECT(CALL(bankfoldSetHash, (const char *), "xor:0,5,") == INVALID_VALUE);
  EXPECT(CALL(bankfoldSetHash, (const char *), "") == INVALID_VALUE);
  EXPECT(last_error(from) == INVALID_VALUE);
  EXPECT(CALL(bankfoldSetHash, (const char *), "none") == SUCCESS);
  EXPECT(CALL(bankfoldSetHash, (const char *), NULL) == SUCCESS);
  EXPECT(CALL(bankfoldSetLockHash, (const char *), "xor") == SUCCESS);
  EXPECT(CALL(bankfoldSetLockHash, (const char *), "fixed") == INVALID_VALUE);
  EXPECT(CALL(bankfoldSetLockHash, (const char *), NULL) == SUCCESS);
  last_error(from);
}

/* twice of tests/data/fatbin/twice.cu, registered as a program registers it. */
static void check_kernel(const library *from) {
  static char module[65536] __attribute__((aligned(16)));
  FILE *file = fopen("tests/data/fatbin/plain.fatbin", "rb");
  EXPECT(file && fread(module, 1, sizeof module, file) > 16);
  if (file)
    fclose(file);
  wrapper wrap = {0x466243B1, 1, module, NULL};
  void **(*begin)(void *) = (void **(*)(void *))(uintptr_t)symbol(from, "__cudaRegisterFatBinary");
  void **handle = begin(&wrap);
  void *function = (void *)(uintptr_t)stub, *kernel = NULL;
  CALL(__cudaRegisterFunction,
       (void **, void *, void *, const char *, int, void *, void *, void *, void *, void *), handle,
       function, NULL, "twice", -1, NULL, NULL, NULL, NULL, NULL);
  CALL(__cudaRegisterFatBinaryEnd, (void **), handle);
  EXPECT(CALL(__cudaGetKernel, (void **, void *), &kernel, function) == SUCCESS && kernel);
  int *data, host[64];
  for (int i = 0; i < 64; i++)
    host[i] = i;
  EXPECT(CALL(cudaMalloc, (void *, size_t), &data, sizeof host) == SUCCESS);
  EXPECT(CALL(cudaMemcpy, (void *, void *, size_t, int), data, host, sizeof host, TO_DEVICE) ==
         SUCCESS);
  void *arguments[] = {&data, &data, &data};
  EXPECT(launch(from, 1, 32, arguments) == SUCCESS);
  EXPECT(CALL(cudaMemcpy, (void *, void *, size_t, int), host, data, sizeof host, TO_HOST) ==
         SUCCESS);
  for (int i = 0; i < 32; i++)
    EXPECT(host[i] == 2 * i);
  check_time(from, arguments);
  int bad_shape = from->major < 13 ? INVALID_CONFIGURATION : INVALID_VALUE;
  EXPECT(launch(from, 0, 32, arguments) == bad_shape);
  EXPECT(launch(from, 1, 1025, arguments) == bad_shape);
  EXPECT(last_error(from) == bad_shape);
  EXPECT(CALL(cudaLaunchKernel, (void *, dim3, dim3, void **, size_t, void *), &wrap,
              (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments, 0, NULL) == INVALID_FUNCTION);
  /* A fault: seen at the next synchronisation, then by every call. */
  last_error(from);
  data = (int *)16;
  EXPECT(launch(from, 1, 32, arguments) == SUCCESS);
  EXPECT(last_error(from) == SUCCESS);
  EXPECT(CALL(cudaDeviceSynchronize, (void), ) == ILLEGAL_ADDRESS);
  EXPECT(CALL(cudaMalloc, (void *, size_t), &data, 4) == ILLEGAL_ADDRESS);
  EXPECT(last_error(from) == ILLEGAL_ADDRESS && last_error(from) == 0);
  CALL(__cudaUnregisterFatBinary, (void **), handle);
}

/* Opens libcudart.so.MAJOR of this build; false where there is none. */
static bool open_library(library *from, int major) {
  char path[4200], self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = 0;
  char *slash = strrchr(self, '/');
  if (slash)
    *slash = 0;
  from->major = major;
  snprintf(from->version, sizeof from->version, "%s", bf_cuda_library((unsigned)major));
  snprintf(path, sizeof path, "%s/../runtime/%s", self, from->version);
  from->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return from->handle != NULL;
}

/* Checks a library; the exit status. */
static int check_library(int major, bool is_simulated) {
  library from = {.is_simulated = is_simulated};
  if (!open_library(&from, major)) {
    dprintf(1, "no libcudart.so of CUDA %d beside the program\n", major);
    return 77;
  }
  check_names(&from);
  check_memory(&from);
  check_streams(&from);
  check_device(&from);
  check_hashes(&from);
  check_kernel(&from);
  printf("%s, %s: %u faults\n", from.version, is_simulated ? "simulated" : "emulated", faults);
  fflush(stdout);
  return faults != 0;
}

/* The same in a process of its own: libraries share what they know, read the environment once, and
 * are left with a fault. */
static int check_apart(int major, bool is_simulated) {
  static const char *const parameters[] = {"scheduler=gto", "clock_mhz=1000"};
  bf_run_settings settings = {.quiet = true};
  if (is_simulated) {
    settings.gpu = "h200";
    settings.set = (bf_setting_list){parameters, 2};
  }
  int status = 0;
  pid_t child = fork();
  if (child == 0)
    _exit(bf_run_settings_put(&settings, NULL) == BF_OK ? check_library(major, is_simulated) : 1);
  bool is_done = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
  return is_done ? WEXITSTATUS(status) : 1;
}

int main(void) {
  int worst = 0;
  for (int major = 11; major <= 13; major++)
    for (int is_simulated = 0; is_simulated < 2; is_simulated++) {
      int status = check_apart(major, is_simulated);
      worst = worst == 1 ? 1 : status;
    }
  return worst;
}

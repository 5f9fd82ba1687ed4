/* Runs every kernel of tests/reference/cases*.c and some random programs on the GPU of this machine
 * and writes what they store: the truth that tests/check/check_emu.c compares with. Needs nothing
 * but a C compiler and the driver (libcuda.so.1). From the root of the project, in bash:
 *
 *   gcc -std=gnu11 -D_GNU_SOURCE -O2 -Itests/reference tests/gpu/opcodes.c
 *     tests/reference/{cases*,programs}.c -o opcodes -ldl -lm && ./opcodes opcodes.bin
 *
 * The file: "BFOPCODE", 56 bytes of text that name GPU and driver, then for each form its key
 * (8 bytes), the number of bytes (4), 4 zero bytes, and the bytes. Behind them the first
 * PROGRAM_RECORDED random programs in the same way, with the hash of their text as key and the hash
 * of their output (8 bytes) as bytes. A kernel that faults or hangs takes the process that runs it
 * with it, and another goes on behind it. */
#include "cases.h"
#include "programs.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kernels per module: few enough that an assembler error leaves most, many enough to be quick. */
enum {
  BATCH = 100,
  MOST_SECONDS = 100,
  MOST_LOST = 8,
  MOST_OUTPUT_BYTES = CASE_MOST_RESULTS * CASE_LANES * 8
};

/* The part of the driver's interface that is used here. */
typedef struct driver {
  int (*cuInit)(unsigned);
  int (*cuDriverGetVersion)(int *);
  int (*cuDeviceGet)(int *, int);
  int (*cuDeviceGetName)(char *, int, int);
  int (*cuDevicePrimaryCtxRetain)(void **, int);
  int (*cuCtxSetCurrent)(void *);
  int (*cuCtxSynchronize)(void);
  int (*cuModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  int (*cuModuleGetFunction)(void **, void *, const char *);
  int (*cuModuleUnload)(void *);
  int (*cuMemAlloc)(uint64_t *, size_t);
  int (*cuMemcpyHtoD)(uint64_t, const void *, size_t);
  int (*cuMemcpyDtoH)(void *, uint64_t, size_t);
  int (*cuMemsetD8)(uint64_t, unsigned char, size_t);
  int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, void *, void **, void **);
} driver;

typedef struct recorder {
  driver d;
  case_list list;
  uint64_t input, output, scratch;
  uint8_t input_bytes[CASE_INPUT_BYTES], output_bytes[MOST_OUTPUT_BYTES];
  FILE *file;
  unsigned failed;
  size_t *next; /* form or, behind them, program; shared with the process that started this one */
} recorder;

static void stop(const char *what, int error) {
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(1);
}

#define MUST(call)                                                                                 \
  do {                                                                                             \
    int must_error = (call);                                                                       \
    if (must_error)                                                                                \
      stop(#call, must_error);                                                                     \
  } while (0)

/* Finds a function of the driver; version is what its name ends with. */
static void find(void *library, const char *name, const char *version, void *place) {
  char symbol[80];
  snprintf(symbol, sizeof symbol, "%s%s", name, version);
  void *found = dlsym(library, symbol);
  if (!found)
    stop(symbol, 0);
  memcpy(place, &found, sizeof found);
}

static void open_driver(driver *d) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "no libcuda.so.1\n");
    exit(77);
  }
#define FIND(name, version) find(library, #name, version, &d->name)
  FIND(cuInit, "");
  FIND(cuDriverGetVersion, "");
  FIND(cuDeviceGet, "");
  FIND(cuDeviceGetName, "");
  FIND(cuDevicePrimaryCtxRetain, "");
  FIND(cuCtxSetCurrent, "");
  FIND(cuCtxSynchronize, "");
  FIND(cuModuleLoadDataEx, "");
  FIND(cuModuleGetFunction, "");
  FIND(cuModuleUnload, "");
  FIND(cuMemAlloc, "_v2");
  FIND(cuMemcpyHtoD, "_v2");
  FIND(cuMemcpyDtoH, "_v2");
  FIND(cuMemsetD8, "_v2");
  FIND(cuLaunchKernel, "");
#undef FIND
}

/* Takes the first GPU and writes the head of the file. */
static void open_device(recorder *r) {
  int device, version;
  void *context;
  char head[64] = "BFOPCODE", name[40] = "";
  MUST(r->d.cuInit(0));
  MUST(r->d.cuDriverGetVersion(&version));
  MUST(r->d.cuDeviceGet(&device, 0));
  MUST(r->d.cuDeviceGetName(name, sizeof name, device));
  MUST(r->d.cuDevicePrimaryCtxRetain(&context, device));
  MUST(r->d.cuCtxSetCurrent(context));
  MUST(r->d.cuMemAlloc(&r->input, CASE_INPUT_BYTES));
  MUST(r->d.cuMemAlloc(&r->output, MOST_OUTPUT_BYTES));
  MUST(r->d.cuMemAlloc(&r->scratch, CASE_SCRATCH_BYTES));
  snprintf(head + 8, sizeof head - 8, "%s, driver %d", name, version);
  if (*r->next > 0)
    return;
  puts(head + 8);
  fwrite(head, sizeof head, 1, r->file);
}

/* Assembles a text. */
static int assemble(recorder *r, const char *text, const char *name, bool says_why, void **module) {
  char log[4096] = "";
  int option[] = {5, 6}; /* error log, its size */
  void *value[] = {log, (void *)sizeof log};
  int error = r->d.cuModuleLoadDataEx(module, text, 2, option, value);
  if (error && says_why)
    printf("%s: error %d: %s\n", name, error, log);
  return error;
}

/* Assembles kernels first to first + count - 1; prints what the assembler says against them. */
static int load(recorder *r, size_t first, size_t count, void **module) {
  char *text = case_module(&r->list, first, count);
  if (!text)
    stop("memory", 0);
  int error = assemble(r, text, r->list.form[first].body, count == 1, module);
  free(text);
  return error;
}

static void put_record(recorder *r, uint64_t key, const void *data, size_t size) {
  uint32_t bytes[2] = {(uint32_t)size, 0};
  fwrite(&key, 8, 1, r->file);
  fwrite(bytes, 8, 1, r->file);
  fwrite(data, 1, size, r->file);
  fflush(r->file);
}

/* Runs one kernel and writes its output. */
static void record(recorder *r, void *module, size_t index) {
  const case_form *form = &r->list.form[index];
  size_t bytes = case_output_bytes(form);
  void *function, *parameters[] = {&r->input, &r->output, &r->scratch};
  char name[24];
  snprintf(name, sizeof name, "k%zu", index);
  case_fill_input(form, r->input_bytes);
  MUST(r->d.cuModuleGetFunction(&function, module, name));
  MUST(r->d.cuMemcpyHtoD(r->input, r->input_bytes, CASE_INPUT_BYTES));
  MUST(r->d.cuMemsetD8(r->output, 0, MOST_OUTPUT_BYTES));
  MUST(r->d.cuMemsetD8(r->scratch, 0, CASE_SCRATCH_BYTES));
  MUST(r->d.cuLaunchKernel(function, 1, 1, 1, CASE_LANES, 1, 1, 0, NULL, parameters, NULL));
  int error = r->d.cuCtxSynchronize();
  if (error) {
    printf("%s faults: %s\n", name, form->body);
    stop("kernel", error);
  }
  MUST(r->d.cuMemcpyDtoH(r->output_bytes, r->output, bytes));
  put_record(r, case_key(form), r->output_bytes, bytes);
}

/* A batch of kernels; where the module is refused, one by one. */
static void record_batch(recorder *r, size_t first, size_t count) {
  void *module;
  if (load(r, first, count, &module) == 0) {
    for (size_t i = 0; i < count; i++) {
      record(r, module, first + i);
      *r->next = first + i + 1;
    }
    MUST(r->d.cuModuleUnload(module));
  } else if (count > 1) {
    for (size_t i = 0; i < count; i++)
      record_batch(r, first + i, 1);
  } else {
    r->failed++;
    *r->next = first + 1;
  }
}

/* Runs a random program and writes the hash of its output. */
static void record_program(recorder *r, uint64_t seed) {
  unsigned statements;
  char *text = program_make(seed, NULL, &statements);
  void *module, *function, *parameters[] = {&r->input, &r->output};
  if (!text)
    stop("memory", 0);
  if (assemble(r, text, "program", true, &module) != 0) {
    r->failed++;
  } else {
    program_fill_input(seed, r->input_bytes);
    MUST(r->d.cuModuleGetFunction(&function, module, "program"));
    MUST(r->d.cuMemcpyHtoD(r->input, r->input_bytes, PROGRAM_INPUT_BYTES));
    MUST(r->d.cuMemsetD8(r->output, 0, PROGRAM_OUTPUT_BYTES));
    MUST(r->d.cuLaunchKernel(function, PROGRAM_BLOCKS, 1, 1, PROGRAM_BLOCK_THREADS, 1, 1, 0, NULL,
                             parameters, NULL));
    MUST(r->d.cuCtxSynchronize());
    MUST(r->d.cuMemcpyDtoH(r->output_bytes, r->output, PROGRAM_OUTPUT_BYTES));
    MUST(r->d.cuModuleUnload(module));
    program_same_nan(r->output_bytes);
    uint64_t hash = case_hash(CASE_HASH_START, r->output_bytes, PROGRAM_OUTPUT_BYTES);
    put_record(r, case_hash(CASE_HASH_START, text, strlen(text)), &hash, sizeof hash);
  }
  free(text);
}

/* Records all that is left; the number of what the driver refused. */
static unsigned record_rest(recorder *r) {
  size_t forms = r->list.count;
  open_device(r);
  while (*r->next < forms)
    record_batch(r, *r->next, forms - *r->next < BATCH ? forms - *r->next : BATCH);
  for (; *r->next < forms + PROGRAM_RECORDED; ++*r->next)
    record_program(r, *r->next - forms);
  return r->failed;
}

int main(int count, char **argument) {
  static recorder r;
  unsigned lost = 0;
  int status = 0;
  if (count != 2) {
    fprintf(stderr, "usage: opcodes FILE\n");
    return 2;
  }
  open_driver(&r.d);
  case_list_make(&r.list);
  r.next = mmap(NULL, sizeof *r.next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  r.file = fopen(argument[1], "wb");
  if (!r.file || r.list.failed || r.next == MAP_FAILED)
    stop(argument[1], 0);
  size_t all = r.list.count + PROGRAM_RECORDED;
  while (*r.next < all && lost < MOST_LOST) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      alarm(MOST_SECONDS);
      unsigned failed = record_rest(&r);
      fflush(NULL);
      _exit(failed > 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
      stop("fork", 0);
    if (*r.next < all) { /* it ended early: that one is left out */
      printf("lost number %zu\n", (*r.next)++);
      lost++;
    }
  }
  printf("%zu of %zu done, %u lost\n", *r.next, all, lost);
  case_list_free(&r.list);
  return fclose(r.file) || lost || status ? 1 : 0;
}

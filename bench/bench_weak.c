/* Speed of what the emulator is worst at: thread instructions per second of CPU time, for each
 * kernel of bench/weak.cu, on one core and with a worker on each; and microseconds per launch of a
 * kernel of four blocks. CPU time, so that other programs on the machine do not count. Prints one
 * JSON line each. Arguments: instruction set, and names of kernels; all, and the best set, without.
 */
#include "emu/emu.h"
#include "emu/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 1 << 20, LARGE_WORDS = 1 << 24, LAUNCHES = 2000 };

typedef struct kernel {
  const char *name;
  uint32_t blocks, threads;
  int32_t n;
} kernel;

static const kernel kernels[] = {
    {"gather", 64, 256, 64},        {"gather_indexed", 64, 256, 64}, {"gather_large", 64, 256, 64},
    {"gather_bytes", 64, 256, 64},  {"gather_generic", 64, 256, 64}, {"chase", 64, 256, 64},
    {"atomics", 64, 256, 64},       {"draws", 64, 256, 64},          {"float_atomics", 64, 256, 64},
    {"swaps", 64, 256, 32},         {"copy4", 64, 256, WORDS / 4},   {"one_lane", 64, 256, 512},
    {"lock_by_warps", 64, 256, 32}, {"lock_by_lanes", 4, 128, 4}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct bench {
  bf_emu *emu;
  bf_emu_module *module;
  uint64_t from, index, to, large;
} bench;

static void die(const char *text) {
  fprintf(stderr, "bench_weak: %s\n", text);
  exit(2);
}

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char *read_all(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = malloc(1 << 20);
  if (!file || !text)
    die("cannot read bench/weak.ptx; run it in the project's folder");
  *size = fread(text, 1, 1 << 20, file);
  fclose(file);
  return text;
}

/* Buffers that fit every kernel: words of from are places in it, in one round through all. */
static void fill(const bench *at) {
  uint32_t *from = (uint32_t *)(uintptr_t)at->from, *index = (uint32_t *)(uintptr_t)at->index;
  for (uint32_t i = 0; i < WORDS; i++) {
    from[i] = (i * 5 + 12345) & (WORDS - 1);
    index[i] = (i * 2654435761u >> 7) & (WORDS - 1);
  }
}

/* The same before every kernel: floats for gathers, places for chase and copy4, else zero. */
static void reset(const bench *at, const kernel *own) {
  memset((void *)(uintptr_t)at->to, 0, WORDS * 4);
  fill(at);
  float *from = (float *)(uintptr_t)at->from;
  for (unsigned i = 0; own->name[0] == 'g' && i < WORDS; i++)
    from[i] = (float)(i % 100);
  if (own->name[0] != 'g' && own->name[0] != 'c')
    memset(from, 0, WORDS * 4);
  if (own->name[0] == 'l')
    memset((void *)(uintptr_t)at->index, 0, WORDS * 4);
}

static bf_emu_launch prepare(const bench *at, const kernel *own, unsigned workers,
                             unsigned char *parameters) {
  bf_diagnostic diagnostic = {0};
  bf_emu_launch launch = {.grid = {own->blocks, 1, 1},
                          .block = {own->threads, 1, 1},
                          .parameters = parameters,
                          .parameter_bytes = 28,
                          .workers = workers};
  if (bf_emu_kernel_get(at->module, own->name, &launch.kernel, &diagnostic))
    die(diagnostic.message);
  memcpy(parameters, strcmp(own->name, "gather_large") == 0 ? &at->large : &at->from, 8);
  memcpy(parameters + 8, &at->index, 8);
  memcpy(parameters + 16, &at->to, 8);
  memcpy(parameters + 24, &own->n, 4);
  return launch;
}

static uint64_t run(const bench *at, const bf_emu_launch *launch) {
  bf_diagnostic diagnostic = {0};
  bf_emu_result result;
  if (bf_emu_run(at->emu, launch, &result, &diagnostic))
    die(diagnostic.message);
  if (result.fault.kind)
    die(bf_emu_fault_name(result.fault.kind));
  return result.thread_instructions;
}

/* The best of some launches, by CPU time and by the clock. */
static void measure(const bench *at, const kernel *own, const char *set, unsigned workers) {
  unsigned char parameters[32];
  bf_emu_launch launch = prepare(at, own, workers, parameters);
  double by_cpu = 0, by_clock = 0, start = bf_seconds();
  reset(at, own);
  run(at, &launch);
  do {
    double cpu = cpu_seconds(), clock = bf_seconds();
    double instructions = (double)run(at, &launch);
    cpu = instructions / (cpu_seconds() - cpu);
    clock = instructions / (bf_seconds() - clock);
    by_cpu = cpu > by_cpu ? cpu : by_cpu;
    by_clock = clock > by_clock ? clock : by_clock;
  } while (bf_seconds() - start < 0.4);
  printf("{\"bench\": \"weak\", \"kernel\": \"%s\", \"set\": \"%s\", \"workers\": %u, "
         "\"thread_instructions_per_cpu_second\": %.3g, \"per_second\": %.3g}\n",
         own->name, set, workers, by_cpu, by_clock);
  fflush(stdout);
}

/* Microseconds per launch of a kernel that does next to nothing. */
static void measure_launches(const bench *at, const char *set, unsigned workers) {
  const kernel own = {"small", 4, 128, 512};
  unsigned char parameters[32];
  bf_emu_launch launch = prepare(at, &own, workers, parameters);
  run(at, &launch);
  double cpu = cpu_seconds(), clock = bf_seconds();
  for (unsigned i = 0; i < LAUNCHES; i++)
    run(at, &launch);
  printf("{\"bench\": \"weak\", \"kernel\": \"launch\", \"set\": \"%s\", \"workers\": %u, "
         "\"cpu_microseconds\": %.3g, \"microseconds\": %.3g}\n",
         set, workers, 1e6 * (cpu_seconds() - cpu) / LAUNCHES,
         1e6 * (bf_seconds() - clock) / LAUNCHES);
}

static bool is_wanted(const char *name, int names, char **list) {
  for (int i = 0; i < names; i++)
    if (strcmp(list[i], name) == 0)
      return true;
  return names <= 0;
}

int main(int arguments, char **argument) {
  bf_diagnostic diagnostic = {0};
  size_t size;
  char *text = read_all("bench/weak.ptx", &size);
  const bf_emu_isa *isa = bf_emu_isa_find(arguments > 1 ? argument[1] : NULL);
  bf_ptx_module *ptx;
  bench at;
  if (!isa)
    die("this CPU has no such instruction set");
  if (bf_ptx_parse("bench/weak.ptx", text, size, &ptx, &diagnostic) ||
      bf_emu_create(&at.emu, &diagnostic) || !bf_emu_choose(at.emu, isa->name) ||
      bf_emu_load(at.emu, ptx, &at.module, &diagnostic) ||
      bf_emu_alloc(at.emu, WORDS * 4, 0, &at.from, &diagnostic) ||
      bf_emu_alloc(at.emu, WORDS * 4, 0, &at.index, &diagnostic) ||
      bf_emu_alloc(at.emu, WORDS * 4, 0, &at.to, &diagnostic) ||
      bf_emu_alloc(at.emu, (uint64_t)LARGE_WORDS * 4, 0, &at.large, &diagnostic))
    die(diagnostic.message);
  memset((void *)(uintptr_t)at.large, 0, (size_t)LARGE_WORDS * 4);
  for (unsigned workers = 1; workers <= bf_cores() && workers <= 2; workers++) {
    for (unsigned i = 0; i < KERNELS; i++)
      if (is_wanted(kernels[i].name, arguments - 2, argument + 2))
        measure(&at, &kernels[i], isa->name, workers);
    if (is_wanted("launch", arguments - 2, argument + 2))
      measure_launches(&at, isa->name, workers);
  }
  bf_emu_free(at.emu);
  bf_ptx_free(ptx);
  free(text);
  return 0;
}

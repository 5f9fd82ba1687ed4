/* The kernels of bench/weak.cu, with their buffers: what bench_weak and bench_sim_classes run. */
#ifndef BF_BENCH_WEAK_H
#define BF_BENCH_WEAK_H

#include "emu/emu.h"
#include "emu/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 1 << 20, LARGE_WORDS = 1 << 24 };

typedef struct kernel {
  const char *name;
  uint32_t blocks, threads;
  int32_t n;
} kernel;

static const kernel kernels[] = {{"gather", 64, 256, 64},          {"gather_indexed", 64, 256, 64},
                                 {"gather_large", 64, 256, 64},    {"gather_bytes", 64, 256, 64},
                                 {"gather_generic", 64, 256, 64},  {"chase", 64, 256, 64},
                                 {"atomics", 64, 256, 64},         {"draws", 64, 256, 64},
                                 {"float_atomics", 64, 256, 64},   {"swaps", 64, 256, 32},
                                 {"copy4", 64, 256, WORDS / 4},    {"one_lane", 64, 256, 512},
                                 {"one_lane_shared", 64, 256, 16}, {"lock_by_warps", 64, 256, 32},
                                 {"lock_by_lanes", 4, 128, 4}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct bench {
  bf_emu *emu;
  bf_emu_module *module;
  uint64_t from, index, to, large;
} bench;

static void die(const char *text) {
  fprintf(stderr, "%s\n", text);
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

static bool is_wanted(const char *name, int names, char **list) {
  for (int i = 0; i < names; i++)
    if (strcmp(list[i], name) == 0)
      return true;
  return names <= 0;
}

/* Loads the kernels for an instruction set and makes the buffers. */
static void load(bench *at, const bf_ptx_module *ptx, const char *set) {
  bf_diagnostic diagnostic = {0};
  if (bf_emu_create(&at->emu, &diagnostic) || !bf_emu_choose(at->emu, set) ||
      bf_emu_load(at->emu, ptx, &at->module, &diagnostic) ||
      bf_emu_alloc(at->emu, WORDS * 4, 0, &at->from, &diagnostic) ||
      bf_emu_alloc(at->emu, WORDS * 4, 0, &at->index, &diagnostic) ||
      bf_emu_alloc(at->emu, WORDS * 4, 0, &at->to, &diagnostic) ||
      bf_emu_alloc(at->emu, (uint64_t)LARGE_WORDS * 4, 0, &at->large, &diagnostic))
    die(diagnostic.message);
  memset((void *)(uintptr_t)at->large, 0, (size_t)LARGE_WORDS * 4);
}

#endif

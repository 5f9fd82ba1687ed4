/* The five kernels of bench/emu.cu, with their buffers: what bench_emu and bench_sim run. */
#ifndef BF_BENCH_FIVE_H
#define BF_BENCH_FIVE_H

#include "emu/emu.h"
#include "emu/isa.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 1024, COUNT = SIDE * SIDE };

typedef struct bench {
  bf_emu *emu;
  bf_emu_module *module;
  const bf_machine *machine;
  uint64_t a, b, c;
} bench;

typedef struct kernel {
  const char *name;
  uint32_t grid[3], block[3];
} kernel;

static const kernel kernels[] = {{"vector_add", {COUNT / 256, 1, 1}, {256, 1, 1}},
                                 {"transpose", {SIDE / 32, SIDE / 32, 1}, {32, 8, 1}},
                                 {"reduce", {64, 1, 1}, {256, 1, 1}},
                                 {"histogram", {64, 1, 1}, {256, 1, 1}},
                                 {"fma_chains", {64, 1, 1}, {256, 1, 1}}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void die(const bf_diagnostic *diagnostic) {
  fprintf(stderr, "bench: %s\n", diagnostic->message);
  exit(2);
}

static char *read_all(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "bench: cannot read %s; run it in the project's folder\n", path);
    exit(2);
  }
  char *text = malloc(1 << 20);
  *size = text ? fread(text, 1, 1 << 20, file) : 0;
  fclose(file);
  return text;
}

/* The parameters of a kernel by its index: pointers, then a number. */
static uint64_t pack(const bench *at, unsigned index, unsigned char *block) {
  int32_t n = index == 1 ? SIDE : index == 4 ? 4096 : COUNT;
  uint64_t pointer[3] = {index == 4 ? at->c : at->a, index == 0 ? at->b : at->c, at->c};
  unsigned pointers = index == 0 ? 3 : index == 4 ? 1 : 2;
  memcpy(block, pointer, pointers * sizeof *pointer);
  memcpy(block + pointers * sizeof *pointer, &n, sizeof n);
  return pointers * sizeof *pointer + sizeof n;
}

/* Loads the kernels for an instruction set and fills the buffers. */
static void prepare(bench *at, const bf_ptx_module *ptx, const char *set) {
  bf_diagnostic diagnostic = {0};
  if (bf_emu_create(&at->emu, &diagnostic) || !bf_emu_choose(at->emu, set) ||
      bf_emu_load(at->emu, ptx, &at->module, &diagnostic) ||
      bf_emu_alloc(at->emu, COUNT * 4, 0, &at->a, &diagnostic) ||
      bf_emu_alloc(at->emu, COUNT * 4, 0, &at->b, &diagnostic) ||
      bf_emu_alloc(at->emu, COUNT * 4, 0, &at->c, &diagnostic))
    die(&diagnostic);
  unsigned char *bytes = (unsigned char *)(uintptr_t)at->a;
  uint32_t state = 1;
  for (unsigned i = 0; i < COUNT * 4; i++) {
    state = state * 1664525 + 1013904223;
    bytes[i] = (unsigned char)((state >> 24) & 0x3f);
  }
  memset((void *)(uintptr_t)at->b, 0, COUNT * 4);
}

#endif

/* What tests of the emulator share: a device with a module, a buffer, launches by name. */
#ifndef TEST_EMU_H
#define TEST_EMU_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu/emu.h"
#include "emu/isa.h"

#include <stdlib.h>

typedef struct bed {
  bf_emu *emu;
  bf_ptx_module *ptx;
  bf_emu_module *module;
  char *text;
  bf_text printed;
} bed;

/* Loads PTX for an instruction set (NULL: the best). */
static inline void bed_open_text(bed *at, const char *file, const char *text, size_t size,
                                 const char *set) {
  bf_diagnostic diagnostic = {0};
  *at = (bed){0};
  if (bf_ptx_parse(file, text, size, &at->ptx, &diagnostic))
    fail_msg("%s:%llu: %s", file, (unsigned long long)diagnostic.line, diagnostic.message);
  assert_int_equal(bf_emu_create(&at->emu, &diagnostic), BF_OK);
  assert_true(!set || bf_emu_choose(at->emu, set));
  if (bf_emu_load(at->emu, at->ptx, &at->module, &diagnostic))
    fail_msg("%s", diagnostic.message);
}

static inline void bed_open(bed *at, const char *path, const char *set) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  enum { MOST = 1 << 22 };
  char *text = malloc(MOST);
  assert_non_null(text);
  size_t size = fread(text, 1, MOST, file);
  fclose(file);
  bed_open_text(at, path, text, size, set);
  at->text = text;
}

static inline void bed_close(bed *at) {
  bf_emu_free(at->emu);
  bf_ptx_free(at->ptx);
  free(at->text);
  bf_text_free(&at->printed);
}

/* Device memory that holds bytes of value. */
static inline uint64_t bed_alloc(bed *at, size_t bytes, int value) {
  uint64_t address = 0;
  assert_int_equal(bf_emu_alloc(at->emu, bytes, 0, &address, NULL), BF_OK);
  memset((void *)(uintptr_t)address, value, bytes);
  return address;
}

static inline void bed_print(void *context, const char *text, size_t bytes) {
  bf_text_add(&((bed *)context)->printed, text, bytes);
}

/* A launch with a one-dimensional grid and the given parameter block; change it before running. */
static inline bf_emu_launch bed_launch(bed *at, const char *name, unsigned grid, unsigned block,
                                       const void *parameters, size_t bytes) {
  bf_diagnostic diagnostic = {0};
  const bf_emu_kernel *kernel = NULL;
  if (bf_emu_kernel_get(at->module, name, &kernel, &diagnostic))
    fail_msg("%s", diagnostic.message);
  return (bf_emu_launch){.kernel = kernel,
                         .grid = {grid, 1, 1},
                         .block = {block, 1, 1},
                         .parameters = parameters,
                         .parameter_bytes = bytes,
                         .print = bed_print,
                         .print_context = at};
}

static inline bf_emu_result bed_run(bed *at, const bf_emu_launch *launch) {
  bf_diagnostic diagnostic = {0};
  bf_emu_result result;
  if (bf_emu_run(at->emu, launch, &result, &diagnostic))
    fail_msg("%s", diagnostic.message);
  return result;
}

/* Runs and expects no fault. */
static inline bf_emu_result bed_run_well(bed *at, const bf_emu_launch *launch) {
  bf_emu_result result = bed_run(at, launch);
  if (result.fault.kind) {
    bf_text text = {0};
    bf_emu_fault_explain(&result.fault, &text);
    fail_msg("%s", text.data);
  }
  return result;
}

#endif

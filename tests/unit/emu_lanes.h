/* Kernels of a few instructions for tests of the emulator: every thread reads its own piece of an
 * input and writes its own piece of an output. */
#ifndef TEST_EMU_LANES_H
#define TEST_EMU_LANES_H

#include "emu.h"

#include <stdio.h>

static const char *const lanes_sets[] = {"plain", "avx2", "avx512"};
enum { LANES_SETS = 3, LANES_BLOCK = 256 };

/* Whether this host runs the instruction set. */
static inline bool lanes_has(const char *set) { return bf_emu_isa_find(set) != NULL; }

/* The PTX of a kernel with body, which finds %in and %out (64 bits: addresses of the thread's own
 * pieces) and %index (32 bits). before stands before the kernel. */
static inline char *lanes_text(const char *before, const char *body, size_t in_stride,
                               size_t out_stride) {
  enum { MOST = 1 << 16 };
  char *text = malloc(MOST);
  assert_non_null(text);
  int size = snprintf(text, MOST,
                      ".version 8.6\n.target sm_90\n.address_size 64\n%s\n"
                      ".visible .entry lanes(.param .u64 from, .param .u64 to) {\n"
                      ".reg .b64 %%in, %%out, %%wide; .reg .b32 %%index, %%block, %%threads;\n"
                      "mov.u32 %%block, %%ctaid.x; mov.u32 %%threads, %%ntid.x;\n"
                      "mov.u32 %%index, %%tid.x; mad.lo.u32 %%index, %%block, %%threads, %%index;\n"
                      "ld.param.u64 %%in, [from]; ld.param.u64 %%out, [to];\n"
                      "cvta.to.global.u64 %%in, %%in; cvta.to.global.u64 %%out, %%out;\n"
                      "mul.wide.u32 %%wide, %%index, %zu; add.u64 %%in, %%in, %%wide;\n"
                      "mul.wide.u32 %%wide, %%index, %zu; add.u64 %%out, %%out, %%wide;\n"
                      "%s\nret;\n}\n",
                      before, in_stride, out_stride, body);
  assert_in_range(size, 1, MOST - 1);
  return text;
}

/* Runs body on threads (at most LANES_BLOCK, or a multiple of it) with an instruction set. */
static inline bf_emu_result lanes_try(const char *set, const char *before, const char *body,
                                      unsigned threads, const void *in, size_t in_stride, void *out,
                                      size_t out_stride) {
  bed at;
  char *text = lanes_text(before, body, in_stride, out_stride);
  bed_open_text(&at, "lanes.ptx", text, strlen(text), set);
  uint64_t parameters[2] = {bed_alloc(&at, threads * in_stride + 64, 0),
                            bed_alloc(&at, threads * out_stride + 64, 0)};
  memcpy((void *)(uintptr_t)parameters[0], in, threads * in_stride);
  unsigned block = threads < LANES_BLOCK ? threads : LANES_BLOCK;
  bf_emu_launch launch =
      bed_launch(&at, "lanes", threads / block, block, parameters, sizeof parameters);
  launch.workers = 1;
  bf_emu_result result = bed_run(&at, &launch);
  memcpy(out, (void *)(uintptr_t)parameters[1], threads * out_stride);
  bed_close(&at);
  free(text);
  return result;
}

/* The same without a fault. */
static inline void lanes_run(const char *set, const char *before, const char *body,
                             unsigned threads, const void *in, size_t in_stride, void *out,
                             size_t out_stride) {
  bf_emu_result result = lanes_try(set, before, body, threads, in, in_stride, out, out_stride);
  if (result.fault.kind)
    fail_msg("%s: %s", bf_emu_fault_name(result.fault.kind), result.fault.text);
}

/* The message with which body is refused. */
static inline void lanes_refused(const char *before, const char *body, const char *part) {
  bed at;
  bf_diagnostic diagnostic = {0};
  const bf_emu_kernel *kernel;
  char *text = lanes_text(before, body, 8, 8);
  bed_open_text(&at, "lanes.ptx", text, strlen(text), NULL);
  assert_int_equal(bf_emu_kernel_get(at.module, "lanes", &kernel, &diagnostic), BF_UNSUPPORTED);
  if (!strstr(diagnostic.message, part))
    fail_msg("%s", diagnostic.message);
  bed_close(&at);
  free(text);
}

/* Runs one instruction on n values: "cvt.rn.f16.f32 %d, %a;" with registers of the given types
 * (b16, b32, b64). Values are the low bits of 64. */
static inline void lanes_map(const char *set, const char *instruction, const char *to_type,
                             const char *from_type, const uint64_t *in, uint64_t *out, size_t n) {
  char body[1024];
  size_t whole = n <= LANES_BLOCK ? n : (n + LANES_BLOCK - 1) / LANES_BLOCK * LANES_BLOCK;
  uint64_t *padded_in = calloc(whole, 8), *padded_out = calloc(whole, 8);
  assert_true(padded_in && padded_out);
  memcpy(padded_in, in, n * 8);
  snprintf(body, sizeof body,
           ".reg .%s %%d; .reg .%s %%a;\nld.global.%s %%a, [%%in];\n%s\nst.global.%s [%%out], %%d;",
           to_type, from_type, from_type, instruction, to_type);
  lanes_run(set, "", body, (unsigned)whole, padded_in, 8, padded_out, 8);
  memcpy(out, padded_out, n * 8);
  free(padded_in);
  free(padded_out);
}

#endif

#include "reproduce/h200/bench.h"

#include <string.h>

enum { MEMORY_BYTES = 65536 };

/* One instruction of the kind, number index: results go to registers of their own. */
static void write_access(const h200_access *access, unsigned index, bf_text *text) {
  static const char *const scalar[] = {"", "u8", "u16", "", "b32", "", "", "", "b64"};
  bool is_wide = access->width_bytes == 16;
  const char *type = is_wide ? "v4.b32" : scalar[access->width_bytes];
  char value[64];
  if (is_wide)
    snprintf(value, sizeof value, "{%%v%u, %%v%u, %%v%u, %%v%u}", 4 * index, 4 * index + 1,
             4 * index + 2, 4 * index + 3);
  else if (access->width_bytes == 8)
    snprintf(value, sizeof value, "%%w%u", index);
  else
    snprintf(value, sizeof value, "%%%s%u", access->width_bytes == 4 ? "v" : "h", index);
  if (strcmp(access->op, "ld") == 0)
    bf_text_addf(text, "  ld.volatile.shared.%s %s, [%%a];\n", type, value);
  else if (strcmp(access->op, "st") == 0)
    bf_text_addf(text, "  st.volatile.shared.%s [%%a], %s;\n", type, value);
  else if (strcmp(access->op, "atom") == 0)
    bf_text_addf(text, "  atom.shared.add.u32 %s, [%%a], 1;\n", value);
  else if (strcmp(access->op, "red") == 0)
    bf_text_addf(text, "  red.shared.add.u32 [%%a], 1;\n");
  else
    bf_text_addf(text, "  atom.shared.add.f32 %%f%u, [%%a], 0f3F800000;\n", index);
}

/* Waits for the last result, as the program that measured did by using them all. */
static void write_uses(const h200_access *access, bf_text *text) {
  bool is_float = strcmp(access->op, "fatom") == 0;
  if (strcmp(access->op, "st") == 0 || strcmp(access->op, "red") == 0)
    return;
  unsigned last = H200_TIMES - 1;
  if (is_float)
    bf_text_addf(text, "  add.f32 %%f99, %%f99, %%f%u;\n", last);
  else if (access->width_bytes == 8)
    bf_text_addf(text, "  xor.b64 %%w99, %%w99, %%w%u;\n", last);
  else if (access->width_bytes >= 4)
    bf_text_addf(text, "  xor.b32 %%v199, %%v199, %%v%u;\n",
                 access->width_bytes == 16 ? 4 * last : last);
  else
    bf_text_addf(text, "  xor.b16 %%h99, %%h99, %%h%u;\n", last);
}

static void write_kernel(const h200_access *access, bf_text *text) {
  bf_text_addf(
      text,
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry timed(.param .u64 addresses, .param .u32 lanes, .param .u64 to)\n{\n"
      "  .reg .b16 %%h<100>;\n  .reg .b32 %%v<200>;\n  .reg .b64 %%w<100>;\n"
      "  .reg .f32 %%f<100>;\n  .reg .b32 %%a, %%base, %%thread, %%lanes;\n"
      "  .reg .b64 %%from, %%to, %%start, %%end;\n  .reg .pred %%p;\n"
      "  .shared .align 1024 .b8 memory[%d];\n"
      "  ld.param.u64 %%from, [addresses];\n  ld.param.u64 %%to, [to];\n"
      "  ld.param.u32 %%lanes, [lanes];\n  mov.u32 %%thread, %%tid.x;\n"
      "  shr.b32 %%lanes, %%lanes, %%thread;\n  and.b32 %%lanes, %%lanes, 1;\n"
      "  setp.eq.u32 %%p, %%lanes, 0;\n  @%%p ret;\n"
      "  mad.wide.u32 %%from, %%thread, 4, %%from;\n  ld.global.u32 %%a, [%%from];\n"
      "  mov.u32 %%base, memory;\n  add.u32 %%a, %%a, %%base;\n"
      "  bar.sync 0;\n  mov.u64 %%start, %%clock64;\n",
      MEMORY_BYTES);
  for (unsigned i = 0; i < H200_TIMES; i++)
    write_access(access, i, text);
  write_uses(access, text);
  bf_text_addf(text, "  mov.u64 %%end, %%clock64;\n  sub.u64 %%end, %%end, %%start;\n"
                     "  st.global.u64 [%%to], %%end;\n");
  if (strcmp(access->op, "atom") == 0) /* results that nobody reads would make it a reduction */
    for (unsigned i = 0; i < H200_TIMES; i++)
      bf_text_addf(text, "  xor.b32 %%v199, %%v199, %%v%u;\n", i);
  bf_text_addf(text, "  ret;\n}\n");
}

/* Simulates the kernel, which is in module. */
static int run_kernel(const bf_sim_gpu *gpu, bf_emu *emu, const bf_ptx_module *ptx,
                      const h200_access *access, double *cycles, bf_diagnostic *diagnostic) {
  bf_emu_module *module;
  const bf_emu_kernel *kernel;
  uint64_t from, to;
  BF_TRY(bf_emu_load(emu, ptx, &module, diagnostic));
  BF_TRY(bf_emu_kernel_get(module, "timed", &kernel, diagnostic));
  BF_TRY(bf_emu_alloc(emu, sizeof access->address, 0, &from, diagnostic));
  BF_TRY(bf_emu_alloc(emu, sizeof(uint64_t), 0, &to, diagnostic));
  memcpy((void *)(uintptr_t)from, access->address, sizeof access->address);
  struct {
    uint64_t from;
    uint32_t lanes;
    uint64_t to;
  } parameters = {from, access->mask, to};
  bf_emu_launch launch = {.kernel = kernel,
                          .grid = {1, 1, 1},
                          .block = {BF_EMU_LANES, 1, 1},
                          .parameters = &parameters,
                          .parameter_bytes = sizeof parameters};
  bf_sim_result result;
  BF_TRY(
      bf_sim_run(&(bf_sim_settings){.gpu = gpu, .workers = 1}, emu, &launch, &result, diagnostic));
  bool has_fault = result.emu.fault.kind != BF_EMU_NO_FAULT;
  bf_arena_free(&result.arena);
  if (has_fault)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the timed kernel failed");
  uint64_t taken;
  memcpy(&taken, (const void *)(uintptr_t)to, sizeof taken);
  *cycles = (double)taken / H200_TIMES;
  return BF_OK;
}

int h200_time_access(const bf_sim_gpu *gpu, const h200_access *access, double *cycles,
                     bf_diagnostic *diagnostic) {
  bf_text text = {0};
  write_kernel(access, &text);
  bf_ptx_module *ptx = NULL;
  bf_emu *emu = NULL;
  int error = text.failed ? bf_no_memory(diagnostic)
                          : bf_ptx_parse("timed", text.data, text.size, &ptx, diagnostic);
  if (!error)
    error = bf_emu_create(&emu, diagnostic);
  if (!error)
    error = run_kernel(gpu, emu, ptx, access, cycles, diagnostic);
  bf_emu_free(emu);
  bf_ptx_free(ptx);
  bf_text_free(&text);
  return error;
}

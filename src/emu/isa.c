/* Which instruction sets of the host there are code for, and the best one here. With
 * BF_EMU_NO_VECTORS only the plain one. */
#include "emu/isa.h"
#include "emu/inner.h"

#if defined(__x86_64__) && !defined(BF_EMU_NO_VECTORS)
#define HAS_VECTORS 1
#else
#define HAS_VECTORS 0
#endif

#define X(file)                                                                                    \
  bool bf_emu_select_##file##_plain(bf_emu_decoder *, const bf_ptx_instruction *, bf_emu_op *);    \
  bool bf_emu_select_##file##_avx2(bf_emu_decoder *, const bf_ptx_instruction *, bf_emu_op *);     \
  bool bf_emu_select_##file##_avx512(bf_emu_decoder *, const bf_ptx_instruction *, bf_emu_op *);
BF_EMU_SELECTS(X)
#undef X
#define X(file)                                                                                    \
  extern const bf_alone_row bf_emu_alone_##file##_plain[], bf_emu_alone_##file##_avx2[],           \
      bf_emu_alone_##file##_avx512[];
BF_ALONE_TABLES(X)
#undef X
const bf_emu_op *bf_emu_run_alone_plain(bf_emu_warp *, const bf_emu_op *);
const bf_emu_op *bf_emu_run_alone_avx2(bf_emu_warp *, const bf_emu_op *);
const bf_emu_op *bf_emu_run_alone_avx512(bf_emu_warp *, const bf_emu_op *);

static const bf_emu_isa plain = {.name = "plain",
#define X(file) bf_emu_select_##file##_plain,
                                 .select = {BF_EMU_SELECTS(X) NULL},
#undef X
#define X(file) bf_emu_alone_##file##_plain,
                                 .alone = {BF_ALONE_TABLES(X) NULL},
#undef X
                                 .run_alone = bf_emu_run_alone_plain};
#if HAS_VECTORS
static const bf_emu_isa avx2 = {.name = "avx2",
#define X(file) bf_emu_select_##file##_avx2,
                                .select = {BF_EMU_SELECTS(X) NULL},
#undef X
#define X(file) bf_emu_alone_##file##_avx2,
                                .alone = {BF_ALONE_TABLES(X) NULL},
#undef X
                                .run_alone = bf_emu_run_alone_avx2};
static const bf_emu_isa avx512 = {.name = "avx512",
#define X(file) bf_emu_select_##file##_avx512,
                                  .select = {BF_EMU_SELECTS(X) NULL},
#undef X
#define X(file) bf_emu_alone_##file##_avx512,
                                  .alone = {BF_ALONE_TABLES(X) NULL},
#undef X
                                  .run_alone = bf_emu_run_alone_avx512};
#endif

/* All sets that run here, the best first. */
static unsigned list(const bf_emu_isa *found[3]) {
  unsigned count = 0;
#if HAS_VECTORS
  __builtin_cpu_init();
  bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi2");
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd"))
    found[count++] = &avx512;
  if (has_avx2)
    found[count++] = &avx2;
#endif
  found[count++] = &plain;
  return count;
}

const bf_emu_isa *bf_emu_isa_find(const char *name) {
  const bf_emu_isa *found[3];
  unsigned count = list(found);
  for (unsigned i = 0; i < count; i++)
    if (!name || strcmp(found[i]->name, name) == 0)
      return found[i];
  return NULL;
}

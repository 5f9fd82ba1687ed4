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

static const bf_emu_isa plain = {"plain",
                                 {
#define X(file) bf_emu_select_##file##_plain,
                                     BF_EMU_SELECTS(X)
#undef X
                                         NULL}};
#if HAS_VECTORS
static const bf_emu_isa avx2 = {"avx2",
                                {
#define X(file) bf_emu_select_##file##_avx2,
                                    BF_EMU_SELECTS(X)
#undef X
                                        NULL}};
static const bf_emu_isa avx512 = {"avx512",
                                  {
#define X(file) bf_emu_select_##file##_avx512,
                                      BF_EMU_SELECTS(X)
#undef X
                                          NULL}};
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

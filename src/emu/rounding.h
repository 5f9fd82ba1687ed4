/* Inside room emu: the rounding mode of the host, changed for a few lines of code.
 *
 *   bf_emu_saved_rounding saved = bf_emu_rounding_set(rounding);
 *   ... arithmetic from memory to memory ...
 *   bf_emu_rounding_restore(saved);
 *
 * The barriers keep loads and stores, and so the arithmetic between them, where it is written. */
#ifndef BF_EMU_ROUNDING_H
#define BF_EMU_ROUNDING_H

#include "emu/half.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef unsigned bf_emu_saved_rounding;

static inline bf_emu_saved_rounding bf_emu_rounding_set(bf_emu_rounding rounding) {
  static const unsigned mode[] = {
      [BF_EMU_RN] = 0, [BF_EMU_RZ] = 3u << 13, [BF_EMU_RM] = 1u << 13, [BF_EMU_RP] = 2u << 13};
  const unsigned no_exceptions = 0x1f80;
  unsigned saved = _mm_getcsr();
  _mm_setcsr(no_exceptions | mode[rounding]);
  __asm__ volatile("" ::: "memory");
  return saved;
}

static inline void bf_emu_rounding_restore(bf_emu_saved_rounding saved) {
  __asm__ volatile("" ::: "memory");
  _mm_setcsr(saved);
}

#elif defined(__wasm__)

/* WebAssembly rounds to the nearest only; directed.h does the rest. */
typedef int bf_emu_saved_rounding;
#define BF_EMU_NEAREST_ONLY 1

static inline bf_emu_saved_rounding bf_emu_rounding_set(bf_emu_rounding rounding) {
  return (int)rounding;
}

static inline void bf_emu_rounding_restore(bf_emu_saved_rounding saved) { (void)saved; }

#else
#include <fenv.h>

typedef int bf_emu_saved_rounding;

static inline bf_emu_saved_rounding bf_emu_rounding_set(bf_emu_rounding rounding) {
  static const int mode[] = {[BF_EMU_RN] = FE_TONEAREST,
                             [BF_EMU_RZ] = FE_TOWARDZERO,
                             [BF_EMU_RM] = FE_DOWNWARD,
                             [BF_EMU_RP] = FE_UPWARD};
  int saved = fegetround();
  fesetround(mode[rounding]);
  __asm__ volatile("" ::: "memory");
  return saved;
}

static inline void bf_emu_rounding_restore(bf_emu_saved_rounding saved) {
  __asm__ volatile("" ::: "memory");
  fesetround(saved);
}
#endif

#ifndef BF_EMU_NEAREST_ONLY
#define BF_EMU_NEAREST_ONLY 0
#endif

#endif

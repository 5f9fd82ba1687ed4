/* Inside room emu: what PTX does to f32 besides arithmetic. */
#ifndef BF_EMU_SINGLE_H
#define BF_EMU_SINGLE_H

#include "emu/half.h"

/* x, with the one NaN that there is */
static inline float bf_emu_canonical(float x) { return x == x ? x : bf_emu_bits_float(0x7fffffff); }

/* The bits that .ftz leaves of a denormal number: its sign; without it all. */
static inline uint32_t bf_emu_kept_bits(bool flushes) { return flushes ? 0x80000000 : UINT32_MAX; }

/* x, of which only the bits of keep are left where it is denormal */
static inline float bf_emu_flushed(float x, uint32_t keep) {
  uint32_t bits = bf_emu_float_bits(x);
  return bf_emu_bits_float(bits & 0x7f800000 ? bits : bits & keep);
}

#endif

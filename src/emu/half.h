/* Inside room emu: 16-bit floating point (f16: 5 bits of exponent, 10 of mantissa; bf16: 8 and 7)
 * to and from float, by integer arithmetic alone, so that compilers can vectorise it and the
 * rounding mode of the host does not matter. A NaN becomes 0x7fff, as the PTX ISA says of both
 * types. */
#ifndef BF_EMU_HALF_H
#define BF_EMU_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum bf_emu_rounding {
  BF_EMU_RN,  /* to the nearest, ties to even */
  BF_EMU_RZ,  /* towards zero */
  BF_EMU_RM,  /* towards minus infinity */
  BF_EMU_RP,  /* towards plus infinity */
  BF_EMU_RNA, /* to the nearest, ties away from zero */
} bf_emu_rounding;

static inline uint32_t bf_emu_float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float bf_emu_bits_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint64_t bf_emu_double_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double bf_emu_bits_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* 1 where a magnitude whose lowest kept bit is odd, and of which remainder (in units of which one
 * half is half) is cut off, is rounded away from zero. */
static inline uint32_t bf_emu_rounds_up(uint32_t odd, uint32_t remainder, uint32_t half,
                                        uint32_t negative, bf_emu_rounding rounding) {
  switch (rounding) {
  case BF_EMU_RN:
    return (remainder > half) | ((remainder == half) & odd);
  case BF_EMU_RNA:
    return remainder >= half;
  case BF_EMU_RM:
    return (remainder != 0) & negative;
  case BF_EMU_RP:
    return (remainder != 0) & !negative;
  case BF_EMU_RZ:
    break;
  }
  return 0;
}

/* The value of an f16, exactly. A NaN keeps its mantissa. */
static inline float bf_emu_half_to_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = (uint32_t)(half & 0x7fff) << 13;
  const uint32_t smallest = 113u << 23; /* 2^-14, the smallest normal f16 */
  float denormal = bf_emu_bits_float(magnitude | smallest) - bf_emu_bits_float(smallest);
  uint32_t normal = magnitude + (112u << 23);
  uint32_t special = magnitude | 0x7f800000;
  uint32_t bits = magnitude < 0x0400u << 13    ? bf_emu_float_bits(denormal) & 0x7fffffff
                  : magnitude >= 0x7c00u << 13 ? special
                                               : normal;
  return bf_emu_bits_float(sign | bits);
}

/* The f16 next to value. */
static inline uint16_t bf_emu_float_to_half(float value, bf_emu_rounding rounding) {
  uint32_t bits = bf_emu_float_bits(value), magnitude = bits & 0x7fffffff, negative = bits >> 31;
  uint32_t exponent = magnitude >> 23;
  bool normal = exponent >= 113;
  uint32_t implicit = exponent ? 0x00800000 : 0;
  uint32_t whole = normal ? magnitude - (112u << 23) : (magnitude & 0x007fffff) | implicit;
  uint32_t shift = normal ? 13 : 126 - exponent;
  shift = shift > 31 ? 31 : shift;
  uint32_t kept = whole >> shift, half = UINT32_C(1) << (shift - 1);
  uint32_t remainder = whole & (half * 2 - 1);
  kept += bf_emu_rounds_up(kept & 1, remainder, half, negative, rounding);
  /* Beyond the largest finite number: infinity where the rounding leads there. */
  uint32_t beyond = 0x7bff + bf_emu_rounds_up(1, 2, 1, negative, rounding);
  kept = kept > 0x7bff ? beyond : kept;
  kept = magnitude == 0x7f800000 ? 0x7c00 : kept;
  return (uint16_t)(magnitude > 0x7f800000 ? 0x7fff : negative << 15 | kept);
}

/* The value of a bf16, exactly. A NaN keeps its mantissa. */
static inline float bf_emu_bf16_to_float(uint16_t half) {
  return bf_emu_bits_float((uint32_t)half << 16);
}

/* The bf16 next to value. */
static inline uint16_t bf_emu_float_to_bf16(float value, bf_emu_rounding rounding) {
  uint32_t bits = bf_emu_float_bits(value), magnitude = bits & 0x7fffffff, negative = bits >> 31;
  uint32_t kept = magnitude >> 16;
  kept += bf_emu_rounds_up(kept & 1, magnitude & 0xffff, 0x8000, negative, rounding);
  return (uint16_t)(magnitude > 0x7f800000 ? 0x7fff : negative << 15 | kept);
}

/* value as a float rounded to odd: cut off, with the last bit set where anything was. A second
 * rounding of that to a format at least two bits narrower gives what rounding value itself would.
 * Floats so small that they are denormal have lost nothing that f16 could tell. */
static inline float bf_emu_double_to_float_odd(double value) {
  uint64_t bits = bf_emu_double_bits(value), magnitude = bits & (UINT64_MAX >> 1);
  uint32_t sign = (uint32_t)(bits >> 63) << 31;
  uint64_t exponent = magnitude >> 52;
  uint64_t implicit = exponent ? UINT64_C(1) << 52 : 0;
  bool normal = exponent >= 897;
  uint64_t whole = normal ? magnitude - (UINT64_C(896) << 52)
                          : (magnitude & ((UINT64_C(1) << 52) - 1)) | implicit;
  uint64_t shift = normal ? 29 : 926 - exponent;
  shift = shift > 63 ? 63 : shift;
  uint64_t kept = whole >> shift;
  kept |= (whole & ((UINT64_C(1) << shift) - 1)) != 0;
  kept = kept > 0x7f7fffff ? 0x7f7fffff : kept;
  kept = exponent == 2047 ? 0x7f800000 | (magnitude << 12 ? 0x7fffff : 0) : kept;
  return bf_emu_bits_float(sign | (uint32_t)kept);
}

#endif

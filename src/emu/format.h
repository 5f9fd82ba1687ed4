/* Inside room emu: any floating-point format by its numbers of bits, rounded in any way, one value
 * at a time. Exact and slow: what is common has faster ways (half.h). */
#ifndef BF_EMU_FORMAT_H
#define BF_EMU_FORMAT_H

#include "emu/half.h"

/* A format with sign, exponent and mantissa from the high bits to the low ones. */
typedef struct bf_emu_format {
  int mantissa_bits;
  int bias;
  uint64_t largest;  /* bits of the largest finite number */
  uint64_t infinity; /* its bits, or those of NaN where the format has none */
  uint64_t nan;
  uint64_t sign;
} bf_emu_format;

static const bf_emu_format bf_emu_format_f64 = {
    52,
    1023,
    UINT64_C(0x7fefffffffffffff),
    UINT64_C(0x7ff0000000000000),
    UINT64_C(0x7fffffffffffffff),
    UINT64_C(1) << 63,
};
static const bf_emu_format bf_emu_format_f32 = {23,         127,        0x7f7fffff,
                                                0x7f800000, 0x7fffffff, 0x80000000};
static const bf_emu_format bf_emu_format_f16 = {10, 15, 0x7bff, 0x7c00, 0x7fff, 0x8000};
static const bf_emu_format bf_emu_format_bf16 = {7, 127, 0x7f7f, 0x7f80, 0x7fff, 0x8000};
/* The high 19 bits of an f32; to be shifted up by 13. */
static const bf_emu_format bf_emu_format_tf32 = {10, 127, 0x3fbff, 0x3fc00, 0x3ffff, 0x40000};
static const bf_emu_format bf_emu_format_e4m3 = {3, 7, 0x7e, 0x7f, 0x7f, 0x80};
static const bf_emu_format bf_emu_format_e5m2 = {2, 15, 0x7b, 0x7c, 0x7f, 0x80};

/* magnitude * 2^exponent, or one of the special values. */
typedef struct bf_emu_number {
  uint64_t magnitude;
  int exponent;
  bool negative, is_nan, is_infinite;
} bf_emu_number;

static inline bf_emu_number bf_emu_number_from_double(double value) {
  uint64_t bits = bf_emu_double_bits(value), fraction = bits & ((UINT64_C(1) << 52) - 1);
  int exponent = (int)(bits >> 52 & 2047);
  bf_emu_number number = {.negative = bits >> 63};
  if (exponent == 2047) {
    number.is_nan = fraction != 0;
    number.is_infinite = fraction == 0;
  } else {
    number.magnitude = fraction | (uint64_t)(exponent != 0) << 52;
    number.exponent = (exponent ? exponent : 1) - 1075;
  }
  return number;
}

static inline bf_emu_number bf_emu_number_from_integer(uint64_t bits, bool is_signed) {
  bool negative = is_signed && bits >> 63;
  return (bf_emu_number){.magnitude = negative ? -bits : bits, .negative = negative};
}

/* How a number that is not exact in the format is rounded, and what is done to it. */
typedef struct bf_emu_encoding {
  bf_emu_rounding rounding;
  bool relu;       /* negative numbers become 0 */
  bool sat_finite; /* infinity and what lies beyond the largest number become that */
  bool sat;        /* to [0, 1]; NaN becomes 0 */
} bf_emu_encoding;

/* Bits of magnitude * 2^exponent (magnitude not 0) without sign; may lie above the largest. */
static inline uint64_t bf_emu_round_magnitude(const bf_emu_format *format,
                                              const bf_emu_number *number,
                                              bf_emu_rounding rounding) {
  int smallest = 1 - format->bias; /* exponent of the smallest normal number */
  int top = 63 - __builtin_clzll(number->magnitude) + number->exponent;
  if (top > format->bias + 1)
    return format->largest + 1;
  int binade = top > smallest ? top : smallest;
  int shift = binade - format->mantissa_bits - number->exponent; /* bits to cut off */
  uint64_t kept, remainder = 0, half = 1;
  if (shift <= 0) {
    kept = number->magnitude << -shift;
  } else if (shift > 64) {
    kept = 0, remainder = 1, half = 2;
  } else {
    kept = shift == 64 ? 0 : number->magnitude >> shift;
    half = UINT64_C(1) << (shift - 1);
    remainder = number->magnitude & (half * 2 - 1);
  }
  /* Only the order of remainder and half matters: 0, below, equal, above. */
  uint32_t order = remainder == 0 ? 0 : remainder < half ? 1 : remainder == half ? 2 : 3;
  kept += bf_emu_rounds_up(kept & 1, order, 2, number->negative, rounding);
  return kept + ((uint64_t)(binade + format->bias - 1) << format->mantissa_bits);
}

/* The bits of number in format. */
static inline uint64_t bf_emu_encode(const bf_emu_format *format, bf_emu_number number,
                                     bf_emu_encoding how) {
  if (number.is_nan)
    return how.sat ? 0 : format->nan;
  if (number.negative && (how.relu || how.sat))
    return 0;
  uint64_t sign = number.negative ? format->sign : 0, bits = 0;
  if (number.is_infinite)
    bits = how.sat_finite ? format->largest : format->infinity;
  else if (number.magnitude)
    bits = bf_emu_round_magnitude(format, &number, how.rounding);
  if (!number.is_infinite && bits > format->largest) {
    bool away = bf_emu_rounds_up(1, 2, 1, number.negative, how.rounding);
    bits = how.sat_finite || !away ? format->largest : format->infinity;
  }
  uint64_t one = (uint64_t)format->bias << format->mantissa_bits;
  if (how.sat && bits > one)
    bits = one;
  return sign | bits;
}

/* The value of a number of 8 bits; formats without infinity have NaN only at their highest bits. */
static inline float bf_emu_decode_byte(const bf_emu_format *format, uint8_t bits) {
  uint32_t magnitude = bits & 0x7f, sign = (uint32_t)(bits & 0x80) << 24;
  if (magnitude > format->largest) {
    bool infinite = magnitude == format->infinity && format->infinity != format->nan;
    return bf_emu_bits_float(infinite ? sign | 0x7f800000 : 0x7fffffff);
  }
  uint32_t exponent = magnitude >> format->mantissa_bits;
  uint32_t fraction = magnitude & ((1u << format->mantissa_bits) - 1);
  if (exponent)
    fraction |= 1u << format->mantissa_bits;
  /* fraction * 2^(exponent - bias - mantissa bits), which is a normal float or 0. */
  int power = (int)(exponent ? exponent : 1) - format->bias - format->mantissa_bits;
  float value = (float)fraction * bf_emu_bits_float((uint32_t)(127 + power) << 23);
  return bf_emu_bits_float(sign | bf_emu_float_bits(value));
}

#endif

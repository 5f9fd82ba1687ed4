/* Inside room emu: arithmetic that is rounded in any way without the rounding mode of the host,
 * which WebAssembly does not have. Whole numbers hold the exact result, or so much of it that it is
 * rounded alike; format.h rounds it. One value at a time. */
#ifndef BF_EMU_DIRECTED_H
#define BF_EMU_DIRECTED_H

#include "emu/format.h"

#include <math.h>

__extension__ typedef unsigned __int128 bf_emu_int128;

/* magnitude * 2^exponent; the lowest bit is set also where something smaller is left out. */
typedef struct bf_emu_exact {
  bf_emu_int128 magnitude;
  int exponent;
  bool negative;
} bf_emu_exact;

/* How a result is rounded, and to which format: f32 or f64. */
typedef struct bf_emu_target {
  const bf_emu_format *format;
  bf_emu_rounding rounding;
} bf_emu_target;

/* Zeros above the highest bit of a number that is not 0. */
static inline int bf_emu_int128_zeros(bf_emu_int128 value) {
  return value >> 64 ? __builtin_clzll((uint64_t)(value >> 64))
                     : 64 + __builtin_clzll((uint64_t)value);
}

/* value >> shift with what is cut off kept as the lowest bit. */
static inline bf_emu_int128 bf_emu_int128_cut(bf_emu_int128 value, int shift) {
  if (shift <= 0)
    return value;
  if (shift > 127)
    return value != 0;
  bf_emu_int128 lost = value & (((bf_emu_int128)1 << shift) - 1);
  return value >> shift | (lost != 0);
}

/* The number moved up so that two bits above it are free. */
static inline void bf_emu_exact_raise(bf_emu_exact *number) {
  int shift = bf_emu_int128_zeros(number->magnitude) - 2;
  number->magnitude <<= shift;
  number->exponent -= shift;
}

/* The number rounded; not 0. */
static inline double bf_emu_exact_round(bf_emu_exact exact, bf_emu_target target) {
  int shift = 64 - bf_emu_int128_zeros(exact.magnitude);
  bf_emu_number number = {.magnitude = (uint64_t)bf_emu_int128_cut(exact.magnitude, shift),
                          .exponent = exact.exponent + (shift > 0 ? shift : 0),
                          .negative = exact.negative};
  uint64_t bits =
      bf_emu_encode(target.format, number, (bf_emu_encoding){.rounding = target.rounding});
  return target.format->mantissa_bits == 23 ? (double)bf_emu_bits_float((uint32_t)bits)
                                            : bf_emu_bits_double(bits);
}

/* The sum of two raised numbers that are not 0. */
static inline bf_emu_exact bf_emu_exact_sum(bf_emu_exact a, bf_emu_exact b) {
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.magnitude < b.magnitude)) {
    bf_emu_exact larger = b;
    b = a, a = larger;
  }
  bf_emu_int128 part = bf_emu_int128_cut(b.magnitude, a.exponent - b.exponent);
  a.magnitude = a.negative == b.negative ? a.magnitude + part : a.magnitude - part;
  return a;
}

/* a * b + c. Infinities and NaNs are left to the host, which rounds nothing there. */
static inline double bf_emu_directed_fma(double a, double b, double c, bf_emu_target target) {
  if (!isfinite(a) || !isfinite(b) || !isfinite(c))
    return fma(a, b, c);
  bf_emu_number x = bf_emu_number_from_double(a), y = bf_emu_number_from_double(b),
                z = bf_emu_number_from_double(c);
  bool negative = x.negative != y.negative;
  bf_emu_exact product = {(bf_emu_int128)x.magnitude * y.magnitude, x.exponent + y.exponent,
                          negative};
  bf_emu_exact sum = {z.magnitude, z.exponent, z.negative};
  if (product.magnitude && sum.magnitude) {
    bf_emu_exact_raise(&product);
    bf_emu_exact_raise(&sum);
    sum = bf_emu_exact_sum(product, sum);
  } else if (product.magnitude) {
    sum = product;
  }
  if (sum.magnitude)
    return bf_emu_exact_round(sum, target);
  bool is_minus = negative == z.negative ? negative : target.rounding == BF_EMU_RM;
  return is_minus ? -0.0 : 0.0;
}

static inline double bf_emu_directed_product(double a, double b, bf_emu_target target) {
  return bf_emu_directed_fma(a, b, signbit(a) != signbit(b) ? -0.0 : 0.0, target);
}

static inline double bf_emu_directed_quotient(double a, double b, bf_emu_target target) {
  if (!isfinite(a) || !isfinite(b) || a == 0 || b == 0)
    return a / b;
  bf_emu_number x = bf_emu_number_from_double(a), y = bf_emu_number_from_double(b);
  bf_emu_exact top = {x.magnitude, x.exponent, x.negative != y.negative};
  bf_emu_exact_raise(&top);
  bf_emu_exact quotient = {top.magnitude / y.magnitude, top.exponent - y.exponent, top.negative};
  quotient.magnitude |= top.magnitude % y.magnitude != 0;
  return bf_emu_exact_round(quotient, target);
}

/* By bits: the largest whole root, and whether something is left. */
static inline double bf_emu_directed_root(double a, bf_emu_target target) {
  if (!(a > 0) || !isfinite(a))
    return sqrt(a);
  bf_emu_number x = bf_emu_number_from_double(a);
  bf_emu_exact square = {x.magnitude, x.exponent, false};
  bf_emu_exact_raise(&square);
  if (square.exponent & 1)
    square.magnitude >>= 1, square.exponent++; /* the lowest bits are 0 */
  bf_emu_int128 root = 0, rest = square.magnitude;
  for (bf_emu_int128 bit = (bf_emu_int128)1 << 126; bit; bit >>= 2) {
    bool fits = rest >= root + bit;
    rest -= fits ? root + bit : 0;
    root = (root >> 1) + (fits ? bit : 0);
  }
  return bf_emu_exact_round((bf_emu_exact){root << 1 | (rest != 0), square.exponent / 2 - 1, false},
                            target);
}

#endif

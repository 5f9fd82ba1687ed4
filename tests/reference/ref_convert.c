/* cvt between all types. */
#include "ref.h"

#include <math.h>

/* A number of an integer type as it is. */
static ref_exact from_integer(ref_signed value) {
  if (value == 0)
    return (ref_exact){.class = REF_ZERO};
  return (ref_exact){.class = REF_FINITE,
                     .negative = value < 0,
                     .mantissa = (ref_bits)(value < 0 ? -value : value)};
}

/* The whole number next to a finite one in a direction, as a magnitude that is cut off at 2^100. */
static ref_bits whole(ref_exact value, ref_rounding rounding) {
  if (value.exponent >= 0) /* mantissas have at most 53 bits */
    return value.exponent < 70 ? value.mantissa << value.exponent : (ref_bits)1 << 100;
  unsigned shift = (unsigned)-value.exponent;
  ref_bits rest = shift < 128 ? ref_low(value.mantissa, shift) : value.mantissa;
  ref_bits integer = shift < 128 ? value.mantissa >> shift : 0;
  ref_bits half = shift <= 127 ? (ref_bits)1 << (shift - 1) : 0;
  bool up = rounding == REF_RM   ? rest && value.negative
            : rounding == REF_RP ? rest && !value.negative
            : rounding == REF_RZ ? false
                                 : half && (rest > half || (rest == half && (integer & 1)));
  return integer + up;
}

/* To an integer type: what does not fit becomes the nearest number that does; NaN becomes 0, or for
 * 64-bit types on either side the number with the top bit alone. */
static ref_signed to_integer(const ref_op *op, bf_ptx_type to, bf_ptx_type from, ref_exact value) {
  unsigned bits = ref_type_bits(to);
  if (value.class == REF_NAN) {
    bool wide = from == BF_PTX_F64 || bits == 64;
    return wide ? ref_number((ref_bits)1 << (bits - 1), to) : 0;
  }
  ref_signed magnitude = value.class == REF_ZERO ? 0
                         : value.class == REF_INFINITE
                             ? (ref_signed)1 << 100
                             : (ref_signed)whole(value, ref_rounding_of(op));
  return ref_clamp(value.negative ? -magnitude : magnitude, to);
}

/* The lower bits of a converted value, extended to the register that takes it. */
static ref_bits into_register(ref_signed value, bf_ptx_type to, unsigned result_bits) {
  return ref_low((ref_bits)ref_number((ref_bits)value, to), result_bits);
}

static bool rounds_to_whole(const ref_op *op) {
  return HAS(op, rni) || HAS(op, rzi) || HAS(op, rmi) || HAS(op, rpi);
}

/* The largest finite number of a type, with a sign. */
static uint64_t largest(bf_ptx_type to, bool negative) {
  switch (to) {
  case BF_PTX_F16:
    return 0x7bff | (uint64_t)negative << 15;
  case BF_PTX_BF16:
    return 0x7f7f | (uint64_t)negative << 15;
  case BF_PTX_E4M3:
    return 0x7e | (uint64_t)negative << 7;
  case BF_PTX_E5M2:
    return 0x7b | (uint64_t)negative << 7;
  default: /* tf32 */
    return 0x7f7fe000 | (uint64_t)negative << 31;
  }
}

/* e4m3 has no infinity, and one binade more in its place. */
static bool too_large(bf_ptx_type to, uint64_t bits) {
  if (to == BF_PTX_E4M3)
    return (bits & 0x7f) == 0x7f;
  unsigned top = to == BF_PTX_TF32 ? 32 : ref_type_bits(to);
  ref_exact value = ref_float_decode(to == BF_PTX_TF32 ? BF_PTX_F32 : to, ref_low(bits, top));
  return value.class == REF_INFINITE;
}

/* What becomes of NaN: the canonical one, but from binary64 its sign and upper bits, made quiet;
 * mere copies keep it; and rounding to tf32 away from zero looks at bits only. */
static uint64_t convert_nan(const ref_op *op, bf_ptx_type to, bf_ptx_type from, uint64_t bits) {
  bool plain = !HAS(op, ftz) && !HAS(op, sat) && !rounds_to_whole(op);
  if (from == BF_PTX_F32 && to == BF_PTX_F32 && plain)
    return bits;
  if (from == BF_PTX_BF16 && to == BF_PTX_F32)
    return bits << 16;
  if (from == BF_PTX_F64 && to == BF_PTX_F32)
    return (bits >> 32 & 0x80000000) | 0x7fc00000 | (bits >> 29 & 0x3fffff);
  if (from == BF_PTX_F64 && to == BF_PTX_F16)
    return (bits >> 48 & 0x8000) | 0x7e00 | (bits >> 42 & 0x1ff);
  if (from == BF_PTX_F64 && to == BF_PTX_BF16)
    return (bits >> 48 & 0x8000) | 0x7fc0 | (bits >> 45 & 0x3f);
  if (to == BF_PTX_TF32 && HAS(op, rna))
    return (bits & 0xffffe000) - (HAS(op, satfinite) ? 0x2000 : 0);
  return to == BF_PTX_TF32 ? 0x7fffe000 : ref_float_nan(to);
}

/* Between floating-point types. */
static uint64_t to_float(const ref_op *op, bf_ptx_type to, bf_ptx_type from, uint64_t bits) {
  if (HAS(op, ftz) && from == BF_PTX_F32)
    bits = ref_float_flush(from, bits);
  ref_exact value = ref_float_decode(from, bits);
  if (value.class == REF_NAN && !HAS(op, sat))
    return convert_nan(op, to, from, bits);
  if (value.class == REF_FINITE && rounds_to_whole(op)) {
    if (value.exponent < 0) {
      value.mantissa = whole(value, ref_rounding_of(op));
      value.exponent = 0;
    }
    value.class = value.mantissa ? REF_FINITE : REF_ZERO;
  }
  if (HAS(op, relu) && value.negative && value.class != REF_NAN)
    value = (ref_exact){.class = REF_ZERO};
  uint64_t result = ref_float_encode(to, value, ref_rounding_of(op));
  if (HAS(op, satfinite) && value.class != REF_NAN && too_large(to, result))
    result = largest(to, value.negative);
  if (HAS(op, ftz) && to == BF_PTX_F32)
    result = ref_float_flush(to, result);
  return HAS(op, sat) ? ref_float_saturate(to, result) : result;
}

/* cvt.pack: a above b, both clamped; the narrow ones push c up. */
static ref_bits pack(const ref_op *op, ref_bits a, ref_bits b, ref_bits c) {
  bf_ptx_type to = op->first_type, from = op->in->type[1];
  unsigned bits = ref_type_bits(to);
  ref_bits high = ref_low((ref_bits)ref_clamp(ref_number(a, from), to), bits);
  ref_bits low = ref_low((ref_bits)ref_clamp(ref_number(b, from), to), bits);
  return ref_low(c << 2 * bits | high << bits | low, 32);
}

/* The element type of an 8-bit pair, or the type itself. */
static bf_ptx_type element(bf_ptx_type type) {
  return type == BF_PTX_E4M3X2   ? BF_PTX_E4M3
         : type == BF_PTX_E5M2X2 ? BF_PTX_E5M2
                                 : ref_type_scalar(type);
}

ref_bits ref_convert(const ref_op *op, ref_bits a, ref_bits b, ref_bits c, unsigned result_bits) {
  bf_ptx_type to = op->first_type, from = op->type;
  if (HAS(op, pack))
    return pack(op, a, b, op->operands > 3 ? c : 0);
  bf_ptx_type part = element(to), source = element(from);
  if (part != to) {
    unsigned bits = ref_type_bits(part);
    if (source != from) { /* pair to pair */
      unsigned source_bits = ref_type_bits(source);
      b = ref_low(a, source_bits);
      a = ref_low(a >> source_bits, source_bits);
    }
    return (ref_bits)to_float(op, part, source, (uint64_t)a) << bits |
           to_float(op, part, source, (uint64_t)b);
  }
  bool from_is_float = ref_type_is_float(from), to_is_float = ref_type_is_float(to);
  if (from_is_float && to_is_float)
    return to_float(op, to, from, (uint64_t)a);
  if (from_is_float) {
    uint64_t bits = (uint64_t)a;
    if (HAS(op, ftz))
      bits = ref_float_flush(from, bits);
    return into_register(to_integer(op, to, from, ref_float_decode(from, bits)), to, result_bits);
  }
  ref_signed value = ref_number(a, from);
  if (to_is_float) {
    uint64_t bits = ref_float_encode(to, from_integer(value), ref_rounding_of(op));
    return HAS(op, sat) ? ref_float_saturate(to, bits) : bits;
  }
  return into_register(HAS(op, sat) ? ref_clamp(value, to) : value, to, result_bits);
}

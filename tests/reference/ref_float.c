/* Floating point. binary32 and binary64 are computed by the processor in the rounding asked for;
 * the 16-bit formats in binary64, rounded toward zero with a note of what was lost, which leaves
 * enough to round once more. */
#include "ref.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* ---- Formats ---- */

typedef struct format {
  int precision, largest, least; /* exponents of the leading bit of normal numbers */
  unsigned bits;
} format;

static format format_of(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_F16:
    return (format){11, 15, -14, 16};
  case BF_PTX_BF16:
    return (format){8, 127, -126, 16};
  case BF_PTX_E4M3:
    return (format){4, 8, -6, 8};
  case BF_PTX_E5M2:
    return (format){3, 15, -14, 8};
  case BF_PTX_F64:
    return (format){53, 1023, -1022, 64};
  case BF_PTX_TF32: /* as binary32, of which the lower 13 bits are 0 */
    return (format){11, 127, -126, 19};
  default:
    return (format){24, 127, -126, 32};
  }
}

uint64_t ref_float_nan(bf_ptx_type type) {
  unsigned bits = type == BF_PTX_TF32 ? 32 : format_of(type).bits;
  return type == BF_PTX_F64 ? 0x7ff8000000000000 : (UINT64_C(1) << (bits - 1)) - 1;
}

ref_exact ref_float_decode(bf_ptx_type type, uint64_t bits) {
  format f = format_of(type);
  uint64_t fraction_mask = (UINT64_C(1) << (f.precision - 1)) - 1;
  uint64_t fraction = bits & fraction_mask;
  int exponent_bits = (int)f.bits - f.precision;
  int biased = (int)(bits >> (f.precision - 1) & ((1u << exponent_bits) - 1));
  ref_exact value = {.negative = bits >> (f.bits - 1) & 1, .class = REF_FINITE};
  bool special = biased == (1 << exponent_bits) - 1;
  if (type == BF_PTX_E4M3)
    special = special && fraction == fraction_mask;
  if (special) {
    value.class = fraction ? REF_NAN : REF_INFINITE;
  } else if (biased == 0 && fraction == 0) {
    value.class = REF_ZERO;
  } else {
    value.mantissa = biased ? fraction | (fraction_mask + 1) : fraction;
    value.exponent = f.least - (f.precision - 1) + (biased ? biased - 1 : 0);
  }
  return value;
}

static unsigned bit_length(ref_bits value) {
  unsigned length = 0;
  for (; value; value >>= 1)
    length++;
  return length;
}

/* Whether a magnitude with a rest beyond its last bit is rounded up; tie: the rest is just half,
 * half: at least half. */
static bool rounds_up(ref_rounding rounding, bool negative, bool odd, bool inexact, bool half,
                      bool tie) {
  switch (rounding) {
  case REF_RZ:
    return false;
  case REF_RM:
    return inexact && negative;
  case REF_RP:
    return inexact && !negative;
  case REF_RNA:
    return half;
  default:
    return half && (!tie || odd);
  }
}

/* The whole multiple of 2^unit next to a number in the direction of rounding. */
static ref_bits round_to_unit(ref_exact value, int unit, ref_rounding rounding) {
  int shift = unit - value.exponent;
  if (shift <= 0)
    return (value.mantissa << -shift) +
           rounds_up(rounding, value.negative, false, value.rest, false, false);
  ref_bits whole = shift < 128 ? value.mantissa >> shift : 0;
  ref_bits rest = shift < 128 ? ref_low(value.mantissa, (unsigned)shift) : value.mantissa;
  ref_bits middle = shift <= 128 ? (ref_bits)1 << (shift - 1) : 0;
  bool half = middle && rest >= middle, tie = middle && rest == middle && !value.rest;
  return whole + rounds_up(rounding, value.negative, whole & 1, rest || value.rest, half, tie);
}

/* What a number too large becomes: infinity or the largest one. */
static uint64_t overflow(bf_ptx_type type, bool negative, ref_rounding rounding) {
  format f = format_of(type);
  bool to_infinity = rounding == REF_RN || rounding == REF_RNA ||
                     (rounding == REF_RM && negative) || (rounding == REF_RP && !negative);
  uint64_t infinity = ((UINT64_C(1) << (f.bits - (unsigned)f.precision)) - 1) << (f.precision - 1);
  uint64_t sign = (uint64_t)negative << (f.bits - 1);
  if (type == BF_PTX_E4M3) /* has no infinity */
    return sign | 0x7f;
  return sign | (to_infinity ? infinity : infinity - 1);
}

static uint64_t encode(bf_ptx_type type, ref_exact value, ref_rounding rounding) {
  format f = format_of(type);
  uint64_t sign = (uint64_t)value.negative << (f.bits - 1);
  if (value.class == REF_INFINITE)
    return overflow(type, value.negative, REF_RN);
  if (value.class == REF_ZERO)
    return sign;
  int leading = value.exponent + (int)bit_length(value.mantissa) - 1;
  int unit = (leading > f.least ? leading : f.least) - (f.precision - 1);
  ref_bits whole = round_to_unit(value, unit, rounding);
  if (whole >> f.precision) {
    whole >>= 1;
    unit++;
  }
  if (unit + f.precision - 1 > f.largest)
    return overflow(type, value.negative, rounding);
  bool normal = whole >> (f.precision - 1);
  uint64_t biased = normal ? (uint64_t)(unit + f.precision - 1 - f.least + 1) : 0;
  return sign | biased << (f.precision - 1) |
         ((uint64_t)whole & ((UINT64_C(1) << (f.precision - 1)) - 1));
}

uint64_t ref_float_encode(bf_ptx_type type, ref_exact value, ref_rounding rounding) {
  if (value.class == REF_NAN)
    return ref_float_nan(type);
  uint64_t bits = encode(type, value, rounding);
  return type == BF_PTX_TF32 ? bits << 13 : bits;
}

bool ref_float_is_nan(bf_ptx_type type, uint64_t bits) {
  return ref_float_decode(type, bits).class == REF_NAN;
}

bool ref_float_is_subnormal(bf_ptx_type type, uint64_t bits) {
  format f = format_of(type);
  ref_exact value = ref_float_decode(type, bits);
  return value.class == REF_FINITE && !(value.mantissa >> (f.precision - 1));
}

uint64_t ref_float_flush(bf_ptx_type type, uint64_t bits) {
  return ref_float_is_subnormal(type, bits) ? bits & UINT64_C(1) << (format_of(type).bits - 1)
                                            : bits;
}

double ref_float_double(bf_ptx_type type, uint64_t bits) {
  ref_exact value = ref_float_decode(type, bits);
  uint64_t f64 = type == BF_PTX_F64 ? bits : ref_float_encode(BF_PTX_F64, value, REF_RN);
  double result;
  memcpy(&result, &f64, 8);
  return result;
}

/* The number of a type nearest to a double in a direction; rest says that the double was cut off.
 */
static uint64_t from_double(bf_ptx_type type, double value, bool rest, ref_rounding rounding) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  ref_exact exact = ref_float_decode(BF_PTX_F64, bits);
  exact.rest = rest;
  return ref_float_encode(type, exact, rounding);
}

/* Into [0, 1]; NaN becomes 0. */
uint64_t ref_float_saturate(bf_ptx_type type, uint64_t bits) {
  double value = ref_float_double(type, bits);
  if (!(value > 0))
    return 0;
  return value > 1 ? from_double(type, 1, false, REF_RN) : bits;
}

ref_rounding ref_rounding_of(const ref_op *op) {
  return HAS(op, rz) || HAS(op, rzi)   ? REF_RZ
         : HAS(op, rm) || HAS(op, rmi) ? REF_RM
         : HAS(op, rp) || HAS(op, rpi) ? REF_RP
         : HAS(op, rna)                ? REF_RNA
                                       : REF_RN;
}

/* ---- Arithmetic ---- */

/* What the processor computes. */
typedef enum basic { ADD, SUB, MUL, FMA, DIV, SQRT } basic;

static const int host_rounding[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD,
                                    FE_TONEAREST};

/* Values go through volatile variables, so that nothing is computed before the rounding is set. */
#define DEFINE_BASIC(name, real, fused, root)                                                      \
  static real name(basic operation, real a, real b, real c, ref_rounding rounding,                 \
                   bool *inexact) {                                                                \
    volatile real x = a, y = b, z = c, result = 0;                                                 \
    fesetround(host_rounding[rounding]);                                                           \
    feclearexcept(FE_ALL_EXCEPT);                                                                  \
    switch (operation) {                                                                           \
    case ADD:                                                                                      \
      result = x + y;                                                                              \
      break;                                                                                       \
    case SUB:                                                                                      \
      result = x - y;                                                                              \
      break;                                                                                       \
    case MUL:                                                                                      \
      result = x * y;                                                                              \
      break;                                                                                       \
    case FMA:                                                                                      \
      result = fused(x, y, z);                                                                     \
      break;                                                                                       \
    case DIV:                                                                                      \
      result = x / y;                                                                              \
      break;                                                                                       \
    case SQRT:                                                                                     \
      result = root(x);                                                                            \
      break;                                                                                       \
    }                                                                                              \
    *inexact = fetestexcept(FE_INEXACT) != 0;                                                      \
    fesetround(FE_TONEAREST);                                                                      \
    return result;                                                                                 \
  }

DEFINE_BASIC(basic32, float, fmaf, sqrtf)
DEFINE_BASIC(basic64, double, fma, sqrt)

static float to_f32(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, 4);
  return value;
}

static uint64_t of_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return isnan(value) ? ref_float_nan(BF_PTX_F32) : bits;
}

/* flush: what is subnormal before it is rounded becomes 0, even where rounding would make it
 * normal. */
static uint64_t compute_basic(basic operation, bf_ptx_type type, uint64_t a, uint64_t b, uint64_t c,
                              ref_rounding rounding, bool flush) {
  bool inexact;
  if (type == BF_PTX_F32 && flush) {
    float cut = basic32(operation, to_f32(a), to_f32(b), to_f32(c), REF_RZ, &inexact);
    if (cut != 0 && fabsf(cut) < 0x1p-126f)
      return of_f32(copysignf(0, cut));
  }
  if (type == BF_PTX_F32)
    return of_f32(basic32(operation, to_f32(a), to_f32(b), to_f32(c), rounding, &inexact));
  double x = ref_float_double(type, a), y = ref_float_double(type, b),
         z = ref_float_double(type, c);
  if (type == BF_PTX_F64)
    return from_double(type, basic64(operation, x, y, z, rounding, &inexact), false, REF_RN);
  double toward_zero = basic64(operation, x, y, z, REF_RZ, &inexact);
  if (flush && fabs(toward_zero) < 0x1p-14)
    return from_double(type, copysign(0, toward_zero), false, REF_RN);
  /* Exact zeros of opposite signs add to +0 in every rounding but rm, so here too. */
  return from_double(type, toward_zero, inexact, rounding);
}

uint64_t ref_float_add(bf_ptx_type type, uint64_t a, uint64_t b) {
  return compute_basic(ADD, type, a, b, 0, REF_RN, false);
}

/* min and max: a number wins over NaN unless .NaN says otherwise, and -0 is below +0. */
static uint64_t limit(const ref_op *op, bf_ptx_type type, uint64_t a, uint64_t b) {
  uint64_t sign = UINT64_C(1) << (format_of(type).bits - 1);
  uint64_t signs = (a ^ b) & sign;
  bool a_nan = ref_float_is_nan(type, a), b_nan = ref_float_is_nan(type, b);
  if (HAS(op, xorsign)) {
    a &= ~sign;
    b &= ~sign;
  }
  if ((a_nan && b_nan) || (HAS(op, NaN) && (a_nan || b_nan)))
    return ref_float_nan(type);
  double x = ref_float_double(type, a), y = ref_float_double(type, b);
  bool a_smaller = x < y || (x == y && (a & sign) > (b & sign));
  uint64_t result = a_nan ? b : b_nan ? a : a_smaller == (op->opcode == BF_PTX_OP_MIN) ? a : b;
  return HAS(op, xorsign) ? result | signs : result;
}

/* ---- Functions ---- */

/* The true value of a function at x, in binary64. */
static double function(const ref_op *op, double x) {
  switch (op->opcode) {
  case BF_PTX_OP_RCP:
    return 1 / x;
  case BF_PTX_OP_SQRT:
    return sqrt(x);
  case BF_PTX_OP_RSQRT:
    return x == 0 ? copysign(HUGE_VAL, x) : 1 / sqrt(x);
  case BF_PTX_OP_SIN:
    return sin(x);
  case BF_PTX_OP_COS:
    return cos(x);
  case BF_PTX_OP_LG2:
    return log2(x);
  case BF_PTX_OP_EX2:
    return exp2(x);
  default:
    return tanh(x);
  }
}

/* Approximations: the true value, rounded. With .ftz those of binary64 look at the upper half of
 * the number only, and give no more. */
static uint64_t approximate(const ref_op *op, bf_ptx_type type, uint64_t a) {
  bool upper = type == BF_PTX_F64 && HAS(op, ftz);
  if (upper)
    a = ref_float_flush(type, a & ~UINT64_C(0xffffffff));
  uint64_t result = from_double(type, function(op, ref_float_double(type, a)), false, REF_RN);
  return upper ? ref_float_flush(type, result & ~UINT64_C(0xffffffff)) : result;
}

static basic basic_of(bf_ptx_opcode opcode) {
  switch (opcode) {
  case BF_PTX_OP_ADD:
    return ADD;
  case BF_PTX_OP_SUB:
    return SUB;
  case BF_PTX_OP_MUL:
    return MUL;
  case BF_PTX_OP_DIV:
  case BF_PTX_OP_RCP:
    return DIV;
  case BF_PTX_OP_SQRT:
    return SQRT;
  default:
    return FMA;
  }
}

static uint64_t compute(const ref_op *op, bf_ptx_type type, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t sign = UINT64_C(1) << (format_of(type).bits - 1);
  switch (op->opcode) {
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_MUL:
  case BF_PTX_OP_FMA:
  case BF_PTX_OP_MAD:
  case BF_PTX_OP_DIV:
    return compute_basic(basic_of(op->opcode), type, a, b, c, ref_rounding_of(op), HAS(op, ftz));
  case BF_PTX_OP_RCP:
    if (HAS(op, approx))
      return approximate(op, type, a);
    return compute_basic(DIV, type, from_double(type, 1, false, REF_RN), a, 0, ref_rounding_of(op),
                         HAS(op, ftz));
  case BF_PTX_OP_SQRT:
    if (HAS(op, approx))
      return approximate(op, type, a);
    return compute_basic(SQRT, type, a, 0, 0, ref_rounding_of(op), HAS(op, ftz));
  case BF_PTX_OP_MIN:
  case BF_PTX_OP_MAX:
    return limit(op, type, a, b);
  case BF_PTX_OP_NEG:
    return ref_float_is_nan(type, a) ? ref_float_nan(type) : a ^ sign;
  case BF_PTX_OP_ABS:
    return ref_float_is_nan(type, a) ? ref_float_nan(type) : a & ~sign;
  case BF_PTX_OP_COPYSIGN:
    return (b & ~sign) | (a & sign);
  default:
    return approximate(op, type, a);
  }
}

/* Negative numbers become 0. */
static uint64_t rectify(bf_ptx_type type, uint64_t bits) {
  bool negative = bits >> (format_of(type).bits - 1) & 1;
  return negative && !ref_float_is_nan(type, bits) ? 0 : bits;
}

uint64_t ref_float_compute(const ref_op *op, bf_ptx_type type, uint64_t a, uint64_t b, uint64_t c) {
  bool flush = HAS(op, ftz) && type != BF_PTX_F64;
  if (flush) {
    a = ref_float_flush(type, a);
    b = ref_float_flush(type, b);
    c = ref_float_flush(type, c);
  }
  uint64_t result = compute(op, type, a, b, c);
  if (flush)
    result = ref_float_flush(type, result);
  if (HAS(op, sat))
    result = ref_float_saturate(type, result);
  return HAS(op, relu) ? rectify(type, result) : result;
}

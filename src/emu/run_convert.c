/* Conversions: cvt and cvt.pack.
 *
 * A conversion is a chain of steps, each an operation over the lanes from one type to another: a
 * register wider than its type is cut first, a result narrower than its register is extended last.
 * The common types have steps that compilers vectorise; the rest goes through emu/format.h, value
 * by value. Types of 8 bits live in 16-bit places. */
#include "emu/alone.h"
#include "emu/format.h"
#include "emu/half_lanes.h"
#include "emu/inner.h"

#include <math.h>

bool BF_EMU_NAME(bf_emu_select_convert)(bf_emu_decoder *decoder,
                                        const bf_ptx_instruction *instruction, bf_emu_op *op);

/* An operation d = value, where x is the operand of type A. */
#define STEP(name, A, D, value)                                                                    \
  static const bf_emu_op *name(bf_emu_warp *warp, const bf_emu_op *op) {                           \
    uint32_t mask = BF_MASK();                                                                     \
    const A *a = BF_LANES(const A, op->a);                                                         \
    D *d = BF_LANES(D, op->d);                                                                     \
    BF_SET_LANES(mask, d, value(a[lane]));                                                         \
    return op + 1;                                                                                 \
  }

/* ---- Integers ---- */

/* Every integer type: name, C type, type of its place, least and most. */
#define INTEGERS(X)                                                                                \
  X(u8, uint8_t, uint16_t, 0, UINT8_MAX)                                                           \
  X(s8, int8_t, int16_t, INT8_MIN, INT8_MAX)                                                       \
  X(u16, uint16_t, uint16_t, 0, UINT16_MAX)                                                        \
  X(s16, int16_t, int16_t, INT16_MIN, INT16_MAX)                                                   \
  X(u32, uint32_t, uint32_t, 0, UINT32_MAX)                                                        \
  X(s32, int32_t, int32_t, INT32_MIN, INT32_MAX)                                                   \
  X(u64, uint64_t, uint64_t, 0, UINT64_MAX)                                                        \
  X(s64, int64_t, int64_t, INT64_MIN, INT64_MAX)

enum integer {
#define X(name, type, place, least, most) INTEGER_##name,
  INTEGERS(X)
#undef X
      INTEGER_COUNT
};

/* Extension and truncation: the value as S, cut to D, extended to D's place. The sign of D matters
 * only where D is narrower than its place. */
#define WIDEN(S, s, place_s, D, d, place_d)                                                        \
  static inline place_d one_##S##_##D(place_s x) { return (place_d)(d)(s)x; }                      \
  STEP(step_##S##_##D, place_s, place_d, one_##S##_##D)
#define WIDEN_FROM(S, s, place_s, least, most)                                                     \
  WIDEN(S, s, place_s, u8, uint8_t, uint16_t)                                                      \
  WIDEN(S, s, place_s, s8, int8_t, int16_t)                                                        \
  WIDEN(S, s, place_s, b16, uint16_t, uint16_t)                                                    \
  WIDEN(S, s, place_s, b32, uint32_t, uint32_t)                                                    \
  WIDEN(S, s, place_s, b64, uint64_t, uint64_t)
INTEGERS(WIDEN_FROM)

static const bf_emu_step widen[INTEGER_COUNT][INTEGER_COUNT] = {
#define X(S, s, place_s, least, most)                                                              \
  {step_##S##_u8,  step_##S##_s8,  step_##S##_b16, step_##S##_b16,                                 \
   step_##S##_b32, step_##S##_b32, step_##S##_b64, step_##S##_b64},
    INTEGERS(X)
#undef X
};

/* The integer of a place, of the given type. */
static bf_emu_number read_integer(const bf_emu_warp *warp, uint32_t place, enum integer type,
                                  unsigned lane) {
  switch (type) {
#define X(name, c_type, place_type, least, most)                                                   \
  case INTEGER_##name:                                                                             \
    return bf_emu_number_from_integer((uint64_t)(c_type)BF_LANES(const place_type, place)[lane],   \
                                      (least) != 0);
    INTEGERS(X)
#undef X
  case INTEGER_COUNT:
    break;
  }
  return (bf_emu_number){0};
}

/* Writes an integer, clamped to the range of type. */
static void write_clamped(bf_emu_warp *warp, uint32_t place, enum integer type, unsigned lane,
                          bf_emu_number number) {
  switch (type) {
#define X(name, c_type, place_type, least, most)                                                   \
  case INTEGER_##name: {                                                                           \
    uint64_t limit = number.negative ? -(uint64_t)(least) : (uint64_t)(most);                      \
    uint64_t magnitude = number.magnitude < limit ? number.magnitude : limit;                      \
    BF_LANES(place_type, place)                                                                    \
    [lane] = (place_type)(c_type)(number.negative ? -magnitude : magnitude);                       \
    break;                                                                                         \
  }
    INTEGERS(X)
#undef X
  case INTEGER_COUNT:
    break;
  }
}

/* cvt.sat between integers: small[0] to small[1]. */
static const bf_emu_op *saturate_integer(bf_emu_warp *warp, const bf_emu_op *op) {
  BF_EACH_LANE(BF_MASK(), lane)
  write_clamped(warp, op->d, (enum integer)op->small[1], lane,
                read_integer(warp, op->a, (enum integer)op->small[0], lane));
  return op + 1;
}

/* ---- Integers and floating point ---- */

#define FROM_INTEGER(S, s, place_s, least, most)                                                   \
  static inline float one_##S##_f32(place_s x) { return (float)(s)x; }                             \
  static inline double one_##S##_f64(place_s x) { return (double)(s)x; }                           \
  STEP(step_##S##_f32, place_s, float, one_##S##_f32)                                              \
  STEP(step_##S##_f64, place_s, double, one_##S##_f64)
INTEGERS(FROM_INTEGER)

static const bf_emu_step to_f32[INTEGER_COUNT] = {
#define X(S, s, place_s, least, most) step_##S##_f32,
    INTEGERS(X)
#undef X
};
static const bf_emu_step to_f64[INTEGER_COUNT] = {
#define X(S, s, place_s, least, most) step_##S##_f64,
    INTEGERS(X)
#undef X
};

/* The integral value next to x, ties to even: adding 2^23 (2^52) leaves no bits for a fraction.
 * rint does the same, but not as vector code. */
static inline float nearestf(float x) {
  float large = copysignf(0x1p23f, x);
  return fabsf(x) < 0x1p23f ? copysignf((x + large) - large, x) : x;
}
static inline double nearest(double x) {
  double large = copysign(0x1p52, x);
  double kept = x != x ? x + x : x; /* quiet */
  return fabs(x) < 0x1p52 ? copysign((x + large) - large, x) : kept;
}

/* Floating point to integer: rounded, clamped to [LOW, HIGH], where HIGH is the largest float not
 * above MOST; what lies above is MOST. NaN gives the value that the PTX ISA (9.0, cvt) says.
 * Cutting (rzi) needs no rounding first: clamping and the cast do it. */
#define KEEP(x) (x)
#define TO_INTEGER(F, f, D, d, place_d, LOW, HIGH, MOST, NAN_VALUE, mode, ROUND)                   \
  static inline place_d one_##F##_##D##_##mode(f x) {                                              \
    f rounded = ROUND(x);                                                                          \
    f inside = rounded > (f)LOW ? rounded : (f)LOW;                                                \
    inside = inside < (f)HIGH ? inside : (f)HIGH;                                                  \
    d value = (d)inside;                                                                           \
    value = rounded > (f)HIGH ? (d)MOST : value;                                                   \
    return (place_d)(x != x ? (d)NAN_VALUE : value);                                               \
  }                                                                                                \
  STEP(step_##F##_##D##_##mode, f, place_d, one_##F##_##D##_##mode)
#define TO_INTEGER_MODES(F, f, D, d, place_d, LOW, HIGH, MOST, NAN_VALUE, s)                       \
  TO_INTEGER(F, f, D, d, place_d, LOW, HIGH, MOST, NAN_VALUE, rni, nearest##s)                     \
  TO_INTEGER(F, f, D, d, place_d, LOW, HIGH, MOST, NAN_VALUE, rzi, KEEP)                           \
  TO_INTEGER(F, f, D, d, place_d, LOW, HIGH, MOST, NAN_VALUE, rmi, floor##s)                       \
  TO_INTEGER(F, f, D, d, place_d, LOW, HIGH, MOST, NAN_VALUE, rpi, ceil##s)

#define LOW_BIT63 UINT64_C(0x8000000000000000)
TO_INTEGER_MODES(f32, float, u8, uint8_t, uint16_t, 0, 255, 255, 0, f)
TO_INTEGER_MODES(f32, float, s8, int8_t, int16_t, -128, 127, 127, 0, f)
TO_INTEGER_MODES(f32, float, u16, uint16_t, uint16_t, 0, 65535, 65535, 0, f)
TO_INTEGER_MODES(f32, float, s16, int16_t, int16_t, -32768, 32767, 32767, 0, f)
TO_INTEGER_MODES(f32, float, u32, uint32_t, uint32_t, 0, 0x1.fffffep31f, UINT32_MAX, 0, f)
TO_INTEGER_MODES(f32, float, s32, int32_t, int32_t, INT32_MIN, 0x1.fffffep30f, INT32_MAX, 0, f)
TO_INTEGER_MODES(f32, float, u64, uint64_t, uint64_t, 0, 0x1.fffffep63f, UINT64_MAX, LOW_BIT63, f)
TO_INTEGER_MODES(f32, float, s64, int64_t, int64_t, INT64_MIN, 0x1.fffffep62f, INT64_MAX, LOW_BIT63,
                 f)
TO_INTEGER_MODES(f64, double, u8, uint8_t, uint16_t, 0, 255, 255, 0x80, )
TO_INTEGER_MODES(f64, double, s8, int8_t, int16_t, -128, 127, 127, 0x80, )
TO_INTEGER_MODES(f64, double, u16, uint16_t, uint16_t, 0, 65535, 65535, 0x8000, )
TO_INTEGER_MODES(f64, double, s16, int16_t, int16_t, -32768, 32767, 32767, 0x8000, )
TO_INTEGER_MODES(f64, double, u32, uint32_t, uint32_t, 0, UINT32_MAX, UINT32_MAX, 0x80000000, )
TO_INTEGER_MODES(f64, double, s32, int32_t, int32_t, INT32_MIN, INT32_MAX, INT32_MAX, 0x80000000, )
TO_INTEGER_MODES(f64, double, u64, uint64_t, uint64_t, 0, 0x1.fffffffffffffp63, UINT64_MAX,
                 LOW_BIT63, )
TO_INTEGER_MODES(f64, double, s64, int64_t, int64_t, INT64_MIN, 0x1.fffffffffffffp62, INT64_MAX,
                 LOW_BIT63, )

/* By mode (rni, rzi, rmi, rpi) and type. */
#define MODES(F, D)                                                                                \
  { step_##F##_##D##_rni, step_##F##_##D##_rzi, step_##F##_##D##_rmi, step_##F##_##D##_rpi }
static const bf_emu_step from_f32[INTEGER_COUNT][4] = {
#define X(D, d, place_d, least, most) MODES(f32, D),
    INTEGERS(X)
#undef X
};
static const bf_emu_step from_f64[INTEGER_COUNT][4] = {
#define X(D, d, place_d, least, most) MODES(f64, D),
    INTEGERS(X)
#undef X
};

/* ---- Between floating-point types ---- */

static inline float flush(float x) {
  uint32_t bits = bf_emu_float_bits(x);
  return bf_emu_bits_float(bits & 0x7f800000 ? bits : bits & 0x80000000);
}
/* What .ftz does to a source. */
static inline float flush_canonical(float x) { return flush(bf_emu_canonical(x)); }
/* To [0, 1]; NaN becomes 0. */
static inline float saturate_float(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
static inline double saturate_double(double x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
static inline float integral_rni(float x) { return bf_emu_canonical(nearestf(x)); }
static inline float integral_rzi(float x) { return bf_emu_canonical(truncf(x)); }
static inline float integral_rmi(float x) { return bf_emu_canonical(floorf(x)); }
static inline float integral_rpi(float x) { return bf_emu_canonical(ceilf(x)); }
static inline double widen_float(float x) { return x; }
static inline float narrow_double(double x) { return (float)x; }

STEP(flush_f32, float, float, flush)
STEP(flush_source, float, float, flush_canonical)
STEP(saturate_f32, float, float, saturate_float)
STEP(saturate_f64, double, double, saturate_double)
STEP(f32_rni, float, float, integral_rni)
STEP(f32_rzi, float, float, integral_rzi)
STEP(f32_rmi, float, float, integral_rmi)
STEP(f32_rpi, float, float, integral_rpi)
STEP(f64_rni, double, double, nearest)
STEP(f64_rzi, double, double, trunc)
STEP(f64_rmi, double, double, floor)
STEP(f64_rpi, double, double, ceil)
STEP(f32_to_f64, float, double, widen_float)
STEP(f64_to_f32, double, float, narrow_double)
STEP(f16_to_f32_quiet, uint16_t, float, bf_emu_half_to_float)
STEP(bf16_to_f32, uint16_t, float, bf_emu_bf16_to_float)

/* The same a row at a time. */
#define ROW_STEP(name, A, D, convert)                                                              \
  static const bf_emu_op *name(bf_emu_warp *warp, const bf_emu_op *op) {                           \
    uint32_t mask = BF_MASK();                                                                     \
    D row[BF_EMU_LANES], *d = BF_LANES(D, op->d);                                                  \
    convert(BF_LANES(const A, op->a), row, BF_EMU_LANES);                                          \
    BF_SET_LANES(mask, d, row[lane]);                                                              \
    return op + 1;                                                                                 \
  }
ROW_STEP(f16_to_f32, uint16_t, float, bf_emu_halves_to_floats)
ROW_STEP(f32_to_f16_RN, float, uint16_t, bf_emu_floats_to_halves)
ROW_STEP(f32_to_bf16_RN, float, uint16_t, bf_emu_floats_to_bf16s)

static const bf_emu_step integral_f32[4] = {f32_rni, f32_rzi, f32_rmi, f32_rpi};
static const bf_emu_step integral_f64[4] = {f64_rni, f64_rzi, f64_rmi, f64_rpi};

#define TO_HALF(mode)                                                                              \
  static inline uint16_t half_##mode(float x) { return bf_emu_float_to_half(x, BF_EMU_##mode); }   \
  static inline uint16_t bf16_##mode(float x) { return bf_emu_float_to_bf16(x, BF_EMU_##mode); }   \
  STEP(f32_to_f16_##mode, float, uint16_t, half_##mode)                                            \
  STEP(f32_to_bf16_##mode, float, uint16_t, bf16_##mode)
TO_HALF(RZ)
TO_HALF(RM)
TO_HALF(RP)

/* f64 to a 16-bit type; a NaN keeps its sign and the high bits of its mantissa, and is quiet. */
static inline uint16_t nan_of_double(uint64_t bits, unsigned mantissa_bits, uint16_t quiet) {
  uint64_t fraction = bits >> (52 - mantissa_bits) & ((1u << mantissa_bits) - 1);
  return (uint16_t)((bits >> 63) << 15 | quiet | fraction);
}
#define FROM_DOUBLE(mode)                                                                          \
  static inline uint16_t double_f16_##mode(double x) {                                             \
    float odd = bf_emu_double_to_float_odd(x);                                                     \
    return x != x ? nan_of_double(bf_emu_double_bits(x), 10, 0x7e00)                               \
                  : bf_emu_float_to_half(odd, BF_EMU_##mode);                                      \
  }                                                                                                \
  static inline uint16_t double_bf16_##mode(double x) {                                            \
    float odd = bf_emu_double_to_float_odd(x);                                                     \
    return x != x ? nan_of_double(bf_emu_double_bits(x), 7, 0x7fc0)                                \
                  : bf_emu_float_to_bf16(odd, BF_EMU_##mode);                                      \
  }                                                                                                \
  STEP(f64_to_f16_##mode, double, uint16_t, double_f16_##mode)                                     \
  STEP(f64_to_bf16_##mode, double, uint16_t, double_bf16_##mode)
FROM_DOUBLE(RN)
FROM_DOUBLE(RZ)
FROM_DOUBLE(RM)
FROM_DOUBLE(RP)

static const bf_emu_step f64_to_f16[4] = {f64_to_f16_RN, f64_to_f16_RZ, f64_to_f16_RM,
                                          f64_to_f16_RP};
static const bf_emu_step f64_to_bf16[4] = {f64_to_bf16_RN, f64_to_bf16_RZ, f64_to_bf16_RM,
                                           f64_to_bf16_RP};
static const bf_emu_step f32_to_f16[4] = {f32_to_f16_RN, f32_to_f16_RZ, f32_to_f16_RM,
                                          f32_to_f16_RP};
static const bf_emu_step f32_to_bf16[4] = {f32_to_bf16_RN, f32_to_bf16_RZ, f32_to_bf16_RM,
                                           f32_to_bf16_RP};

/* cvt.f16x2.f32 and cvt.bf16x2.f32: a is the high half, b the low one. */
#define PACK_HALVES(name, convert)                                                                 \
  static const bf_emu_op *name(bf_emu_warp *warp, const bf_emu_op *op) {                           \
    uint32_t mask = BF_MASK(), *d = BF_LANES(uint32_t, op->d);                                     \
    uint16_t high[BF_EMU_LANES], low[BF_EMU_LANES];                                                \
    convert(BF_LANES(const float, op->a), high, BF_EMU_LANES);                                     \
    convert(BF_LANES(const float, op->b), low, BF_EMU_LANES);                                      \
    BF_SET_LANES(mask, d, (uint32_t)high[lane] << 16 | low[lane]);                                 \
    return op + 1;                                                                                 \
  }
PACK_HALVES(pack_f16x2, bf_emu_floats_to_halves)
PACK_HALVES(pack_bf16x2, bf_emu_floats_to_bf16s)

/* ---- One value at a time: small[0] source type, [1] result type, [2] rounding, [3] flags ---- */

enum { FLAG_RELU = 1, FLAG_SAT_FINITE = 2, FLAG_SAT = 4, FLAG_FLUSH = 8 };

static const bf_emu_format *format_of(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_F64:
    return &bf_emu_format_f64;
  case BF_PTX_F32:
    return &bf_emu_format_f32;
  case BF_PTX_TF32:
    return &bf_emu_format_tf32;
  case BF_PTX_F16:
  case BF_PTX_F16X2:
    return &bf_emu_format_f16;
  case BF_PTX_BF16:
  case BF_PTX_BF16X2:
    return &bf_emu_format_bf16;
  case BF_PTX_E4M3X2:
    return &bf_emu_format_e4m3;
  case BF_PTX_E5M2X2:
    return &bf_emu_format_e5m2;
  default:
    return NULL;
  }
}

static int integer_of(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_U8:
    return INTEGER_u8;
  case BF_PTX_S8:
    return INTEGER_s8;
  case BF_PTX_U16:
    return INTEGER_u16;
  case BF_PTX_S16:
    return INTEGER_s16;
  case BF_PTX_U32:
    return INTEGER_u32;
  case BF_PTX_S32:
    return INTEGER_s32;
  case BF_PTX_U64:
    return INTEGER_u64;
  case BF_PTX_S64:
    return INTEGER_s64;
  default:
    return -1;
  }
}

/* The value of a lane as the source type of op has it. */
static bf_emu_number read_number(const bf_emu_warp *warp, const bf_emu_op *op, unsigned lane) {
  bf_ptx_type type = (bf_ptx_type)op->small[0];
  int integer = integer_of(type);
  if (integer >= 0)
    return read_integer(warp, op->a, (enum integer)integer, lane);
  double value = 0;
  if (type == BF_PTX_F64)
    value = BF_LANES(const double, op->a)[lane];
  else if (type == BF_PTX_F16)
    value = bf_emu_half_to_float(BF_LANES(const uint16_t, op->a)[lane]);
  else if (type == BF_PTX_BF16)
    value = bf_emu_bf16_to_float(BF_LANES(const uint16_t, op->a)[lane]);
  else if (op->small[3] & FLAG_FLUSH)
    value = flush(BF_LANES(const float, op->a)[lane]);
  else
    value = BF_LANES(const float, op->a)[lane];
  return bf_emu_number_from_double(value);
}

static bf_emu_encoding encoding_of(const bf_emu_op *op) {
  return (bf_emu_encoding){
      .rounding = (bf_emu_rounding)op->small[2],
      .relu = op->small[3] & FLAG_RELU,
      .sat_finite = op->small[3] & FLAG_SAT_FINITE,
      .sat = op->small[3] & FLAG_SAT,
  };
}

/* The bits of a tf32 in their place. With rna, NaN is treated as if it were a number: an H200 cuts
 * off its low bits and, with satfinite, takes 1 off, as it does to infinity. */
static uint32_t place_tf32(const bf_emu_op *op, uint32_t source, uint64_t bits) {
  bool is_nan = (source & 0x7fffffff) > 0x7f800000;
  if (op->small[2] != BF_EMU_RNA || !is_nan)
    return (uint32_t)bits << 13;
  uint32_t cut = source & 0xffffe000;
  return op->small[3] & FLAG_SAT_FINITE ? cut - 0x2000 : cut;
}

/* Any number to any floating-point type of 16 bits and more. */
static const bf_emu_op *convert_any(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_ptx_type type = (bf_ptx_type)op->small[1];
  const bf_emu_format *format = format_of(type);
  bf_emu_encoding encoding = encoding_of(op);
  BF_EACH_LANE(BF_MASK(), lane) {
    bf_emu_number number = read_number(warp, op, lane);
    uint64_t bits = bf_emu_encode(format, number, encoding);
    if (type == BF_PTX_F64)
      BF_LANES(uint64_t, op->d)[lane] = bits;
    else if (type == BF_PTX_F32 && number.is_nan && !encoding.sat)
      BF_LANES(float, op->d)[lane] = (float)BF_LANES(const double, op->a)[lane];
    else if (type == BF_PTX_F32)
      BF_LANES(uint32_t, op->d)[lane] = (uint32_t)bits;
    else if (type == BF_PTX_TF32)
      BF_LANES(uint32_t, op->d)[lane] = place_tf32(op, BF_LANES(const uint32_t, op->a)[lane], bits);
    else
      BF_LANES(uint16_t, op->d)[lane] = (uint16_t)bits;
  }
  return op + 1;
}

/* The two values of a pair: f32 in a (high) and b (low), or the halves of a. */
static void read_pair(const bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, float *high,
                      float *low) {
  uint32_t a = BF_LANES(const uint32_t, op->a)[lane];
  switch ((bf_ptx_type)op->small[0]) {
  case BF_PTX_F16X2:
    *high = bf_emu_half_to_float((uint16_t)(a >> 16));
    *low = bf_emu_half_to_float((uint16_t)a);
    break;
  case BF_PTX_BF16X2:
    *high = bf_emu_bf16_to_float((uint16_t)(a >> 16));
    *low = bf_emu_bf16_to_float((uint16_t)a);
    break;
  default:
    *high = bf_emu_bits_float(a);
    *low = BF_LANES(const float, op->b)[lane];
    if (op->small[3] & FLAG_FLUSH) {
      *high = flush(*high);
      *low = flush(*low);
    }
    break;
  }
}

/* A pair to a pair of f16, bf16, e4m3 or e5m2. */
static const bf_emu_op *convert_pair(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_ptx_type type = (bf_ptx_type)op->small[1];
  const bf_emu_format *format = format_of(type);
  bf_emu_encoding encoding = encoding_of(op);
  BF_EACH_LANE(BF_MASK(), lane) {
    float high, low;
    read_pair(warp, op, lane, &high, &low);
    uint32_t high_bits = (uint32_t)bf_emu_encode(format, bf_emu_number_from_double(high), encoding);
    uint32_t low_bits = (uint32_t)bf_emu_encode(format, bf_emu_number_from_double(low), encoding);
    if (bf_ptx_type_bytes(type) == 4)
      BF_LANES(uint32_t, op->d)[lane] = high_bits << 16 | low_bits;
    else
      BF_LANES(uint16_t, op->d)[lane] = (uint16_t)(high_bits << 8 | low_bits);
  }
  return op + 1;
}

/* A pair of e4m3 or e5m2 (small[0]) to f16x2: all their values are values of f16. */
static const bf_emu_op *unpack_bytes(bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_format *format = format_of((bf_ptx_type)op->small[0]);
  const uint16_t *a = BF_LANES(const uint16_t, op->a);
  BF_EACH_LANE(BF_MASK(), lane) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 2; i++) {
      float value = bf_emu_decode_byte(format, (uint8_t)(a[lane] >> 8 * i));
      if (op->small[3] & FLAG_RELU && value <= 0)
        value = 0;
      result |= (uint32_t)bf_emu_float_to_half(value, BF_EMU_RN) << 16 * i;
    }
    BF_LANES(uint32_t, op->d)[lane] = result;
  }
  return op + 1;
}

/* cvt.pack: a and b (s32) clamped to small[1], of small[2] bits; c, where small[3], shifted up. */
static const bf_emu_op *pack_integers(bf_emu_warp *warp, const bf_emu_op *op) {
  static const struct {
    int64_t least, most;
  } range[INTEGER_COUNT] = {
      [INTEGER_u8] = {0, UINT8_MAX},
      [INTEGER_s8] = {INT8_MIN, INT8_MAX},
      [INTEGER_u16] = {0, UINT16_MAX},
      [INTEGER_s16] = {INT16_MIN, INT16_MAX},
  };
  const int32_t *a = BF_LANES(const int32_t, op->a), *b = BF_LANES(const int32_t, op->b);
  const uint32_t *c = BF_LANES(const uint32_t, op->c);
  int64_t least = range[op->small[1]].least, most = range[op->small[1]].most;
  unsigned bits = op->small[2];
  uint32_t kept = (UINT32_C(1) << bits) - 1;
  BF_EACH_LANE(BF_MASK(), lane) {
    int64_t high = a[lane] < least ? least : a[lane] > most ? most : a[lane];
    int64_t low = b[lane] < least ? least : b[lane] > most ? most : b[lane];
    uint32_t result = ((uint32_t)high & kept) << bits | ((uint32_t)low & kept);
    if (op->small[3])
      result |= c[lane] << 2 * bits;
    BF_LANES(uint32_t, op->d)[lane] = result;
  }
  return op + 1;
}

/* ---- Selection ---- */

enum { MOST_STEPS = 8 };

/* Steps to do one after the other, each with the bytes of its result. */
typedef struct step_chain {
  struct {
    bf_emu_step run;
    unsigned bytes;
    uint8_t small[4];
  } step[MOST_STEPS];
  unsigned count;
} step_chain;

static void add(step_chain *chain, bf_emu_step run, unsigned bytes) {
  chain->step[chain->count].run = run;
  chain->step[chain->count].bytes = bytes;
  chain->count++;
}

/* Bytes of the place of a type. */
static unsigned place_bytes(bf_ptx_type type) {
  unsigned bytes = bf_ptx_type_bytes(type);
  return bytes < 2 ? 2 : bytes;
}

/* The integer type of a place of so many bytes. */
static enum integer integer_of_bytes(unsigned bytes, bool is_signed) {
  enum integer type = bytes == 2 ? INTEGER_u16 : bytes == 4 ? INTEGER_u32 : INTEGER_u64;
  return is_signed ? type + 1 : type;
}

/* Emits the chain from place `from` to d; the last step becomes op. */
static bool emit_chain(bf_emu_decoder *decoder, const step_chain *chain, uint32_t from, uint32_t d,
                       bf_emu_op *op) {
  for (unsigned i = 0; i < chain->count; i++) {
    bool last = i + 1 == chain->count;
    bf_emu_op *at = last ? op : bf_emu_emit(decoder);
    if (!at)
      return true;
    at->run = chain->step[i].run;
    at->a = from;
    memcpy(at->small, chain->step[i].small, sizeof chain->step[i].small);
    if (last) {
      at->d = d;
    } else {
      uint32_t to = bf_emu_temporary(decoder, chain->step[i].bytes);
      at->d = to;
      from = to;
    }
  }
  return true;
}

/* What the modifiers of a cvt say. */
typedef struct cvt_request {
  bf_ptx_type to, from;
  int integral; /* rni, rzi, rmi, rpi as 0 to 3; -1: none */
  int rounding; /* bf_emu_rounding; -1: none */
  bool ftz, sat, relu, sat_finite;
} cvt_request;

static cvt_request read_request(const bf_ptx_instruction *instruction) {
  static const char *const integral[] = {"rni", "rzi", "rmi", "rpi"};
  static const char *const rounding[] = {"rn", "rz", "rm", "rp", "rna"};
  cvt_request request = {
      .to = instruction->type[0],
      .from = instruction->type[1],
      .integral = -1,
      .rounding = -1,
      .ftz = bf_ptx_has(instruction, "ftz"),
      .sat = bf_ptx_has(instruction, "sat"),
      .relu = bf_ptx_has(instruction, "relu"),
      .sat_finite = bf_ptx_has(instruction, "satfinite"),
  };
  for (int i = 0; i < 4; i++)
    if (bf_ptx_has(instruction, integral[i]))
      request.integral = i;
  for (int i = 0; i < 5; i++)
    if (bf_ptx_has(instruction, rounding[i]))
      request.rounding = i;
  return request;
}

/* A step by emu/format.h, which does everything but flushing the result. */
static void add_any(step_chain *chain, const cvt_request *request) {
  uint8_t flags =
      (uint8_t)((request->relu ? FLAG_RELU : 0) | (request->sat_finite ? FLAG_SAT_FINITE : 0) |
                (request->sat ? FLAG_SAT : 0) | (request->ftz ? FLAG_FLUSH : 0));
  uint8_t small[4] = {(uint8_t)request->from, (uint8_t)request->to,
                      (uint8_t)(request->rounding < 0 ? BF_EMU_RN : request->rounding), flags};
  add(chain, convert_any, place_bytes(request->to));
  memcpy(chain->step[chain->count - 1].small, small, sizeof small);
}

static void plan_integers(step_chain *chain, const cvt_request *request) {
  int from = integer_of(request->from), to = integer_of(request->to);
  if (request->sat) {
    add(chain, saturate_integer, place_bytes(request->to));
    chain->step[chain->count - 1].small[0] = (uint8_t)from;
    chain->step[chain->count - 1].small[1] = (uint8_t)to;
  } else {
    add(chain, widen[from][to], place_bytes(request->to));
  }
}

/* Integer to floating point. What f64 holds exactly goes through it, unless there is a direct way.
 */
static void plan_from_integer(step_chain *chain, const cvt_request *request) {
  int from = integer_of(request->from);
  bool nearest = request->rounding == BF_EMU_RN, exact = from < INTEGER_u64;
  if (request->to == BF_PTX_F32 && nearest) {
    add(chain, to_f32[from], 4);
    if (request->sat)
      add(chain, saturate_f32, 4);
  } else if (request->to == BF_PTX_F64 && (nearest || exact)) {
    add(chain, to_f64[from], 8);
    if (request->sat)
      add(chain, saturate_f64, 8);
  } else {
    add_any(chain, request);
  }
}

/* Adds steps from a 16-bit type to f32 where that is the source; says what the type is then. */
static bf_ptx_type plan_from_half(step_chain *chain, bf_ptx_type from) {
  if (from != BF_PTX_F16 && from != BF_PTX_BF16)
    return from;
  add(chain, from == BF_PTX_F16 ? f16_to_f32 : bf16_to_f32, 4);
  return BF_PTX_F32;
}

static void plan_to_integer(step_chain *chain, const cvt_request *request) {
  int to = integer_of(request->to);
  if (request->ftz && request->from == BF_PTX_F32)
    add(chain, flush_source, 4);
  bf_ptx_type from = plan_from_half(chain, request->from);
  add(chain, (from == BF_PTX_F64 ? from_f64 : from_f32)[to][request->integral],
      place_bytes(request->to));
}

/* The same type, rounded to integral values. */
static void plan_integral(step_chain *chain, const cvt_request *request) {
  if (request->ftz && request->from == BF_PTX_F32)
    add(chain, flush_source, 4);
  bf_ptx_type type = plan_from_half(chain, request->from);
  if (type == BF_PTX_F64)
    add(chain, integral_f64[request->integral], 8);
  else
    add(chain, integral_f32[request->integral], 4);
  if (request->sat)
    add(chain, type == BF_PTX_F64 ? saturate_f64 : saturate_f32, type == BF_PTX_F64 ? 8 : 4);
  if (request->to == BF_PTX_F16)
    add(chain, f32_to_f16_RN, 2);
  else if (request->to == BF_PTX_BF16)
    add(chain, f32_to_bf16_RN, 2);
}

/* Floating point to floating point without flags; false: emu/format.h must do it. */
static bool plan_plain_floats(step_chain *chain, const cvt_request *request) {
  int rounding = request->rounding < 0 ? BF_EMU_RN : request->rounding;
  bool to_half = request->to == BF_PTX_F16 || request->to == BF_PTX_BF16;
  if (rounding == BF_EMU_RNA || request->to == BF_PTX_TF32)
    return false;
  if (request->from == BF_PTX_F64 && request->to == BF_PTX_F32 && rounding != BF_EMU_RN)
    return false;
  if (request->from == BF_PTX_F16 && request->to == BF_PTX_F64) {
    add(chain, f16_to_f32_quiet, 4);
    add(chain, f32_to_f64, 8);
    return true;
  }
  bf_ptx_type from = plan_from_half(chain, request->from);
  if (to_half) {
    bool is_f16 = request->to == BF_PTX_F16;
    if (from == BF_PTX_F64)
      add(chain, (is_f16 ? f64_to_f16 : f64_to_bf16)[rounding], 2);
    else
      add(chain, (is_f16 ? f32_to_f16 : f32_to_bf16)[rounding], 2);
  } else if (from == BF_PTX_F32 && request->to == BF_PTX_F64) {
    add(chain, f32_to_f64, 8);
  } else if (from == BF_PTX_F64 && request->to == BF_PTX_F32) {
    add(chain, f64_to_f32, 4);
  } else if (!chain->count) {
    add(chain, from == BF_PTX_F64 ? step_u64_b64 : step_u32_b32, place_bytes(from));
  }
  return true;
}

static void plan_floats(step_chain *chain, const cvt_request *request) {
  unsigned before = chain->count;
  bool flags = request->relu || request->sat_finite;
  bool half_sat = request->sat && request->to != BF_PTX_F32 && request->to != BF_PTX_F64;
  if (request->ftz && request->from == BF_PTX_F32 && !flags && !half_sat)
    add(chain, flush_source, 4);
  if (flags || half_sat || !plan_plain_floats(chain, request)) {
    chain->count = before;
    add_any(chain, request);
  } else if (request->sat) {
    bool single = request->to == BF_PTX_F32;
    add(chain, single ? saturate_f32 : saturate_f64, single ? 4 : 8);
  }
  if (request->ftz && request->to == BF_PTX_F32 && request->from != BF_PTX_F32)
    add(chain, flush_f32, 4);
}

static bool is_float(bf_ptx_type type) {
  return type == BF_PTX_F16 || type == BF_PTX_BF16 || type == BF_PTX_F32 || type == BF_PTX_F64;
}

/* Plans the conversion itself; NULL, or what is wrong with it. */
static const char *plan(step_chain *chain, const cvt_request *request) {
  bool from_integer = integer_of(request->from) >= 0, to_integer = integer_of(request->to) >= 0;
  if (from_integer && to_integer) {
    plan_integers(chain, request);
  } else if (from_integer && is_float(request->to)) {
    if (request->rounding < 0 || request->relu || request->sat_finite)
      return "cvt from an integer to floating point without a rounding mode, or with relu";
    plan_from_integer(chain, request);
  } else if (is_float(request->from) && to_integer) {
    if (request->integral < 0)
      return "cvt from floating point to an integer without a rounding mode";
    plan_to_integer(chain, request);
  } else if (is_float(request->from) && request->to == request->from && request->integral >= 0) {
    plan_integral(chain, request);
  } else if (is_float(request->from) && is_float(request->to) && request->integral < 0) {
    plan_floats(chain, request);
  } else if (request->from == BF_PTX_F32 && request->to == BF_PTX_TF32 && request->rounding >= 0) {
    plan_floats(chain, request);
  } else {
    return "cvt between these types";
  }
  return NULL;
}

static bool is_pair(bf_ptx_type type) { return type == BF_PTX_F16X2 || type == BF_PTX_BF16X2; }
static bool is_byte_pair(bf_ptx_type type) {
  return type == BF_PTX_E4M3X2 || type == BF_PTX_E5M2X2;
}

/* Conversions of two values at once. */
static bool select_pair(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        const cvt_request *request, bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  bool unpack = is_byte_pair(request->from), two = request->from == BF_PTX_F32;
  bool known = unpack ? request->to == BF_PTX_F16X2
               : two  ? is_pair(request->to) || is_byte_pair(request->to)
                      : is_pair(request->from) && is_byte_pair(request->to);
  if (!known || instruction->operands != (two ? 3u : 2u) || request->sat ||
      (request->rounding != BF_EMU_RN && request->rounding != BF_EMU_RZ))
    return bf_emu_refuse(decoder, "cvt of pairs of these types");
  for (unsigned i = 0; i < instruction->operands; i++)
    if (bf_emu_register_bytes(&operand[i], i ? request->from : request->to) !=
        bf_ptx_type_bytes(i ? request->from : request->to))
      return bf_emu_refuse(decoder, "cvt of pairs in registers of another size");
  op->d = bf_emu_destination(decoder, &operand[0]);
  op->a = bf_emu_source(decoder, &operand[1], request->from);
  if (two)
    op->b = bf_emu_source(decoder, &operand[2], request->from);
  bool flags = request->relu || request->sat_finite || request->ftz;
  op->small[0] = (uint8_t)request->from;
  op->small[1] = (uint8_t)request->to;
  op->small[2] = (uint8_t)request->rounding;
  op->small[3] =
      (uint8_t)((request->relu ? FLAG_RELU : 0) | (request->sat_finite ? FLAG_SAT_FINITE : 0) |
                (request->ftz ? FLAG_FLUSH : 0));
  if (unpack)
    op->run = unpack_bytes;
  else if (two && !flags && request->rounding == BF_EMU_RN && is_pair(request->to))
    op->run = request->to == BF_PTX_F16X2 ? pack_f16x2 : pack_bf16x2;
  else
    op->run = convert_pair;
  return true;
}

static bool select_pack(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  int to = instruction->types >= 2 ? integer_of(instruction->type[0]) : -1;
  unsigned bits = bf_ptx_type_bytes(instruction->type[0]) * 8;
  bool three = instruction->operands == 4;
  if (to < 0 || bits > 16 || instruction->type[1] != BF_PTX_S32 || instruction->operands < 3 ||
      (bits == 8) != three)
    return bf_emu_refuse(decoder, "cvt.pack of these types");
  for (unsigned i = 0; i < instruction->operands; i++)
    if (bf_emu_register_bytes(&operand[i], BF_PTX_S32) != 4)
      return bf_emu_refuse(decoder, "cvt.pack of registers that do not have 32 bits");
  op->d = bf_emu_destination(decoder, &operand[0]);
  op->a = bf_emu_source(decoder, &operand[1], BF_PTX_S32);
  op->b = bf_emu_source(decoder, &operand[2], BF_PTX_S32);
  if (three)
    op->c = bf_emu_source(decoder, &operand[3], BF_PTX_B32);
  op->small[1] = (uint8_t)to;
  op->small[2] = (uint8_t)bits;
  op->small[3] = three;
  op->run = pack_integers;
  return true;
}

/* What one lane alone does by itself. */
extern const bf_alone_row BF_EMU_NAME(bf_emu_alone_convert)[];
const bf_alone_row BF_EMU_NAME(bf_emu_alone_convert)[] = {{step_u32_b64, BF_ALONE_U32_TO_64},
                                                          {step_s32_b64, BF_ALONE_S32_TO_64},
                                                          {step_u64_b32, BF_ALONE_B64_TO_32},
                                                          {step_s64_b32, BF_ALONE_B64_TO_32},
                                                          {step_u16_b32, BF_ALONE_U16_TO_32},
                                                          {step_s16_b32, BF_ALONE_S16_TO_32},
                                                          {step_u32_b16, BF_ALONE_B32_TO_16},
                                                          {step_s32_b16, BF_ALONE_B32_TO_16},
                                                          {step_u32_b32, BF_ALONE_MOVE_32},
                                                          {step_u64_b64, BF_ALONE_MOVE_64},
                                                          {NULL, BF_ALONE_NONE}};

bool BF_EMU_NAME(bf_emu_select_convert)(bf_emu_decoder *decoder,
                                        const bf_ptx_instruction *instruction, bf_emu_op *op) {
  if (instruction->opcode != BF_PTX_OP_CVT)
    return false;
  if (bf_ptx_has(instruction, "pack"))
    return select_pack(decoder, instruction, op);
  if (instruction->types != 2 || bf_ptx_has(instruction, "rs") || bf_ptx_has(instruction, "scaled"))
    return bf_emu_refuse(decoder, "cvt of this form");
  cvt_request request = read_request(instruction);
  if (instruction->operands != 2 || is_byte_pair(request.to) || is_byte_pair(request.from))
    return select_pair(decoder, instruction, &request, op);

  const bf_ptx_operand *d = &instruction->operand[0], *a = &instruction->operand[1];
  step_chain chain = {.count = 0};
  unsigned from_bytes = bf_emu_register_bytes(a, request.from);
  unsigned to_bytes = bf_emu_register_bytes(d, request.to);
  if (d->kind == BF_PTX_SINK)
    to_bytes = place_bytes(request.to);
  if (from_bytes < place_bytes(request.from) || to_bytes < place_bytes(request.to) ||
      from_bytes > 8 || to_bytes > 8)
    return bf_emu_refuse(decoder, "cvt of registers narrower than their type");
  if (from_bytes > place_bytes(request.from))
    add(&chain,
        widen[integer_of_bytes(from_bytes, false)]
             [integer_of_bytes(place_bytes(request.from), false)],
        place_bytes(request.from));
  const char *wrong = plan(&chain, &request);
  if (wrong)
    return bf_emu_refuse(decoder, wrong);
  if (to_bytes > place_bytes(request.to)) {
    int to = integer_of(request.to);
    bool is_signed = to >= 0 && to % 2;
    add(&chain,
        widen[integer_of_bytes(place_bytes(request.to), is_signed)]
             [integer_of_bytes(to_bytes, is_signed)],
        to_bytes);
  }
  return emit_chain(decoder, &chain, bf_emu_source(decoder, a, request.from),
                    bf_emu_destination(decoder, d), op);
}

/* Arithmetic of f16, bf16 and pairs of them: add, sub, mul, fma, neg, abs, min, max, ex2, tanh.
 *
 * Results are rounded once, to the nearest, and a NaN result is 0x7fff.
 * - add, sub: computed in float, whose 24 bits are at least 2p + 2 for p = 11 (f16) and p = 8
 *   (bf16); rounding a sum first to so many bits and then to p never differs from rounding once.
 * - mul: products have at most 22 (f16) or 16 bits (bf16), so floats hold them exactly. Products of
 *   bf16 that float cannot hold lie below 2^-134, half of the smallest bf16, and are rounded in
 *   float to at most that, which is a tie that goes to 0 as the product itself does.
 * - fma: the product is exact in float (f16, 22 bits) or double (bf16, whose products float may not
 *   hold); the sum is rounded to odd with the help of its exact error, which makes the rounding to
 *   the type, at least two bits narrower, the only one that counts.
 * - ex2, tanh: as accurate as the host's float functions, rounded to the type. */
#include "emu/half_lanes.h"
#include "emu/inner.h"

#include <math.h>

bool BF_EMU_NAME(bf_emu_select_half)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op);

/* ---- One value: functions of up to three operands ---- */

static inline uint16_t to_f16(float value) { return bf_emu_float_to_half(value, BF_EMU_RN); }
static inline uint16_t to_bf16(float value) { return bf_emu_float_to_bf16(value, BF_EMU_RN); }

/* a + b rounded to odd: the last bit is set where anything was cut off. The error of a sum is a
 * float itself, and NaN where the sum is not finite. The sum moves outwards where both have the
 * same sign. By bits, for the vectoriser. */
#define ADD_ODD(name, type, unsigned_type, signed_type, infinity, to_bits, from_bits)              \
  static inline type name(type a, type b) {                                                        \
    type sum = a + b, b_part = sum - a, a_part = sum - b_part;                                     \
    unsigned_type bits = to_bits(sum), error = to_bits((a - a_part) + (b - b_part));               \
    unsigned_type size = error << 1 >> 1;                                                          \
    signed_type signs_differ = (signed_type)(error ^ bits) >> (sizeof(type) * 8 - 1);              \
    unsigned_type moved = bits + (1 | (unsigned_type)signs_differ);                                \
    unsigned_type inexact = (unsigned_type)(size != 0) & (unsigned_type)(size < infinity);         \
    return from_bits(inexact & ~bits & 1 ? moved : bits);                                          \
  }
ADD_ODD(add_odd, float, uint32_t, int32_t, 0x7f800000, bf_emu_float_bits, bf_emu_bits_float)
ADD_ODD(add_odd_double, double, uint64_t, int64_t, UINT64_C(0x7ff0000000000000), bf_emu_double_bits,
        bf_emu_bits_double)

static inline uint16_t fma_f16(uint16_t a, uint16_t b, uint16_t c) {
  float product = bf_emu_half_to_float(a) * bf_emu_half_to_float(b);
  return to_f16(add_odd(product, bf_emu_half_to_float(c)));
}

static inline uint16_t fma_bf16(uint16_t a, uint16_t b, uint16_t c) {
  double product = (double)bf_emu_bf16_to_float(a) * (double)bf_emu_bf16_to_float(b);
  return to_bf16(bf_emu_double_to_float_odd(add_odd_double(product, bf_emu_bf16_to_float(c))));
}

/* How values compare: their bits as numbers, negative ones the other way round; -0 is below +0. */
static inline int order(uint16_t bits) { return bits & 0x8000 ? -(bits & 0x7fff) - 1 : bits; }

/* min or max. A NaN (above infinity) loses against a number, or wins where keep_nan. */
static inline uint16_t extreme(uint16_t a, uint16_t b, uint16_t infinity, bool is_min,
                               bool keep_nan) {
  bool a_nan = (a & 0x7fff) > infinity, b_nan = (b & 0x7fff) > infinity;
  uint16_t chosen = (order(a) < order(b)) == is_min ? a : b;
  chosen = a_nan ? b : b_nan ? a : chosen;
  return (keep_nan ? a_nan | b_nan : a_nan & b_nan) ? 0x7fff : chosen;
}

/* The same of the magnitudes, with the product of the signs. */
static inline uint16_t extreme_xorsign(uint16_t a, uint16_t b, uint16_t infinity, bool is_min,
                                       bool keep_nan) {
  uint16_t magnitude = extreme(a & 0x7fff, b & 0x7fff, infinity, is_min, keep_nan);
  return magnitude > infinity ? magnitude : magnitude | ((a ^ b) & 0x8000);
}

/* Every function of a type T with load and store: name and value for the bits a, b, c. */
#define FUNCTIONS(X, T, load, store, infinity)                                                     \
  X(T, add, store(load(a) + load(b)))                                                              \
  X(T, sub, store(load(a) - load(b)))                                                              \
  X(T, mul, store(load(a) * load(b)))                                                              \
  X(T, fma, fma_##T(a, b, c))                                                                      \
  X(T, neg, (a & 0x7fff) > infinity ? 0x7fff : a ^ 0x8000)                                         \
  X(T, abs, (a & 0x7fff) > infinity ? 0x7fff : a & 0x7fff)                                         \
  X(T, min, extreme(a, b, infinity, true, false))                                                  \
  X(T, max, extreme(a, b, infinity, false, false))                                                 \
  X(T, min_nan, extreme(a, b, infinity, true, true))                                               \
  X(T, max_nan, extreme(a, b, infinity, false, true))                                              \
  X(T, min_xorsign, extreme_xorsign(a, b, infinity, true, false))                                  \
  X(T, max_xorsign, extreme_xorsign(a, b, infinity, false, false))                                 \
  X(T, min_nan_xorsign, extreme_xorsign(a, b, infinity, true, true))                               \
  X(T, max_nan_xorsign, extreme_xorsign(a, b, infinity, false, true))                              \
  X(T, ex2, store(exp2f(load(a))))                                                                 \
  X(T, tanh, store(tanhf(load(a))))
#define ALL_FUNCTIONS(X)                                                                           \
  FUNCTIONS(X, f16, bf_emu_half_to_float, to_f16, 0x7c00)                                          \
  FUNCTIONS(X, bf16, bf_emu_bf16_to_float, to_bf16, 0x7f80)

#define X(T, name, value)                                                                          \
  static inline uint16_t T##_##name(uint16_t a, uint16_t b, uint16_t c) {                          \
    (void)a, (void)b, (void)c;                                                                     \
    return (uint16_t)(value);                                                                      \
  }
ALL_FUNCTIONS(X)
#undef X

/* ---- Over the lanes, without flags ---- */

/* Places hold 32 or 64 halves, one after the other: a row. */
enum { MOST_HALVES = 2 * BF_EMU_LANES };

/* Gives the lanes of op their part of a row of results. */
static const bf_emu_op *deliver(bf_emu_warp *warp, const bf_emu_op *op, const uint16_t *row,
                                bool pair) {
  uint32_t mask = BF_MASK();
  if (pair) {
    uint32_t *d = BF_LANES(uint32_t, op->d), pairs[BF_EMU_LANES];
    memcpy(pairs, row, sizeof pairs);
    BF_SET_LANES(mask, d, pairs[lane]);
  } else {
    uint16_t *d = BF_LANES(uint16_t, op->d);
    BF_SET_LANES(mask, d, row[lane]);
  }
  return op + 1;
}

/* Functions of bits, value by value. */
#define BY_BITS(T, name)                                                                           \
  static inline void row_##T##_##name(const uint16_t *a, const uint16_t *b, const uint16_t *c,     \
                                      uint16_t *d, unsigned count) {                               \
    for (unsigned i = 0; i < count; i++)                                                           \
      d[i] = T##_##name(a[i], b[i], c[i]);                                                         \
  }
/* Functions of floats x, y, z: a row of floats at a time. */
#define BY_FLOATS(T, name, load, store, value)                                                     \
  static inline void row_##T##_##name(const uint16_t *a, const uint16_t *b, const uint16_t *c,     \
                                      uint16_t *d, unsigned count) {                               \
    float x[MOST_HALVES], y[MOST_HALVES], z[MOST_HALVES], result[MOST_HALVES];                     \
    load(a, x, count);                                                                             \
    load(b, y, count);                                                                             \
    load(c, z, count);                                                                             \
    for (unsigned i = 0; i < count; i++)                                                           \
      result[i] = (value);                                                                         \
    store(result, d, count);                                                                       \
  }
#define BY_FLOATS_OF(T, load, store)                                                               \
  BY_FLOATS(T, add, load, store, x[i] + y[i])                                                      \
  BY_FLOATS(T, sub, load, store, x[i] - y[i])                                                      \
  BY_FLOATS(T, mul, load, store, x[i] * y[i])
#define BY_BITS_OF(T)                                                                              \
  BY_BITS(T, neg)                                                                                  \
  BY_BITS(T, abs)                                                                                  \
  BY_BITS(T, min)                                                                                  \
  BY_BITS(T, max)                                                                                  \
  BY_BITS(T, min_nan)                                                                              \
  BY_BITS(T, max_nan)                                                                              \
  BY_BITS(T, min_xorsign)                                                                          \
  BY_BITS(T, max_xorsign)                                                                          \
  BY_BITS(T, min_nan_xorsign)                                                                      \
  BY_BITS(T, max_nan_xorsign)                                                                      \
  BY_BITS(T, ex2)                                                                                  \
  BY_BITS(T, tanh)
BY_FLOATS_OF(f16, bf_emu_halves_to_floats, bf_emu_floats_to_halves)
BY_FLOATS(f16, fma, bf_emu_halves_to_floats, bf_emu_floats_to_halves, add_odd(x[i] * y[i], z[i]))
BY_FLOATS_OF(bf16, bf_emu_bf16s_to_floats, bf_emu_floats_to_bf16s)
BY_BITS_OF(f16)
BY_BITS_OF(bf16)

/* In steps, so that each of them is vector code. */
static inline void row_bf16_fma(const uint16_t *a, const uint16_t *b, const uint16_t *c,
                                uint16_t *d, unsigned count) {
  double sum[MOST_HALVES];
  float result[MOST_HALVES];
  for (unsigned i = 0; i < count; i++) {
    double product = (double)bf_emu_bf16_to_float(a[i]) * (double)bf_emu_bf16_to_float(b[i]);
    sum[i] = add_odd_double(product, bf_emu_bf16_to_float(c[i]));
  }
  for (unsigned i = 0; i < count; i++)
    result[i] = bf_emu_double_to_float_odd(sum[i]);
  bf_emu_floats_to_bf16s(result, d, count);
}

#define X(T, name, value)                                                                          \
  static const bf_emu_op *one_##T##_##name(bf_emu_warp *warp, const bf_emu_op *op) {               \
    uint16_t row[BF_EMU_LANES];                                                                    \
    row_##T##_##name(BF_LANES(const uint16_t, op->a), BF_LANES(const uint16_t, op->b),             \
                     BF_LANES(const uint16_t, op->c), row, BF_EMU_LANES);                          \
    return deliver(warp, op, row, false);                                                          \
  }                                                                                                \
  static const bf_emu_op *two_##T##_##name(bf_emu_warp *warp, const bf_emu_op *op) {               \
    uint16_t row[MOST_HALVES];                                                                     \
    row_##T##_##name(BF_LANES(const uint16_t, op->a), BF_LANES(const uint16_t, op->b),             \
                     BF_LANES(const uint16_t, op->c), row, MOST_HALVES);                           \
    return deliver(warp, op, row, true);                                                           \
  }
ALL_FUNCTIONS(X)
#undef X

typedef struct half_function {
  const char *name; /* opcode, then _nan and _xorsign where it has these */
  bf_emu_step one, two;
  uint16_t (*value)(uint16_t a, uint16_t b, uint16_t c);
} half_function;

#define X(T, name, value) {#name, one_##T##_##name, two_##T##_##name, T##_##name},
static const half_function functions_f16[] = {
    FUNCTIONS(X, f16, bf_emu_half_to_float, to_f16, 0x7c00){NULL, NULL, NULL, NULL}};
static const half_function functions_bf16[] = {
    FUNCTIONS(X, bf16, bf_emu_bf16_to_float, to_bf16, 0x7f80){NULL, NULL, NULL, NULL}};
#undef X

/* ---- With flags, one value at a time ---- */

#define HIGH(x) ((uint16_t)((x) >> 16))
#define LOW(x) ((uint16_t)(x))

/* Products of f16 before they are rounded; NULL for functions that are exact where results are
 * small. */
typedef float (*unrounded_f16)(uint16_t a, uint16_t b, uint16_t c);

static float unrounded_mul(uint16_t a, uint16_t b, uint16_t c) {
  (void)c;
  return bf_emu_half_to_float(a) * bf_emu_half_to_float(b);
}

static float unrounded_fma(uint16_t a, uint16_t b, uint16_t c) {
  return add_odd(bf_emu_half_to_float(a) * bf_emu_half_to_float(b), bf_emu_half_to_float(c));
}

typedef struct flagged {
  const half_function *function;
  unrounded_f16 unrounded;
  uint16_t exponent; /* bits of the exponent: those of infinity */
  uint16_t one;
  bool pair, ftz, sat, relu;
} flagged;

static uint16_t flush(const flagged *how, uint16_t bits) {
  return how->ftz && !(bits & how->exponent) ? bits & 0x8000 : bits;
}

/* The function with its flags. What is below the smallest normal number before it is rounded is
 * flushed, as an H200 does. */
static uint16_t apply(const flagged *how, uint16_t a, uint16_t b, uint16_t c) {
  a = flush(how, a), b = flush(how, b), c = flush(how, c);
  uint16_t bits = flush(how, how->function->value(a, b, c));
  if (how->ftz && how->unrounded && fabsf(how->unrounded(a, b, c)) < 0x1p-14f)
    bits &= 0x8000;
  bool is_nan = (bits & 0x7fff) > how->exponent;
  if (how->sat)
    return is_nan || bits & 0x8000 ? 0 : bits > how->one ? how->one : bits;
  if (how->relu && bits & 0x8000 && !is_nan)
    return 0;
  return bits;
}

static const bf_emu_op *run_flagged(bf_emu_warp *warp, const bf_emu_op *op) {
  const flagged *how = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    if (how->pair) {
      uint32_t a = BF_LANES(const uint32_t, op->a)[lane], b = BF_LANES(const uint32_t, op->b)[lane];
      uint32_t c = BF_LANES(const uint32_t, op->c)[lane];
      BF_LANES(uint32_t, op->d)
      [lane] = (uint32_t)apply(how, HIGH(a), HIGH(b), HIGH(c)) << 16 |
               apply(how, LOW(a), LOW(b), LOW(c));
    } else {
      BF_LANES(uint16_t, op->d)
      [lane] = apply(how, BF_LANES(const uint16_t, op->a)[lane],
                     BF_LANES(const uint16_t, op->b)[lane], BF_LANES(const uint16_t, op->c)[lane]);
    }
  }
  return op + 1;
}

/* ---- Selection ---- */

static const half_function *find_function(const bf_ptx_instruction *instruction, bool is_bf16) {
  bool keep_nan = bf_ptx_has(instruction, "NaN"), xorsign = bf_ptx_has(instruction, "xorsign");
  char name[32];
  snprintf(name, sizeof name, "%s%s%s", bf_ptx_op_get(instruction->opcode)->name,
           keep_nan ? "_nan" : "", xorsign ? "_xorsign" : "");
  const half_function *function = is_bf16 ? functions_bf16 : functions_f16;
  while (function->name && strcmp(function->name, name))
    function++;
  return function->name ? function : NULL;
}

/* Number of operands that an opcode of this file reads; 0: it is not of this file. */
static unsigned sources_of(bf_ptx_opcode opcode) {
  switch (opcode) {
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_MUL:
  case BF_PTX_OP_MIN:
  case BF_PTX_OP_MAX:
    return 2;
  case BF_PTX_OP_FMA:
    return 3;
  case BF_PTX_OP_NEG:
  case BF_PTX_OP_ABS:
  case BF_PTX_OP_EX2:
  case BF_PTX_OP_TANH:
    return 1;
  default:
    return 0;
  }
}

/* Binds the operands; places that are not read hold a, so that they can be loaded. */
static bool bind(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction, unsigned sources,
                 bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  const bf_ptx_operand *operand = instruction->operand;
  for (unsigned i = 0; i <= sources; i++)
    if (operand[i].kind != BF_PTX_SINK &&
        bf_emu_register_bytes(&operand[i], type) != bf_ptx_type_bytes(type))
      return false;
  op->d = bf_emu_destination(decoder, &operand[0]);
  op->a = bf_emu_source(decoder, &operand[1], type);
  op->b = sources > 1 ? bf_emu_source(decoder, &operand[2], type) : op->a;
  op->c = sources > 2 ? bf_emu_source(decoder, &operand[3], type) : op->a;
  return true;
}

bool BF_EMU_NAME(bf_emu_select_half)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op) {
  unsigned sources = sources_of(instruction->opcode);
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  bool is_f16 = type == BF_PTX_F16 || type == BF_PTX_F16X2;
  bool is_bf16 = type == BF_PTX_BF16 || type == BF_PTX_BF16X2;
  if (!sources || (!is_f16 && !is_bf16))
    return false;
  const half_function *function = find_function(instruction, is_bf16);
  if (!function || instruction->types != 1 || instruction->operands != sources + 1 ||
      bf_ptx_has(instruction, "oob"))
    return bf_emu_refuse(decoder, "arithmetic of 16-bit floating point in this form");
  if (!bind(decoder, instruction, sources, op))
    return bf_emu_refuse(decoder, "registers that do not have the size of the type");
  bool pair = type == BF_PTX_F16X2 || type == BF_PTX_BF16X2;
  flagged how = {
      .function = function,
      .unrounded = instruction->opcode == BF_PTX_OP_MUL   ? unrounded_mul
                   : instruction->opcode == BF_PTX_OP_FMA ? unrounded_fma
                                                          : NULL,
      .exponent = is_f16 ? 0x7c00 : 0x7f80,
      .one = is_f16 ? 0x3c00 : 0x3f80,
      .pair = pair,
      .ftz = bf_ptx_has(instruction, "ftz"),
      .sat = bf_ptx_has(instruction, "sat"),
      .relu = bf_ptx_has(instruction, "relu"),
  };
  if (!how.ftz && !how.sat && !how.relu) {
    op->run = pair ? function->two : function->one;
    return true;
  }
  flagged *kept = bf_emu_detail(decoder, sizeof *kept);
  if (kept)
    *kept = how;
  op->detail = kept;
  op->run = run_flagged;
  return true;
}

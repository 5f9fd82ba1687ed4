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
#include "emu/half.h"
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

#define HIGH(x) ((uint16_t)((x) >> 16))
#define LOW(x) ((uint16_t)(x))
#define X(T, name, value)                                                                          \
  static const bf_emu_op *one_##T##_##name(bf_emu_warp *warp, const bf_emu_op *op) {               \
    uint32_t mask = BF_MASK();                                                                     \
    const uint16_t *a = BF_LANES(const uint16_t, op->a), *b = BF_LANES(const uint16_t, op->b);     \
    const uint16_t *c = BF_LANES(const uint16_t, op->c);                                           \
    uint16_t *d = BF_LANES(uint16_t, op->d);                                                       \
    BF_SET_LANES(mask, d, T##_##name(a[lane], b[lane], c[lane]));                                  \
    return op + 1;                                                                                 \
  }                                                                                                \
  static const bf_emu_op *two_##T##_##name(bf_emu_warp *warp, const bf_emu_op *op) {               \
    uint32_t mask = BF_MASK();                                                                     \
    const uint32_t *a = BF_LANES(const uint32_t, op->a), *b = BF_LANES(const uint32_t, op->b);     \
    const uint32_t *c = BF_LANES(const uint32_t, op->c);                                           \
    uint32_t *d = BF_LANES(uint32_t, op->d);                                                       \
    BF_SET_LANES(mask, d,                                                                          \
                 (uint32_t)T##_##name(HIGH(a[lane]), HIGH(b[lane]), HIGH(c[lane])) << 16 |         \
                     T##_##name(LOW(a[lane]), LOW(b[lane]), LOW(c[lane])));                        \
    return op + 1;                                                                                 \
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

typedef struct flagged {
  const half_function *function;
  uint16_t exponent; /* bits of the exponent: those of infinity */
  uint16_t one;
  bool pair, ftz, sat, relu;
  bool multiplies, adds; /* mul has the first, fma both */
} flagged;

static uint16_t flush(const flagged *how, uint16_t bits) {
  return how->ftz && !(bits & how->exponent) ? bits & 0x8000 : bits;
}

/* Whether an f16 result is the smallest normal number only by rounding. .ftz flushes what lies
 * below that before it is rounded (measured on an H200). Doubles hold products and sums so small
 * exactly. */
static bool is_rounded_to_normal(const flagged *how, uint16_t a, uint16_t b, uint16_t c,
                                 uint16_t bits) {
  if (!how->multiplies || (bits & 0x7fff) != 0x0400)
    return false;
  double exact = (double)bf_emu_half_to_float(a) * bf_emu_half_to_float(b);
  return fabs(exact + (how->adds ? bf_emu_half_to_float(c) : 0)) < 0x1p-14;
}

/* The function with its flags. */
static uint16_t apply(const flagged *how, uint16_t a, uint16_t b, uint16_t c) {
  a = flush(how, a);
  b = flush(how, b);
  c = flush(how, c);
  uint16_t bits = flush(how, how->function->value(a, b, c));
  if (how->ftz && is_rounded_to_normal(how, a, b, c, bits))
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
      .exponent = is_f16 ? 0x7c00 : 0x7f80,
      .one = is_f16 ? 0x3c00 : 0x3f80,
      .pair = pair,
      .ftz = bf_ptx_has(instruction, "ftz"),
      .sat = bf_ptx_has(instruction, "sat"),
      .relu = bf_ptx_has(instruction, "relu"),
      .multiplies = instruction->opcode == BF_PTX_OP_MUL || instruction->opcode == BF_PTX_OP_FMA,
      .adds = instruction->opcode == BF_PTX_OP_FMA,
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

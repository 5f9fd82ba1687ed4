/* Floating point in 32 and 64 bits: add, sub, mul, fma, div, sqrt, rcp, min, max, neg, abs. All
 * results are those of IEEE 754. An f32 that is not a number is always 0x7fffffff; in f64 it is
 * what the host makes. */
#include "emu/alone.h"
#include "emu/bind.h"
#include "emu/directed.h"
#include "emu/rounding.h"
#include "emu/single.h"

#include <math.h>

/* ---- To the nearest ---- */

BF_EMU_BINARY(add_float, float, bf_emu_canonical(a[lane] + b[lane]))
BF_EMU_BINARY(sub_float, float, bf_emu_canonical(a[lane] - b[lane]))
BF_EMU_BINARY(mul_float, float, bf_emu_canonical(a[lane] * b[lane]))
BF_EMU_BINARY(div_float, float, bf_emu_canonical(a[lane] / b[lane]))
BF_EMU_TERNARY(fma_float, float, bf_emu_canonical(__builtin_fmaf(a[lane], b[lane], c[lane])))
BF_EMU_UNARY(sqrt_float, float, bf_emu_canonical(__builtin_sqrtf(a[lane])))
BF_EMU_UNARY(rcp_float, float, bf_emu_canonical(1.0f / a[lane]))
BF_EMU_BINARY(add_double, double, a[lane] + b[lane])
BF_EMU_BINARY(sub_double, double, a[lane] - b[lane])
BF_EMU_BINARY(mul_double, double, a[lane] * b[lane])
BF_EMU_BINARY(div_double, double, a[lane] / b[lane])
BF_EMU_TERNARY(fma_double, double, __builtin_fma(a[lane], b[lane], c[lane]))
BF_EMU_UNARY(sqrt_double, double, __builtin_sqrt(a[lane]))
BF_EMU_UNARY(rcp_double, double, 1.0 / a[lane])

/* ---- With modifiers ---- */

/* Modifiers, in small[]. */
enum { ROUNDING, FLUSHES, SATURATES, WANTS_NAN, WANTS_ABS, WANTS_SIGN };

static inline uint32_t kept_bits(const bf_emu_op *op) {
  return bf_emu_kept_bits(op->small[FLUSHES]);
}

/* x in the range 0 to 1; NaN is 0 */
static inline float saturated(float x) { return !(x > 0) ? 0 : x > 1 ? 1 : x; }

/* What an operation with modifiers does with a result. */
static inline float finished(float x, uint32_t keep, bool saturates) {
  float result = bf_emu_flushed(bf_emu_canonical(x), keep);
  return saturates ? saturated(result) : result;
}

/* nearest, by the rounding that op asks for: directed is what does without the host's. */
#define ROUNDED(function, nearest, directed)                                                       \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    if (op->small[ROUNDING] == BF_EMU_RN)                                                          \
      return nearest(warp, op);                                                                    \
    if (BF_EMU_NEAREST_ONLY)                                                                       \
      return directed(warp, op);                                                                   \
    bf_emu_saved_rounding saved = bf_emu_rounding_set((bf_emu_rounding)op->small[ROUNDING]);       \
    const bf_emu_op *next = nearest(warp, op);                                                     \
    bf_emu_rounding_restore(saved);                                                                \
    return next;                                                                                   \
  }

/* What is done to x, y and z, the operands of a lane, and how it is rounded. */
#define SUM(target) bf_emu_directed_fma(x, 1, y, target)
#define DIFFERENCE(target) (y != y ? x - y : bf_emu_directed_fma(x, 1, -y, target))
#define PRODUCT(target) bf_emu_directed_product(x, y, target)
#define QUOTIENT(target) bf_emu_directed_quotient(x, y, target)
#define PRODUCT_AND_SUM(target) bf_emu_directed_fma(x, y, z, target)
#define ROOT(target) bf_emu_directed_root(x, target)
#define INVERSE(target) bf_emu_directed_quotient(1, x, target)

/* The smallest normal number. */
static const double smallest_normal = 0x1p-126;

/* d = expression of x, y and z, the operands of a lane, by all modifiers. With .ftz a result that
 * is denormal before it is rounded becomes zero (measured on an H200), so where it is the smallest
 * normal number, of sign s, is_below says of the operands as doubles whether the exact result is
 * nearer to zero than that. */
#define FLOAT_ANY(function, expression, directed, is_below)                                        \
  static inline float function##_one(float x, float y, float z, bf_emu_rounding rounding) {        \
    (void)y, (void)z;                                                                              \
    if (BF_EMU_NEAREST_ONLY && rounding != BF_EMU_RN)                                              \
      return (float)directed(((bf_emu_target){&bf_emu_format_f32, rounding}));                     \
    return expression;                                                                             \
  }                                                                                                \
  static inline bool function##_is_below(double x, double y, double z, double s) {                 \
    (void)x, (void)y, (void)z, (void)s;                                                            \
    return is_below;                                                                               \
  }                                                                                                \
  static const bf_emu_op *function##_nearest(bf_emu_warp *warp, const bf_emu_op *op) {             \
    uint32_t keep = kept_bits(op), smallest = 0;                                                   \
    bool saturates = op->small[SATURATES];                                                         \
    bf_emu_rounding rounding = (bf_emu_rounding)op->small[ROUNDING];                               \
    float *d = BF_LANES(float, op->d), result[BF_EMU_LANES];                                       \
    const float *a = BF_LANES(float, op->a), *b = BF_LANES(float, op->b),                          \
                *c = BF_LANES(float, op->c);                                                       \
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                         \
      float x = bf_emu_flushed(a[lane], keep), y = bf_emu_flushed(b[lane], keep);                  \
      float z = bf_emu_flushed(c[lane], keep);                                                     \
      result[lane] = finished(function##_one(x, y, z, rounding), keep, saturates);                 \
      smallest |= (bf_emu_float_bits(result[lane]) & 0x7fffffff) == 0x00800000;                    \
    }                                                                                              \
    if (smallest && op->small[FLUSHES])                                                            \
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)                                         \
        if (fabsf(result[lane]) == (float)smallest_normal &&                                       \
            function##_is_below(bf_emu_flushed(a[lane], keep), bf_emu_flushed(b[lane], keep),      \
                                bf_emu_flushed(c[lane], keep), result[lane] < 0 ? -1 : 1))         \
          result[lane] = copysignf(0, result[lane]);                                               \
    BF_SET_LANES(BF_MASK(), d, result[lane]);                                                      \
    return op + 1;                                                                                 \
  }                                                                                                \
  ROUNDED(function, function##_nearest, function##_nearest)
FLOAT_ANY(add_float_any, x + y, SUM, false) /* so small a sum is exact */
FLOAT_ANY(sub_float_any, x - y, DIFFERENCE, false)
FLOAT_ANY(mul_float_any, (x * y), PRODUCT, fabs(x *y) < smallest_normal)
FLOAT_ANY(div_float_any, x / y, QUOTIENT, fabs(x) < smallest_normal * fabs(y))
FLOAT_ANY(fma_float_any, __builtin_fmaf(x, y, z), PRODUCT_AND_SUM,
          s *fma(x, y, z - s * smallest_normal) < 0)
FLOAT_ANY(sqrt_float_any, __builtin_sqrtf(x), ROOT, false)
FLOAT_ANY(rcp_float_any, 1.0f / x, INVERSE, 1 < smallest_normal * fabs(x))
/* Pairs of floats in 64 bits (sm_100): the same of each half; last is the third operand of fma. */
#define FLOAT_PAIR(name, last)                                                                     \
  static const bf_emu_op *name##_pair_nearest(bf_emu_warp *warp, const bf_emu_op *op) {            \
    uint32_t keep = kept_bits(op);                                                                 \
    bf_emu_rounding rounding = (bf_emu_rounding)op->small[ROUNDING];                               \
    float *d = BF_LANES(float, op->d), result[2 * BF_EMU_LANES];                                   \
    const float *a = BF_LANES(float, op->a), *b = BF_LANES(float, op->b),                          \
                *c = BF_LANES(float, last);                                                        \
    for (unsigned i = 0; i < 2 * BF_EMU_LANES; i++) {                                              \
      float x = bf_emu_flushed(a[i], keep), y = bf_emu_flushed(b[i], keep);                        \
      float z = bf_emu_flushed(c[i], keep);                                                        \
      result[i] = finished(name##_float_any_one(x, y, z, rounding), keep, false);                  \
      if (op->small[FLUSHES] && fabsf(result[i]) == (float)smallest_normal &&                      \
          name##_float_any_is_below(x, y, z, result[i] < 0 ? -1 : 1))                              \
        result[i] = copysignf(0, result[i]);                                                       \
    }                                                                                              \
    BF_EACH_LANE(BF_MASK(), lane) memcpy(d + 2 * lane, result + 2 * lane, 2 * sizeof *d);          \
    return op + 1;                                                                                 \
  }                                                                                                \
  ROUNDED(name##_pair, name##_pair_nearest, name##_pair_nearest)
FLOAT_PAIR(add, op->b)
FLOAT_PAIR(sub, op->b)
FLOAT_PAIR(mul, op->b)
FLOAT_PAIR(fma, op->c)

/* In 64 bits there is only rounding. */
#define DOUBLE_ANY(name, directed)                                                                 \
  static inline const bf_emu_op *name##_directed(bf_emu_warp *warp, const bf_emu_op *op) {         \
    bf_emu_target target = {&bf_emu_format_f64, (bf_emu_rounding)op->small[ROUNDING]};             \
    double *d = BF_LANES(double, op->d);                                                           \
    const double *a = BF_LANES(double, op->a), *b = BF_LANES(double, op->b),                       \
                 *c = BF_LANES(double, op->c);                                                     \
    BF_EACH_LANE(BF_MASK(), lane) {                                                                \
      double x = a[lane], y = b[lane], z = c[lane];                                                \
      (void)y, (void)z;                                                                            \
      d[lane] = directed(target);                                                                  \
    }                                                                                              \
    return op + 1;                                                                                 \
  }                                                                                                \
  ROUNDED(name##_any, name, name##_directed)
DOUBLE_ANY(add_double, SUM)
DOUBLE_ANY(sub_double, DIFFERENCE)
DOUBLE_ANY(mul_double, PRODUCT)
DOUBLE_ANY(div_double, QUOTIENT)
DOUBLE_ANY(fma_double, PRODUCT_AND_SUM)
DOUBLE_ANY(sqrt_double, ROOT)
DOUBLE_ANY(rcp_double, INVERSE)

/* Whether one of these modifiers asks for more than rounding to the nearest. */
static bool bind_modifiers(const bf_ptx_instruction *instruction, bf_emu_op *op) {
  op->small[ROUNDING] = bf_ptx_has(instruction, "rz")   ? BF_EMU_RZ
                        : bf_ptx_has(instruction, "rm") ? BF_EMU_RM
                        : bf_ptx_has(instruction, "rp") ? BF_EMU_RP
                                                        : BF_EMU_RN;
  op->small[FLUSHES] = bf_ptx_has(instruction, "ftz");
  op->small[SATURATES] = bf_ptx_has(instruction, "sat");
  return op->small[ROUNDING] != BF_EMU_RN || op->small[FLUSHES] || op->small[SATURATES];
}

/* The operations of an opcode: f32, f64, each to the nearest and with modifiers. */
typedef struct family {
  bf_emu_step of_float, of_float_any, of_double, of_double_any;
} family;

#define FAMILY(name)                                                                               \
  static const family name##_family = {name##_float, name##_float_any, name##_double,              \
                                       name##_double_any}
FAMILY(add);
FAMILY(sub);
FAMILY(mul);
FAMILY(div);
FAMILY(fma);
FAMILY(sqrt);
FAMILY(rcp);

static bool select_family(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op, const family *of) {
  bf_ptx_type type = instruction->type[0];
  bool any = bind_modifiers(instruction, op);
  if (instruction->types != 1)
    return bf_emu_refuse(decoder, "operands of several types");
  if (type == BF_PTX_F32)
    return bf_emu_bind(decoder, instruction, op, type, any ? of->of_float_any : of->of_float);
  if (op->small[FLUSHES] || op->small[SATURATES])
    return bf_emu_refuse(decoder, ".ftz or .sat of f64");
  return bf_emu_bind(decoder, instruction, op, type, any ? of->of_double_any : of->of_double);
}

/* add, sub, mul and fma of pairs. */
static bool select_pair(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  bf_emu_step step = instruction->opcode == BF_PTX_OP_ADD   ? add_pair
                     : instruction->opcode == BF_PTX_OP_SUB ? sub_pair
                     : instruction->opcode == BF_PTX_OP_MUL ? mul_pair
                     : instruction->opcode == BF_PTX_OP_FMA ? fma_pair
                                                            : NULL;
  bind_modifiers(instruction, op);
  if (!step || op->small[SATURATES])
    return bf_emu_refuse(decoder, "this operation of f32x2");
  return bf_emu_bind(decoder, instruction, op, BF_PTX_F32X2, step);
}

/* ---- Extremes ---- */

/* The smaller of two numbers; -0 is smaller than 0; a NaN only where both are. */
#define EXTREMES(type, unsigned_type, to_bits, from_bits)                                          \
  static inline type min_##type##_one(type x, type y) {                                            \
    type same = from_bits((unsigned_type)(to_bits(x) | to_bits(y)));                               \
    type of_numbers = x < y ? x : y < x ? y : same;                                                \
    return x != x ? y : y != y ? x : of_numbers;                                                   \
  }                                                                                                \
  static inline type max_##type##_one(type x, type y) {                                            \
    type same = from_bits((unsigned_type)(to_bits(x) & to_bits(y)));                               \
    type of_numbers = x > y ? x : y > x ? y : same;                                                \
    return x != x ? y : y != y ? x : of_numbers;                                                   \
  }
EXTREMES(float, uint32_t, bf_emu_float_bits, bf_emu_bits_float)
EXTREMES(double, uint64_t, bf_emu_double_bits, bf_emu_bits_double)

BF_EMU_BINARY(min_float, float, bf_emu_canonical(min_float_one(a[lane], b[lane])))
BF_EMU_BINARY(max_float, float, bf_emu_canonical(max_float_one(a[lane], b[lane])))
BF_EMU_BINARY(min_double, double, min_double_one(a[lane], b[lane]))
BF_EMU_BINARY(max_double, double, max_double_one(a[lane], b[lane]))

static inline float without_sign(float x) {
  return bf_emu_bits_float(bf_emu_float_bits(x) & 0x7fffffff);
}

/* The extreme of two numbers by all modifiers. */
#define EXTREME_ANY(name)                                                                          \
  static float name##_modified(const bf_emu_op *op, float x, float y) {                            \
    uint32_t keep = kept_bits(op), sign = 0;                                                       \
    if (op->small[WANTS_SIGN])                                                                     \
      sign = (bf_emu_float_bits(x) ^ bf_emu_float_bits(y)) & 0x80000000;                           \
    if (op->small[WANTS_ABS]) {                                                                    \
      x = without_sign(x);                                                                         \
      y = without_sign(y);                                                                         \
    }                                                                                              \
    float result = name##_float_one(bf_emu_flushed(x, keep), bf_emu_flushed(y, keep));             \
    if ((op->small[WANTS_NAN] && (x != x || y != y)) || result != result)                          \
      return bf_emu_bits_float(0x7fffffff);                                                        \
    return bf_emu_bits_float(bf_emu_float_bits(result) | sign);                                    \
  }                                                                                                \
  static const bf_emu_op *name##_float_any(bf_emu_warp *warp, const bf_emu_op *op) {               \
    float *d = BF_LANES(float, op->d);                                                             \
    const float *a = BF_LANES(float, op->a), *b = BF_LANES(float, op->b);                          \
    BF_EACH_LANE(BF_MASK(), lane) d[lane] = name##_modified(op, a[lane], b[lane]);                 \
    return op + 1;                                                                                 \
  }                                                                                                \
  static const bf_emu_op *name##_float_three(bf_emu_warp *warp, const bf_emu_op *op) {             \
    float *d = BF_LANES(float, op->d);                                                             \
    const float *a = BF_LANES(float, op->a), *b = BF_LANES(float, op->b),                          \
                *c = BF_LANES(float, op->c);                                                       \
    BF_EACH_LANE(BF_MASK(), lane)                                                                  \
    d[lane] = name##_modified(op, name##_modified(op, a[lane], b[lane]), c[lane]);                 \
    return op + 1;                                                                                 \
  }
EXTREME_ANY(min)
EXTREME_ANY(max)

static bool select_extreme(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  bool is_min = instruction->opcode == BF_PTX_OP_MIN, three = instruction->operands == 4;
  bf_ptx_type type = instruction->type[0];
  bool any = bind_modifiers(instruction, op) || instruction->modifiers > 1;
  op->small[WANTS_NAN] = bf_ptx_has(instruction, "NaN");
  op->small[WANTS_ABS] = bf_ptx_has(instruction, "abs");
  op->small[WANTS_SIGN] = bf_ptx_has(instruction, "xorsign");
  if (type == BF_PTX_F64 && (any || three))
    return bf_emu_refuse(decoder, "this form of f64");
  if (type == BF_PTX_F64)
    return bf_emu_bind(decoder, instruction, op, type, is_min ? min_double : max_double);
  bf_emu_step of_two =
      any ? (is_min ? min_float_any : max_float_any) : (is_min ? min_float : max_float);
  bf_emu_step of_three = is_min ? min_float_three : max_float_three;
  return bf_emu_bind(decoder, instruction, op, type, three ? of_three : of_two);
}

/* ---- Signs ---- */

/* NaN becomes the canonical one (measured on an H200), bits otherwise unchanged but the sign; with
 * .ftz denormal numbers become zero. */
#define WITH_NAN(x, value) (((x)&0x7fffffff) > 0x7f800000 ? 0x7fffffff : (value))
BF_EMU_UNARY(neg_float, uint32_t, WITH_NAN(a[lane], a[lane] ^ 0x80000000))
BF_EMU_UNARY(abs_float, uint32_t, WITH_NAN(a[lane], a[lane] & 0x7fffffff))
BF_EMU_UNARY(neg_float_flushed, uint32_t,
             WITH_NAN(a[lane],
                      (a[lane] & 0x7f800000 ? a[lane] : a[lane] & 0x80000000) ^ 0x80000000))
BF_EMU_UNARY(abs_float_flushed, uint32_t,
             WITH_NAN(a[lane], a[lane] & 0x7f800000 ? a[lane] & 0x7fffffff : 0))
BF_EMU_UNARY(neg_double, uint64_t, a[lane] ^ UINT64_C(1) << 63)
BF_EMU_UNARY(abs_double, uint64_t, a[lane] & (UINT64_MAX >> 1))

static bool select_sign(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  bool negates = instruction->opcode == BF_PTX_OP_NEG, flushes = bf_ptx_has(instruction, "ftz");
  bf_ptx_type type = instruction->type[0];
  if (type == BF_PTX_F64)
    return bf_emu_bind(decoder, instruction, op, type, negates ? neg_double : abs_double);
  bf_emu_step exact = negates ? neg_float : abs_float;
  bf_emu_step to_zero = negates ? neg_float_flushed : abs_float_flushed;
  return bf_emu_bind(decoder, instruction, op, type, flushes ? to_zero : exact);
}

bool BF_EMU_NAME(bf_emu_select_float)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op);

/* What one lane alone does by itself. */
extern const bf_alone_row BF_EMU_NAME(bf_emu_alone_float)[];
const bf_alone_row BF_EMU_NAME(bf_emu_alone_float)[] = {
    {add_float, BF_ALONE_ADD_FLOAT},   {sub_float, BF_ALONE_SUB_FLOAT},
    {mul_float, BF_ALONE_MUL_FLOAT},   {div_float, BF_ALONE_DIV_FLOAT},
    {fma_float, BF_ALONE_FMA_FLOAT},   {add_double, BF_ALONE_ADD_DOUBLE},
    {sub_double, BF_ALONE_SUB_DOUBLE}, {mul_double, BF_ALONE_MUL_DOUBLE},
    {fma_double, BF_ALONE_FMA_DOUBLE}, {NULL, BF_ALONE_NONE}};

bool BF_EMU_NAME(bf_emu_select_float)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  if (type == BF_PTX_F32X2)
    return select_pair(decoder, instruction, op);
  if (type != BF_PTX_F32 && type != BF_PTX_F64)
    return false;
  if (bf_ptx_has(instruction, "approx") || bf_ptx_has(instruction, "full"))
    return false;
  switch (instruction->opcode) {
  case BF_PTX_OP_ADD:
    return select_family(decoder, instruction, op, &add_family);
  case BF_PTX_OP_SUB:
    return select_family(decoder, instruction, op, &sub_family);
  case BF_PTX_OP_MUL:
    return select_family(decoder, instruction, op, &mul_family);
  case BF_PTX_OP_FMA:
  case BF_PTX_OP_MAD:
    return select_family(decoder, instruction, op, &fma_family);
  case BF_PTX_OP_DIV:
    return select_family(decoder, instruction, op, &div_family);
  case BF_PTX_OP_SQRT:
    return select_family(decoder, instruction, op, &sqrt_family);
  case BF_PTX_OP_RCP:
    return select_family(decoder, instruction, op, &rcp_family);
  case BF_PTX_OP_MIN:
  case BF_PTX_OP_MAX:
    return select_extreme(decoder, instruction, op);
  case BF_PTX_OP_NEG:
  case BF_PTX_OP_ABS:
    return select_sign(decoder, instruction, op);
  default:
    return false;
  }
}

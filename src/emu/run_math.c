/* Approximations: rcp, sqrt, rsqrt, sin, cos, ex2, lg2, tanh, div with .approx or .full.
 *
 * Everything is computed in double precision with an error far below that of a float, and rounded
 * once, so that a result is within 0.501 units in the last place of the exact value. The hardware
 * is allowed more (docs/emulator.md). */
#include "emu/bind.h"
#include "emu/single.h"

#include <math.h>

/* ---- Functions of a double, without branches so that loops over them become vector code ---- */

/* The integer next to x, for |x| below 2^51: adding a number whose last bit is worth 1 rounds. */
static inline double nearest(double x) {
  const double last_bit_is_one = 0x1.8p52;
  return (x + last_bit_is_one) - last_bit_is_one;
}

/* 2 to the power x: 2^n * e^t, where n is the integer next to x and |t| <= ln(2) / 2. What a float
 * cannot hold is far outside of +-200. */
static inline double power_of_two(double x) {
  double in_range = x > -200 ? (x < 200 ? x : 200) : -200;
  double n = nearest(in_range), t = (in_range - n) * 0.693147180559945309417;
  double sum = 1.0 / 39916800;
  sum = 1.0 / 3628800 + t * sum;
  sum = 1.0 / 362880 + t * sum;
  sum = 1.0 / 40320 + t * sum;
  sum = 1.0 / 5040 + t * sum;
  sum = 1.0 / 720 + t * sum;
  sum = 1.0 / 120 + t * sum;
  sum = 1.0 / 24 + t * sum;
  sum = 1.0 / 6 + t * sum;
  sum = 1.0 / 2 + t * sum;
  sum = 1 + t * sum;
  sum = 1 + t * sum;
  double scale = bf_emu_bits_double((uint64_t)((int64_t)(int32_t)n + 1023) << 52);
  return x == x ? sum * scale : x;
}

/* Logarithm to base 2 of a positive normal double: exponent + log2(m) with m between sqrt(1/2) and
 * sqrt(2), and ln(m) = 2 artanh(s), s = (m - 1) / (m + 1). */
static inline double logarithm(double x) {
  const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd);
  uint64_t bits = bf_emu_double_bits(x), above = bits - root_half;
  int32_t exponent = (int32_t)((int64_t)above >> 52);
  double m = bf_emu_bits_double((above & ((UINT64_C(1) << 52) - 1)) + root_half);
  double s = (m - 1) / (m + 1), square = s * s;
  double sum = 1.0 / 17;
  sum = 1.0 / 15 + square * sum;
  sum = 1.0 / 13 + square * sum;
  sum = 1.0 / 11 + square * sum;
  sum = 1.0 / 9 + square * sum;
  sum = 1.0 / 7 + square * sum;
  sum = 1.0 / 5 + square * sum;
  sum = 1.0 / 3 + square * sum;
  sum = 1 + square * sum;
  return exponent + 2.88539008177792681472 * s * sum;
}

/* Sine and cosine of |r| <= pi / 4. */
static inline double small_sine(double r) {
  double square = r * r, sum = 1 - square * (1.0 / (14 * 15));
  sum = 1 - square * sum * (1.0 / (12 * 13));
  sum = 1 - square * sum * (1.0 / (10 * 11));
  sum = 1 - square * sum * (1.0 / (8 * 9));
  sum = 1 - square * sum * (1.0 / (6 * 7));
  sum = 1 - square * sum * (1.0 / (4 * 5));
  sum = 1 - square * sum * (1.0 / (2 * 3));
  return r * sum;
}

static inline double small_cosine(double r) {
  double square = r * r, sum = 1 - square * (1.0 / (15 * 16));
  sum = 1 - square * sum * (1.0 / (13 * 14));
  sum = 1 - square * sum * (1.0 / (11 * 12));
  sum = 1 - square * sum * (1.0 / (9 * 10));
  sum = 1 - square * sum * (1.0 / (7 * 8));
  sum = 1 - square * sum * (1.0 / (5 * 6));
  sum = 1 - square * sum * (1.0 / (3 * 4));
  return 1 - square * sum * 0.5;
}

enum { MOST_REDUCED = 1 << 20 };

/* Sine of x + quarters * pi / 2, for |x| up to MOST_REDUCED: x is reduced by multiples of pi / 2,
 * whose first part has so few bits that its multiples are exact. */
static inline double sine(double x, int32_t quarters) {
  const double first = 0x1.921fb544p+0, second = 0x1.0b4611a626331p-34;
  double n = nearest(x * 0.636619772367581343076), r = (x - n * first) - n * second;
  int32_t quadrant = (int32_t)n + quarters;
  double value = quadrant & 1 ? small_cosine(r) : small_sine(r);
  return quadrant & 2 ? -value : value;
}

/* Hyperbolic tangent: by its series where the quotient would lose digits. */
static inline double tangent(double x) {
  double magnitude = x < 0 ? -x : x, square = x * x;
  double small = x * (1 - square * (1.0 / 3 - square * (2.0 / 15)));
  double power = power_of_two(magnitude * -2.88539008177792681472);
  double large = (1 - power) / (1 + power);
  return magnitude < 1e-3 ? small : x < 0 ? -large : large;
}

/* ---- f32 ---- */

/* d = (float)expression of x, the operand of a lane; small[0]: .ftz. */
#define FUNCTION(function, expression)                                                             \
  static inline float function##_one(float operand, uint32_t keep) {                               \
    double x = bf_emu_flushed(operand, keep);                                                      \
    return bf_emu_flushed(bf_emu_canonical((float)(expression)), keep);                            \
  }                                                                                                \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    uint32_t keep = bf_emu_kept_bits(op->small[0]);                                                \
    float *d = BF_LANES(float, op->d);                                                             \
    const float *a = BF_LANES(float, op->a);                                                       \
    BF_SET_LANES(BF_MASK(), d, function##_one(a[lane], keep));                                     \
    return op + 1;                                                                                 \
  }
FUNCTION(rcp, 1 / x)
FUNCTION(square_root, __builtin_sqrt(x))
FUNCTION(rsqrt, 1 / __builtin_sqrt(x))
FUNCTION(ex2, power_of_two(x))
FUNCTION(lg2, x > 0 ? (x < INFINITY ? logarithm(x) : x) : x == 0 ? -INFINITY : NAN)
FUNCTION(tanh_approx, tangent(x))

/* Sine or, with one quarter of a turn more, cosine. What is too large to be reduced here is left to
 * the host's library. */
static const bf_emu_op *sin_cos(bf_emu_warp *warp, const bf_emu_op *op, int32_t quarters) {
  uint32_t keep = bf_emu_kept_bits(op->small[0]), large = 0, mask = BF_MASK();
  float result[BF_EMU_LANES], *d = BF_LANES(float, op->d);
  const float *a = BF_LANES(float, op->a);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    float x = bf_emu_flushed(a[lane], keep);
    x = __builtin_fabsf(x) <= MOST_REDUCED ? x : 0;
    result[lane] = bf_emu_flushed((float)sine(x, quarters), keep);
  }
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    large |= (uint32_t) !(__builtin_fabsf(a[lane]) <= MOST_REDUCED) << lane;
  BF_EACH_LANE(mask & large, lane)
  result[lane] = bf_emu_canonical((float)(quarters ? cos(a[lane]) : sin(a[lane])));
  BF_SET_LANES(mask, d, result[lane]);
  return op + 1;
}

static const bf_emu_op *sin_approx(bf_emu_warp *warp, const bf_emu_op *op) {
  return sin_cos(warp, op, 0);
}

static const bf_emu_op *cos_approx(bf_emu_warp *warp, const bf_emu_op *op) {
  return sin_cos(warp, op, 1);
}

/* a / b; .approx (small[1]) takes 1 / b for 0 where |b| is above 2^126. */
static inline float quotient(float a, float b, uint32_t keep, bool is_approx) {
  float x = bf_emu_flushed(a, keep), y = bf_emu_flushed(b, keep);
  float magnitude = __builtin_fabsf(y);
  bool vanishes = is_approx && magnitude > 0x1p126f && magnitude < INFINITY;
  float value = vanishes ? x * __builtin_copysignf(0, y) : x / y;
  return bf_emu_flushed(bf_emu_canonical(value), keep);
}

static const bf_emu_op *divide(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t keep = bf_emu_kept_bits(op->small[0]);
  bool is_approx = op->small[1];
  float *d = BF_LANES(float, op->d);
  const float *a = BF_LANES(float, op->a), *b = BF_LANES(float, op->b);
  BF_SET_LANES(BF_MASK(), d, quotient(a[lane], b[lane], keep, is_approx));
  return op + 1;
}

/* ---- f64 ---- */

/* x without its low 32 bits, and zero of its sign where it is denormal. */
static inline double upper_half(double x) {
  uint64_t bits = bf_emu_double_bits(x) & ~(uint64_t)UINT32_MAX;
  return bf_emu_bits_double(bits & UINT64_C(0x7ff) << 52 ? bits : bits & UINT64_C(1) << 63);
}

/* x rounded to its upper half, with the one NaN that PTX has for such numbers. */
static inline double rounded_half(double x) {
  const uint64_t not_a_number = UINT64_C(0x7fffffff00000000);
  uint64_t bits = bf_emu_double_bits(x);
  uint64_t rounded = __builtin_fabs(x) < INFINITY ? bits + UINT64_C(0x80000000) : bits;
  return x == x ? upper_half(bf_emu_bits_double(rounded)) : bf_emu_bits_double(not_a_number);
}

/* .approx.ftz works on the upper 32 bits of operand and result; the lower ones are 0. */
BF_EMU_UNARY(rcp_upper, double, rounded_half(1 / upper_half(a[lane])))
BF_EMU_UNARY(rsqrt_upper, double, rounded_half(1 / __builtin_sqrt(upper_half(a[lane]))))
BF_EMU_UNARY(rsqrt_double, double, 1 / __builtin_sqrt(a[lane]))

static bool select_double(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op) {
  bool flushes = bf_ptx_has(instruction, "ftz");
  bf_emu_step run = NULL;
  if (instruction->opcode == BF_PTX_OP_RCP && flushes)
    run = rcp_upper;
  else if (instruction->opcode == BF_PTX_OP_RSQRT)
    run = flushes ? rsqrt_upper : rsqrt_double;
  if (!run)
    return bf_emu_refuse(decoder, "approximation of f64");
  return bf_emu_bind(decoder, instruction, op, BF_PTX_F64, run);
}

/* ---- Which operation ---- */

/* The function of an opcode for f32, or NULL. */
static bf_emu_step function_of(bf_ptx_opcode opcode) {
  switch (opcode) {
  case BF_PTX_OP_RCP:
    return rcp;
  case BF_PTX_OP_SQRT:
    return square_root;
  case BF_PTX_OP_RSQRT:
    return rsqrt;
  case BF_PTX_OP_EX2:
    return ex2;
  case BF_PTX_OP_LG2:
    return lg2;
  case BF_PTX_OP_TANH:
    return tanh_approx;
  case BF_PTX_OP_SIN:
    return sin_approx;
  case BF_PTX_OP_COS:
    return cos_approx;
  case BF_PTX_OP_DIV:
    return divide;
  default:
    return NULL;
  }
}

bool BF_EMU_NAME(bf_emu_select_math)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_math)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  bf_emu_step run = function_of(instruction->opcode);
  if (!run || (type != BF_PTX_F32 && type != BF_PTX_F64))
    return false;
  if (type == BF_PTX_F64)
    return select_double(decoder, instruction, op);
  op->small[0] = bf_ptx_has(instruction, "ftz");
  op->small[1] = bf_ptx_has(instruction, "approx");
  return bf_emu_bind(decoder, instruction, op, type, run);
}

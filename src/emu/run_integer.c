/* Integer arithmetic: add, sub, mul, mad, div, rem, min, max, dot products, carry chains. The files
 * of operations are compiled so that signed integers wrap (-fwrapv). */
#include "emu/alone.h"
#include "emu/bind.h"

__extension__ typedef __int128 int128_t;
__extension__ typedef unsigned __int128 uint128_t;

/* Every integer type with the one of twice its size. */
#define EACH_WIDER(X)                                                                              \
  X(uint16_t, uint32_t)                                                                            \
  X(int16_t, int32_t)                                                                              \
  X(uint32_t, uint64_t)                                                                            \
  X(int32_t, int64_t)                                                                              \
  X(uint64_t, uint128_t)                                                                           \
  X(int64_t, int128_t)
/* Functions made for each of these types as a table. */
#define TABLE_OF(name)                                                                             \
  static const bf_emu_step name[] = {name##_uint16_t, name##_int16_t,  name##_uint32_t,            \
                                     name##_int32_t,  name##_uint64_t, name##_int64_t}

/* ---- Sums, products, extremes ---- */

/* 1u: 16-bit operands must not be multiplied as signed integers. */
BF_EMU_UNSIGNED(BF_EMU_BINARY, add, a[lane] + b[lane]);
BF_EMU_UNSIGNED(BF_EMU_BINARY, sub, a[lane] - b[lane]);
BF_EMU_UNSIGNED(BF_EMU_BINARY, mul_low, 1u * a[lane] * b[lane]);
BF_EMU_UNSIGNED(BF_EMU_TERNARY, mad_low, 1u * a[lane] * b[lane] + c[lane]);
BF_EMU_UNSIGNED(BF_EMU_UNARY, negate, 0u - a[lane]);
BF_EMU_UNARY(absolute_16, int16_t, a[lane] < 0 ? -a[lane] : a[lane])
BF_EMU_UNARY(absolute_32, int32_t, a[lane] < 0 ? -a[lane] : a[lane])
BF_EMU_UNARY(absolute_64, int64_t, a[lane] < 0 ? -a[lane] : a[lane])
static const bf_emu_step absolute[] = {absolute_16, absolute_16, absolute_32,
                                       absolute_32, absolute_64, absolute_64};
BF_EMU_INTEGERS(BF_EMU_BINARY, min, a[lane] < b[lane] ? a[lane] : b[lane]);
BF_EMU_INTEGERS(BF_EMU_BINARY, max, a[lane] > b[lane] ? a[lane] : b[lane]);
BF_EMU_INTEGERS(BF_EMU_TERNARY, sad,
                (a[lane] < b[lane] ? b[lane] - a[lane] : a[lane] - b[lane]) + c[lane]);
BF_EMU_BINARY(min_relu, int32_t,
              a[lane] < 0 || b[lane] < 0 ? 0
              : a[lane] < b[lane]        ? a[lane]
                                         : b[lane])
BF_EMU_BINARY(max_relu, int32_t,
              a[lane] < 0 && b[lane] < 0 ? 0
              : a[lane] > b[lane]        ? a[lane]
                                         : b[lane])

/* value brought into the range of 32-bit integers */
static inline int32_t saturated(int64_t value) {
  return (int32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}

BF_EMU_BINARY(add_saturated, int32_t, saturated((int64_t)a[lane] + b[lane]))
BF_EMU_BINARY(sub_saturated, int32_t, saturated((int64_t)a[lane] - b[lane]))
BF_EMU_TERNARY(mad_high_saturated, int32_t, saturated(((int64_t)a[lane] * b[lane] >> 32) + c[lane]))

/* The high half of the product, and that plus c. */
#define X(type, wide)                                                                              \
  BF_EMU_BINARY(mul_high_##type, type, (wide)a[lane] * (wide)b[lane] >> 8 * sizeof(type))          \
  BF_EMU_TERNARY(mad_high_##type, type,                                                            \
                 ((wide)a[lane] * (wide)b[lane] >> 8 * sizeof(type)) + c[lane])
EACH_WIDER(X)
#undef X
TABLE_OF(mul_high);
TABLE_OF(mad_high);

/* The whole product of 16 or 32 bits, and that plus c. */
#define X(type, wide)                                                                              \
  static const bf_emu_op *mul_wide_##type(bf_emu_warp *warp, const bf_emu_op *op) {                \
    wide *d = BF_LANES(wide, op->d);                                                               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    BF_SET_LANES(BF_MASK(), d, (wide)a[lane] * (wide)b[lane]);                                     \
    return op + 1;                                                                                 \
  }                                                                                                \
  static const bf_emu_op *mad_wide_##type(bf_emu_warp *warp, const bf_emu_op *op) {                \
    wide *d = BF_LANES(wide, op->d);                                                               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    const wide *c = BF_LANES(wide, op->c);                                                         \
    BF_SET_LANES(BF_MASK(), d, (wide)a[lane] * (wide)b[lane] + c[lane]);                           \
    return op + 1;                                                                                 \
  }
X(uint16_t, uint32_t)
X(int16_t, int32_t)
X(uint32_t, uint64_t)
X(int32_t, int64_t)
#undef X
static const bf_emu_step mul_wide[] = {mul_wide_uint16_t, mul_wide_int16_t, mul_wide_uint32_t,
                                       mul_wide_int32_t};
static const bf_emu_step mad_wide[] = {mad_wide_uint16_t, mad_wide_int16_t, mad_wide_uint32_t,
                                       mad_wide_int32_t};

/* ---- Products of 24 bits ---- */

/* The 48-bit product of the low 24 bits of two numbers. */
static inline uint64_t product_24_u(uint32_t a, uint32_t b) {
  return (uint64_t)(a & 0xffffff) * (b & 0xffffff);
}

static inline uint64_t product_24_s(uint32_t a, uint32_t b) {
  return (uint64_t)((int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8));
}

BF_EMU_BINARY(mul24_low_u, uint32_t, product_24_u(a[lane], b[lane]))
BF_EMU_BINARY(mul24_low_s, uint32_t, product_24_s(a[lane], b[lane]))
BF_EMU_BINARY(mul24_high_u, uint32_t, product_24_u(a[lane], b[lane]) >> 16)
BF_EMU_BINARY(mul24_high_s, uint32_t, product_24_s(a[lane], b[lane]) >> 16)
BF_EMU_TERNARY(mad24_low_u, uint32_t, product_24_u(a[lane], b[lane]) + c[lane])
BF_EMU_TERNARY(mad24_low_s, uint32_t, product_24_s(a[lane], b[lane]) + c[lane])
BF_EMU_TERNARY(mad24_high_u, uint32_t, (product_24_u(a[lane], b[lane]) >> 16) + c[lane])
BF_EMU_TERNARY(mad24_high_s, uint32_t, (product_24_s(a[lane], b[lane]) >> 16) + c[lane])
BF_EMU_TERNARY(mad24_high_saturated, uint32_t,
               saturated(((int64_t)product_24_s(a[lane], b[lane]) >> 16) + (int32_t)c[lane]))

/* ---- Division ---- */

/* Division by 0 gives all ones, quotient and remainder alike: that is what ptxas makes of it. The
 * double quotient of two 32-bit integers is never rounded up to the next integer, because it is
 * further from it than 1/b, so cutting it off is exact. */
static inline uint32_t quotient(uint32_t a, uint32_t b) {
  uint32_t cut = (uint32_t)((double)a / (double)(b ? b : 1));
  return b ? cut : UINT32_MAX;
}

static inline uint32_t remainder_of(uint32_t a, uint32_t b) {
  return b ? a - quotient(a, b) * b : UINT32_MAX;
}

/* The quotient by -1 need not fit; -a is what is left of it. */
static inline int32_t signed_quotient(int32_t a, int32_t b) {
  int32_t cut = (int32_t)((double)a / (double)(b == 0 || b == -1 ? 1 : b));
  return b == 0 ? -1 : b == -1 ? -a : cut;
}

static inline int32_t signed_remainder(int32_t a, int32_t b) {
  return b == 0 ? -1 : a - signed_quotient(a, b) * b;
}

BF_EMU_BINARY(div_uint16_t, uint16_t, quotient(a[lane], b[lane]))
BF_EMU_BINARY(rem_uint16_t, uint16_t, remainder_of(a[lane], b[lane]))
BF_EMU_BINARY(div_uint32_t, uint32_t, quotient(a[lane], b[lane]))
BF_EMU_BINARY(rem_uint32_t, uint32_t, remainder_of(a[lane], b[lane]))
BF_EMU_BINARY(div_int16_t, int16_t, signed_quotient(a[lane], b[lane]))
BF_EMU_BINARY(rem_int16_t, int16_t, signed_remainder(a[lane], b[lane]))
BF_EMU_BINARY(div_int32_t, int32_t, signed_quotient(a[lane], b[lane]))
BF_EMU_BINARY(rem_int32_t, int32_t, signed_remainder(a[lane], b[lane]))

/* 64 bits: lane after lane. Where special holds, the host must not divide. */
#define DIVIDE_64(function, type, operator, special, value)                                        \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    BF_EACH_LANE(BF_MASK(), lane) {                                                                \
      if (b[lane] == 0)                                                                            \
        d[lane] = (type)UINT64_MAX;                                                                \
      else                                                                                         \
        d[lane] = (special) ? (value) : a[lane] operator b[lane];                                  \
    }                                                                                              \
    return op + 1;                                                                                 \
  }
DIVIDE_64(div_uint64_t, uint64_t, /, false, 0)
DIVIDE_64(rem_uint64_t, uint64_t, %, false, 0)
DIVIDE_64(div_int64_t, int64_t, /, b[lane] == -1, -a[lane])
DIVIDE_64(rem_int64_t, int64_t, %, b[lane] == -1, 0)
TABLE_OF(div);
TABLE_OF(rem);

/* ---- Pairs of 16 bits ---- */

/* d = expression of the halves x and y of a and b, both of type half. */
#define PAIRS(name, half, expression)                                                              \
  static inline uint32_t name##_one(half x, half y) { return (uint16_t)(expression); }             \
  BF_EMU_BINARY(name, uint32_t,                                                                    \
                name##_one((half)a[lane], (half)b[lane]) |                                         \
                    name##_one((half)(a[lane] >> 16), (half)(b[lane] >> 16)) << 16)
PAIRS(add_pair, uint16_t, x + y)
PAIRS(min_pair_u, uint16_t, x < y ? x : y)
PAIRS(max_pair_u, uint16_t, x > y ? x : y)
PAIRS(min_pair_s, int16_t, x < y ? x : y)
PAIRS(max_pair_s, int16_t, x > y ? x : y)
PAIRS(min_pair_relu, int16_t, x < 0 || y < 0 ? 0 : x < y ? x : y)
PAIRS(max_pair_relu, int16_t, x < 0 && y < 0 ? 0 : x > y ? x : y)

/* ---- Dot products ---- */

/* Byte index of a word, signed where type is: by shifts, for they are turned into vector code. */
#define BYTE(type, word, index) ((type)((word) << (24 - 8 * (index))) >> 24)
/* c + the products of bytes of a and b */
#define DOT_4(function, a_type, b_type)                                                            \
  BF_EMU_TERNARY(function, uint32_t,                                                               \
                 c[lane] + (uint32_t)BYTE(a_type, a[lane], 0) * BYTE(b_type, b[lane], 0) +         \
                     (uint32_t)BYTE(a_type, a[lane], 1) * BYTE(b_type, b[lane], 1) +               \
                     (uint32_t)BYTE(a_type, a[lane], 2) * BYTE(b_type, b[lane], 2) +               \
                     (uint32_t)BYTE(a_type, a[lane], 3) * BYTE(b_type, b[lane], 3))
DOT_4(dot_4_uu, uint32_t, uint32_t)
DOT_4(dot_4_us, uint32_t, int32_t)
DOT_4(dot_4_su, int32_t, uint32_t)
DOT_4(dot_4_ss, int32_t, int32_t)
/* c + the products of the halves of a and two bytes of b, from byte small[0] on */
#define DOT_2(function, a_type, b_type)                                                            \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    uint32_t *d = BF_LANES(uint32_t, op->d), from = op->small[0];                                  \
    const uint32_t *a = BF_LANES(uint32_t, op->a), *b = BF_LANES(uint32_t, op->b),                 \
                   *c = BF_LANES(uint32_t, op->c);                                                 \
    BF_SET_LANES(BF_MASK(), d,                                                                     \
                 c[lane] +                                                                         \
                     (uint32_t)((a_type)(a[lane] << 16) >> 16) * BYTE(b_type, b[lane], from) +     \
                     (uint32_t)((a_type)a[lane] >> 16) * BYTE(b_type, b[lane], from + 1));         \
    return op + 1;                                                                                 \
  }
DOT_2(dot_2_uu, uint32_t, uint32_t)
DOT_2(dot_2_us, uint32_t, int32_t)
DOT_2(dot_2_su, int32_t, uint32_t)
DOT_2(dot_2_ss, int32_t, int32_t)

/* ---- Carry chains ---- */

/* How an operation of a carry chain works, in small[]. */
enum {
  TAKES_CARRY,
  GIVES_CARRY,
  HIGH_HALF,     /* of the product */
  SIGNED_FACTORS /* matters for the high half only */
};

/* Writes result to d and carry to the flags, as op says. */
#define CARRY_STORE(type)                                                                          \
  static const bf_emu_op *store_##type(bf_emu_warp *warp, const bf_emu_op *op, const type *result, \
                                       uint32_t carry) {                                           \
    uint32_t mask = BF_MASK();                                                                     \
    type *d = BF_LANES(type, op->d);                                                               \
    BF_SET_LANES(mask, d, result[lane]);                                                           \
    if (op->small[GIVES_CARRY])                                                                    \
      bf_emu_set_predicate(warp, BF_EMU_CARRY, mask, carry);                                       \
    return op + 1;                                                                                 \
  }
/* x + y + carry, where op takes the carry */
#define CARRY_ADD(type)                                                                            \
  static const bf_emu_op *sum_##type(bf_emu_warp *warp, const bf_emu_op *op, const type *x,        \
                                     const type *y) {                                              \
    uint32_t in = op->small[TAKES_CARRY] ? BF_PREDICATE(BF_EMU_CARRY) : 0, out = 0;                \
    type result[BF_EMU_LANES];                                                                     \
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                         \
      type sum = x[lane] + y[lane], whole = sum + (in >> lane & 1);                                \
      result[lane] = whole;                                                                        \
      out |= (uint32_t)((sum < x[lane]) | (whole < sum)) << lane;                                  \
    }                                                                                              \
    return store_##type(warp, op, result, out);                                                    \
  }                                                                                                \
  static const bf_emu_op *carry_add_##type(bf_emu_warp *warp, const bf_emu_op *op) {               \
    return sum_##type(warp, op, BF_LANES(type, op->a), BF_LANES(type, op->b));                     \
  }
/* a - b - 1 + carry: GPUs keep "no borrow" in the carry flag, which shows where an addition gives
 * and a subtraction takes it (measured on an H200) */
#define CARRY_SUB(type)                                                                            \
  static const bf_emu_op *carry_sub_##type(bf_emu_warp *warp, const bf_emu_op *op) {               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    uint32_t borrows = op->small[TAKES_CARRY] ? ~BF_PREDICATE(BF_EMU_CARRY) : 0, out = 0;          \
    type result[BF_EMU_LANES];                                                                     \
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                         \
      type difference = a[lane] - b[lane], borrow = borrows >> lane & 1;                           \
      result[lane] = difference - borrow;                                                          \
      out |= (uint32_t)((a[lane] < b[lane]) | (difference < borrow)) << lane;                      \
    }                                                                                              \
    return store_##type(warp, op, result, ~out);                                                   \
  }
/* half of a * b, + c + carry */
#define CARRY_MAD(type, wide, signed_type, signed_wide)                                            \
  static const bf_emu_op *carry_mad_##type(bf_emu_warp *warp, const bf_emu_op *op) {               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    unsigned shift = op->small[HIGH_HALF] ? 8 * sizeof(type) : 0;                                  \
    type product[BF_EMU_LANES];                                                                    \
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                         \
      wide whole = op->small[SIGNED_FACTORS]                                                       \
                       ? (wide)((signed_wide)(signed_type)a[lane] * (signed_type)b[lane])          \
                       : (wide)a[lane] * b[lane];                                                  \
      product[lane] = (type)(whole >> shift);                                                      \
    }                                                                                              \
    return sum_##type(warp, op, product, BF_LANES(type, op->c));                                   \
  }
CARRY_STORE(uint32_t)
CARRY_STORE(uint64_t)
CARRY_ADD(uint32_t)
CARRY_ADD(uint64_t)
CARRY_SUB(uint32_t)
CARRY_SUB(uint64_t)
CARRY_MAD(uint32_t, uint64_t, int32_t, int64_t)
CARRY_MAD(uint64_t, uint128_t, int64_t, int128_t)

/* add.cc, addc, sub.cc, subc, mad.cc and madc, with or without .cc */
static bool select_carry(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  unsigned bytes = bf_ptx_type_bytes(type);
  int index = bf_emu_integer_index(type);
  if (bytes != 4 && bytes != 8)
    return bf_emu_refuse(decoder, "carry of this type");
  bool takes = instruction->opcode == BF_PTX_OP_ADDC || instruction->opcode == BF_PTX_OP_SUBC ||
               instruction->opcode == BF_PTX_OP_MADC;
  op->small[TAKES_CARRY] = takes;
  op->small[GIVES_CARRY] = bf_ptx_has(instruction, "cc");
  op->small[HIGH_HALF] = bf_ptx_has(instruction, "hi");
  op->small[SIGNED_FACTORS] = index == BF_EMU_S32 || index == BF_EMU_S64;
  bool is_sub = instruction->opcode == BF_PTX_OP_SUB || instruction->opcode == BF_PTX_OP_SUBC;
  bool is_mad = instruction->opcode == BF_PTX_OP_MAD || instruction->opcode == BF_PTX_OP_MADC;
  bf_emu_step of_32 = is_sub   ? carry_sub_uint32_t
                      : is_mad ? carry_mad_uint32_t
                               : carry_add_uint32_t;
  bf_emu_step of_64 = is_sub   ? carry_sub_uint64_t
                      : is_mad ? carry_mad_uint64_t
                               : carry_add_uint64_t;
  return bf_emu_bind(decoder, instruction, op, type, bytes == 4 ? of_32 : of_64);
}

/* ---- Which operation ---- */

static bool select_saturated(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                             bf_emu_op *op, bf_emu_step run) {
  if (instruction->type[0] != BF_PTX_S32 || !run)
    return bf_emu_refuse(decoder, ".sat of this type");
  return bf_emu_bind(decoder, instruction, op, BF_PTX_S32, run);
}

static bool select_wide(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op, const bf_emu_step *by_type) {
  int index = bf_emu_integer_index(instruction->type[0]);
  if (index > BF_EMU_S32)
    return bf_emu_refuse(decoder, ".wide of 64 bits");
  bf_ptx_type type = instruction->type[0], wide = index <= BF_EMU_S16 ? BF_PTX_B32 : BF_PTX_B64;
  op->d = bf_emu_bind_destination(decoder, &instruction->operand[0], wide);
  op->a = bf_emu_bind_source(decoder, &instruction->operand[1], type);
  op->b = bf_emu_bind_source(decoder, &instruction->operand[2], type);
  if (instruction->operands > 3) {
    bool is_signed = index == BF_EMU_S16 || index == BF_EMU_S32;
    bf_ptx_type of_16 = is_signed ? BF_PTX_S32 : BF_PTX_U32;
    bf_ptx_type of_32 = is_signed ? BF_PTX_S64 : BF_PTX_U64;
    op->c =
        bf_emu_bind_source(decoder, &instruction->operand[3], wide == BF_PTX_B32 ? of_16 : of_32);
  }
  op->run = by_type[index];
  return true;
}

static bool select_mul(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                       bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  int index = bf_emu_integer_index(type);
  if (bf_ptx_has(instruction, "wide"))
    return select_wide(decoder, instruction, op, mul_wide);
  const bf_emu_step *by_type = bf_ptx_has(instruction, "hi") ? mul_high : mul_low;
  return bf_emu_bind(decoder, instruction, op, type, by_type[index]);
}

static bool select_mad(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                       bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  int index = bf_emu_integer_index(type);
  bool high = bf_ptx_has(instruction, "hi");
  if (bf_ptx_has(instruction, "cc"))
    return select_carry(decoder, instruction, op);
  if (bf_ptx_has(instruction, "wide"))
    return select_wide(decoder, instruction, op, mad_wide);
  if (bf_ptx_has(instruction, "sat"))
    return select_saturated(decoder, instruction, op, high ? mad_high_saturated : NULL);
  return bf_emu_bind(decoder, instruction, op, type, high ? mad_high[index] : mad_low[index]);
}

static bool select_24(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                      bf_emu_op *op) {
  static const bf_emu_step by_kind[2][2][2] = {
      {{mul24_low_u, mul24_low_s}, {mul24_high_u, mul24_high_s}},
      {{mad24_low_u, mad24_low_s}, {mad24_high_u, mad24_high_s}}};
  bool is_mad = instruction->opcode == BF_PTX_OP_MAD24, high = bf_ptx_has(instruction, "hi");
  bf_ptx_type type = instruction->type[0];
  if (bf_ptx_type_bytes(type) != 4)
    return bf_emu_refuse(decoder, "24-bit product of this type");
  if (bf_ptx_has(instruction, "sat"))
    return select_saturated(decoder, instruction, op, is_mad && high ? mad24_high_saturated : NULL);
  return bf_emu_bind(decoder, instruction, op, type, by_kind[is_mad][high][type == BF_PTX_S32]);
}

static bool select_add(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                       bf_emu_op *op) {
  bool is_add = instruction->opcode == BF_PTX_OP_ADD;
  bf_ptx_type type = instruction->type[0];
  int index = bf_emu_integer_index(type);
  if (bf_ptx_has(instruction, "cc"))
    return select_carry(decoder, instruction, op);
  if (bf_ptx_has(instruction, "sat"))
    return select_saturated(decoder, instruction, op, is_add ? add_saturated : sub_saturated);
  return bf_emu_bind(decoder, instruction, op, type, is_add ? add[index] : sub[index]);
}

static bool select_extreme(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  bool is_min = instruction->opcode == BF_PTX_OP_MIN;
  bf_ptx_type type = instruction->type[0];
  int index = bf_emu_integer_index(type);
  if (instruction->operands != 3)
    return bf_emu_refuse(decoder, "three integers");
  if (!bf_ptx_has(instruction, "relu"))
    return bf_emu_bind(decoder, instruction, op, type, is_min ? min[index] : max[index]);
  if (type != BF_PTX_S32)
    return bf_emu_refuse(decoder, ".relu of this type");
  return bf_emu_bind(decoder, instruction, op, type, is_min ? min_relu : max_relu);
}

/* Pairs of 16 bits: false where the opcode has none. */
static bool select_pair(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  bool is_signed = type == BF_PTX_S16X2, relu = bf_ptx_has(instruction, "relu");
  if (instruction->operands != 3 || (relu && !is_signed))
    return bf_emu_refuse(decoder, "this form of pairs");
  bf_emu_step run = NULL;
  if (instruction->opcode == BF_PTX_OP_ADD && !bf_ptx_has(instruction, "sat"))
    run = add_pair;
  else if (instruction->opcode == BF_PTX_OP_MIN)
    run = relu ? min_pair_relu : is_signed ? min_pair_s : min_pair_u;
  else if (instruction->opcode == BF_PTX_OP_MAX)
    run = relu ? max_pair_relu : is_signed ? max_pair_s : max_pair_u;
  if (!run)
    return bf_emu_refuse(decoder, "this form of pairs");
  return bf_emu_bind(decoder, instruction, op, BF_PTX_B32, run);
}

static bool select_dot(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                       bf_emu_op *op) {
  static const bf_emu_step four[2][2] = {{dot_4_uu, dot_4_us}, {dot_4_su, dot_4_ss}};
  static const bf_emu_step two[2][2] = {{dot_2_uu, dot_2_us}, {dot_2_su, dot_2_ss}};
  if (instruction->types != 2)
    return bf_emu_refuse(decoder, "dot product without two types");
  bool a_signed = instruction->type[0] == BF_PTX_S32, b_signed = instruction->type[1] == BF_PTX_S32;
  bool is_four = instruction->opcode == BF_PTX_OP_DP4A;
  op->small[0] = bf_ptx_has(instruction, "hi") ? 2 : 0;
  return bf_emu_bind(decoder, instruction, op, BF_PTX_B32,
                     is_four ? four[a_signed][b_signed] : two[a_signed][b_signed]);
}

bool BF_EMU_NAME(bf_emu_select_integer)(bf_emu_decoder *decoder,
                                        const bf_ptx_instruction *instruction, bf_emu_op *op);

/* What one lane alone does by itself. */
extern const bf_alone_row BF_EMU_NAME(bf_emu_alone_integer)[];
const bf_alone_row BF_EMU_NAME(bf_emu_alone_integer)[] = {{add_uint32_t, BF_ALONE_ADD_32},
                                                          {add_uint64_t, BF_ALONE_ADD_64},
                                                          {sub_uint32_t, BF_ALONE_SUB_32},
                                                          {sub_uint64_t, BF_ALONE_SUB_64},
                                                          {mul_low_uint32_t, BF_ALONE_MUL_32},
                                                          {mul_low_uint64_t, BF_ALONE_MUL_64},
                                                          {mad_low_uint32_t, BF_ALONE_MAD_32},
                                                          {mad_low_uint64_t, BF_ALONE_MAD_64},
                                                          {mul_wide_uint32_t, BF_ALONE_MUL_WIDE_U},
                                                          {mul_wide_int32_t, BF_ALONE_MUL_WIDE_S},
                                                          {mad_wide_uint32_t, BF_ALONE_MAD_WIDE_U},
                                                          {mad_wide_int32_t, BF_ALONE_MAD_WIDE_S},
                                                          {mul_high_uint32_t, BF_ALONE_MUL_HIGH_U},
                                                          {mul_high_int32_t, BF_ALONE_MUL_HIGH_S},
                                                          {min_uint32_t, BF_ALONE_MIN_U32},
                                                          {max_uint32_t, BF_ALONE_MAX_U32},
                                                          {min_int32_t, BF_ALONE_MIN_S32},
                                                          {max_int32_t, BF_ALONE_MAX_S32},
                                                          {NULL, BF_ALONE_NONE}};

bool BF_EMU_NAME(bf_emu_select_integer)(bf_emu_decoder *decoder,
                                        const bf_ptx_instruction *instruction, bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  int index = bf_emu_integer_index(type);
  bool is_pair = type == BF_PTX_U16X2 || type == BF_PTX_S16X2;
  if (instruction->opcode == BF_PTX_OP_DP2A || instruction->opcode == BF_PTX_OP_DP4A)
    return select_dot(decoder, instruction, op);
  if (index < 0 && !is_pair)
    return false;
  switch (instruction->opcode) {
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
    return is_pair ? select_pair(decoder, instruction, op) : select_add(decoder, instruction, op);
  case BF_PTX_OP_MIN:
  case BF_PTX_OP_MAX:
    return is_pair ? select_pair(decoder, instruction, op)
                   : select_extreme(decoder, instruction, op);
  default:
    break;
  }
  if (is_pair)
    return false;
  switch (instruction->opcode) {
  case BF_PTX_OP_ADDC:
  case BF_PTX_OP_SUBC:
  case BF_PTX_OP_MADC:
    return select_carry(decoder, instruction, op);
  case BF_PTX_OP_MUL:
    return select_mul(decoder, instruction, op);
  case BF_PTX_OP_MAD:
    return select_mad(decoder, instruction, op);
  case BF_PTX_OP_MUL24:
  case BF_PTX_OP_MAD24:
    return select_24(decoder, instruction, op);
  case BF_PTX_OP_SAD:
    return bf_emu_bind(decoder, instruction, op, type, sad[index]);
  case BF_PTX_OP_DIV:
    return bf_emu_bind(decoder, instruction, op, type, div[index]);
  case BF_PTX_OP_REM:
    return bf_emu_bind(decoder, instruction, op, type, rem[index]);
  case BF_PTX_OP_ABS:
    return bf_emu_bind(decoder, instruction, op, type, absolute[index]);
  case BF_PTX_OP_NEG:
    return bf_emu_bind(decoder, instruction, op, type, negate[index]);
  default:
    return false;
  }
}

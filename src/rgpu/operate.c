/* What operations make of values: the one definition of arithmetic in this room. */
#include "rgpu/graph.h"

#include <math.h>
#include <string.h>

static float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t as_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* -1, 0, 1 as a is below, equal to or above b; 2 where they cannot be compared. */
static int compare(bf_rgpu_type type, uint32_t a, uint32_t b) {
  if (type == BF_RGPU_F32) {
    float x = as_float(a), y = as_float(b);
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
  }
  if (type == BF_RGPU_S32)
    return (int32_t)a < (int32_t)b ? -1 : (int32_t)a > (int32_t)b;
  return a < b ? -1 : a > b;
}

/* Comparisons; with what is not a number only `ne` holds. */
static uint32_t test(bf_rgpu_op op, int order) {
  switch (op) {
  case BF_RGPU_LT:
    return order == -1;
  case BF_RGPU_LE:
    return order == -1 || order == 0;
  case BF_RGPU_GT:
    return order == 1;
  case BF_RGPU_GE:
    return order == 1 || order == 0;
  case BF_RGPU_EQ:
    return order == 0;
  default:
    return order != 0;
  }
}

static uint32_t operate_integer(bf_rgpu_op op, bool is_signed, uint32_t a, uint32_t b, uint32_t c) {
  switch (op) {
  case BF_RGPU_ADD:
  case BF_RGPU_INC:
    return a + b;
  case BF_RGPU_SUB:
    return a - b;
  case BF_RGPU_MUL:
    return a * b;
  case BF_RGPU_MAD:
    return a * b + c;
  case BF_RGPU_MIN:
    return compare(is_signed ? BF_RGPU_S32 : BF_RGPU_U32, a, b) < 0 ? a : b;
  case BF_RGPU_MAX:
    return compare(is_signed ? BF_RGPU_S32 : BF_RGPU_U32, a, b) > 0 ? a : b;
  case BF_RGPU_ABS:
    return is_signed && (int32_t)a < 0 ? 0 - a : a;
  case BF_RGPU_NEG:
    return 0 - a;
  case BF_RGPU_AND:
    return a & b;
  case BF_RGPU_OR:
    return a | b;
  case BF_RGPU_XOR:
    return a ^ b;
  case BF_RGPU_NOT:
    return ~a;
  case BF_RGPU_SHL:
    return b < 32 ? a << b : 0;
  case BF_RGPU_SHR:
    if (is_signed)
      return (uint32_t)((int32_t)a >> (b < 32 ? b : 31));
    return b < 32 ? a >> b : 0;
  default:
    return a;
  }
}

/* The smaller or the larger of two floats; -0 is below 0. Where one is no number, the other. */
static float choose(float x, float y, bool smaller) {
  if (x == y)
    return (signbit(x) != 0) == smaller ? x : y;
  return smaller ? fminf(x, y) : fmaxf(x, y);
}

/* Functions of one float. */
static float operate_one(bf_rgpu_op op, float a) {
  switch (op) {
  case BF_RGPU_ABS:
    return fabsf(a);
  case BF_RGPU_NEG:
    return -a;
  case BF_RGPU_RCP:
    return 1 / a;
  case BF_RGPU_SQRT:
    return sqrtf(a);
  case BF_RGPU_RSQRT:
    return 1 / sqrtf(a);
  case BF_RGPU_SIN:
    return sinf(a);
  case BF_RGPU_COS:
    return cosf(a);
  case BF_RGPU_EX2:
    return exp2f(a);
  case BF_RGPU_LG2:
    return log2f(a);
  case BF_RGPU_TANH:
    return tanhf(a);
  default:
    return a;
  }
}

static uint32_t operate_float(bf_rgpu_op op, uint32_t a, uint32_t b, uint32_t c) {
  float x = as_float(a), y = as_float(b);
  switch (op) {
  case BF_RGPU_MOV:
    return a;
  case BF_RGPU_ADD:
    return as_bits(x + y);
  case BF_RGPU_SUB:
    return as_bits(x - y);
  case BF_RGPU_MUL:
    return as_bits(x * y);
  case BF_RGPU_MAD:
    return as_bits(fmaf(x, y, as_float(c)));
  case BF_RGPU_MIN:
    return as_bits(choose(x, y, true));
  case BF_RGPU_MAX:
    return as_bits(choose(x, y, false));
  default:
    return as_bits(operate_one(op, x));
  }
}

/* A float cut towards zero, to the nearest integer that the type has; 0 for what is no number. */
static uint32_t cut(float value, bool is_signed) {
  if (isnan(value))
    return 0;
  if (is_signed)
    return (uint32_t)(value >= 2147483648.0f   ? INT32_MAX
                      : value < -2147483648.0f ? INT32_MIN
                                               : (int32_t)value);
  return value >= 4294967296.0f ? UINT32_MAX : value <= 0 ? 0 : (uint32_t)value;
}

static uint32_t convert(bf_rgpu_type to, bf_rgpu_type from, uint32_t a) {
  if (to == BF_RGPU_F32 && from == BF_RGPU_F32)
    return a;
  if (to == BF_RGPU_F32)
    return as_bits(from == BF_RGPU_S32 ? (float)(int32_t)a : (float)a);
  return from == BF_RGPU_F32 ? cut(as_float(a), to == BF_RGPU_S32) : a;
}

uint32_t bf_rgpu_operate(const bf_rgpu_node *node, const uint32_t operand[BF_RGPU_OPERANDS]) {
  uint32_t a = operand[0], b = operand[1], c = operand[2];
  if (node->op >= BF_RGPU_LT && node->op <= BF_RGPU_NE)
    return test(node->op, compare(node->type, a, b));
  if (node->op == BF_RGPU_SEL)
    return c ? a : b;
  if (node->op == BF_RGPU_CVT)
    return convert(node->type, node->from, a);
  return node->type == BF_RGPU_F32 ? operate_float(node->op, a, b, c)
                                   : operate_integer(node->op, node->type == BF_RGPU_S32, a, b, c);
}

/* ---- Memory ---- */

uint32_t bf_rgpu_load(bf_rgpu_type type, const unsigned char *bytes) {
  uint32_t value = 0;
  for (unsigned i = 0; i < bf_rgpu_type_bytes(type); i++)
    value |= (uint32_t)bytes[i] << (8 * i);
  if (type == BF_RGPU_S8)
    return (uint32_t)(int32_t)(int8_t)value;
  return type == BF_RGPU_S16 ? (uint32_t)(int32_t)(int16_t)value : value;
}

void bf_rgpu_store(bf_rgpu_type type, uint32_t value, unsigned char *bytes) {
  for (unsigned i = 0; i < bf_rgpu_type_bytes(type); i++)
    bytes[i] = (unsigned char)(value >> (8 * i));
}

uint32_t bf_rgpu_reduce(bf_rgpu_type type, uint32_t old, uint32_t value) {
  return type == BF_RGPU_F32 ? as_bits(as_float(old) + as_float(value)) : old + value;
}

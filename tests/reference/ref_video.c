/* Video instructions, of whole words and of two or four parts of a word. The types
 * stand in the order d, a, b; those of vset are a, b. */
#include "ref.h"

#include <string.h>

/* Width of the parts that an opcode works on. */
static unsigned part_bits(bf_ptx_opcode opcode) {
  switch (opcode) {
  case BF_PTX_OP_VADD2:
  case BF_PTX_OP_VSUB2:
  case BF_PTX_OP_VAVRG2:
  case BF_PTX_OP_VABSDIFF2:
  case BF_PTX_OP_VMIN2:
  case BF_PTX_OP_VMAX2:
  case BF_PTX_OP_VSET2:
    return 16;
  case BF_PTX_OP_VADD4:
  case BF_PTX_OP_VSUB4:
  case BF_PTX_OP_VAVRG4:
  case BF_PTX_OP_VABSDIFF4:
  case BF_PTX_OP_VMIN4:
  case BF_PTX_OP_VMAX4:
  case BF_PTX_OP_VSET4:
    return 8;
  default:
    return 32;
  }
}

static bool is_set(bf_ptx_opcode opcode) {
  return opcode == BF_PTX_OP_VSET || opcode == BF_PTX_OP_VSET2 || opcode == BF_PTX_OP_VSET4;
}

static ref_signed average(ref_signed sum) { return sum >= 0 ? (sum + 1) >> 1 : sum >> 1; }

/* vshl and vshr: counts above 32 count as 32, or modulo 32. */
static ref_signed shift(const ref_op *op, ref_signed a, ref_bits b) {
  uint32_t count = (uint32_t)b;
  count = HAS(op, wrap) ? count & 31 : count > 32 ? 32 : count;
  return op->opcode == BF_PTX_OP_VSHL ? (ref_signed)((ref_bits)a << count) : a >> count;
}

/* Whether a and b compare as asked. */
static bool compares(const ref_op *op, ref_signed a, ref_signed b) {
  return HAS(op, eq)   ? a == b
         : HAS(op, ne) ? a != b
         : HAS(op, lt) ? a < b
         : HAS(op, le) ? a <= b
         : HAS(op, gt) ? a > b
                       : a >= b;
}

/* The result for one part, before it is cut to its width. */
static ref_signed compute(const ref_op *op, ref_signed a, ref_signed b) {
  switch (op->opcode) {
  case BF_PTX_OP_VADD:
  case BF_PTX_OP_VADD2:
  case BF_PTX_OP_VADD4:
    return a + b;
  case BF_PTX_OP_VSUB:
  case BF_PTX_OP_VSUB2:
  case BF_PTX_OP_VSUB4:
    return a - b;
  case BF_PTX_OP_VAVRG2:
  case BF_PTX_OP_VAVRG4:
    return average(a + b);
  case BF_PTX_OP_VABSDIFF:
  case BF_PTX_OP_VABSDIFF2:
  case BF_PTX_OP_VABSDIFF4:
    return a < b ? b - a : a - b;
  case BF_PTX_OP_VMIN:
  case BF_PTX_OP_VMIN2:
  case BF_PTX_OP_VMIN4:
    return a < b ? a : b;
  case BF_PTX_OP_VMAX:
  case BF_PTX_OP_VMAX2:
  case BF_PTX_OP_VMAX4:
    return a > b ? a : b;
  case BF_PTX_OP_VSHL:
  case BF_PTX_OP_VSHR:
    return shift(op, a, (ref_bits)b);
  default:
    return compares(op, a, b);
  }
}

/* A part as a number. */
static ref_signed part_number(ref_bits value, unsigned bits, bool is_signed) {
  return is_signed ? ref_sign(value, bits) : (ref_signed)ref_low(value, bits);
}

/* Into the range of a part. */
static ref_signed clamp(ref_signed value, unsigned bits, bool is_signed) {
  ref_signed least = is_signed ? -((ref_signed)1 << (bits - 1)) : 0;
  ref_signed most = ((ref_signed)1 << (is_signed ? bits - 1 : bits)) - 1;
  return value < least ? least : value > most ? most : value;
}

/* a * b + c, shifted; signed as soon as one factor is. */
static ref_bits multiply(const ref_op *op, ref_signed a, ref_signed b, ref_bits c) {
  bool is_signed = ref_type_is_signed(op->in->type[1]) || ref_type_is_signed(op->in->type[2]);
  ref_signed value = a * b + part_number(c, 32, is_signed);
  value >>= HAS(op, shr7) ? 7 : HAS(op, shr15) ? 15 : 0;
  return (ref_bits)(HAS(op, sat) ? clamp(value, 32, is_signed) : value);
}

/* The second operation of whole words. */
static ref_signed second(const ref_op *op, ref_signed value, ref_signed c) {
  if (HAS(op, add))
    return value + c;
  return HAS(op, min) ? (value < c ? value : c) : HAS(op, max) ? (value > c ? value : c) : value;
}

/* ---- Selectors ---- */

/* The part of a word that b0 to b3, h0, h1 or nothing selects: first bit and width. */
static unsigned selected(const char *selector, unsigned *width) {
  *width = !selector ? 32 : selector[0] == 'h' ? 16 : 8;
  return selector ? (unsigned)(selector[1] - '0') * *width : 0;
}

static ref_signed selected_number(ref_bits value, const char *selector, bool is_signed) {
  unsigned width, first = selected(selector, &width);
  return part_number(value >> first, width, is_signed);
}

/* Whole words, or one part of each. */
static ref_bits compute_word(const ref_op *op, ref_bits a, ref_bits b, ref_bits c,
                             const bool is_signed[3]) {
  const bf_ptx_operand *operand = op->in->operand;
  unsigned width, first = selected(operand[0].selector, &width);
  ref_signed x = selected_number(a, operand[1].selector, is_signed[1]);
  ref_signed y = selected_number(b, operand[2].selector, is_signed[2]);
  if (op->opcode == BF_PTX_OP_VMAD)
    return multiply(op, x, y, c);
  ref_signed value = compute(op, x, y);
  if (HAS(op, sat))
    value = clamp(value, width, is_signed[0]);
  if (width < 32) {
    ref_bits part = ref_low(~(ref_bits)0, width) << first;
    return (c & ~part) | (ref_low((ref_bits)value, width) << first);
  }
  /* The second operation sees all 34 bits of the first one's result. */
  return (ref_bits)second(op, value, part_number(c, 32, is_signed[0]));
}

/* Digit i from the right of a selector like b3210; standard where there is none. */
static unsigned digit(const char *selector, const char *standard, unsigned parts, unsigned i) {
  return (unsigned)((selector ? selector + 1 : standard)[parts - 1 - i] - '0');
}

/* Whether a mask like b20 has part i; no mask has all. */
static bool has_part(const char *mask, unsigned i) {
  return !mask || strchr(mask + 1, (char)('0' + i)) != NULL;
}

/* Two halves or four bytes, each out of any place of a and b. */
static ref_bits compute_parts(const ref_op *op, ref_bits a, ref_bits b, ref_bits c,
                              const bool is_signed[3]) {
  const bf_ptx_operand *operand = op->in->operand;
  unsigned bits = part_bits(op->opcode), parts = 32 / bits;
  ref_bits both = ref_low(b, 32) << 32 | ref_low(a, 32), result = c;
  ref_signed sum = (ref_signed)ref_low(c, 32);
  for (unsigned i = 0; i < parts; i++) {
    unsigned x = digit(operand[1].selector, parts == 2 ? "10" : "3210", parts, i);
    unsigned y = digit(operand[2].selector, parts == 2 ? "32" : "7654", parts, i);
    ref_signed value = compute(op, part_number(both >> x * bits, bits, is_signed[1]),
                               part_number(both >> y * bits, bits, is_signed[2]));
    if (HAS(op, sat))
      value = clamp(value, bits, is_signed[0]);
    if (!has_part(operand[0].selector, i))
      continue;
    sum += value;
    result &= ~(ref_low(~(ref_bits)0, bits) << i * bits);
    result |= ref_low((ref_bits)value, bits) << i * bits;
  }
  return HAS(op, add) ? (ref_bits)sum : result;
}

ref_bits ref_video_compute(const ref_op *op, ref_bits a, ref_bits b, ref_bits c) {
  const bf_ptx_type *type = op->in->type;
  bool set = is_set(op->opcode);
  bool is_signed[3] = {!set && ref_type_is_signed(type[0]), ref_type_is_signed(type[set ? 0 : 1]),
                       ref_type_is_signed(type[set ? 1 : 2])};
  return part_bits(op->opcode) == 32 ? compute_word(op, a, b, c, is_signed)
                                     : compute_parts(op, a, b, c, is_signed);
}

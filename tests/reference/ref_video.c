/* Video instructions, of whole words and of two or four parts of a word; without selectors of
 * bytes. The types stand in the order d, a, b; those of vset are a, b. */
#include "ref.h"

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

ref_bits ref_video_compute(const ref_op *op, ref_bits a, ref_bits b, ref_bits c) {
  const bf_ptx_type *type = op->in->type;
  bool set = is_set(op->opcode), d_signed = !set && ref_type_is_signed(type[0]);
  bool a_signed = ref_type_is_signed(type[set ? 0 : 1]),
       b_signed = ref_type_is_signed(type[set ? 1 : 2]);
  unsigned bits = part_bits(op->opcode);
  if (op->opcode == BF_PTX_OP_VMAD)
    return multiply(op, part_number(a, 32, a_signed), part_number(b, 32, b_signed), c);
  ref_bits result = 0;
  ref_signed sum = (ref_signed)ref_low(c, 32);
  for (unsigned i = 0; i < 32; i += bits) {
    ref_signed value =
        compute(op, part_number(a >> i, bits, a_signed), part_number(b >> i, bits, b_signed));
    if (HAS(op, sat))
      value = clamp(value, bits, d_signed);
    if (bits == 32) /* the second operation sees all 34 bits of the first one's result */
      return (ref_bits)second(op, value, part_number(c, 32, d_signed));
    sum += value;
    result |= ref_low((ref_bits)value, bits) << i;
  }
  return HAS(op, add) ? (ref_bits)sum : result;
}

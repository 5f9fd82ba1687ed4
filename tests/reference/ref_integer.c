/* Integer instructions and comparisons, on numbers wide enough that nothing overflows. */
#include "ref.h"

/* ---- Arithmetic ---- */

/* The part of a product that .lo, .hi or .wide asks for. */
static ref_signed part_of_product(const ref_op *op, ref_signed product) {
  return HAS(op, hi) ? product >> ref_type_bits(op->type) : product;
}

/* The exact product of 64-bit numbers does not fit a signed 128-bit one: the upper half by itself.
 */
static ref_bits high_of_u64(uint64_t a, uint64_t b) { return (ref_bits)a * b >> 64; }

static ref_bits product(const ref_op *op, ref_bits a, ref_bits b) {
  if (HAS(op, hi) && op->type == BF_PTX_U64)
    return high_of_u64((uint64_t)a, (uint64_t)b);
  ref_bits x = (ref_bits)ref_number(a, op->type), y = (ref_bits)ref_number(b, op->type);
  return (ref_bits)part_of_product(op, (ref_signed)(x * y));
}

/* mul24: 48 bits of the product of the lower 24; .hi gives bits 16 to 47. */
static ref_bits product24(const ref_op *op, ref_bits a, ref_bits b) {
  bool is_signed = ref_type_is_signed(op->type);
  ref_signed x = is_signed ? ref_sign(a, 24) : (ref_signed)ref_low(a, 24);
  ref_signed y = is_signed ? ref_sign(b, 24) : (ref_signed)ref_low(b, 24);
  ref_signed whole = x * y;
  return (ref_bits)(HAS(op, hi) ? whole >> 16 : whole);
}

/* a + b + c on bits, with the carry out of them. */
static ref_bits add_with_carry(const ref_op *op, ref_bits a, ref_bits b, bool in, bool *carry) {
  unsigned bits = ref_type_bits(op->type);
  ref_bits sum = ref_low(a, bits) + ref_low(b, bits) + in;
  if (HAS(op, cc))
    *carry = sum >> bits & 1;
  return sum;
}

/* a - b - 1 + carry, which is how GPUs subtract: the carry flag says that there was no borrow, and
 * that shows where additions and subtractions share it. */
static ref_bits subtract_with_borrow(const ref_op *op, ref_bits a, ref_bits b, bool in,
                                     bool *carry) {
  unsigned bits = ref_type_bits(op->type);
  return add_with_carry(op, a, ref_low(~b, bits), in, carry);
}

static ref_signed absolute(ref_signed value) { return value < 0 ? -value : value; }

/* Where the divisor is 0 GPUs give all bits. */
static ref_signed divide(const ref_op *op, ref_signed a, ref_signed b) {
  if (b == 0)
    return -1;
  return op->opcode == BF_PTX_OP_DIV ? a / b : a % b;
}

/* min, max on numbers of a scalar type. */
static ref_signed limit(const ref_op *op, bf_ptx_type type, ref_bits a, ref_bits b) {
  ref_signed x = ref_number(a, type), y = ref_number(b, type);
  ref_signed result = (x < y) == (op->opcode == BF_PTX_OP_MIN) ? x : y;
  return HAS(op, relu) && result < 0 ? 0 : result;
}

/* add, min, max on two halves. */
static ref_bits packed(const ref_op *op, ref_bits a, ref_bits b) {
  bf_ptx_type type = ref_type_scalar(op->type);
  ref_bits result = 0;
  for (unsigned i = 0; i < 32; i += 16) {
    ref_bits x = ref_low(a >> i, 16), y = ref_low(b >> i, 16);
    ref_bits half = op->opcode == BF_PTX_OP_ADD ? x + y : (ref_bits)limit(op, type, x, y);
    result |= ref_low(half, 16) << i;
  }
  return result;
}

/* dp4a, dp2a: the first type is that of a, the second that of b. */
static ref_bits dot(const ref_op *op, ref_bits a, ref_bits b, ref_bits c) {
  bool a_signed = ref_type_is_signed(op->first_type), b_signed = ref_type_is_signed(op->type);
  unsigned width = op->opcode == BF_PTX_OP_DP4A ? 8 : 16, terms = 32 / width;
  ref_signed sum = a_signed || b_signed ? ref_sign(c, 32) : (ref_signed)ref_low(c, 32);
  if (HAS(op, hi))
    b >>= 16;
  for (unsigned i = 0; i < terms; i++) {
    ref_bits x = ref_low(a >> i * width, width), y = ref_low(b >> i * 8, 8);
    sum += (a_signed ? ref_sign(x, width) : (ref_signed)x) *
           (b_signed ? ref_sign(y, 8) : (ref_signed)y);
  }
  return (ref_bits)sum;
}

/* ---- Bits ---- */

static unsigned leading_zeros(ref_bits value, unsigned bits) {
  unsigned count = 0;
  while (count < bits && !(value >> (bits - 1 - count) & 1))
    count++;
  return count;
}

static unsigned population(ref_bits value) {
  unsigned count = 0;
  for (; value; value >>= 1)
    count += value & 1;
  return count;
}

/* Position of the highest bit that differs from the sign, all bits where there is none. */
static ref_bits find_bit(const ref_op *op, ref_bits a) {
  unsigned bits = ref_type_bits(op->type);
  if (ref_type_is_signed(op->type) && a >> (bits - 1) & 1)
    a = ref_low(~a, bits);
  unsigned zeros = leading_zeros(a, bits);
  if (zeros == bits)
    return 0xffffffff;
  return HAS(op, shiftamt) ? zeros : bits - 1 - zeros;
}

static ref_bits reverse(ref_bits a, unsigned bits) {
  ref_bits result = 0;
  for (unsigned i = 0; i < bits; i++)
    result |= (a >> i & 1) << (bits - 1 - i);
  return result;
}

/* Positions and lengths of bfe and bfi count modulo 256 for words; for 64 bits, which GPUs do in
 * several steps, they do not. */
static uint64_t field_count(const ref_op *op, ref_bits value) {
  return ref_type_bits(op->type) == 32 ? (uint64_t)(value & 255) : (uint64_t)ref_low(value, 32);
}

/* bfe: what lies beyond the top is the sign of the field, and
 * the field's sign is that of its highest bit inside a. */
static ref_bits extract(const ref_op *op, ref_bits a, ref_bits b, ref_bits c) {
  uint64_t bits = ref_type_bits(op->type), position = field_count(op, b),
           length = field_count(op, c);
  bool is_signed = ref_type_is_signed(op->type) && length > 0;
  uint64_t last = position + length - 1 < bits - 1 ? position + length - 1 : bits - 1;
  bool sign = is_signed && (a >> last & 1);
  ref_bits result = 0;
  for (unsigned i = 0; i < bits; i++) {
    bool inside = i < length && position + i < bits;
    result |= (ref_bits)(inside ? a >> (position + i) & 1 : sign) << i;
  }
  return result;
}

/* bfi: b with the low d bits of a put in at c. */
static ref_bits insert(const ref_op *op, ref_bits a, ref_bits b, ref_bits c, ref_bits d) {
  uint64_t bits = ref_type_bits(op->type), position = field_count(op, c),
           length = field_count(op, d);
  for (unsigned i = 0; i < length && position + i < bits; i++) {
    ref_bits one = (ref_bits)1 << (position + i);
    b = a >> i & 1 ? b | one : b & ~one;
  }
  return b;
}

/* Shift counts above the width count as the width. */
static ref_bits shift(const ref_op *op, ref_bits a, ref_bits b) {
  unsigned bits = ref_type_bits(op->type);
  unsigned count = (uint32_t)b > bits ? bits : (unsigned)b;
  if (op->opcode == BF_PTX_OP_SHL)
    return a << count;
  return (ref_bits)(ref_number(a, op->type) >> count);
}

/* shf: the pair b:a shifted; left gives the upper word, right the lower one. */
static ref_bits funnel(const ref_op *op, ref_bits a, ref_bits b, ref_bits c) {
  uint32_t count = (uint32_t)c;
  count = HAS(op, wrap) ? count & 31 : count > 32 ? 32 : count;
  ref_bits pair = ref_low(b, 32) << 32 | ref_low(a, 32);
  return HAS(op, l) ? pair << count >> 32 : pair >> count;
}

/* lop3: bit 4x + 2y + z of the table for input bits x, y, z. */
static ref_bits look_up(ref_bits a, ref_bits b, ref_bits c, ref_bits table) {
  ref_bits result = 0;
  for (unsigned i = 0; i < 32; i++) {
    unsigned index = (unsigned)(4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1));
    result |= (table >> index & 1) << i;
  }
  return result;
}

/* Which byte of b:a prmt takes for byte i of the result; 8 more: its sign, eight times. */
static unsigned selected(const ref_op *op, ref_bits c, unsigned i) {
  unsigned n = c & 3;
  if (HAS(op, f4e))
    return n + i;
  if (HAS(op, b4e))
    return (n + 8 - i) & 7;
  if (HAS(op, rc8))
    return n;
  if (HAS(op, ecl))
    return i > n ? i : n;
  if (HAS(op, ecr))
    return i < n ? i : n;
  if (HAS(op, rc16))
    return 2 * (n & 1) + (i & 1);
  return c >> 4 * i & 15;
}

static ref_bits permute(const ref_op *op, ref_bits a, ref_bits b, ref_bits c) {
  ref_bits pair = ref_low(b, 32) << 32 | ref_low(a, 32), result = 0;
  for (unsigned i = 0; i < 4; i++) {
    unsigned which = selected(op, c, i);
    ref_bits byte = pair >> 8 * (which & 7) & 255;
    if (which & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}

/* bmsk: b ones from bit a on. */
static ref_bits mask(const ref_op *op, ref_bits a, ref_bits b) {
  uint32_t first = (uint32_t)a, length = (uint32_t)b;
  if (HAS(op, wrap)) {
    first &= 31;
    length &= 31;
  }
  ref_bits result = 0;
  for (unsigned i = 0; i < 32; i++)
    if (i >= first && i - first < length)
      result |= (ref_bits)1 << i;
  return result;
}

/* szext: the low b bits of a, extended. */
static ref_bits extend(const ref_op *op, ref_bits a, ref_bits b) {
  uint32_t length = (uint32_t)b;
  length = HAS(op, wrap) ? length & 31 : length > 32 ? 32 : length;
  if (length == 0)
    return 0;
  return ref_type_is_signed(op->type) ? (ref_bits)ref_sign(a, length) : ref_low(a, length);
}

/* fns: the c-th set bit from b on, upwards or, with negative c, downwards; c = 0 asks for b itself.
 * The c without a positive counterpart gives 0 on GPUs. */
static ref_bits find_nth(ref_bits a, ref_bits b, ref_bits c) {
  int64_t nth = (int64_t)ref_sign(c, 32), position = (int64_t)ref_low(b, 32);
  int step = nth < 0 ? -1 : 1;
  if (nth == INT32_MIN)
    return 0;
  int64_t wanted = nth < 0 ? -nth : nth == 0 ? 1 : nth;
  for (int64_t i = position; i >= 0 && i < 32; i += step) {
    if (a >> i & 1 && --wanted == 0)
      return (ref_bits)i;
    if (nth == 0)
      break;
  }
  return 0xffffffff;
}

ref_bits ref_integer_compute(const ref_op *op, ref_bits a, ref_bits b, ref_bits c, ref_bits d,
                             bool *carry) {
  bf_ptx_type type = op->type;
  unsigned bits = ref_type_bits(type);
  ref_bits value;
  if (type == BF_PTX_U16X2 || type == BF_PTX_S16X2)
    return packed(op, a, b);
  switch (op->opcode) {
  case BF_PTX_OP_ADD:
    if (HAS(op, sat))
      return (ref_bits)ref_clamp(ref_number(a, type) + ref_number(b, type), type);
    return add_with_carry(op, a, b, false, carry);
  case BF_PTX_OP_ADDC:
    return add_with_carry(op, a, b, *carry, carry);
  case BF_PTX_OP_SUB:
    if (HAS(op, sat))
      return (ref_bits)ref_clamp(ref_number(a, type) - ref_number(b, type), type);
    return subtract_with_borrow(op, a, b, true, carry);
  case BF_PTX_OP_SUBC:
    return subtract_with_borrow(op, a, b, *carry, carry);
  case BF_PTX_OP_MUL:
    return product(op, a, b);
  case BF_PTX_OP_MAD:
    value = product(op, a, b);
    if (HAS(op, sat))
      return (ref_bits)ref_clamp((ref_signed)value + ref_number(c, type), type);
    return HAS(op, cc) ? add_with_carry(op, value, c, false, carry) : value + c;
  case BF_PTX_OP_MADC:
    return add_with_carry(op, product(op, a, b), c, *carry, carry);
  case BF_PTX_OP_MUL24:
    return product24(op, a, b);
  case BF_PTX_OP_MAD24:
    value = product24(op, a, b);
    if (HAS(op, sat))
      return (ref_bits)ref_clamp((ref_signed)value + ref_number(c, type), type);
    return value + c;
  case BF_PTX_OP_SAD:
    return c + (ref_bits)absolute(ref_number(a, type) - ref_number(b, type));
  case BF_PTX_OP_DIV:
  case BF_PTX_OP_REM:
    return (ref_bits)divide(op, ref_number(a, type), ref_number(b, type));
  case BF_PTX_OP_ABS:
    return (ref_bits)absolute(ref_number(a, type));
  case BF_PTX_OP_NEG:
    return (ref_bits)-ref_number(a, type);
  case BF_PTX_OP_MIN:
  case BF_PTX_OP_MAX:
    return (ref_bits)limit(op, type, a, b);
  case BF_PTX_OP_DP2A:
  case BF_PTX_OP_DP4A:
    return dot(op, a, b, c);
  case BF_PTX_OP_AND:
    return a & b;
  case BF_PTX_OP_OR:
    return a | b;
  case BF_PTX_OP_XOR:
    return a ^ b;
  case BF_PTX_OP_NOT:
    return ~a;
  case BF_PTX_OP_CNOT:
    return ref_low(a, bits) == 0;
  case BF_PTX_OP_POPC:
    return population(ref_low(a, bits));
  case BF_PTX_OP_CLZ:
    return leading_zeros(a, bits);
  case BF_PTX_OP_BFIND:
    return find_bit(op, ref_low(a, bits));
  case BF_PTX_OP_BREV:
    return reverse(a, bits);
  case BF_PTX_OP_BFE:
    return extract(op, a, b, c);
  case BF_PTX_OP_BFI:
    return insert(op, a, b, c, d);
  case BF_PTX_OP_SHL:
  case BF_PTX_OP_SHR:
    return shift(op, a, b);
  case BF_PTX_OP_SHF:
    return funnel(op, a, b, c);
  case BF_PTX_OP_LOP3:
    return look_up(a, b, c, d);
  case BF_PTX_OP_PRMT:
    return permute(op, a, b, c);
  case BF_PTX_OP_BMSK:
    return mask(op, a, b);
  case BF_PTX_OP_SZEXT:
    return extend(op, a, b);
  default:
    return find_nth(a, b, c);
  }
}

/* ---- Comparisons ---- */

/* The comparison of numbers x and y that are less (-1), equal (0), greater (1) or unordered (2). */
static bool holds(const ref_op *op, int order) {
  bool less = order == -1, equal = order == 0, greater = order == 1, unordered = order == 2;
  if (HAS(op, eq))
    return equal;
  if (HAS(op, ne))
    return less || greater;
  if (HAS(op, lt) || HAS(op, lo))
    return less;
  if (HAS(op, le) || HAS(op, ls))
    return less || equal;
  if (HAS(op, gt) || HAS(op, hi))
    return greater;
  if (HAS(op, ge) || HAS(op, hs))
    return greater || equal;
  if (HAS(op, equ))
    return equal || unordered;
  if (HAS(op, neu))
    return !equal;
  if (HAS(op, ltu))
    return less || unordered;
  if (HAS(op, leu))
    return !greater;
  if (HAS(op, gtu))
    return greater || unordered;
  if (HAS(op, geu))
    return !less;
  return HAS(op, num) ? !unordered : unordered;
}

bool ref_compare(const ref_op *op, bf_ptx_type type, ref_bits a, ref_bits b) {
  if (ref_type_is_float(type)) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    if (HAS(op, ftz)) {
      x = ref_float_flush(type, x);
      y = ref_float_flush(type, y);
    }
    double p = ref_float_double(type, x), q = ref_float_double(type, y);
    return holds(op, p < q ? -1 : p > q ? 1 : p == q ? 0 : 2);
  }
  ref_signed x = ref_number(a, type), y = ref_number(b, type);
  return holds(op, x < y ? -1 : x > y);
}

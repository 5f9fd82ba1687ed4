/* What each operation computes on the numbers of one thread, as the PTX ISA defines it. */
#include "analyze/expression.h"

__extension__ typedef __int128 signed_pair;
__extension__ typedef unsigned __int128 unsigned_pair;

/* The upper half of a product of two numbers of the given bits. */
static uint64_t high_signed(uint64_t a, uint64_t b, unsigned bits) {
  signed_pair product = (signed_pair)bf_sign_extend(a, bits) * bf_sign_extend(b, bits);
  return (uint64_t)(product >> bits);
}

static uint64_t high_unsigned(uint64_t a, uint64_t b, unsigned bits) {
  return (uint64_t)((unsigned_pair)a * b >> bits);
}

/* Shifts by more than the bits give zeros, or copies of the sign. */
static uint64_t shift_right(uint64_t a, uint64_t count, unsigned bits, bool is_signed) {
  if (is_signed)
    return (uint64_t)(bf_sign_extend(a, bits) >> (count >= bits ? bits - 1 : count));
  return count >= bits ? 0 : a >> count;
}

static bool divide(bf_operation operation, unsigned bits, uint64_t a, uint64_t b, uint64_t *out) {
  if (b == 0)
    return false;
  int64_t x = bf_sign_extend(a, bits), y = bf_sign_extend(b, bits);
  bool overflows = y == -1;
  switch (operation) {
  case BF_DO_DIV_S:
    *out = overflows ? 0 - a : (uint64_t)(x / y);
    return true;
  case BF_DO_REM_S:
    *out = overflows ? 0 : (uint64_t)(x % y);
    return true;
  case BF_DO_DIV_U:
    *out = a / b;
    return true;
  default:
    *out = a % b;
    return true;
  }
}

/* bfe: length bits of a from bit position on; beyond the end the sign, or 0, goes on. */
static uint64_t extract(uint64_t a, uint64_t position, uint64_t length, unsigned bits,
                        bool is_signed) {
  position &= 0xff;
  length &= 0xff;
  if (length == 0)
    return 0;
  uint64_t shifted = shift_right(a, position, bits, is_signed);
  if (length >= bits)
    return shifted;
  uint64_t field = bf_low_bits(shifted, (unsigned)length);
  return is_signed ? (uint64_t)bf_sign_extend(field, (unsigned)length) : field;
}

/* The length bits from bit position on, set. */
static uint64_t field_mask(uint64_t position, uint64_t length) {
  position &= 0xff;
  length &= 0xff;
  uint64_t ones = length >= 64 ? UINT64_MAX : ((uint64_t)1 << length) - 1;
  return position >= 64 ? 0 : ones << position;
}

/* prmt without a mode: four bytes out of the eight of b:a; bit 3 of a selector copies the sign. */
static uint64_t permute(uint64_t a, uint64_t b, uint64_t selectors) {
  uint64_t bytes = a | b << 32, result = 0;
  for (unsigned i = 0; i < 4; i++) {
    unsigned selector = (unsigned)(selectors >> 4 * i) & 15;
    uint64_t byte = bytes >> 8 * (selector & 7) & 0xff;
    if (selector & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

static uint64_t leading_zeros(uint64_t a, unsigned bits) {
  return a ? (uint64_t)__builtin_clzll(a) - (64 - bits) : bits;
}

static uint64_t reverse(uint64_t a, unsigned bits) {
  uint64_t result = 0;
  for (unsigned i = 0; i < bits; i++)
    result |= (a >> i & 1) << (bits - 1 - i);
  return result;
}

/* bfind: position of the highest bit that differs from the sign; all ones where there is none. */
static uint64_t find_bit(uint64_t a, unsigned bits, bool is_signed) {
  if (is_signed && bf_sign_extend(a, bits) < 0)
    a = bf_low_bits(~a, bits);
  return a ? 63 - (uint64_t)__builtin_clzll(a) : UINT32_MAX;
}

static uint64_t larger_or_smaller(bf_operation operation, unsigned bits, uint64_t a, uint64_t b) {
  bool is_signed = operation == BF_DO_MIN_S || operation == BF_DO_MAX_S;
  bool less = is_signed ? bf_sign_extend(a, bits) < bf_sign_extend(b, bits) : a < b;
  bool wants_less = operation == BF_DO_MIN_S || operation == BF_DO_MIN_U;
  return less == wants_less ? a : b;
}

bool bf_operate(bf_operation operation, unsigned bits, unsigned operand_bits, const uint64_t *in,
                uint64_t *out) {
  uint64_t a = in[0], b = in[1], c = in[2], result = 0;
  switch (operation) {
  case BF_DO_MUL:
    result = a * b;
    break;
  case BF_DO_MUL_HIGH_S:
    result = high_signed(a, b, bits);
    break;
  case BF_DO_MUL_HIGH_U:
    result = high_unsigned(a, b, bits);
    break;
  case BF_DO_DIV_S:
  case BF_DO_DIV_U:
  case BF_DO_REM_S:
  case BF_DO_REM_U:
    if (!divide(operation, bits, a, b, &result))
      return false;
    break;
  case BF_DO_MIN_S:
  case BF_DO_MIN_U:
  case BF_DO_MAX_S:
  case BF_DO_MAX_U:
    result = larger_or_smaller(operation, bits, a, b);
    break;
  case BF_DO_ABS:
    result = bf_sign_extend(a, bits) < 0 ? 0 - a : a;
    break;
  case BF_DO_AND:
    result = a & b;
    break;
  case BF_DO_OR:
    result = a | b;
    break;
  case BF_DO_XOR:
    result = a ^ b;
    break;
  case BF_DO_SHL:
    result = b >= bits ? 0 : a << b;
    break;
  case BF_DO_SHR_S:
  case BF_DO_SHR_U:
    result = shift_right(a, b, bits, operation == BF_DO_SHR_S);
    break;
  case BF_DO_SIGN_EXTEND:
    result = (uint64_t)bf_sign_extend(a, operand_bits);
    break;
  case BF_DO_ZERO_EXTEND:
  case BF_DO_TRUNCATE:
    result = a;
    break;
  case BF_DO_BFE_S:
  case BF_DO_BFE_U:
    result = extract(a, b, c, bits, operation == BF_DO_BFE_S);
    break;
  case BF_DO_BFI_MASK:
    result = field_mask(a, b);
    break;
  case BF_DO_PRMT:
    result = permute(a, b, c);
    break;
  case BF_DO_POPC:
    result = (uint64_t)__builtin_popcountll(a);
    break;
  case BF_DO_CLZ:
    result = leading_zeros(a, operand_bits);
    break;
  case BF_DO_BREV:
    result = reverse(a, bits);
    break;
  case BF_DO_BFIND_S:
  case BF_DO_BFIND_U:
    result = find_bit(a, operand_bits, operation == BF_DO_BFIND_S);
    break;
  case BF_DO_EQUAL:
    result = a == b;
    break;
  case BF_DO_LESS_S:
    result = bf_sign_extend(a, operand_bits) < bf_sign_extend(b, operand_bits);
    break;
  case BF_DO_LESS_U:
    result = a < b;
    break;
  case BF_OPERATION_COUNT:
    return false;
  }
  *out = bf_low_bits(result, bits);
  return true;
}

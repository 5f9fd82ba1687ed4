/* Reductions of an element in memory. */
#include "emu/reduce.h"

#include "emu/single.h"

#include <string.h>

bf_emu_reduction bf_emu_reduction_of(const bf_ptx_instruction *instruction) {
  static const struct {
    const char *name;
    bf_emu_reduction operation;
  } known[] = {{"add", BF_EMU_REDUCE_ADD}, {"min", BF_EMU_REDUCE_MIN}, {"max", BF_EMU_REDUCE_MAX},
               {"inc", BF_EMU_REDUCE_INC}, {"dec", BF_EMU_REDUCE_DEC}, {"and", BF_EMU_REDUCE_AND},
               {"or", BF_EMU_REDUCE_OR},   {"xor", BF_EMU_REDUCE_XOR}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (bf_ptx_has(instruction, known[i].name))
      return known[i].operation;
  return BF_EMU_REDUCE_NONE;
}

static bool is_float(bf_ptx_type type) {
  return type == BF_PTX_F16 || type == BF_PTX_BF16 || type == BF_PTX_F32 || type == BF_PTX_F64;
}

bool bf_emu_reduce_is_possible(const bf_emu_reduce *reduce) {
  unsigned bytes = bf_emu_reduce_bytes(reduce);
  if (is_float(reduce->type))
    return reduce->operation == BF_EMU_REDUCE_ADD ||
           (reduce->operation <= BF_EMU_REDUCE_MAX && bytes == 2);
  if (reduce->operation == BF_EMU_REDUCE_INC || reduce->operation == BF_EMU_REDUCE_DEC)
    return bytes == 4;
  return bytes == 4 || bytes == 8;
}

unsigned bf_emu_reduce_bytes(const bf_emu_reduce *reduce) {
  return bf_ptx_type_bytes(reduce->type);
}

/* ---- Elements ---- */

static double to_double(bf_ptx_type type, uint64_t bits) {
  switch (type) {
  case BF_PTX_F16:
    return bf_emu_half_to_float((uint16_t)bits);
  case BF_PTX_BF16:
    return bf_emu_bf16_to_float((uint16_t)bits);
  default:
    return bf_emu_bits_float((uint32_t)bits);
  }
}

/* A sum, rounded once. That of two halves is exact in a float rounded to odd. */
static uint64_t add_floats(bf_ptx_type type, uint64_t old, uint64_t value) {
  double sum = to_double(type, old) + to_double(type, value);
  if (type == BF_PTX_F16)
    return bf_emu_float_to_half(bf_emu_double_to_float_odd(sum), BF_EMU_RN);
  if (type == BF_PTX_BF16)
    return bf_emu_float_to_bf16(bf_emu_double_to_float_odd(sum), BF_EMU_RN);
  return bf_emu_float_bits(
      bf_emu_canonical(bf_emu_bits_float((uint32_t)old) + bf_emu_bits_float((uint32_t)value)));
}

static uint64_t combine_floats(const bf_emu_reduce *reduce, uint64_t old, uint64_t value) {
  if (reduce->type == BF_PTX_F64)
    return bf_emu_double_bits(bf_emu_bits_double(old) + bf_emu_bits_double(value));
  if (reduce->operation == BF_EMU_REDUCE_ADD)
    return add_floats(reduce->type, old, value);
  double a = to_double(reduce->type, old), b = to_double(reduce->type, value);
  if (a != a)
    return value;
  if (b != b)
    return old;
  bool takes = reduce->operation == BF_EMU_REDUCE_MIN ? b < a : b > a;
  return takes ? value : old;
}

static uint64_t combine_integers(const bf_emu_reduce *reduce, uint64_t old, uint64_t value) {
  bool is_signed = reduce->type == BF_PTX_S32 || reduce->type == BF_PTX_S64;
  int64_t a = (int64_t)old, b = (int64_t)value;
  if (reduce->type == BF_PTX_S32) {
    a = (int32_t)old;
    b = (int32_t)value;
  }
  bool is_less = is_signed ? b < a : value < old;
  bool is_more = is_signed ? b > a : value > old;
  switch (reduce->operation) {
  case BF_EMU_REDUCE_ADD:
    return old + value;
  case BF_EMU_REDUCE_MIN:
    return is_less ? value : old;
  case BF_EMU_REDUCE_MAX:
    return is_more ? value : old;
  case BF_EMU_REDUCE_INC:
    return old >= value ? 0 : old + 1;
  case BF_EMU_REDUCE_DEC:
    return old == 0 || old > value ? value : old - 1;
  case BF_EMU_REDUCE_AND:
    return old & value;
  case BF_EMU_REDUCE_OR:
    return old | value;
  case BF_EMU_REDUCE_XOR:
    return old ^ value;
  default:
    return value;
  }
}

static uint64_t combine(const bf_emu_reduce *reduce, uint64_t old, uint64_t value) {
  return is_float(reduce->type) ? combine_floats(reduce, old, value)
                                : combine_integers(reduce, old, value);
}

/* Others may change the element at the same time. */
#define REDUCE(type)                                                                               \
  do {                                                                                             \
    type value, *at = (type *)(void *)to, old = __atomic_load_n(at, __ATOMIC_RELAXED), result;     \
    memcpy(&value, from, sizeof value);                                                            \
    do                                                                                             \
      result = (type)combine(reduce, old, value);                                                  \
    while (                                                                                        \
        !__atomic_compare_exchange_n(at, &old, result, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
  } while (0)

void bf_emu_reduce_into(const bf_emu_reduce *reduce, uint8_t *to, const uint8_t *from) {
  switch (bf_emu_reduce_bytes(reduce)) {
  case 2:
    REDUCE(uint16_t);
    break;
  case 4:
    REDUCE(uint32_t);
    break;
  default:
    REDUCE(uint64_t);
    break;
  }
}

/* Instructions with their modifiers looked up, and the integers of PTX types. */
#include "ref.h"

#include <string.h>

void ref_decode(const bf_ptx_instruction *instruction, ref_op *op) {
  static const char *const words[] = {
#define X(word) #word,
      REF_WORDS(X)
#undef X
  };
  *op = (ref_op){.in = instruction,
                 .opcode = instruction->opcode,
                 .space = instruction->space,
                 .operands = instruction->operands};
  for (unsigned i = 0; i < instruction->modifiers; i++)
    for (unsigned word = 0; word < REF_WORD_COUNT; word++)
      if (strcmp(instruction->modifier[i], words[word]) == 0)
        op->word[word] = true;
  if (instruction->types > 0) {
    op->first_type = instruction->type[0];
    op->type = instruction->type[instruction->types - 1];
  }
}

unsigned ref_type_bits(bf_ptx_type type) {
  return type == BF_PTX_PRED ? 1 : 8 * bf_ptx_type_bytes(type);
}

bool ref_type_is_signed(bf_ptx_type type) {
  return type == BF_PTX_S8 || type == BF_PTX_S16 || type == BF_PTX_S32 || type == BF_PTX_S64;
}

bool ref_type_is_float(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_F16:
  case BF_PTX_F16X2:
  case BF_PTX_BF16:
  case BF_PTX_BF16X2:
  case BF_PTX_TF32:
  case BF_PTX_F32:
  case BF_PTX_F64:
    return true;
  default:
    return false;
  }
}

bf_ptx_type ref_type_scalar(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_F16X2:
    return BF_PTX_F16;
  case BF_PTX_BF16X2:
    return BF_PTX_BF16;
  case BF_PTX_U16X2:
    return BF_PTX_U16;
  case BF_PTX_S16X2:
    return BF_PTX_S16;
  default:
    return type;
  }
}

ref_bits ref_low(ref_bits value, unsigned bits) {
  return bits >= 128 ? value : value & (((ref_bits)1 << bits) - 1);
}

ref_signed ref_sign(ref_bits value, unsigned bits) {
  ref_bits low = ref_low(value, bits);
  if (low >> (bits - 1) & 1)
    low |= ~(ref_bits)0 << (bits - 1);
  return (ref_signed)low;
}

ref_signed ref_number(ref_bits value, bf_ptx_type type) {
  unsigned bits = ref_type_bits(type);
  return ref_type_is_signed(type) ? ref_sign(value, bits) : (ref_signed)ref_low(value, bits);
}

ref_signed ref_clamp(ref_signed value, bf_ptx_type type) {
  unsigned bits = ref_type_bits(type);
  bool is_signed = ref_type_is_signed(type);
  ref_signed least = is_signed ? -((ref_signed)1 << (bits - 1)) : 0;
  ref_signed most = ((ref_signed)1 << (is_signed ? bits - 1 : bits)) - 1;
  return value < least ? least : value > most ? most : value;
}

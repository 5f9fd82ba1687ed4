/* wmma.load and wmma.store: lines of a matrix, a stride apart. Only longer rows move them as a
 * whole: a line stays in its row, and the stride is as many longer rows as it was rows. */
#include "verify/pad.h"

#include <string.h>

bool bf_verify_is_tile(const bf_ptx_instruction *instruction) {
  return instruction->opcode == BF_PTX_OP_WMMA &&
         (bf_ptx_has(instruction, "load") || bf_ptx_has(instruction, "store"));
}

const bf_ptx_operand *bf_verify_tile_stride(const bf_ptx_instruction *instruction) {
  return bf_verify_is_tile(instruction) && instruction->operands == 3 ? &instruction->operand[2]
                                                                      : NULL;
}

/* The number behind a letter of a shape like m16n16k8; 0: there is none. */
static uint64_t extent(const char *shape, char letter) {
  const char *at = strchr(shape, letter);
  uint64_t number = 0;
  for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9' && number < 1024; at++)
    number = 10 * number + (uint64_t)(*at - '0');
  return number;
}

uint64_t bf_verify_line_bytes(const bf_ptx_instruction *instruction) {
  const char *shape = "", *role = "";
  bool by_rows = bf_ptx_has(instruction, "row");
  for (unsigned i = 0; i < instruction->modifiers; i++) {
    const char *modifier = instruction->modifier[i];
    bool is_move = !strcmp(modifier, "load") || !strcmp(modifier, "store");
    if (modifier[0] == 'm' && strchr(modifier, 'n') && strchr(modifier, 'k'))
      shape = modifier;
    if (is_move && i + 1 < instruction->modifiers)
      role = instruction->modifier[i + 1];
  }
  if (by_rows == bf_ptx_has(instruction, "col") || instruction->types != 1 || strlen(role) != 1 ||
      !strchr("abcd", role[0]))
    return 0;
  uint64_t rows = extent(shape, role[0] == 'b' ? 'k' : 'm');
  uint64_t columns = extent(shape, role[0] == 'a' ? 'k' : 'n');
  return (by_rows ? columns : rows) * bf_ptx_type_bytes(instruction->type[0]);
}

/* A stride in bytes, as a number; false where it is none. */
static bool stride_bytes(bf_pad *pad, const bf_ptx_operand *stride, uint32_t instruction,
                         uint64_t element, uint64_t *bytes) {
  bf_pad_sum sum = bf_pad_expand(pad, bf_pad_operand(pad, stride, instruction));
  if (sum.terms || sum.constant <= 0 || sum.constant > BF_PAD_FAR)
    return false;
  *bytes = (uint64_t)sum.constant * element;
  return true;
}

const char *bf_verify_tile_judge(bf_pad *pad, uint32_t number, uint64_t row, uint64_t unused) {
  enum { STRIDE_BYTES = 16 }; /* strides are whole ones of these (CUDA C++ Programming Guide) */
  const bf_ptx_instruction *was = pad->body->partner[number];
  const bf_ptx_instruction *is = pad->function->instruction[number];
  const bf_ptx_operand *old = bf_verify_tile_stride(was), *new = bf_verify_tile_stride(is);
  uint64_t element = bf_ptx_type_bytes(was->type[0]), before, after;
  bf_ptx_operand twin;
  if (!old || !new)
    return "a tile of wmma without a stride";
  twin = *old;
  if (twin.kind == BF_PTX_REGISTER)
    twin.registers = pad->body->twin[twin.registers->first];
  if (!twin.registers && twin.kind == BF_PTX_REGISTER)
    return "a stride that cannot be followed";
  if (!stride_bytes(pad, &twin, number, element, &before) ||
      !stride_bytes(pad, new, number, element, &after))
    return "a stride of wmma that is no number";
  if (before % row || after != before / row * (row + unused))
    return "a stride of wmma that is not as many longer rows";
  return unused % STRIDE_BYTES ? "a padding that wmma has no stride for" : NULL;
}

/* The part of a matrix that a wmma.load or wmma.store moves. */
#include "ptx/tile.h"

#include <stdio.h>
#include <string.h>

/* The numbers of a modifier like m16n16k8; false: it is no shape. */
static bool read_shape(const char *modifier, unsigned *m, unsigned *n, unsigned *k) {
  int end = 0;
  return sscanf(modifier, "m%3un%3uk%3u%n", m, n, k, &end) == 3 && !modifier[end] && *m && *n && *k;
}

/* The role: the modifier behind load or store. */
static char read_role(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i + 1 < instruction->modifiers; i++)
    if (!strcmp(instruction->modifier[i], "load") || !strcmp(instruction->modifier[i], "store")) {
      const char *role = instruction->modifier[i + 1];
      bool is_role = role[0] >= 'a' && role[0] <= 'd' && !role[1];
      return !is_role ? 0 : role[0] == 'd' ? 'c' : role[0];
    }
  return 0;
}

bool bf_ptx_tile_read(const bf_ptx_instruction *instruction, bf_ptx_tile *tile) {
  unsigned m = 0, n = 0, k = 0;
  bool by_rows = bf_ptx_has(instruction, "row"), has_shape = false;
  if (instruction->opcode != BF_PTX_OP_WMMA || instruction->types != 1 ||
      by_rows == bf_ptx_has(instruction, "col"))
    return false;
  for (unsigned i = 0; i < instruction->modifiers && !has_shape; i++)
    has_shape = read_shape(instruction->modifier[i], &m, &n, &k);
  *tile = (bf_ptx_tile){.is_store = bf_ptx_has(instruction, "store"),
                        .role = read_role(instruction),
                        .element_bytes = bf_ptx_type_bytes(instruction->type[0])};
  unsigned rows = tile->role == 'b' ? k : m, columns = tile->role == 'a' ? k : n;
  tile->lines = by_rows ? rows : columns;
  tile->line_elements = by_rows ? columns : rows;
  tile->is_along = by_rows == (tile->role != 'b');
  tile->address = tile->is_store ? 0 : 1;
  tile->stride = instruction->operands == 3 ? 2 : 0;
  return has_shape && tile->role && tile->element_bytes &&
         (instruction->operands == 2 || instruction->operands == 3) &&
         instruction->operand[tile->address].kind == BF_PTX_ADDRESS;
}

/* Whether an operand is, or has in it, the register. */
static bool has_register(const bf_ptx_operand *operand, const bf_ptx_operand *wanted) {
  if (operand->kind == BF_PTX_REGISTER)
    return operand->registers == wanted->registers && operand->index == wanted->index;
  bool has_items = operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
                   operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (has_register(&operand->item[i], wanted))
      return true;
  return false;
}

/* The number that all instructions move into a register. */
static bool find_number(const bf_ptx_function *function, const bf_ptx_operand *wanted,
                        uint64_t *number) {
  bool is_found = false;
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *at = function->instruction[i];
    if (!at->operands || !has_register(&at->operand[0], wanted))
      continue;
    if (at->opcode != BF_PTX_OP_MOV || at->guard || at->operands != 2 ||
        at->operand[1].kind != BF_PTX_INTEGER || (is_found && *number != at->operand[1].bits))
      return false;
    *number = at->operand[1].bits;
    is_found = true;
  }
  return is_found;
}

bool bf_ptx_tile_stride(const bf_ptx_function *function, const bf_ptx_instruction *instruction,
                        const bf_ptx_tile *tile, uint64_t *bytes) {
  const bf_ptx_operand *stride = &instruction->operand[tile->stride];
  uint64_t elements = tile->line_elements;
  if (tile->stride && stride->kind == BF_PTX_INTEGER)
    elements = stride->bits;
  else if (tile->stride && (stride->kind != BF_PTX_REGISTER || stride->registers->vector ||
                            !find_number(function, stride, &elements)))
    return false;
  *bytes = elements * tile->element_bytes;
  return elements > 0 && elements <= UINT16_MAX;
}

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

/* Says of the registers that an operand is, or has in it, that something is moved into them: a
 * number, or something else (NULL). */
static void move_into(const bf_ptx_operand *operand, const uint64_t *number, bf_ptx_moved *moved) {
  bool has_items = operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
                   operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    move_into(&operand->item[i], NULL, moved);
  if (operand->kind != BF_PTX_REGISTER)
    return;
  bf_ptx_moved *to = &moved[operand->registers->first + operand->index];
  bool is_first = !to->is_written;
  to->is_written = true;
  to->is_number = number && (is_first || (to->is_number && to->number == *number));
  to->number = number ? *number : 0;
}

/* The number that an instruction moves, whatever happens; NULL: it does something else. */
static const uint64_t *number_of(const bf_ptx_instruction *instruction) {
  bool is_number = instruction->opcode == BF_PTX_OP_MOV && !instruction->guard &&
                   instruction->operands == 2 && instruction->operand[1].kind == BF_PTX_INTEGER;
  return is_number ? &instruction->operand[1].bits : NULL;
}

/* Whether a tile has a register for its stride. */
static bool asks_register(const bf_ptx_instruction *instruction) {
  bf_ptx_tile tile;
  return bf_ptx_tile_read(instruction, &tile) && tile.stride &&
         instruction->operand[tile.stride].kind == BF_PTX_REGISTER;
}

bool bf_ptx_find_moved(bf_ptx_function *function, bf_arena *arena) {
  uint32_t first = 0;
  while (first < function->instructions && !asks_register(function->instruction[first]))
    first++;
  if (first == function->instructions)
    return true;
  bf_ptx_moved *moved = bf_arena_alloc(arena, ((size_t)function->registers + 1) * sizeof *moved);
  for (uint32_t i = 0; moved && i < function->instructions; i++) {
    const bf_ptx_instruction *at = function->instruction[i];
    if (at->operands)
      move_into(&at->operand[0], number_of(at), moved);
  }
  function->moved = moved;
  return moved;
}

/* The number that all instructions move into a register. */
static bool find_number(const bf_ptx_function *function, const bf_ptx_operand *wanted,
                        uint64_t *number) {
  const bf_ptx_moved *moved =
      function->moved ? &function->moved[wanted->registers->first + wanted->index] : NULL;
  if (!moved || !moved->is_number)
    return false;
  *number = moved->number;
  return true;
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

/* ptx/tile: the part of a matrix that a warp moves by one wmma.load or wmma.store.
 *
 * Lines of elements lie side by side in memory, and the lines a stride apart: rows of the matrix,
 * or its columns. Which lane has which element is not said by the PTX ISA. */
#ifndef BF_PTX_TILE_H
#define BF_PTX_TILE_H

#include "ptx/ptx.h"

typedef struct bf_ptx_tile {
  bool is_store;
  char role; /* of the matrix in a b + c: 'a', 'b' or 'c', which is d as well */
  unsigned lines, line_elements, element_bytes;
  bool is_along; /* what is multiplied element by element lies along a line: a and c by rows, b by
                    columns */
  unsigned address; /* operand */
  unsigned stride;  /* operand: elements from line to line; 0: there is none, lines touch */
} bf_ptx_tile;

/* Reads a wmma.load or wmma.store; false for other instructions, and for elements of less than a
 * byte. */
bool bf_ptx_tile_read(const bf_ptx_instruction *instruction, bf_ptx_tile *tile);
/* Finds out what is moved into registers, for bf_ptx_tile_stride; the parser calls it. False where
 * memory is exhausted. */
bool bf_ptx_find_moved(bf_ptx_function *function, bf_arena *arena);
/* The stride in bytes, where it is a number of the code: written there, or all that is ever moved
 * into its register. False where it is not. */
bool bf_ptx_tile_stride(const bf_ptx_function *function, const bf_ptx_instruction *instruction,
                        const bf_ptx_tile *tile, uint64_t *bytes);

#endif

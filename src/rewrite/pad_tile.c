/* Tiles of wmma in arrays with longer rows.
 *
 * A tile is lines that lie a stride apart: where that is whole rows, the line l of a tile whose
 * first one lies in row i lies in row i + m l, and with a stride of m longer rows it still does. */
#include "rewrite/inner.h"

#include "ptx/tile.h"

const char *bf_rewrite_refuse_tile(const bf_rewrite_function *function, uint32_t index,
                                   uint64_t row_bytes, uint64_t unused_bytes) {
  const bf_ptx_instruction *instruction = function->function->instruction[index];
  bf_ptx_tile tile;
  uint64_t stride;
  if (!bf_ptx_tile_read(instruction, &tile))
    return "wmma in a form that is not understood, on an array with longer rows";
  if (!tile.stride)
    return "wmma without a stride, on an array with longer rows";
  if (!bf_ptx_tile_stride(function->function, instruction, &tile, &stride))
    return "wmma with a stride that is no number of the code, on an array with longer rows";
  if (stride % row_bytes)
    return "wmma with a stride that is not whole rows, on an array with longer rows";
  if (unused_bytes % bf_rewrite_padding_grain(&function->touch[index]))
    return "wmma, whose stride is whole 16 bytes, which the padding is not";
  return NULL;
}

void bf_rewrite_lengthen_stride(const bf_ptx_function *function, const bf_ptx_instruction *copy,
                                bf_ptx_operand *operands, uint64_t row_bytes,
                                uint64_t unused_bytes) {
  bf_ptx_tile tile;
  uint64_t stride;
  if (!bf_ptx_tile_read(copy, &tile) || !bf_ptx_tile_stride(function, copy, &tile, &stride))
    return; /* it was refused before */
  uint64_t longer = stride / row_bytes * (row_bytes + unused_bytes) / tile.element_bytes;
  operands[tile.stride] = (bf_ptx_operand){.kind = BF_PTX_INTEGER, .bits = longer};
}

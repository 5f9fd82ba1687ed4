/* Inside room emu: the cells of tensor memory, for what works on them (tensor_core.h).
 *
 * Pairs of blocks (cta_group::2) are the two of a cluster whose ranks differ in the last bit. Each
 * has its own tensor memory; what works on both finds the same addresses in both. */
#ifndef BF_EMU_TENSOR_CELLS_H
#define BF_EMU_TENSOR_CELLS_H

#include "emu/decode.h"

enum { BF_TENSOR_LANES = 128, BF_TENSOR_COLUMNS = 512 };

/* The elements of A and B of a product, lines of K elements, which are all exact in float. */
enum { BF_TENSOR_LINES = 256, BF_TENSOR_DEPTH = 64 };
typedef float bf_tensor_matrix[BF_TENSOR_LINES][BF_TENSOR_DEPTH];

struct bf_emu_tensor_memory {
  uint32_t cell[BF_TENSOR_LANES][BF_TENSOR_COLUMNS];
  uint32_t taken[BF_TENSOR_COLUMNS]; /* columns of the allocation that begins here */
  bool is_taken[BF_TENSOR_COLUMNS];
  bool is_relinquished;
  bf_emu_warp *allocator; /* who has allocated last, and by what */
  const bf_emu_op *allocation;
  struct bf_tensor_noted *first, *last; /* products, copies and shifts */
  uint64_t commits;
  bf_tensor_matrix a, b; /* of the product that is being computed */
};

typedef struct bf_emu_tensor_memory bf_tensor_memory;

static inline uint32_t *bf_tensor_cell(bf_tensor_memory *tensor, uint32_t address, unsigned lane,
                                       unsigned column) {
  return &tensor->cell[(address >> 16) + lane][(address & 0xffff) + column];
}

static inline uint32_t bf_tensor_address(const bf_emu_warp *warp, const bf_emu_address *at,
                                         unsigned lane) {
  return BF_LANES(const uint32_t, at->place)[lane] + (uint32_t)at->offset;
}

static inline bf_emu_address bf_tensor_bind(bf_emu_decoder *decoder,
                                            const bf_ptx_instruction *instruction,
                                            const bf_ptx_operand *operand) {
  return bf_emu_bind_address(decoder, instruction, operand, BF_PTX_SPACE_SHARED);
}

/* The tensor memory of a block, made when it is first asked for; NULL: the launch has ended. */
bf_tensor_memory *bf_tensor_of(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                               bf_emu_block *block);
/* The blocks that an instruction works on: the warp's own, or its pair, the even one first. How
 * many; 0: the launch has ended, because there is no pair. */
unsigned bf_tensor_blocks(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bool is_pair,
                          bf_emu_block *block[2]);
/* Whether lanes and columns from an address on can be used in a block; else the launch ends. */
bool bf_tensor_check(bf_emu_warp *warp, const bf_emu_op *op, unsigned thread, bf_emu_block *block,
                     uint32_t address, unsigned lanes, unsigned columns);

/* tensor_product.c: mma; cp and shift. Forgets what was noted and not done. */
bool bf_tensor_select_product(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                              bf_emu_op *op);
bool bf_tensor_select_copy(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op);
void bf_tensor_drop(bf_tensor_memory *tensor);
/* Whether columns can be read and written: nothing that is noted writes there. Else, where races
 * are looked for, the launch ends. */
bool bf_tensor_is_settled(bf_emu_warp *warp, const bf_emu_op *op, uint32_t address,
                          unsigned columns);

#endif

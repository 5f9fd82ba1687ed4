/* Inside room emu: tensor memory of a block and what works on it, tcgen05 (sm_100a). Written from
 * the PTX ISA, and not compared with hardware.
 *
 * Tensor memory is 128 lanes of 512 columns of 32 bits; an address has the lane in its high 16 bits
 * and the column in its low ones. mma, cp and shift are noted when they are met, and done in order
 * when somebody tests an mbarrier that a later commit signals, or the block ends. */
#ifndef BF_EMU_TENSOR_CORE_H
#define BF_EMU_TENSOR_CORE_H

#include "emu/inner.h"

/* Does what was noted up to a commit, which is given by its number. */
void bf_emu_tensor_run(bf_emu_block *block, uint64_t number);
/* A thread of a block has ended: where it is the last, all tensor memory must be given back. */
void bf_emu_tensor_left(bf_emu_block *block);
/* A block begins, or is given back. */
void bf_emu_tensor_begin(bf_emu_block *block);
void bf_emu_tensor_free(bf_emu_block *block);

#endif

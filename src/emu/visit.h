/* Inside room emu: blocks of a cluster in each other's shared memory, which must have begun before
 * and may end only afterwards. Looked for together with races.
 *
 * A block is known to have begun by whoever has met it at a barrier of the cluster, has got an
 * arrival or data from it at an mbarrier of its own, or has seen a fence of it by an atomic. It may
 * end when all that others have done in its memory is ordered before, in the same ways. Which block
 * comes first in the emulator does not matter, but that what others do later is a fault anyway. */
#ifndef BF_EMU_VISIT_H
#define BF_EMU_VISIT_H

#include "emu/inner.h"

/* The next block begins; all is given back. */
void bf_visit_begin(bf_emu_block *block);
void bf_visit_free(bf_emu_block *block);
/* A block has learnt that one of a rank has begun; UINT32_MAX: all of its cluster. */
void bf_visit_heard(bf_emu_block *block, unsigned rank);
/* A lane accesses shared memory of another block of its cluster; false: that may not have begun,
 * which has been said, or memory is exhausted. */
bool bf_visit_note(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *owner,
                   uint64_t address, unsigned width_bytes, bool is_write);
/* A block ends: tells who may still be in its memory. */
void bf_visit_ended(bf_emu_block *block);

#endif

/* Inside room emu: blocks of a launch in progress, and the launch itself. */
#ifndef BF_EMU_BLOCK_H
#define BF_EMU_BLOCK_H

#include "emu/device.h"

/* Bytes that a block of the launch needs. */
size_t bf_emu_block_room(const bf_emu_flight *flight);
/* A block of the launch in that much memory of the caller's, aligned to 64 bytes, which must
 * outlive it; or, with NULL, in its own. NULL: there is no memory. */
bf_emu_block *bf_emu_block_make(const bf_emu_flight *flight, void *memory);
/* Makes a block start as block number index of the grid. */
void bf_emu_block_begin(bf_emu_block *block, bf_emu_worker *worker, uint64_t index);
void bf_emu_block_free(bf_emu_block *block);

/* Checks the sizes of a launch and prepares it; launch is borrowed. */
int bf_emu_flight_open(bf_emu *emu, const bf_emu_launch *launch, bf_emu_flight **opened,
                       bf_diagnostic *diagnostic);
/* What the launch has done so far; an error where memory ran out. */
int bf_emu_flight_result(const bf_emu_flight *flight, bf_emu_result *result,
                         bf_diagnostic *diagnostic);
void bf_emu_flight_close(bf_emu_flight *flight);

/* Which sample of its launch a block is; 0 where all blocks are told of, and BF_EMU_UNTOLD where it
 * is none. */
uint32_t bf_emu_sample_of(const bf_emu_launch *launch, uint64_t block);

#endif

/* Inside room emu: which bytes of shared memory were written, for the check that a launch may ask
 * for. */
#ifndef BF_EMU_SHADOW_H
#define BF_EMU_SHADOW_H

#include "emu/inner.h"

typedef struct bf_emu_shadow bf_emu_shadow;

/* For a block with that much shared memory; NULL: out of memory. */
bf_emu_shadow *bf_emu_shadow_create(uint64_t shared_bytes);
void bf_emu_shadow_free(bf_emu_shadow *shadow);
/* Forgets everything: another block begins. */
void bf_emu_shadow_reset(bf_emu_shadow *shadow, uint64_t shared_bytes);
/* Checks an access of mask and takes note of it; false: it was a fault, which has been said. */
bool bf_emu_shadow_access(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                          bool is_write, uint32_t mask, const uint64_t *address);
/* The same of bytes that the hardware reads for an instruction of a lane. */
bool bf_emu_shadow_read(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                        const bf_emu_block *block, uint64_t offset, uint64_t bytes);
/* Takes note of bytes that a copy by the hardware has written. */
void bf_emu_shadow_fill(bf_emu_shadow *shadow, uint64_t offset, uint64_t bytes);

#endif

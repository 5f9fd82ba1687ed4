/* Inside room emu: waits at mbarriers that pass although the phase which is meant is not over.
 * Looked for together with races.
 *
 * A wait by parity passes where the phase that is under way has the other one: the phase before is
 * over, or none has been yet, as a producer's first wait for an empty stage relies on. So a wrong
 * parity does not wait at all. That is told where bytes are awaited in the phase under way and the
 * wait passes for a phase that
 *   - has never been: nobody waits for bytes that way. Where they are announced only later, by
 *     another warp, it is told then;
 *   - the thread has waited for before, and it has arrived somewhere since: it has gone on to the
 *     next round with the parity of the last. */
#ifndef BF_EMU_PASSED_H
#define BF_EMU_PASSED_H

#include "emu/phase.h"

/* The next block begins; all is given back. */
void bf_passed_begin(bf_emu_block *block);
void bf_passed_free(bf_emu_block *block);
/* An mbarrier of a block, at offset in its shared memory, is made; a phase of it ends. */
void bf_passed_init(bf_emu_block *block, uint32_t offset);
void bf_passed_ended(bf_emu_block *block, uint32_t offset);
/* A thread announces bytes of the phase under way; false: others have passed their wait for them,
 * which has been said. */
bool bf_passed_expect(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *block,
                      uint32_t offset);
/* A thread arrives at some mbarrier. */
void bf_passed_arrive(bf_emu_warp *warp, unsigned lane);
/* A wait by parity of a thread passes; false: it should not have, which has been said. */
bool bf_passed_wait(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint32_t offset,
                    const bf_emu_phase *phase);

#endif

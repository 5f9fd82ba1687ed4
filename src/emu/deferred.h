/* Inside room emu: reads of shared memory, looked at for races only where a write may meet them.
 *
 * Between two barriers of a block a read can only race with a write. In a stretch in which nobody
 * has written to shared memory yet, a read is in order whoever makes it; that its threads were at
 * those bytes has to be known only once somebody writes there in the same stretch. Mostly nobody
 * does: tiles are filled, then read by all, and there is a barrier between. So such reads, where
 * their lanes lie in line, are kept as they were made, and noted word by word before the next other
 * access to shared memory in the stretch; those of an earlier stretch are forgotten.
 *
 * Not for blocks whose shared memory others reach: the hardware, by copies, or blocks of a
 * cluster. */
#ifndef BF_EMU_DEFERRED_H
#define BF_EMU_DEFERRED_H

#include "emu/lined.h"

/* A read of a warp. */
typedef struct bf_race_read {
  bf_lined_key line;
  uint32_t order, time; /* as race.c notes them */
  uint16_t warp, width_bytes;
} bf_race_read;

enum { BF_RACE_READS = 1 << 12 };

/* Those of a block, in the order in which they were made. */
typedef struct bf_race_reads {
  uint64_t stretch; /* of the block, in which they were made */
  uint32_t count;
  bf_race_read read[BF_RACE_READS];
} bf_race_reads;

/* Whether reads of a launch that looks for races may be put off. */
bool bf_race_may_defer(const bf_emu_flight *flight);
/* NULL: out of memory, and nothing is put off. */
bf_race_reads *bf_race_reads_create(void);
/* The next block begins. */
void bf_race_reads_begin(bf_emu_block *block);
/* Notes the reads of a block that were put off and still matter. */
void bf_race_reads_settle(bf_emu_block *block);

/* The time of a block by barriers and fences, from 1 on; race.c calls it an epoch. */
static inline uint64_t bf_race_stretch(const bf_emu_block *block) {
  return block->epoch + block->fences + 1;
}

/* Puts off a weak read of the block's own shared memory; false: it is to be looked at now. */
bool bf_race_defer(bf_emu_warp *warp, const bf_lined_key *line, unsigned width_bytes);

#endif

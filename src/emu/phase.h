/* Inside room emu: barrier objects in shared memory (mbarrier).
 *
 * An mbarrier is a 64-bit word: bits 0-19 the arrivals still expected in this phase, 20-39 those of
 * a whole phase, 40-60 the transaction count as a signed number, 63 the parity of the phase. The
 * state that arrive hands out is the word before it. */
#ifndef BF_EMU_PHASE_H
#define BF_EMU_PHASE_H

#include "emu/inner.h"

enum { BF_EMU_COUNT_BITS = 20, BF_EMU_TRANSACTION_BITS = 21 };
#define BF_EMU_MOST_COUNT ((UINT64_C(1) << BF_EMU_COUNT_BITS) - 1)

typedef struct bf_emu_phase {
  uint64_t pending, expected; /* arrivals */
  int64_t transactions;
  bool parity;
} bf_emu_phase;

static inline bf_emu_phase bf_emu_phase_unpack(uint64_t word) {
  int64_t shifted = (int64_t)(word << (64 - 2 * BF_EMU_COUNT_BITS - BF_EMU_TRANSACTION_BITS));
  return (bf_emu_phase){
      .pending = word & BF_EMU_MOST_COUNT,
      .expected = word >> BF_EMU_COUNT_BITS & BF_EMU_MOST_COUNT,
      .transactions = shifted >> (64 - BF_EMU_TRANSACTION_BITS),
      .parity = word >> 63,
  };
}

static inline uint64_t bf_emu_phase_pack(const bf_emu_phase *barrier) {
  uint64_t transactions =
      (uint64_t)barrier->transactions & ((UINT64_C(1) << BF_EMU_TRANSACTION_BITS) - 1);
  return barrier->pending | barrier->expected << BF_EMU_COUNT_BITS |
         transactions << 2 * BF_EMU_COUNT_BITS | (uint64_t)barrier->parity << 63;
}

/* Ends the phase of a barrier of block if nothing is missing; whether it did. Data written before
 * is in order now. */
static inline bool bf_emu_phase_complete(bf_emu_block *block, bf_emu_phase *barrier) {
  block->worker->changes++;
  if (barrier->pending || barrier->transactions)
    return false;
  barrier->parity = !barrier->parity;
  barrier->pending = barrier->expected;
  block->epoch++;
  return true;
}

#endif

/* What the matrix units read by themselves, and what goes to other blocks of a cluster. */
#include "memory/far.h"

uint64_t bf_memory_operand_wavefronts(const bf_machine *machine, uint64_t bytes) {
  uint64_t row_bytes = (uint64_t)machine->word_bytes << machine->bank_bits;
  return (bytes + row_bytes - 1) / row_bytes;
}

enum { SECTOR_BYTES = 32 };

/* Lanes of mask that access the same address as lane, up to and with it. */
static unsigned turn_of(uint32_t mask, const uint64_t *address, unsigned lane) {
  unsigned turn = 0;
  for (uint32_t left = mask & ((UINT32_C(2) << lane) - 1); left; left &= left - 1)
    turn += address[__builtin_ctz(left)] == address[lane];
  return turn;
}

/* Whether a lane below has been at the sector of lane already, in the same turn. */
static bool was_there(uint32_t mask, const uint64_t *address, unsigned lane, bool takes_turns) {
  unsigned turn = takes_turns ? turn_of(mask, address, lane) : 0;
  for (uint32_t left = mask & ((UINT32_C(1) << lane) - 1); left; left &= left - 1) {
    unsigned other = (unsigned)__builtin_ctz(left);
    if (address[other] / SECTOR_BYTES == address[lane] / SECTOR_BYTES &&
        (!takes_turns || turn_of(mask, address, other) == turn))
      return true;
  }
  return false;
}

unsigned bf_memory_far_sectors(bf_side side, uint32_t mask, const uint64_t *address) {
  unsigned sectors = 0;
  bool is_atomic = side == BF_SIDE_ATOMIC;
  for (uint32_t left = mask; left; left &= left - 1)
    sectors += !was_there(mask, address, (unsigned)__builtin_ctz(left), is_atomic);
  return is_atomic ? 2 * sectors : sectors;
}

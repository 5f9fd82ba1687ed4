/* What the matrix units read by themselves, and what goes to other blocks of a cluster. */
#include "memory/far.h"

uint64_t bf_memory_operand_wavefronts(const bf_machine *machine, uint64_t bytes) {
  uint64_t row_bytes = (uint64_t)machine->word_bytes << machine->bank_bits;
  return (bytes + row_bytes - 1) / row_bytes;
}

enum { SECTOR_BYTES = 32, SECTOR_WORDS = SECTOR_BYTES / 4, REQUEST_BYTES = 64 };

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

/* Whether a lane stores, and no lane above stores at the same address. */
static bool is_kept(uint32_t mask, const uint64_t *address, unsigned lane) {
  if (!(mask >> lane & 1))
    return false;
  for (uint32_t left = mask & ~((UINT32_C(2) << lane) - 1); left; left &= left - 1)
    if (address[__builtin_ctz(left)] == address[lane])
      return false;
  return true;
}

/* What a store sends of the sector that a lane writes to: one piece for each half of it, or one
 * where the whole is written by lanes whose data lie in the same 64 bytes of what the warp stores,
 * and the first of these lanes stores something that is kept. */
static unsigned pieces_of(uint32_t mask, const uint64_t *address, unsigned lane,
                          unsigned width_bytes) {
  unsigned words = width_bytes < 4 ? 1 : width_bytes / 4, lanes = REQUEST_BYTES / (4 * words);
  unsigned group[SECTOR_WORDS] = {0}, halves[2] = {0, 0}; /* 0: nobody */
  bool is_one = true;
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned other = (unsigned)__builtin_ctz(left);
    if (address[other] / SECTOR_BYTES != address[lane] / SECTOR_BYTES)
      continue;
    unsigned first = (unsigned)(address[other] % SECTOR_BYTES / 4);
    for (unsigned i = first; i < first + words && i < SECTOR_WORDS; i++)
      group[i] = 1 + other / lanes;
  }
  for (unsigned i = 0; i < SECTOR_WORDS; i++) {
    halves[i / (SECTOR_WORDS / 2)] |= group[i] != 0;
    is_one &= group[i] && group[i] == group[0];
  }
  is_one = is_one && is_kept(mask, address, (group[0] - 1) * lanes);
  return is_one ? 1 : halves[0] + halves[1];
}

unsigned bf_memory_far_sectors(bf_side side, unsigned width_bytes, uint32_t mask,
                               const uint64_t *address) {
  unsigned sectors = 0;
  bool is_atomic = side == BF_SIDE_ATOMIC;
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    if (!was_there(mask, address, lane, is_atomic))
      sectors += side == BF_SIDE_STORE ? pieces_of(mask, address, lane, width_bytes) : 1;
  }
  return is_atomic ? 2 * sectors : sectors;
}

/* ---- Bounds ---- */

/* Whether lanes from first on write a whole sector in order, and no other lane writes to it. */
static bool is_run(uint32_t mask, const uint64_t *address, unsigned first, unsigned width_bytes) {
  unsigned lanes = SECTOR_BYTES / width_bytes;
  uint32_t run = ((UINT32_C(1) << lanes) - 1) << first;
  if ((mask & run) != run || address[first] % SECTOR_BYTES)
    return false;
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    bool is_part = run >> lane & 1;
    if (is_part ? address[lane] != address[first] + (lane - first) * width_bytes
                : address[lane] / SECTOR_BYTES == address[first] / SECTOR_BYTES)
      return false;
  }
  return true;
}

/* Lanes whose sectors are certain to be one piece: both runs of 64 bytes of data are such. */
static uint32_t certain_lanes(uint32_t mask, const uint64_t *address, unsigned width_bytes) {
  uint32_t certain = 0;
  if (width_bytes < 4)
    return 0;
  unsigned lanes = REQUEST_BYTES / width_bytes, half = lanes / 2;
  for (unsigned first = 0; first < 32; first += lanes)
    if (is_run(mask, address, first, width_bytes) &&
        is_run(mask, address, first + half, width_bytes))
      certain |= ((UINT32_C(1) << lanes) - 1) << first;
  return certain;
}

/* The words of lane's sector that the warp stores to, one bit each. */
static unsigned words_of(uint32_t mask, const uint64_t *address, unsigned lane,
                         unsigned width_bytes) {
  unsigned words = 0, wide = width_bytes < 4 ? 1 : width_bytes / 4;
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned other = (unsigned)__builtin_ctz(left);
    if (address[other] / SECTOR_BYTES == address[lane] / SECTOR_BYTES)
      words |= ((1u << wide) - 1) << address[other] % SECTOR_BYTES / 4;
  }
  return words & 0xff;
}

static bf_far_range store_range(unsigned width_bytes, uint32_t mask, const uint64_t *address) {
  bf_far_range range = {0, 0};
  uint32_t certain = certain_lanes(mask, address, width_bytes);
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    if (was_there(mask, address, lane, false))
      continue;
    unsigned words = words_of(mask, address, lane, width_bytes);
    unsigned halves = ((words & 0xf) != 0) + ((words >> 4) != 0);
    bool is_part = words != 0xff && width_bytes >= 4;
    range.least += is_part ? halves : 1;
    range.most += certain >> lane & 1 ? 1 : halves;
  }
  return range;
}

bf_far_range bf_memory_far_range(bf_side side, unsigned width_bytes, uint32_t mask,
                                 const uint64_t *address) {
  if (side == BF_SIDE_STORE)
    return store_range(width_bytes, mask, address);
  unsigned sectors = bf_memory_far_sectors(side, width_bytes, mask, address);
  bool is_wanted_twice = false;
  for (uint32_t left = mask; left; left &= left - 1)
    is_wanted_twice |= turn_of(mask, address, (unsigned)__builtin_ctz(left)) > 1;
  unsigned lanes = (unsigned)__builtin_popcount(mask);
  return (bf_far_range){sectors, side == BF_SIDE_ATOMIC && is_wanted_twice ? 2 * lanes : sectors};
}

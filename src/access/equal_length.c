/* Addresses in numbers of equal length. */
#include "access/equal_length.h"

#include <string.h>

bf_equal_length bf_equal_length_of(const bf_shape *shape) {
  uint32_t bits = 0;
  for (unsigned lane = 0; lane < (shape->mask >> BF_LANES ? BF_MAX_LANES : BF_LANES); lane++)
    bits |= shape->relative[lane];
  unsigned shift = bits ? (unsigned)__builtin_ctz(bits) : 0;
  uint64_t most = (uint64_t)(shape->highest - shape->lowest) >> shift;
  return (bf_equal_length){most ? 64 - (unsigned)__builtin_clzll(most) : 0, shift};
}

static unsigned varint_bytes(uint64_t value) {
  return (unsigned)(64 - __builtin_clzll(value | 1) + 6) / 7;
}

enum { LOOKED_AT = 16 };

/* They are shorter by a sixth, as far as 16 lanes tell, and distances from lane to lane differ, so
 * that zstd finds nothing in these: at least half of them have a hash of 6 bits of their own. */
bool bf_equal_length_is_better(const bf_shape *shape, bf_equal_length with) {
  unsigned lanes = (unsigned)__builtin_popcountll(shape->mask), bytes = 0;
  uint32_t last = 0, span = (uint32_t)(shape->highest - shape->lowest);
  uint64_t met = 0;
  unsigned own_bytes = 4 + lanes * with.bits / 8;
  if (6 * own_bytes >= 5 * lanes * varint_bytes((uint64_t)span << 1))
    return false;
  unsigned looked_at = 0;
  for (uint64_t left = shape->mask; left && looked_at < LOOKED_AT; left &= left - 1, looked_at++) {
    uint32_t at = shape->relative[__builtin_ctzll(left)];
    int32_t distance = (int32_t)(at - last);
    bytes += varint_bytes((uint32_t)distance << 1 ^ (uint32_t)(distance >> 31));
    met |= (uint64_t)1 << ((uint32_t)distance * 0x9E3779B1u >> 26);
    last = at;
  }
  return 6 * own_bytes * looked_at < 5 * bytes * lanes &&
         2 * (unsigned)__builtin_popcountll(met) > looked_at;
}

/* Puts eight bytes, the lowest first. */
static void put_eight(unsigned char *at, uint64_t value) {
  if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
    value = __builtin_bswap64(value);
  memcpy(at, &value, sizeof value);
}

unsigned char *bf_equal_length_put(unsigned char *at, const bf_shape *shape, bf_equal_length with) {
  uint64_t waiting = 0;
  unsigned bits = 0;
  for (uint64_t left = shape->mask; left; left &= left - 1) {
    uint32_t above = shape->relative[__builtin_ctzll(left)] - (uint32_t)shape->lowest;
    waiting |= (uint64_t)(above >> with.shift) << bits;
    bits += with.bits;
    put_eight(at, waiting);
    at += bits / 8;
    waiting >>= bits / 8 * 8;
    bits %= 8;
  }
  return at + (bits > 0);
}

/* Whether a kernel can read them. */
static bool suits_kernel(bf_equal_length with, uint32_t lowest, uint64_t mask, size_t room) {
  uint64_t most = ((uint64_t)1 << with.bits) - 1;
  unsigned bits = (unsigned)__builtin_popcountll(mask) * with.bits;
  return mask <= UINT32_MAX && bits % 8 == 0 && with.bits <= BF_LANES_MOST_BITS &&
         lowest + (most << with.shift) <= UINT32_MAX && room >= BF_LANES_LIST_BYTES;
}

/* The number that begins at that bit. */
static uint64_t number_at(const unsigned char *bytes, size_t place, unsigned bits) {
  uint64_t value = 0;
  for (unsigned bit = 0; bit < bits; bit++, place++)
    value |= (uint64_t)(bytes[place / 8] >> place % 8 & 1) << bit;
  return value;
}

const char *bf_equal_length_get(const unsigned char **at, const unsigned char *end,
                                bf_equal_length with, uint32_t lowest,
                                const bf_lanes_kernel *kernel, bf_access *access) {
  size_t room = (size_t)(end - *at), place = 0;
  size_t bits = (size_t)__builtin_popcountll(access->mask) * with.bits;
  const unsigned char *bytes = *at;
  if (room < (bits + 7) / 8)
    return "the file is cut off";
  *at += (bits + 7) / 8;
  if (kernel && suits_kernel(with, lowest, access->mask, room)) {
    kernel->unpack(bytes, (uint32_t)access->mask, with.bits, with.shift, lowest, access->address);
    return NULL;
  }
  memset(access->address, 0, sizeof access->address);
  for (uint64_t left = access->mask; left; left &= left - 1, place += with.bits) {
    uint64_t address = lowest + (number_at(bytes, place, with.bits) << with.shift);
    if (address > UINT32_MAX)
      return "an address that needs more than 32 bits";
    access->address[__builtin_ctzll(left)] = (uint32_t)address;
  }
  return bits % 8 && bytes[bits / 8] >> bits % 8 ? "bits behind the last address" : NULL;
}

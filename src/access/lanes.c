/* Addresses of lanes, one lane at a time: the reference for the vector versions. */
#include "access/lanes.h"

#include <stddef.h>
#include <string.h>

#define BITS(i) 1U << (i), 2U << (i), 4U << (i), 8U << (i)
const uint32_t bf_lane_bit[BF_LANES] = {BITS(0),  BITS(4),  BITS(8),  BITS(12),
                                        BITS(16), BITS(20), BITS(24), BITS(28)};

/* The signed number at *at, which moves behind it; false where it has more than three bytes. */
static inline int read_number(const unsigned char **at, int32_t *value) {
  const unsigned char *from = *at;
  uint32_t folded = from[0] & 0x7F;
  unsigned bytes = 1;
  for (; from[bytes - 1] & 0x80; bytes++) {
    if (bytes == 3)
      return 0;
    folded |= (uint32_t)(from[bytes] & 0x7F) << 7 * bytes;
  }
  *at = from + bytes;
  *value = (int32_t)(folded >> 1) ^ -(int32_t)(folded & 1);
  return 1;
}

static const unsigned char *list(const unsigned char *at, uint32_t mask, uint32_t before,
                                 uint32_t *address) {
  if (before >> 30)
    return NULL;
  int32_t sum = (int32_t)before;
  if (mask != UINT32_MAX)
    memset(address, 0, BF_LANES * sizeof *address);
  for (uint32_t left = mask; left; left &= left - 1) {
    int32_t distance;
    if (!read_number(&at, &distance) || (sum += distance) < 0)
      return NULL;
    address[__builtin_ctz(left)] = (uint32_t)sum;
  }
  return at;
}

static void unpack(const unsigned char *at, uint32_t mask, unsigned bits, unsigned shift,
                   uint32_t lowest, uint32_t *address) {
  memset(address, 0, BF_LANES * sizeof *address);
  unsigned place = 0;
  for (uint32_t left = mask; left; left &= left - 1, place += bits) {
    const unsigned char *from = at + place / 8;
    uint32_t raw =
        from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    uint32_t value = raw >> place % 8 & ((1U << bits) - 1);
    address[__builtin_ctz(left)] = lowest + (value << shift);
  }
}

static void stride(uint32_t mask, uint32_t origin, uint32_t stride, uint32_t *address) {
  for (unsigned lane = 0; lane < BF_LANES; lane++)
    address[lane] = mask >> lane & 1 ? origin + lane * stride : 0;
}

static bf_lanes_span take(const uint32_t *address, uint32_t mask, uint32_t first,
                          uint32_t *relative) {
  bf_lanes_span span = {UINT32_MAX, 0, 0};
  if (mask != UINT32_MAX)
    memset(relative, 0, BF_LANES * sizeof *relative);
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    uint32_t at = address[lane];
    relative[lane] = at - first;
    span.lowest = at < span.lowest ? at : span.lowest;
    span.highest = at > span.highest ? at : span.highest;
    span.bits |= at;
  }
  return span;
}

static void place(const uint32_t *relative, uint32_t mask, uint32_t first, uint32_t *address) {
  for (unsigned lane = 0; lane < BF_LANES; lane++)
    address[lane] = relative[lane] + first;
  for (uint32_t left = ~mask; left; left &= left - 1)
    address[__builtin_ctz(left)] = 0;
}

const bf_lanes_kernel bf_lanes_plain = {"plain", list, unpack, stride, take, place};

const bf_lanes_kernel *bf_lanes_available(unsigned index) {
  const bf_lanes_kernel *usable[3] = {&bf_lanes_plain};
  unsigned count = 1;
#if defined(__x86_64__) && !defined(BF_NO_SIMD)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
    usable[count++] = &bf_lanes_avx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2"))
    usable[count++] = &bf_lanes_avx512;
#endif
  return index < count ? usable[index] : NULL;
}

const bf_lanes_kernel *bf_lanes_best(void) {
  const bf_lanes_kernel *best = &bf_lanes_plain;
  for (unsigned i = 1; bf_lanes_available(i); i++)
    best = bf_lanes_available(i);
  return best;
}

/* Inside room access: what is done to the addresses of 32 lanes together, lane by lane (lanes.c),
 * eight (lanes_avx2.c) and sixteen lanes at a time (lanes_avx512.c). bf_lanes_best picks at run
 * time. */
#ifndef BF_ACCESS_LANES_H
#define BF_ACCESS_LANES_H

#include <stdint.h>

enum { BF_LANES = 32, BF_LANES_LIST_BYTES = 128, BF_LANES_MOST_BITS = 25 };

/* The bit of each lane in a mask: with it compilers ask about several lanes at a time. */
extern const uint32_t bf_lane_bit[BF_LANES];

/* Where the active lanes are. */
typedef struct bf_lanes_span {
  uint32_t lowest, highest;
  uint32_t bits; /* of all their addresses, or-ed */
} bf_lanes_span;

typedef struct bf_lanes_kernel {
  const char *name;
  /* Reads one signed number per active lane (packed.c says how they are written): its distance from
   * the active lane before, of the first from `before`. Lanes that are not active get 0. Returns
   * where the numbers end, or NULL where a number has more than three bytes, an address becomes
   * negative, or before is 2^30 or more. BF_LANES_LIST_BYTES must be there to read. */
  const unsigned char *(*list)(const unsigned char *at, uint32_t mask, uint32_t before,
                               uint32_t *address);
  /* Reads one number of `bits` bits per active lane, at most BF_LANES_MOST_BITS, one behind the
   * other from the lowest bit of *at on: an address less `lowest`, shifted right by `shift`. Lanes
   * that are not active get 0. No address may overflow. BF_LANES_LIST_BYTES must be there to read.
   */
  void (*unpack)(const unsigned char *at, uint32_t mask, unsigned bits, unsigned shift,
                 uint32_t lowest, uint32_t *address);
  /* Lane l gets origin + l * stride modulo 2^32, lanes that are not active 0. */
  void (*stride)(uint32_t mask, uint32_t origin, uint32_t stride, uint32_t *address);
  /* The distances of active lanes from first, 0 for the others. With no active lane the span is
   * empty: lowest above highest. */
  bf_lanes_span (*take)(const uint32_t *address, uint32_t mask, uint32_t first, uint32_t *relative);
  /* The addresses again, 0 for lanes that are not active. */
  void (*place)(const uint32_t *relative, uint32_t mask, uint32_t first, uint32_t *address);
} bf_lanes_kernel;

extern const bf_lanes_kernel bf_lanes_plain;
#if defined(__x86_64__)
extern const bf_lanes_kernel bf_lanes_avx2, bf_lanes_avx512;
#endif
/* All that this CPU can run, slowest first; NULL past the last. */
const bf_lanes_kernel *bf_lanes_available(unsigned index);
const bf_lanes_kernel *bf_lanes_best(void);

#endif

/* Inside room access: addresses of a packed trace that are listed in numbers of equal length: the
 * lowest address is taken from each, and the difference, whose low bits are 0 in all of them, is
 * written without these. Where addresses are at random that is shorter than distances from lane to
 * lane, and nothing is left that zstd could pack or would have to unpack. */
#ifndef BF_ACCESS_EQUAL_LENGTH_H
#define BF_ACCESS_EQUAL_LENGTH_H

#include "access/shape.h"

/* In place of the bits of each number: addresses at a constant distance, which alone follows. */
enum { BF_STRIDED = 64 };

typedef struct bf_equal_length {
  unsigned bits, shift; /* of each number, at most 32 together */
} bf_equal_length;

/* The fewest bits that a shape needs. */
bf_equal_length bf_equal_length_of(const bf_shape *shape);
/* Whether a shape is better listed so. */
bool bf_equal_length_is_better(const bf_shape *shape, bf_equal_length with);
/* Writes the numbers; returns where they end. Seven bytes more are overwritten. */
unsigned char *bf_equal_length_put(unsigned char *at, const bf_shape *shape, bf_equal_length with);
/* Reads those of the active lanes of access, by the kernel if there is one and it can; the others
 * get address 0. *at moves behind them. Returns what is wrong with them, or NULL. */
const char *bf_equal_length_get(const unsigned char **at, const unsigned char *end,
                                bf_equal_length with, uint32_t lowest,
                                const bf_lanes_kernel *kernel, bf_access *access);

#endif

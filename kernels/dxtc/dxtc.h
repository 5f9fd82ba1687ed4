/* Reference of the compression, and its inverse. */
#ifndef BF_KERNELS_DXTC_H
#define BF_KERNELS_DXTC_H

#include <stdint.h>

/* Compresses a tile of 16 pixels, red, green and blue bytes: block[0] holds the two colours,
 * block[1] the choices. */
void bf_dxtc_compress(const uint8_t pixels[48], uint32_t block[2]);
/* The pixels that a block stands for. */
void bf_dxtc_expand(const uint32_t block[2], uint8_t pixels[48]);
/* The squared difference of two tiles. */
uint32_t bf_dxtc_distance(const uint8_t a[48], const uint8_t b[48]);

#endif

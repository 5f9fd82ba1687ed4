/* AES-128 as FIPS 197 defines it, byte by byte; the reference of the table version. */
#ifndef BF_KERNELS_AES_H
#define BF_KERNELS_AES_H

#include <stdint.h>

enum { BF_AES_ROUNDS = 10 };

/* The substitution and its inverse, computed from inversion in GF(2^8). */
typedef struct bf_aes_boxes {
  uint8_t forward[256], inverse[256];
} bf_aes_boxes;

void bf_aes_make_boxes(bf_aes_boxes *boxes);
/* round_keys: 11 keys of 16 bytes. */
void bf_aes_expand_key(const bf_aes_boxes *boxes, const uint8_t key[16], uint8_t round_keys[176]);
void bf_aes_encrypt(const bf_aes_boxes *boxes, const uint8_t round_keys[176], uint8_t block[16]);
void bf_aes_decrypt(const bf_aes_boxes *boxes, const uint8_t round_keys[176], uint8_t block[16]);

#endif

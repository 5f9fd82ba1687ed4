/* BLAKE2b (RFC 7693), unkeyed, with 32 bytes of result. Images are known by it in the cache: two
 * images with one key would give a program the kernels of another. */
#include "inject.h"

#include "ptx/bytes.h"

#include <string.h>

enum { BLOCK_BYTES = 128 };

static const uint64_t initial[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                    0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                    0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

/* Which words of the block a round takes; rounds 10 and 11 are those of 0 and 1 again. */
static const unsigned char order[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                            {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                            {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                            {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                            {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                            {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                            {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                            {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                            {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                            {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static uint64_t rotate(uint64_t word, unsigned bits) { return word >> bits | word << (64 - bits); }

static inline void mix(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, uint64_t x, uint64_t y) {
  *a += *b + x;
  *d = rotate(*d ^ *a, 32);
  *c += *d;
  *b = rotate(*b ^ *c, 24);
  *a += *b + y;
  *d = rotate(*d ^ *a, 16);
  *c += *d;
  *b = rotate(*b ^ *c, 63);
}

/* Mixes columns or diagonals i of v, with the words that the round takes there. */
#define MIX(round, i, a, b, c, d)                                                                  \
  mix(&v[a], &v[b], &v[c], &v[d], word[order[round][2 * (i)]], word[order[round][2 * (i) + 1]])

/* One round. Written out, so that all is known to the compiler: twice as fast as a loop. */
#define MIX_ROUND(round)                                                                           \
  do {                                                                                             \
    MIX(round, 0, 0, 4, 8, 12);                                                                    \
    MIX(round, 1, 1, 5, 9, 13);                                                                    \
    MIX(round, 2, 2, 6, 10, 14);                                                                   \
    MIX(round, 3, 3, 7, 11, 15);                                                                   \
    MIX(round, 4, 0, 5, 10, 15);                                                                   \
    MIX(round, 5, 1, 6, 11, 12);                                                                   \
    MIX(round, 6, 2, 7, 8, 13);                                                                    \
    MIX(round, 7, 3, 4, 9, 14);                                                                    \
  } while (0)

/* Takes the full block into the state. */
static void compress(inject_digest *digest, bool is_last) {
  uint64_t v[16], word[16];
  memcpy(v, digest->state, sizeof digest->state);
  memcpy(v + 8, initial, sizeof initial);
  v[12] ^= digest->bytes;
  if (is_last)
    v[14] = ~v[14];
  for (unsigned i = 0; i < 16; i++)
    word[i] = bf_read_u64(digest->block + 8 * i);
  MIX_ROUND(0);
  MIX_ROUND(1);
  MIX_ROUND(2);
  MIX_ROUND(3);
  MIX_ROUND(4);
  MIX_ROUND(5);
  MIX_ROUND(6);
  MIX_ROUND(7);
  MIX_ROUND(8);
  MIX_ROUND(9);
  MIX_ROUND(0);
  MIX_ROUND(1);
  for (unsigned i = 0; i < 8; i++)
    digest->state[i] ^= v[i] ^ v[i + 8];
}

void inject_digest_start(inject_digest *digest) {
  memset(digest, 0, sizeof *digest);
  memcpy(digest->state, initial, sizeof initial);
  digest->state[0] ^= 0x01010000 ^ INJECT_KEY_BYTES;
}

void inject_digest_add(inject_digest *digest, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  while (size) {
    if (digest->filled == BLOCK_BYTES) { /* the last block is kept for the end */
      compress(digest, false);
      digest->filled = 0;
    }
    size_t part = BLOCK_BYTES - digest->filled;
    part = part < size ? part : size;
    memcpy(digest->block + digest->filled, at, part);
    digest->filled += (unsigned)part;
    digest->bytes += part;
    at += part;
    size -= part;
  }
}

void inject_digest_end(inject_digest *digest, unsigned char result[INJECT_KEY_BYTES]) {
  memset(digest->block + digest->filled, 0, BLOCK_BYTES - digest->filled);
  compress(digest, true);
  for (unsigned i = 0; i < INJECT_KEY_BYTES; i++)
    result[i] = (unsigned char)(digest->state[i / 8] >> (8 * (i % 8)));
}

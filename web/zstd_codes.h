/* web/zstd_codes: the two codes of zstd (RFC 8878), finite states and Huffman's, as its decoder
 * needs them: bits read from the end, tables read and made. */
#ifndef BF_WEB_ZSTD_CODES_H
#define BF_WEB_ZSTD_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZSTD_MOST_STATES = 1 << 9, ZSTD_MOST_HUFFMAN = 1 << 11, ZSTD_PAST_END = 8 };

/* Bits from the last to the first; what is behind the bytes can be read for ZSTD_PAST_END bytes.
 * left is negative where more was read than there was. */
typedef struct zstd_bits {
  const uint8_t *bytes;
  int64_t left;
} zstd_bits;

/* Bits of size bytes, whose highest bit that is set marks the end. False where there is none. */
bool zstd_bits_begin(zstd_bits *bits, const uint8_t *bytes, size_t size);
/* The next count bits, at most 56; zeros where there are no more. */
uint64_t zstd_bits_read(zstd_bits *bits, unsigned count);

/* A machine of finite states: each has a symbol, and says how many bits say what comes next. */
typedef struct zstd_states {
  unsigned accuracy; /* there are 2^accuracy of them; 0: one, as for a symbol that repeats */
  bool is_there;
  struct {
    uint16_t next;
    uint8_t symbol, bits;
  } state[ZSTD_MOST_STATES];
} zstd_states;

/* From how often symbols come, out of 2^accuracy; -1: less than once. */
void zstd_states_make(zstd_states *made, const int16_t *counts, unsigned symbols,
                      unsigned accuracy);
/* The same from bytes that describe it; how many of them, or 0 where they are damaged. */
size_t zstd_states_read(zstd_states *made, const uint8_t *bytes, size_t size, unsigned most_symbol,
                        unsigned most_accuracy);
/* For one symbol that repeats. */
void zstd_states_repeat(zstd_states *made, uint8_t symbol);
/* The state that bits say to begin with; and the one behind another. */
unsigned zstd_states_begin(const zstd_states *states, zstd_bits *bits);
unsigned zstd_states_next(const zstd_states *states, unsigned at, zstd_bits *bits);

/* Huffman's code: a symbol and its number of bits for all that the next bits can be. */
typedef struct zstd_huffman {
  unsigned most_bits;
  bool is_there;
  struct {
    uint8_t symbol, bits;
  } entry[ZSTD_MOST_HUFFMAN];
} zstd_huffman;

/* From bytes that describe it; how many of them, or 0 where they are damaged. */
size_t zstd_huffman_read(zstd_huffman *made, const uint8_t *bytes, size_t size);
/* Symbols of a stream; false where it does not hold exactly as many. */
bool zstd_huffman_decode(const zstd_huffman *code, const uint8_t *bytes, size_t size, uint8_t *to,
                         size_t count);

#endif

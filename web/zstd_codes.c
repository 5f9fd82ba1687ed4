#include "web/zstd_codes.h"

#include <string.h>

/* ---- Bits ---- */

bool zstd_bits_begin(zstd_bits *bits, const uint8_t *bytes, size_t size) {
  if (!size || !bytes[size - 1])
    return false;
  unsigned top = 31 - (unsigned)__builtin_clz(bytes[size - 1]);
  *bits = (zstd_bits){bytes, (int64_t)(size - 1) * 8 + top};
  return true;
}

uint64_t zstd_bits_read(zstd_bits *bits, unsigned count) {
  bits->left -= count;
  if (!count)
    return 0;
  int64_t missing = bits->left < 0 ? -bits->left : 0;
  if (missing >= count)
    return 0;
  uint64_t at = bits->left < 0 ? 0 : (uint64_t)bits->left, word;
  memcpy(&word, bits->bytes + at / 8, sizeof word);
  unsigned there = count - (unsigned)missing;
  return (word >> at % 8 & ((UINT64_C(1) << there) - 1)) << missing;
}

/* ---- States ---- */

/* Symbols over the states, as RFC 8878 (4.1.1) spreads them. */
static void spread(zstd_states *made, const int16_t *counts, unsigned symbols) {
  unsigned size = 1u << made->accuracy, high = size, at = 0;
  for (unsigned symbol = 0; symbol < symbols; symbol++)
    if (counts[symbol] == -1)
      made->state[--high].symbol = (uint8_t)symbol;
  for (unsigned symbol = 0; symbol < symbols; symbol++)
    for (int i = 0; i < counts[symbol]; i++) {
      made->state[at].symbol = (uint8_t)symbol;
      do
        at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1);
      while (at >= high);
    }
}

void zstd_states_make(zstd_states *made, const int16_t *counts, unsigned symbols,
                      unsigned accuracy) {
  uint16_t seen[256];
  made->accuracy = accuracy;
  made->is_there = true;
  spread(made, counts, symbols);
  for (unsigned symbol = 0; symbol < symbols; symbol++)
    seen[symbol] = counts[symbol] == -1 ? 1 : (uint16_t)counts[symbol];
  for (unsigned i = 0; i < 1u << accuracy; i++) {
    unsigned order = seen[made->state[i].symbol]++;
    unsigned bits = accuracy - (31 - (unsigned)__builtin_clz(order));
    made->state[i].bits = (uint8_t)bits;
    made->state[i].next = (uint16_t)((order << bits) - (1u << accuracy));
  }
}

/* Bits from the first to the last, for descriptions; at is the next. */
static unsigned forward_bits(const uint8_t *bytes, size_t at, unsigned count) {
  uint32_t word;
  memcpy(&word, bytes + at / 8, sizeof word);
  return word >> at % 8 & ((1u << count) - 1);
}

size_t zstd_states_read(zstd_states *made, const uint8_t *bytes, size_t size, unsigned most_symbol,
                        unsigned most_accuracy) {
  int16_t counts[256] = {0};
  if (!size)
    return 0;
  unsigned accuracy = 5 + forward_bits(bytes, 0, 4), symbol = 0;
  if (accuracy > most_accuracy)
    return 0;
  int left = 1 << accuracy; /* of which the counts are shares */
  size_t at = 4;
  while (left > 0 && symbol <= most_symbol && at <= 8 * size) {
    /* A number from 0 to left + 1; the small ones have a bit less. */
    unsigned bits = 32 - (unsigned)__builtin_clz((unsigned)left + 1);
    unsigned value = forward_bits(bytes, at, bits), low = value & ((1u << (bits - 1)) - 1);
    unsigned short_ones = (1u << bits) - 1 - ((unsigned)left + 1);
    if (low < short_ones) {
      at += bits - 1;
      value = low;
    } else {
      at += bits;
      value -= value >= 1u << (bits - 1) ? short_ones : 0;
    }
    int count = (int)value - 1;
    left -= count < 0 ? -count : count;
    counts[symbol++] = (int16_t)count;
    for (unsigned zeros = 3; count == 0 && zeros == 3 && at <= 8 * size; at += 2)
      symbol += zeros = forward_bits(bytes, at, 2);
  }
  if (left || symbol > most_symbol + 1 || at > 8 * size)
    return 0;
  zstd_states_make(made, counts, symbol, accuracy);
  return (at + 7) / 8;
}

void zstd_states_repeat(zstd_states *made, uint8_t symbol) {
  made->accuracy = 0;
  made->is_there = true;
  made->state[0].symbol = symbol;
  made->state[0].bits = 0;
  made->state[0].next = 0;
}

unsigned zstd_states_begin(const zstd_states *states, zstd_bits *bits) {
  return (unsigned)zstd_bits_read(bits, states->accuracy);
}

unsigned zstd_states_next(const zstd_states *states, unsigned at, zstd_bits *bits) {
  return states->state[at].next + (unsigned)zstd_bits_read(bits, states->state[at].bits);
}

/* ---- Huffman's code ---- */

/* Weights by two machines of states that take turns, until the bits are used up. */
static unsigned read_weights(const uint8_t *bytes, size_t size, uint8_t weights[256]) {
  zstd_states states;
  zstd_bits bits;
  size_t head = zstd_states_read(&states, bytes, size, 255, 6);
  if (!head || !zstd_bits_begin(&bits, bytes + head, size - head))
    return 0;
  unsigned at[2], count = 0;
  at[0] = zstd_states_begin(&states, &bits);
  at[1] = zstd_states_begin(&states, &bits);
  if (bits.left < 0)
    return 0;
  for (unsigned turn = 0; count < 254; turn ^= 1) {
    weights[count++] = states.state[at[turn]].symbol;
    at[turn] = zstd_states_next(&states, at[turn], &bits);
    if (bits.left < 0) {
      weights[count++] = states.state[at[turn ^ 1]].symbol;
      return count;
    }
  }
  return 0;
}

/* The table from weights; the last, which is not written, makes the sum a power of two. */
static bool make_huffman(zstd_huffman *made, uint8_t weights[256], unsigned count) {
  uint32_t sum = 0, at = 0;
  for (unsigned i = 0; i < count; i++) {
    if (weights[i] > 11)
      return false;
    sum += weights[i] ? 1u << (weights[i] - 1) : 0;
  }
  if (!sum)
    return false;
  unsigned most = 32 - (unsigned)__builtin_clz(sum);
  uint32_t rest = (1u << most) - sum;
  if (most > 11 || (rest & (rest - 1)))
    return false;
  weights[count++] = (uint8_t)(32 - __builtin_clz(rest));
  for (unsigned weight = 1; weight <= most; weight++)
    for (unsigned symbol = 0; symbol < count; symbol++)
      for (unsigned i = 0; weights[symbol] == weight && i < 1u << (weight - 1); i++, at++) {
        made->entry[at].symbol = (uint8_t)symbol;
        made->entry[at].bits = (uint8_t)(most + 1 - weight);
      }
  made->most_bits = most;
  made->is_there = at == 1u << most;
  return made->is_there;
}

size_t zstd_huffman_read(zstd_huffman *made, const uint8_t *bytes, size_t size) {
  uint8_t weights[256];
  made->is_there = false;
  if (!size)
    return 0;
  unsigned head = bytes[0], count = head >= 128 ? head - 127 : 0;
  size_t used = head >= 128 ? 1 + (count + 1) / 2 : 1 + (size_t)head;
  if (used > size)
    return 0;
  for (unsigned i = 0; i < count; i++)
    weights[i] = i % 2 ? bytes[1 + i / 2] & 15 : bytes[1 + i / 2] >> 4;
  if (head < 128)
    count = read_weights(bytes + 1, head, weights);
  return count && make_huffman(made, weights, count) ? used : 0;
}

bool zstd_huffman_decode(const zstd_huffman *code, const uint8_t *bytes, size_t size, uint8_t *to,
                         size_t count) {
  zstd_bits bits;
  if (!zstd_bits_begin(&bits, bytes, size))
    return false;
  for (size_t i = 0; i < count; i++) {
    int64_t before = bits.left;
    unsigned at = (unsigned)zstd_bits_read(&bits, code->most_bits);
    to[i] = code->entry[at].symbol;
    bits.left = before - code->entry[at].bits;
  }
  return bits.left == 0;
}

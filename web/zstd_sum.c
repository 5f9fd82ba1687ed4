#include "web/zstd_sum.h"

#include <string.h>

static const uint64_t prime[5] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                  0x85ebca77c2b2ae63, 0x27d4eb2f165667c5};

static uint64_t turned(uint64_t value, unsigned bits) {
  return value << bits | value >> (64 - bits);
}

static uint64_t mixed(uint64_t lane, uint64_t word) {
  return turned(lane + word * prime[1], 31) * prime[0];
}

static uint64_t word_at(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

void zstd_sum_begin(zstd_sum *sum) {
  *sum = (zstd_sum){.lane = {prime[0] + prime[1], prime[1], 0, (uint64_t)0 - prime[0]}};
}

static void add_whole(zstd_sum *sum, const uint8_t *bytes) {
  for (unsigned i = 0; i < 4; i++)
    sum->lane[i] = mixed(sum->lane[i], word_at(bytes + 8 * i));
}

void zstd_sum_add(zstd_sum *sum, const uint8_t *bytes, size_t size) {
  while (size) {
    size_t held = sum->bytes % 32, part = 32 - held < size ? 32 - held : size;
    memcpy(sum->rest + held, bytes, part);
    sum->bytes += part;
    bytes += part;
    size -= part;
    if (sum->bytes % 32 == 0)
      add_whole(sum, sum->rest);
  }
}

uint64_t zstd_sum_end(const zstd_sum *sum) {
  const uint64_t *lane = sum->lane;
  uint64_t value = prime[4];
  if (sum->bytes >= 32) {
    value = turned(lane[0], 1) + turned(lane[1], 7) + turned(lane[2], 12) + turned(lane[3], 18);
    for (unsigned i = 0; i < 4; i++)
      value = (value ^ mixed(0, lane[i])) * prime[0] + prime[3];
  }
  value += sum->bytes;
  size_t left = sum->bytes % 32;
  const uint8_t *at = sum->rest;
  for (; left >= 8; left -= 8, at += 8)
    value = turned(value ^ mixed(0, word_at(at)), 27) * prime[0] + prime[3];
  if (left >= 4) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    value = turned(value ^ word * prime[0], 23) * prime[1] + prime[2];
    left -= 4, at += 4;
  }
  for (; left; left--)
    value = turned(value ^ *at++ * prime[4], 11) * prime[0];
  value = (value ^ value >> 33) * prime[1];
  value = (value ^ value >> 29) * prime[2];
  return value ^ value >> 32;
}

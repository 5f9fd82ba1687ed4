/* The loops of room vote, written so that compilers turn what can be into vector code: only the
 * counting itself goes one pixel at a time. BF_VOTE_ISA names the instruction set that this file is
 * compiled for; products and sums must not be contracted. */
#include "vote/kernel.h"

#include <string.h>

/* ---- Channels ---- */

/* One loop per number of channels: strides that are constants become shuffles. */
#define PICK(name, type, field)                                                                    \
  static inline void name##_each(bf_chunk *chunk, const uint8_t *data, unsigned channels) {        \
    for (size_t i = 0; i < chunk->count; i++) {                                                    \
      type value;                                                                                  \
      memcpy(&value, data + i * channels * sizeof value, sizeof value);                            \
      chunk->field[i] = value;                                                                     \
    }                                                                                              \
  }                                                                                                \
  static void name(bf_chunk *chunk, const uint8_t *data, unsigned channels) {                      \
    switch (channels) {                                                                            \
    case 1:                                                                                        \
      name##_each(chunk, data, 1);                                                                 \
      break;                                                                                       \
    case 2:                                                                                        \
      name##_each(chunk, data, 2);                                                                 \
      break;                                                                                       \
    case 3:                                                                                        \
      name##_each(chunk, data, 3);                                                                 \
      break;                                                                                       \
    default:                                                                                       \
      name##_each(chunk, data, 4);                                                                 \
    }                                                                                              \
  }
PICK(pick_bytes, uint8_t, bytes)
PICK(pick_words, uint16_t, words)
PICK(pick_reals, float, reals)

static void pick_weights(bf_chunk *chunk, const uint8_t *data, bf_weight_type type) {
  if (type == BF_WEIGHT_F64) {
    memcpy(chunk->weights, data, chunk->count * sizeof *chunk->weights);
    return;
  }
  for (size_t i = 0; i < chunk->count; i++) {
    float weight;
    memcpy(&weight, data + i * sizeof weight, sizeof weight);
    chunk->weights[i] = (double)weight;
  }
}

/* ---- Bins ---- */

static void bin_words(bf_chunk *chunk, const bf_word_bins *bins) {
  uint16_t first = bins->first, span = (uint16_t)(bins->last - first);
  unsigned shift = bins->shift;
  const uint16_t *table = bins->table;
  for (size_t i = 0; i < chunk->count; i++)
    chunk->keep[i] = (uint16_t)(chunk->words[i] - first) <= span ? 0xffff : 0;
  if (table)
    for (size_t i = 0; i < chunk->count; i++)
      chunk->bin[i] = table[chunk->words[i]] & chunk->keep[i];
  else
    for (size_t i = 0; i < chunk->count; i++)
      chunk->bin[i] = (uint16_t)(chunk->words[i] >> shift) & chunk->keep[i];
}

/* Even bins: the fraction of the range becomes an integer only where it was inside. */
static void bin_evenly(bf_chunk *chunk, const bf_real_bins *bins) {
  double low = bins->low, high = bins->high, count = (double)bins->count, range = high - low;
  double scale = bins->scale;
  int32_t last = (int32_t)bins->count - 1;
  for (size_t i = 0; i < chunk->count; i++) {
    double value = (double)chunk->reals[i];
    bool inside = (value >= low) & (value < high);
    double offset = inside ? value - low : 0;
    int32_t bin = (int32_t)(scale != 0 ? offset * scale : offset * count / range);
    chunk->bin[i] = (uint16_t)(bin < last ? bin : last);
    chunk->keep[i] = inside ? 0xffff : 0;
  }
}

/* Halving for all pixels of a chunk at once, one step after the other. */
static void bin_by_edges(bf_chunk *chunk, const bf_real_bins *bins) {
  const float *edge = bins->edge;
  float low = edge[0], high = edge[bins->count];
  uint32_t at[BF_CHUNK];
  memset(at, 0, chunk->count * sizeof *at);
  for (unsigned step = bins->steps; step-- > 0;)
    for (size_t i = 0; i < chunk->count; i++) {
      uint32_t next = at[i] + (UINT32_C(1) << step);
      at[i] = chunk->reals[i] >= edge[next] ? next : at[i];
    }
  for (size_t i = 0; i < chunk->count; i++) {
    bool inside = (chunk->reals[i] >= low) & (chunk->reals[i] < high);
    chunk->keep[i] = inside ? 0xffff : 0;
    chunk->bin[i] = (uint16_t)at[i] & chunk->keep[i];
  }
}

static void bin_reals(bf_chunk *chunk, const bf_real_bins *bins) {
  if (bins->edge)
    bin_by_edges(chunk, bins);
  else
    bin_evenly(chunk, bins);
}

/* ---- Masks ---- */

static void mask_bins(bf_chunk *chunk, const uint8_t *mask) {
  for (size_t i = 0; i < chunk->count; i++) {
    uint16_t keep = mask[i] ? chunk->keep[i] : 0;
    chunk->keep[i] = keep;
    chunk->bin[i] &= keep;
  }
}

static size_t dropped(const bf_chunk *chunk) {
  uint16_t kept = 0; /* at most BF_CHUNK */
  for (size_t i = 0; i < chunk->count; i++)
    kept = (uint16_t)(kept + (chunk->keep[i] & 1));
  return chunk->count - kept;
}

static size_t mask_bytes(bf_chunk *chunk, const uint8_t *mask) {
  uint16_t kept = 0;
  for (size_t i = 0; i < chunk->count; i++) {
    chunk->bytes[i] = mask[i] ? chunk->bytes[i] : 0;
    kept = (uint16_t)(kept + (mask[i] != 0));
  }
  return chunk->count - kept;
}

/* ---- Counting ---- */

static inline uint64_t load(const void *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

/* Whether 64 bytes repeat their first eight. */
static inline bool repeats_itself(const uint8_t *bytes, uint64_t first) {
  uint64_t differs = 0;
  for (size_t i = 0; i < 8; i++)
    differs |= load(bytes + 8 * i) ^ first;
  return differs == 0;
}

/* Eight pixels, each into its own replica. */
static inline void count_eight(uint64_t word, uint32_t *table) {
  for (unsigned i = 0; i < 8; i++)
    table[(word >> 8 * i & 255) * BF_REPLICAS + i]++;
}

static void count_bytes(const uint8_t *bytes, size_t count, uint32_t *table) {
  size_t i = 0;
  for (; i + 64 <= count; i += 64) {
    uint64_t first = load(bytes + i);
    if (repeats_itself(bytes + i, first)) {
      for (unsigned k = 0; k < 8; k++)
        table[(first >> 8 * k & 255) * BF_REPLICAS + k] += 8;
      continue;
    }
    for (size_t k = 0; k < 64; k += 8)
      count_eight(load(bytes + i + k), table);
  }
  for (; i < count; i++)
    table[bytes[i] * BF_REPLICAS]++;
}

static void count_bins(const bf_chunk *chunk, uint32_t *table) {
  const uint16_t *bin = chunk->bin;
  size_t i = 0;
  for (; i + 8 <= chunk->count; i += 8) {
    uint64_t low = load(bin + i), high = load(bin + i + 4);
    for (unsigned k = 0; k < 4; k++)
      table[(low >> 16 * k & 0xffff) * BF_REPLICAS + k]++;
    for (unsigned k = 0; k < 4; k++)
      table[(high >> 16 * k & 0xffff) * BF_REPLICAS + 4 + k]++;
  }
  for (; i < chunk->count; i++)
    table[bin[i] * (size_t)BF_REPLICAS]++;
}

static void count_bins_once(const bf_chunk *chunk, uint32_t *table) {
  for (size_t i = 0; i < chunk->count; i++)
    table[chunk->bin[i]]++;
}

/* The weight where the pixel is kept, else 0. */
static inline double kept_weight(const bf_chunk *chunk, size_t i) {
  return chunk->keep[i] ? chunk->weights[i] : 0;
}

static void sum_bins(const bf_chunk *chunk, double *table) {
  for (size_t i = 0; i < chunk->count; i++)
    table[chunk->bin[i] * (size_t)BF_REPLICAS + i % BF_REPLICAS] += kept_weight(chunk, i);
}

static void sum_bins_once(const bf_chunk *chunk, double *table) {
  for (size_t i = 0; i < chunk->count; i++)
    table[chunk->bin[i]] += kept_weight(chunk, i);
}

static unsigned repeats(const bf_chunk *chunk) {
  const uint16_t *bin = chunk->bin;
  unsigned found = 0;
  if (chunk->count < 66)
    return 0;
  for (size_t i = 2; i < 66; i++)
    found += (bin[i] == bin[i - 1]) | (bin[i] == bin[i - 2]);
  return found;
}

/* ---- Hough ---- */

/* Adding 1.5 * 2^23 leaves a float no bits behind the point: it is rounded to the nearest integer,
 * which then stands in its low bits. Right below 2^22. */
static const float ROUNDER = 12582912.0f;
static const int32_t ROUNDER_BITS = 0x4b400000;

/* Bins of up to BF_CHUNK points. */
static inline void place_points(const uint16_t *x, const uint16_t *y, size_t count, bf_angle angle,
                                int32_t shift, uint16_t *restrict bin) {
  for (size_t i = 0; i < count; i++) {
    float across = (float)(int32_t)x[i] * angle.x_factor;
    float down = (float)(int32_t)y[i] * angle.y_factor;
    float rounded = across + down + ROUNDER;
    int32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bin[i] = (uint16_t)(bits - ROUNDER_BITS + shift);
  }
}

static void vote_line(const uint16_t *x, const uint16_t *y, size_t count, bf_angle angle,
                      int32_t shift, uint16_t *table) {
  _Alignas(64) uint16_t bin[BF_CHUNK];
  for (size_t from = 0; from < count; from += BF_CHUNK) {
    size_t size = count - from < BF_CHUNK ? count - from : BF_CHUNK, i = 0;
    place_points(x + from, y + from, size, angle, shift, bin);
    for (; i + BF_LINE_REPLICAS <= size; i += BF_LINE_REPLICAS) {
      uint64_t word = load(bin + i);
      for (unsigned k = 0; k < BF_LINE_REPLICAS; k++)
        table[(word >> 16 * k & 0xffff) * BF_LINE_REPLICAS + k]++;
    }
    for (; i < size; i++)
      table[bin[i] * (size_t)BF_LINE_REPLICAS]++;
  }
}

static void vote_weighted(const uint16_t *x, const uint16_t *y, const uint8_t *weight, size_t count,
                          bf_angle angle, int32_t shift, uint32_t *table) {
  _Alignas(64) uint16_t bin[BF_CHUNK];
  for (size_t from = 0; from < count; from += BF_CHUNK) {
    size_t size = count - from < BF_CHUNK ? count - from : BF_CHUNK;
    place_points(x + from, y + from, size, angle, shift, bin);
    for (size_t i = 0; i < size; i++)
      table[bin[i] * (size_t)BF_LINE_REPLICAS + i % BF_LINE_REPLICAS] += weight[from + i];
  }
}

#define JOIN(a, b) a##b
#define NAME(prefix, isa) JOIN(prefix, isa)
#define TEXT(isa) #isa
#define TEXT_OF(isa) TEXT(isa)
const bf_vote_kernel NAME(bf_vote_, BF_VOTE_ISA) = {
    TEXT_OF(BF_VOTE_ISA),
    pick_bytes,
    pick_words,
    pick_reals,
    pick_weights,
    bin_words,
    bin_reals,
    mask_bins,
    dropped,
    mask_bytes,
    count_bytes,
    count_bins,
    sum_bins,
    count_bins_once,
    sum_bins_once,
    repeats,
    vote_line,
    vote_weighted,
};

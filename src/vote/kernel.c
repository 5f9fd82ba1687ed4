/* The loops of room vote, written so that compilers turn what can be into vector code: only the
 * counting itself goes one pixel at a time. BF_VOTE_ISA names the instruction set that this file is
 * compiled for; products and sums must not be contracted. */
#include "vote/kernel.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "words are cut into bytes, low ones first");

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

/* The weights of pixels that are kept; 0 for the others. */
#define PICK_WEIGHTS(name, type)                                                                   \
  static inline void name(bf_chunk *chunk, const uint8_t *data) {                                  \
    for (size_t i = 0; i < chunk->count; i++) {                                                    \
      type weight;                                                                                 \
      memcpy(&weight, data + i * sizeof weight, sizeof weight);                                    \
      chunk->weights[i] = chunk->keep[i] ? (double)weight : 0;                                     \
    }                                                                                              \
  }
PICK_WEIGHTS(pick_singles, float)
PICK_WEIGHTS(pick_doubles, double)

static void pick_weights(bf_chunk *chunk, const uint8_t *data, bf_weight_type type) {
  if (type == BF_WEIGHT_F64)
    pick_doubles(chunk, data);
  else
    pick_singles(chunk, data);
}

/* ---- Bins ---- */

static inline uint64_t load(const void *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

/* Bins of words from a table, in which dropped words have bin 0: four at a time. */
static void look_up(bf_chunk *chunk, const uint8_t *words, const uint16_t *table) {
  size_t i = 0;
  for (; i + 4 <= chunk->count; i += 4) {
    uint64_t four = load(words + i * sizeof(uint16_t));
    uint64_t low = table[four & 0xffff] | (uint64_t)table[four >> 16 & 0xffff] << 16;
    uint64_t high = table[four >> 32 & 0xffff] | (uint64_t)table[four >> 48] << 16;
    uint64_t found = low | high << 32;
    memcpy(&chunk->bin[i], &found, sizeof found);
  }
  for (; i < chunk->count; i++) {
    uint16_t value;
    memcpy(&value, words + i * sizeof value, sizeof value);
    chunk->bin[i] = table[value];
  }
}

static size_t bin_words(bf_chunk *chunk, const uint8_t *words, const bf_word_bins *bins) {
  uint16_t first = bins->first, span = (uint16_t)(bins->last - first), kept = 0;
  unsigned shift = bins->shift;
  for (size_t i = 0; i < chunk->count; i++) {
    uint16_t value;
    memcpy(&value, words + i * sizeof value, sizeof value);
    uint16_t keep = (uint16_t)(value - first) <= span ? 0xffff : 0;
    chunk->keep[i] = keep;
    chunk->bin[i] = (uint16_t)(value >> shift) & keep;
    kept = (uint16_t)(kept - keep);
  }
  if (bins->table)
    look_up(chunk, words, bins->table);
  return chunk->count - kept;
}

static size_t bin_narrowly(bf_chunk *chunk, const uint8_t *words, const bf_word_bins *bins) {
  uint16_t first = bins->first, span = (uint16_t)(bins->last - first), kept = 0;
  unsigned shift = bins->shift;
  for (size_t i = 0; i < chunk->count; i++) {
    uint16_t value;
    memcpy(&value, words + i * sizeof value, sizeof value);
    uint16_t keep = (uint16_t)(value - first) <= span ? 0xffff : 0;
    chunk->bytes[i] = (uint8_t)((uint16_t)(value >> shift) & keep);
    kept = (uint16_t)(kept - keep);
  }
  return chunk->count - kept;
}

static void narrow_bins(bf_chunk *chunk) {
  for (size_t i = 0; i < chunk->count; i++)
    chunk->bytes[i] = (uint8_t)chunk->bin[i];
}

static inline float load_real(const uint8_t *reals, size_t i) {
  float value;
  memcpy(&value, reals + i * sizeof value, sizeof value);
  return value;
}

/* Even bins: the place in the range becomes an integer only where it is inside. */
static inline size_t bin_evenly(bf_chunk *chunk, const uint8_t *reals, const bf_real_bins *bins,
                                bool divides) {
  double low = bins->low, high = bins->high, count = (double)bins->count, range = high - low;
  double inverse = bins->inverse;
  int32_t last = (int32_t)bins->count - 1;
  uint32_t kept = 0;
  for (size_t i = 0; i < chunk->count; i++) {
    double value = (double)load_real(reals, i);
    bool inside = (value >= low) & (value < high);
    double place = (inside ? value - low : 0) * count;
    int32_t bin = (int32_t)(divides ? place / range : place * inverse);
    chunk->bin[i] = (uint16_t)(bin < last ? bin : last);
    chunk->keep[i] = inside ? 0xffff : 0;
    kept += inside;
  }
  return chunk->count - kept;
}

/* Halving for all pixels of a chunk at once, one step after the other. */
static size_t bin_by_edges(bf_chunk *chunk, const uint8_t *reals, const bf_real_bins *bins) {
  const bf_real_bins own = *bins;
  float low = own.edge[0], high = own.edge[own.count];
  int32_t at[BF_CHUNK];
  uint32_t kept = 0;
  for (size_t i = 0; i < chunk->count; i++)
    at[i] = (int32_t)own.before[bf_cell(&own, (double)load_real(reals, i))] - 1;
  for (unsigned step = own.steps; step-- > 0;)
    for (size_t i = 0; i < chunk->count; i++) {
      int32_t next = at[i] + (INT32_C(1) << step);
      at[i] = load_real(reals, i) >= own.edge[next] ? next : at[i];
    }
  for (size_t i = 0; i < chunk->count; i++) {
    float value = load_real(reals, i);
    bool inside = (value >= low) & (value < high);
    chunk->keep[i] = inside ? 0xffff : 0;
    chunk->bin[i] = (uint16_t)at[i] & chunk->keep[i];
    kept += inside;
  }
  return chunk->count - kept;
}

static size_t bin_reals(bf_chunk *chunk, const uint8_t *reals, const bf_real_bins *bins) {
  if (bins->edge)
    return bin_by_edges(chunk, reals, bins);
  return bins->inverse == 0 ? bin_evenly(chunk, reals, bins, true)
                            : bin_evenly(chunk, reals, bins, false);
}

/* ---- Masks ---- */

static size_t mask_bins(bf_chunk *chunk, const uint8_t *mask) {
  uint16_t kept = 0;
  for (size_t i = 0; i < chunk->count; i++) {
    uint16_t keep = mask[i] ? chunk->keep[i] : 0;
    chunk->keep[i] = keep;
    chunk->bin[i] &= keep;
    kept = (uint16_t)(kept - keep);
  }
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

/* Whether 64 bytes repeat their first eight. The last eight, looked at first, mostly tell. */
static inline bool repeats_itself(const uint8_t *bytes, uint64_t first) {
  uint64_t differs = 0;
  if (load(bytes + 56) != first)
    return false;
  for (size_t i = 1; i < 7; i++)
    differs |= load(bytes + 8 * i) ^ first;
  return differs == 0;
}

/* 64 pixels of a period of eight: often, of one. */
static inline void count_repeated(uint64_t word, uint32_t *table) {
  uint64_t value = word & 255;
  if (word == value * UINT64_C(0x0101010101010101)) {
    table[value * BF_REPLICAS] += 64;
    return;
  }
  for (unsigned i = 0; i < 8; i++)
    table[(word >> 8 * i & 255) * BF_REPLICAS + i] += 8;
}

/* Eight pixels, each into a counter of its own. */
static inline void count_eight(uint64_t word, uint16_t *counters) {
  uint16_t *second = counters + BF_BYTE_COUNTERS / 2;
  for (unsigned i = 0; i < 4; i++, word >>= 16) {
    counters[(word & 255) * 4 + i]++;
    second[(word >> 8 & 255) * 4 + i]++;
  }
}

static void count_bytes(const uint8_t *bytes, size_t count, uint16_t *counters, uint32_t *table) {
  size_t i = 0;
  for (; i + 64 <= count; i += 64) {
    uint64_t first = load(bytes + i);
    if (__builtin_expect(repeats_itself(bytes + i, first), 0)) {
      count_repeated(first, table);
      continue;
    }
    for (size_t k = 0; k < 64; k += 8)
      count_eight(load(bytes + i + k), counters);
  }
  for (; i < count; i++)
    table[bytes[i] * BF_REPLICAS]++;
}

static void empty_bytes(uint16_t *counters, uint32_t *table) {
  for (size_t i = 0; i < BF_BYTE_COUNTERS; i++)
    table[i / 4 % 256 * BF_REPLICAS] += counters[i];
  memset(counters, 0, BF_BYTE_COUNTERS * sizeof *counters);
}

/* ---- Pairs ---- */

static unsigned find_repeats(const uint8_t *bytes) {
  uint16_t pair[BF_LOOK / 2 + 4], found = 0;
  memcpy(pair, bytes, sizeof pair);
  for (size_t i = 0; i < BF_LOOK / 2; i++) {
    bool near = (pair[i] == pair[i + 1]) | (pair[i] == pair[i + 2]);
    bool far = (pair[i] == pair[i + 3]) | (pair[i] == pair[i + 4]);
    found = (uint16_t)(found + (near | far));
  }
  return found;
}

/* Four pairs, each into the next of its `replicas` counters. */
static inline void count_four_pairs(uint64_t word, unsigned replicas, uint8_t *pairs,
                                    uint32_t *table) {
  for (unsigned i = 0; i < 4; i++, word >>= 16) {
    size_t pair = word & 0xffff;
    if (__builtin_expect(++pairs[pair * replicas + i % replicas] == 0, 0)) {
      table[(pair & 255) * BF_REPLICAS] += 256;
      table[(pair >> 8) * BF_REPLICAS] += 256;
    }
  }
}

/* 64 pixels. A loop of eight would take an eighth longer, measured on Zen 4. */
static inline void count_block(const uint8_t *bytes, unsigned replicas, uint8_t *pairs,
                               uint32_t *table) {
  count_four_pairs(load(bytes), replicas, pairs, table);
  count_four_pairs(load(bytes + 8), replicas, pairs, table);
  count_four_pairs(load(bytes + 16), replicas, pairs, table);
  count_four_pairs(load(bytes + 24), replicas, pairs, table);
  count_four_pairs(load(bytes + 32), replicas, pairs, table);
  count_four_pairs(load(bytes + 40), replicas, pairs, table);
  count_four_pairs(load(bytes + 48), replicas, pairs, table);
  count_four_pairs(load(bytes + 56), replicas, pairs, table);
}

static inline void count_by_pairs(const uint8_t *bytes, size_t count, unsigned replicas,
                                  uint8_t *pairs, uint32_t *table) {
  size_t i = 0;
  for (; i + 64 <= count; i += 64) {
    uint64_t first = load(bytes + i);
    if (__builtin_expect(repeats_itself(bytes + i, first), 0)) {
      count_repeated(first, table);
      continue;
    }
    count_block(bytes + i, replicas, pairs, table);
  }
  for (; i < count; i++)
    table[bytes[i] * BF_REPLICAS]++;
}

static void count_pairs(const uint8_t *bytes, size_t count, uint8_t *pairs, uint32_t *table) {
  count_by_pairs(bytes, count, 1, pairs, table);
}

static void count_repeating(const uint8_t *bytes, size_t count, uint8_t *pairs, uint32_t *table) {
  count_by_pairs(bytes, count, BF_PAIR_REPLICAS, pairs, table);
}

/* A row of counters has all pairs with one second byte; a column, those with one first byte. Sums
 * of columns are below 256 * 255. */
static void empty_pairs(uint8_t *pairs, uint32_t *table) {
  uint16_t column[256] = {0};
  for (size_t second = 0; second < 256; second++) {
    const uint8_t *row = pairs + second * 256;
    uint32_t sum = 0;
    for (size_t i = 0; i < 256; i++)
      sum += row[i];
    for (size_t i = 0; i < 256; i++)
      column[i] = (uint16_t)(column[i] + row[i]);
    table[second * BF_REPLICAS] += sum;
  }
  for (size_t i = 0; i < 256; i++)
    table[i * BF_REPLICAS] += column[i];
  memset(pairs, 0, BF_PAIRS);
}

_Static_assert(BF_PAIR_REPLICAS == 4, "counters of a pair are added as one 32-bit word");

/* The same with four counters per pair. Most rows are empty: they are only read. */
static void empty_repeating(uint8_t *pairs, uint32_t *table) {
  enum { ROW = 256 * BF_PAIR_REPLICAS };
  const uint32_t even = 0x00ff00ff;
  uint32_t column[256] = {0};
  for (size_t second = 0; second < 256; second++) {
    uint8_t *row = pairs + second * ROW;
    uint32_t sum = 0;
    for (size_t i = 0; i < 256; i++) {
      uint32_t four;
      memcpy(&four, row + i * BF_PAIR_REPLICAS, sizeof four);
      four = (four & even) + (four >> 8 & even);
      four = (four + (four >> 16)) & 0xffff;
      column[i] += four;
      sum += four;
    }
    table[second * BF_REPLICAS] += sum;
    if (sum > 0)
      memset(row, 0, ROW);
  }
  for (size_t i = 0; i < 256; i++)
    table[i * BF_REPLICAS] += column[i];
}

/* ---- Bins, counted ---- */

/* Four bins, times times, into replicas from..from+3. */
static inline void count_four(uint64_t word, uint32_t times, size_t from, uint32_t *table) {
  for (unsigned i = 0; i < 4; i++)
    table[(word >> 16 * i & 0xffff) * BF_REPLICAS + from + i] += times;
}

static void count_bins(const bf_chunk *chunk, uint32_t *table) {
  const uint16_t *bin = chunk->bin;
  size_t i = 0;
  for (; i + 32 <= chunk->count; i += 32) {
    uint64_t first = load(bin + i);
    if (__builtin_expect(repeats_itself((const uint8_t *)(bin + i), first), 0)) {
      count_four(first, 8, 0, table);
      continue;
    }
    for (size_t k = 0; k < 32; k += 8) {
      count_four(load(bin + i + k), 1, 0, table);
      count_four(load(bin + i + k + 4), 1, 4, table);
    }
  }
  for (; i < chunk->count; i++)
    table[bin[i] * (size_t)BF_REPLICAS]++;
}

static void count_bins_once(const bf_chunk *chunk, uint32_t *table) {
  for (size_t i = 0; i < chunk->count; i++)
    table[chunk->bin[i]]++;
}

static void sum_bins(const bf_chunk *chunk, double *table) {
  for (size_t i = 0; i < chunk->count; i++)
    table[chunk->bin[i] * (size_t)BF_REPLICAS + i % BF_REPLICAS] += chunk->weights[i];
}

static void sum_bins_once(const bf_chunk *chunk, double *table) {
  for (size_t i = 0; i < chunk->count; i++)
    table[chunk->bin[i]] += chunk->weights[i];
}

static unsigned repeats(const bf_chunk *chunk) {
  const uint16_t *bin = chunk->bin;
  uint16_t found = 0;
  if (chunk->count < 68)
    return 0;
  for (size_t i = 4; i < 68; i++) {
    bool near = (bin[i] == bin[i - 1]) | (bin[i] == bin[i - 2]);
    bool far = (bin[i] == bin[i - 3]) | (bin[i] == bin[i - 4]);
    found = (uint16_t)(found + (near | far));
  }
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

/* ---- Gradients ---- */

/* The bits of a double without its sign: they are ordered as the magnitudes are. */
static inline uint64_t order_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits & (UINT64_MAX >> 1);
}

static inline double value_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A row of integers. */
#define LOAD_ROW(name, type)                                                                       \
  static inline void name(const uint8_t *data, size_t channels, size_t width, double *row) {       \
    for (size_t x = 0; x < width; x++) {                                                           \
      type pixel;                                                                                  \
      memcpy(&pixel, data + x * channels * sizeof pixel, sizeof pixel);                            \
      row[x] = (double)pixel;                                                                      \
    }                                                                                              \
  }
LOAD_ROW(load_bytes, uint8_t)
LOAD_ROW(load_words, uint16_t)

/* A row of floats; what does not equal itself is NaN. Whether any is infinite. */
static inline bool load_floats(const uint8_t *data, size_t channels, size_t width, double *row) {
  uint64_t largest = 0;
  for (size_t x = 0; x < width; x++) {
    double pixel = (double)load_real(data, x * channels);
    double value = pixel == pixel ? pixel : 0;
    uint64_t order = order_of(value);
    largest = order > largest ? order : largest;
    row[x] = value;
  }
  return value_of(largest) > 1e300;
}

static bool load_row(const uint8_t *data, bf_pixel_type type, unsigned channels, size_t width,
                     double *row) {
  if (type == BF_PIXEL_F32)
    return channels == 1 ? load_floats(data, 1, width, row)
                         : load_floats(data, channels, width, row);
  if (type == BF_PIXEL_U8 && channels == 1)
    load_bytes(data, 1, width, row);
  else if (type == BF_PIXEL_U8)
    load_bytes(data, channels, width, row);
  else if (channels == 1)
    load_words(data, 1, width, row);
  else
    load_words(data, channels, width, row);
  return false;
}

/* Row entries x, x + 1, x + 2 are the neighbours of pixel x. */
static double find_gradient(const double *above, const double *here, const double *below,
                            const uint8_t *mask, size_t width, double *restrict gradient) {
  uint64_t largest = 0;
  for (size_t x = 0; x < width; x++) {
    double left = (above[x] + below[x]) + 2 * here[x];
    double right = (above[x + 2] + below[x + 2]) + 2 * here[x + 2];
    double top = (above[x] + above[x + 2]) + 2 * above[x + 1];
    double bottom = (below[x] + below[x + 2]) + 2 * below[x + 1];
    double gx = right - left, gy = bottom - top;
    gradient[x] = (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy);
  }
  for (size_t x = 0; x < width && mask; x++)
    gradient[x] = mask[x] ? gradient[x] : 0;
  for (size_t x = 0; x < width; x++) {
    uint64_t order = order_of(gradient[x]);
    largest = order > largest ? order : largest;
  }
  return value_of(largest);
}

static void scale_row(const double *gradient, size_t width, double scale, uint8_t *edges) {
  for (size_t x = 0; x < width; x++)
    edges[x] = (uint8_t)(int32_t)(gradient[x] * scale + 0.5);
}

#define JOIN(a, b) a##b
#define NAME(prefix, isa) JOIN(prefix, isa)
#define TEXT(isa) #isa
#define TEXT_OF(isa) TEXT(isa)
const bf_vote_kernel NAME(bf_vote_, BF_VOTE_ISA) = {
    .name = TEXT_OF(BF_VOTE_ISA),
    .pick_bytes = pick_bytes,
    .pick_words = pick_words,
    .pick_reals = pick_reals,
    .pick_weights = pick_weights,
    .bin_words = bin_words,
    .bin_reals = bin_reals,
    .bin_narrowly = bin_narrowly,
    .narrow_bins = narrow_bins,
    .mask_bins = mask_bins,
    .mask_bytes = mask_bytes,
    .count_bytes = count_bytes,
    .empty_bytes = empty_bytes,
    .find_repeats = find_repeats,
    .count_pairs = count_pairs,
    .count_repeating = count_repeating,
    .empty_pairs = empty_pairs,
    .empty_repeating = empty_repeating,
    .count_bins = count_bins,
    .sum_bins = sum_bins,
    .count_bins_once = count_bins_once,
    .sum_bins_once = sum_bins_once,
    .repeats = repeats,
    .vote_line = vote_line,
    .vote_weighted = vote_weighted,
    .load_row = load_row,
    .find_gradient = find_gradient,
    .scale_row = scale_row,
};

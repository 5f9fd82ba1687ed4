/* Inside room search: units of all functionals at once (pencil.h), compiled for each instruction
 * set beside kernel_body.h; KERNEL(name) names the functions. 256 functionals are one bits. */
#include "search/pencil.h"

typedef uint64_t bits __attribute__((vector_size(32), aligned(32)));

/* Ones among words of a block, bit by bit: counter bits 0..planes-1. */
typedef struct KERNEL(counter) {
  bits bit[5];
} KERNEL(counter);

/* *result becomes where the count is at least `least`. */
static inline __attribute__((always_inline)) void KERNEL(at_least)(const KERNEL(counter) * count,
                                                                   unsigned least,
                                                                   const unsigned planes,
                                                                   bits *result) {
  bits found = {0};
  if (!(least >> planes)) {
    found = ~found;
    for (unsigned j = 0; j < planes; j++)
      found = least >> j & 1 ? found & count->bit[j] : found | count->bit[j];
  }
  *result = found;
}

/* Ors into unit[u] the functionals that leave least[u] words or more of a block together. */
static inline __attribute__((always_inline)) void
KERNEL(force_block)(const bf_pencil_plan *plan, const uint16_t *code, uint32_t block, unsigned size,
                    uint32_t chunk, const unsigned *least, unsigned units, bits *unit,
                    const unsigned planes) {
  KERNEL(counter) count = {0};
  uint16_t origin = code[__builtin_ctz(block)];
  for (uint32_t left = block & (block - 1); left; left &= left - 1) {
    unsigned word = code[__builtin_ctz(left)] ^ origin;
    uint64_t sign = -(uint64_t)((unsigned)__builtin_popcount(chunk & word >> 8) & 1);
    bits carry = *(const bits *)plan->walsh[word & 255] ^ (bits) { sign, sign, sign, sign };
    for (unsigned j = 0; j < planes; j++) {
      bits next = count.bit[j] & carry;
      count.bit[j] ^= carry;
      carry = next;
    }
  }
  for (unsigned u = 0; u < units && least[u] <= size; u++) {
    bits ones, more;
    KERNEL(at_least)(&count, least[u], planes, &ones);
    KERNEL(at_least)(&count, size - least[u] + 1, planes, &more);
    unit[u] |= ones | ~more;
  }
}

static void KERNEL(force)(const bf_pencil_plan *plan, const uint16_t *code, uint32_t block,
                          unsigned size, uint32_t chunk, const unsigned *least, unsigned units,
                          bits *unit) {
#define FORCE(planes)                                                                              \
  KERNEL(force_block)(plan, code, block, size, chunk, least, units, unit, planes)
  if (size <= 4)
    FORCE(2);
  else if (size <= 8)
    FORCE(3);
  else if (size <= 16)
    FORCE(4);
  else
    FORCE(5);
#undef FORCE
}

/* Bit i of row j becomes bit j of row i, in each of the four lanes. */
static void KERNEL(transpose)(bits *row) {
  uint64_t mask = 0x00000000ffffffffu;
  for (unsigned j = 32; j; j >>= 1, mask ^= mask << j)
    for (unsigned k = 0; k < 64; k = (k + j + 1) & ~j) {
      bits moved = ((row[k] >> j) ^ row[k + j]) & (bits){mask, mask, mask, mask};
      row[k] ^= moved << j;
      row[k + j] ^= moved;
    }
}

/* Turns the waiting units of a weight bit into a group. */
static void KERNEL(flush)(bf_pencil *pencil, unsigned weight_bit) {
  uint64_t weight = pencil->plan->factor << weight_bit;
  size_t words = ((size_t)1 << pencil->width) / 64;
  uint64_t *to = bf_pencil_add_group(pencil, weight);
  unsigned rows = pencil->waiting[weight_bit];
  pencil->waiting[weight_bit] = 0;
  if (!to)
    return;
  words = words < 4 ? 4 : words;
  for (size_t from = pencil->first / 256 * 4; from < words; from += 4) {
    bits *row = (bits *)(to + from * 64);
    for (unsigned i = 0; i < BF_PENCIL_GROUP; i++)
      row[i] = i < rows ? *(const bits *)(pencil->open[weight_bit] + i * words + from) : (bits){0};
    KERNEL(transpose)(row);
    uint64_t *forced = pencil->sum + from * 64;
    for (unsigned i = 0; i < 256; i++)
      forced[i] += weight * (uint64_t)__builtin_popcountll(to[from * 64 + i]);
  }
}

/* Puts a unit of a weight among those that wait. */
static void KERNEL(put)(bf_pencil *pencil, uint64_t weight, const bits *unit, size_t chunks) {
  for (uint64_t left = weight / pencil->plan->factor; left; left &= left - 1) {
    unsigned bit = (unsigned)__builtin_ctzll(left);
    bits *row = (bits *)pencil->open[bit] + pencil->waiting[bit]++ * chunks;
    for (size_t c = pencil->first / 256; c < chunks; c++)
      row[c] = unit[c];
    if (pencil->waiting[bit] == BF_PENCIL_GROUP)
      KERNEL(flush)(pencil, bit);
  }
}

/* The units of one shape: wavefront passes + 1 is forced by what leaves `least` words together. */
static void KERNEL(shape)(bf_pencil *pencil, const bf_levels *levels, unsigned level, size_t at) {
  const bf_planes *planes = pencil->plan->planes;
  size_t stride = planes->stride, chunks = ((size_t)1 << pencil->width) / 256;
  unsigned passes = levels->passes[level][at], largest = 0, units = 0;
  unsigned least[BF_PENCIL_THRESHOLDS];
  bits unit[BF_PENCIL_THRESHOLDS], all[BF_PENCIL_THRESHOLDS][1 << (BF_PENCIL_MAX_WIDTH - 8)];
  chunks = chunks ? chunks : 1;
  for (unsigned b = 0; b < 1u << level; b++)
    if (levels->sizes[level][b * stride + at] > largest)
      largest = levels->sizes[level][b * stride + at];
  while (units < BF_PENCIL_THRESHOLDS && 2 * (passes + units) + 1 <= largest) {
    least[units] = 2 * (passes + units) + 1;
    units++;
  }
  if (units == 0)
    return;
  for (size_t chunk = pencil->first / 256; chunk < chunks; chunk++) {
    for (unsigned u = 0; u < units; u++)
      unit[u] = (bits){0};
    for (unsigned b = 0; b < 1u << level; b++) {
      unsigned size = levels->sizes[level][b * stride + at];
      if (size >= least[0])
        KERNEL(force)
      (pencil->plan, pencil->code + at * BF_PLANE_WORDS, levels->blocks[level][b * stride + at],
       size, (uint32_t)chunk, least, units, unit);
    }
    for (unsigned u = 0; u < units; u++)
      all[u][chunk] = unit[u];
  }
  for (unsigned u = 0; u < units; u++) {
    uint64_t weight = planes->weight[at];
    if (planes->square)
      weight += (uint64_t)planes->square[at] * (passes + u);
    KERNEL(put)(pencil, weight, all[u], chunks);
  }
}

static unsigned KERNEL(planes)(const bf_pencil *pencil, uint32_t f, const uint32_t *others,
                               uint32_t count, uint64_t below, unsigned most, uint32_t *found) {
  unsigned lead = 31 - (unsigned)__builtin_clz(f), kept = 0;
  uint32_t a = bf_pencil_at(f);
  for (uint32_t j = 0; j < count && kept < most; j++) {
    uint32_t g = others[j], b = bf_pencil_at(g), c = a ^ b;
    if (g >> lead < 2 || (g >> lead & 1) || pencil->sum[c] >= below)
      continue;
    uint64_t forced = 0;
    for (unsigned i = 0; i < pencil->groups && forced < below; i++) {
      const uint64_t *group = pencil->group[i];
      forced += pencil->weight[i] * (uint64_t)__builtin_popcountll(group[a] | group[b] | group[c]);
    }
    if (forced < below)
      found[kept++] = g;
  }
  return kept;
}

/* Adds weight to a bit-sliced sum where unit is set; what passes the top goes to over. */
static inline __attribute__((always_inline)) void
KERNEL(add)(uint64_t weight, const bits *unit, unsigned planes, bits *total, bits *over) {
  for (uint64_t left = weight; left; left &= left - 1) {
    bits carry = *unit;
    for (unsigned j = (unsigned)__builtin_ctzll(left); j < planes; j++) {
      bits next = total[j] & carry;
      total[j] ^= carry;
      carry = next;
    }
    *over |= carry;
  }
}

/* Adds what the last functional costs one shape: fullest bank `passes` + 1 and on. */
static void KERNEL(end_shape)(const bf_pencil *pencil, const bf_levels *levels, unsigned level,
                              size_t at, uint32_t chunk, unsigned planes, bits *total, bits *over) {
  const bf_planes *all = pencil->plan->planes;
  size_t stride = all->stride;
  unsigned passes = levels->passes[level][at], largest = 0, units = 0;
  unsigned least[BF_PLANE_WORDS];
  bits unit[BF_PLANE_WORDS];
  for (unsigned b = 0; b < 1u << level; b++) {
    unsigned size = levels->sizes[level][b * stride + at];
    largest = size > largest ? size : largest;
  }
  for (; passes + units + 1 <= largest; units++) {
    least[units] = passes + units + 1;
    unit[units] = (bits){0};
  }
  for (unsigned b = 0; units && b < 1u << level; b++) {
    unsigned size = levels->sizes[level][b * stride + at];
    if (size > passes)
      KERNEL(force)
    (pencil->plan, pencil->end_code + at * BF_PLANE_WORDS, levels->blocks[level][b * stride + at],
     size, chunk, least, units, unit);
  }
  for (unsigned u = 0; u < units; u++) {
    uint64_t weight = all->weight[at];
    if (all->square)
      weight += (uint64_t)all->square[at] * (passes + u);
    KERNEL(add)(weight / pencil->plan->factor, &unit[u], planes, total, over);
  }
}

static void KERNEL(ends)(bf_pencil *pencil, const bf_levels *levels, unsigned level, uint32_t first,
                         uint64_t below) {
  const bf_planes *all = pencil->plan->planes;
  uint64_t factor = pencil->plan->factor, least = below / factor + (below % factor != 0);
  unsigned planes = 64 - (unsigned)__builtin_clzll(least | 1);
  size_t chunks = pencil->width <= 9 ? 1 : (size_t)1 << (pencil->width - 9);
  for (size_t chunk = first / 256; chunk < chunks; chunk++) {
    bits total[64], over = {0}, dead = {0};
    for (unsigned j = 0; j < planes; j++)
      total[j] = (bits){0};
    for (size_t at = 0; at < all->stride; at++) {
      if (all->weight[at])
        KERNEL(end_shape)(pencil, levels, level, at, (uint32_t)chunk, planes, total, &over);
      if (at % 8 != 7)
        continue;
      bits reached = ~(bits){0};
      for (unsigned j = 0; j < planes; j++)
        reached = least >> j & 1 ? reached & total[j] : reached | total[j];
      dead = reached | over;
      if (!(~dead[0] | ~dead[1] | ~dead[2] | ~dead[3]))
        break;
    }
    *(bits *)(pencil->ends + chunk * 4) = ~dead;
  }
}

static void KERNEL(pencil)(bf_pencil *pencil, const bf_levels *levels, unsigned level) {
  const bf_planes *planes = pencil->plan->planes;
  for (size_t at = 0; at < planes->stride; at++)
    if (planes->weight[at])
      KERNEL(shape)(pencil, levels, level, at);
  for (unsigned bit = 0; bit < BF_PENCIL_WEIGHT_BITS; bit++)
    if (pencil->waiting[bit])
      KERNEL(flush)(pencil, bit);
}

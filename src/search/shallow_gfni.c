/* Shallow folds (shallow.h): points of four shapes in one register, moved all at once. */
#include "search/shallow.h"

#include <immintrin.h>
#include <string.h>

typedef uint8_t byte;

/* ---- Moving sets of points ---- */

/* What moves bits in their bytes by t: bit i of a product with this matrix is bit i ^ t. */
#define ROW(t, i) ((uint64_t)1 << ((i) ^ (t)) << (8 * (7 - (i))))
#define MATRIX(t)                                                                                  \
  (ROW(t, 0) | ROW(t, 1) | ROW(t, 2) | ROW(t, 3) | ROW(t, 4) | ROW(t, 5) | ROW(t, 6) | ROW(t, 7))
static const uint64_t in_bytes[8] = {MATRIX(0), MATRIX(1), MATRIX(2), MATRIX(3),
                                     MATRIX(4), MATRIX(5), MATRIX(6), MATRIX(7)};
#undef MATRIX
#undef ROW

/* How all sets of a register are moved by one vector. */
typedef struct move {
  __m512i matrix, order;
} move;

static inline __m128i order_of_bytes(unsigned x) {
  const __m128i order = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm_xor_si128(order, _mm_set1_epi8((char)(x >> 3)));
}

static inline move move_by(unsigned x) {
  return (move){_mm512_set1_epi64((long long)in_bytes[x & 7]),
                _mm512_broadcast_i32x4(order_of_bytes(x))};
}

static inline __m512i moved(__m512i sets, move by) {
  return _mm512_shuffle_epi8(_mm512_gf2p8affine_epi64_epi8(sets, by.matrix, 0), by.order);
}

static inline __m512i load(const void *at) { return _mm512_loadu_si512(at); }
static inline void store(void *at, __m512i x) { _mm512_storeu_si512(at, x); }
static inline __m512i or3(__m512i a, __m512i b, __m512i c) {
  return _mm512_ternarylogic_epi64(a, b, c, 0xfe);
}
/* a or both of b and c. */
static inline __m512i or_and(__m512i a, __m512i b, __m512i c) {
  return _mm512_ternarylogic_epi64(a, b, c, 0xf8);
}
/* A bit for each set of a register that is not empty. */
static inline uint64_t not_empty(__m512i sets) {
  unsigned halves = _mm512_test_epi64_mask(sets, sets);
  return _pext_u32(halves | halves >> 1, 0x55);
}

/* ---- The node above ---- */

/* Takes one point out of a set; false if there is none. */
static inline bool pull(bf_points *set, unsigned *x) {
  for (unsigned h = 0; h < 2; h++)
    if ((*set)[h]) {
      *x = 64 * h + (unsigned)__builtin_ctzll((*set)[h]);
      (*set)[h] &= (*set)[h] - 1;
      return true;
    }
  return false;
}

/* The sets moved by every point of a half, or-ed; `set` in halves, and turned round for points of
 * the half in which bit q is set. */
static inline __m512i spread(__m512i total, __m512i set, bf_points low, bf_points high) {
  unsigned x;
  __m512i turned = _mm512_permutex_epi64(set, 0x4e);
  while (pull(&low, &x))
    total = _mm512_or_si512(total, moved(set, move_by(x)));
  while (pull(&high, &x))
    total = _mm512_or_si512(total, moved(turned, move_by(x)));
  return total;
}

static inline __m512i halves_of(bf_points low[2][BF_SHALLOW_CHUNK],
                                bf_points high[2][BF_SHALLOW_CHUNK], unsigned s) {
  __m256i first = _mm256_set_m128i((__m128i)low[1][s], (__m128i)low[0][s]);
  __m256i second = _mm256_set_m128i((__m128i)high[1][s], (__m128i)high[0][s]);
  return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

/* What vectors force in one shape before the fold: three and four words together, from every point
 * with two or more; two together only where no point holds two. */
static void open_shape(bf_shallow_chunk *chunk, unsigned s) {
  const bf_points all = ~(bf_points){0};
  bf_points(*one)[BF_SHALLOW_CHUNK] = chunk->at_least[0],
  (*two)[BF_SHALLOW_CHUNK] = chunk->at_least[1];
  bf_points(*three)[BF_SHALLOW_CHUNK] = chunk->at_least[2];
  bool is_two = chunk->has[0] >> s & 1;
  __m512i sets = halves_of(one, two, s), forces = _mm512_setzero_si512();
  if (!is_two) {
    __m512i pairs = spread(forces, sets, one[0][s], one[1][s]);
    chunk->unit[0][0][s] = (bf_points)_mm512_castsi512_si128(pairs);
    chunk->unit[0][1][s] = (bf_points)_mm512_extracti32x4_epi32(pairs, 1);
    chunk->unit[1][0][s] = chunk->unit[1][1][s] = (bf_points){0};
    chunk->unit[2][0][s] = chunk->unit[2][1][s] = (bf_points){0};
    return;
  }
  forces = spread(forces, sets, two[0][s], two[1][s]);
  if (chunk->has[1] >> s & 1) {
    __m512i ones =
        _mm512_maskz_permutexvar_epi64(0xf0, _mm512_setr_epi64(0, 1, 2, 3, 0, 1, 2, 3), sets);
    forces = spread(forces, ones, three[0][s], three[1][s]);
  }
  chunk->unit[0][0][s] = chunk->unit[0][1][s] = all;
  chunk->unit[1][0][s] = (bf_points)_mm512_castsi512_si128(forces);
  chunk->unit[1][1][s] = (bf_points)_mm512_extracti32x4_epi32(forces, 1);
  chunk->unit[2][0][s] = (bf_points)_mm512_extracti32x4_epi32(forces, 2);
  chunk->unit[2][1][s] = (bf_points)_mm512_extracti32x4_epi32(forces, 3);
}

static void shallow_open(bf_shallow *shallow) {
  shallow->seen = 0;
  shallow->has_units = false;
  for (unsigned c = 0; c < shallow->chunks; c++)
    for (unsigned l = 0; l < BF_SHALLOW_LEVELS; l++)
      shallow->seen +=
          shallow->chunk[c].weight * (uint64_t)__builtin_popcountll(shallow->chunk[c].has[l]);
}

/* Units of the node above, once a fold asks for them. */
static void make_units(bf_shallow *shallow) {
  for (unsigned c = 0; c < shallow->chunks; c++)
    for (unsigned s = 0; s < shallow->chunk[c].count; s++)
      open_shape(&shallow->chunk[c], s);
  shallow->has_units = true;
}

/* ---- Folding ---- */

/* Of four shapes from s on: sets of two kinds, each shape's beside one another. */
static inline void store_beside(bf_points (*to)[2], __m512i first, __m512i second) {
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  store(to[0], _mm512_permutex2var_epi64(first, low, second));
  store(to[2], _mm512_permutex2var_epi64(first, high, second));
}

/* Points of four shapes folded; which shapes have a point of two, three or four words now goes to
 * forced. */
static inline void fold_points(bf_shallow_chunk *chunk, unsigned s, move by) {
  __m512i one = load(&chunk->at_least[0][0][s]), two = load(&chunk->at_least[1][0][s]);
  __m512i three = load(&chunk->at_least[2][0][s]);
  __m512i high_one = moved(load(&chunk->at_least[0][1][s]), by);
  __m512i high_two = moved(load(&chunk->at_least[1][1][s]), by);
  __m512i high_three = moved(load(&chunk->at_least[2][1][s]), by);
  __m512i merged = _mm512_and_si512(one, high_one);
  __m512i merged_three = or_and(_mm512_and_si512(two, high_one), one, high_two);
  __m512i merged_four =
      or_and(or_and(_mm512_and_si512(two, high_two), three, high_one), one, high_three);
  store(&chunk->merged[s], merged);
  store(&chunk->merged_three[s], merged_three);
  chunk->forced[0] |= not_empty(merged) << s;
  chunk->forced[1] |= not_empty(merged_three) << s;
  chunk->forced[2] |= not_empty(merged_four) << s;
  store(&chunk->three[s], or3(three, high_three, merged_three));
  store_beside(&chunk->points[s], _mm512_or_si512(one, high_one), or3(two, high_two, merged));
}

/* Units of four shapes folded. */
static inline void fold_units(bf_shallow_chunk *chunk, unsigned s, move by) {
  __m512i unit[BF_SHALLOW_LEVELS];
  for (unsigned l = 0; l < BF_SHALLOW_LEVELS; l++)
    unit[l] = _mm512_or_si512(load(&chunk->unit[l][0][s]), moved(load(&chunk->unit[l][1][s]), by));
  store(&chunk->pairs[s], unit[0]);
  store_beside(&chunk->forces[s], unit[1], unit[2]);
}

/* 64 numbers from a multiple of 64 on. */
static inline __m512i numbers_from(unsigned first) {
  const __m512i numbers = _mm512_set_epi8(
      63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
      40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
      17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_or_si512(numbers, _mm512_set1_epi8((char)first));
}

/* The points of all sets as lists of shapes and points; returns how many. */
static inline unsigned list_points(const bf_points *set, unsigned count, byte *shape, byte *point) {
  const __m512i places = numbers_from(0), above = numbers_from(64);
  unsigned listed = 0;
  for (unsigned s = 0; s < count; s++) {
    __m512i own = _mm512_set1_epi8((char)s);
    store(shape + listed, own);
    store(point + listed, _mm512_maskz_compress_epi8(set[s][0], places));
    listed += (unsigned)__builtin_popcountll(set[s][0]);
    store(shape + listed, own);
    store(point + listed, _mm512_maskz_compress_epi8(set[s][1], above));
    listed += (unsigned)__builtin_popcountll(set[s][1]);
  }
  return listed;
}

/* From every point that the fold merged: the vectors to a third and a fourth word. */
static inline void force_from_merged(bf_shallow_chunk *chunk) {
  enum { MOST = BF_SHALLOW_CHUNK * BF_PLANE_WORDS + 64 };
  byte shape[MOST], point[MOST];
  unsigned listed = list_points(chunk->merged, chunk->count, shape, point);
  for (unsigned i = 0; i < listed; i++) {
    unsigned x = point[i];
    __m256i *forces = (__m256i *)&chunk->forces[shape[i]];
    __m256i sets = _mm256_loadu_si256((const __m256i *)&chunk->points[shape[i]]);
    __m256i inside =
        _mm256_gf2p8affine_epi64_epi8(sets, _mm256_set1_epi64x((long long)in_bytes[x & 7]), 0);
    __m256i away = _mm256_shuffle_epi8(inside, _mm256_broadcastsi128_si256(order_of_bytes(x)));
    _mm256_storeu_si256(forces, _mm256_or_si256(_mm256_loadu_si256(forces), away));
  }
  for (uint64_t left = chunk->forced[1]; left; left &= left - 1) {
    unsigned s = (unsigned)__builtin_ctzll(left), x;
    bf_points three = chunk->merged_three[s];
    while (pull(&three, &x)) {
      __m128i inside = _mm_gf2p8affine_epi64_epi8((__m128i)chunk->points[s][0],
                                                  _mm_set1_epi64x((long long)in_bytes[x & 7]), 0);
      chunk->forces[s][1] |= (bf_points)_mm_shuffle_epi8(inside, order_of_bytes(x));
    }
  }
}

/* ---- From shapes to vectors ---- */

/* Dword j of register i becomes dword i of register j. */
static inline void turn_dwords(__m512i *row) {
  __m512i half[16];
  for (unsigned i = 0; i < 16; i += 4) {
    __m512i a = _mm512_unpacklo_epi32(row[i], row[i + 1]);
    __m512i b = _mm512_unpackhi_epi32(row[i], row[i + 1]);
    __m512i c = _mm512_unpacklo_epi32(row[i + 2], row[i + 3]);
    __m512i d = _mm512_unpackhi_epi32(row[i + 2], row[i + 3]);
    half[i] = _mm512_unpacklo_epi64(a, c);
    half[i + 1] = _mm512_unpackhi_epi64(a, c);
    half[i + 2] = _mm512_unpacklo_epi64(b, d);
    half[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
  for (unsigned i = 0; i < 4; i++) {
    __m512i a = _mm512_shuffle_i32x4(half[i], half[i + 4], 0x44);
    __m512i b = _mm512_shuffle_i32x4(half[i], half[i + 4], 0xee);
    __m512i c = _mm512_shuffle_i32x4(half[i + 8], half[i + 12], 0x44);
    __m512i d = _mm512_shuffle_i32x4(half[i + 8], half[i + 12], 0xee);
    row[i] = _mm512_shuffle_i32x4(a, c, 0x88);
    row[i + 4] = _mm512_shuffle_i32x4(a, c, 0xdd);
    row[i + 8] = _mm512_shuffle_i32x4(b, d, 0x88);
    row[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
}

/* Dword b holds the bytes number b of the four sets of a register, the last set first. */
static inline __m512i gather_bytes(__m512i sets) {
  const __m512i order =
      _mm512_set_epi32(0x0f1f2f3f, 0x0e1e2e3e, 0x0d1d2d3d, 0x0c1c2c3c, 0x0b1b2b3b, 0x0a1a2a3a,
                       0x09192939, 0x08182838, 0x07172737, 0x06162636, 0x05152535, 0x04142434,
                       0x03132333, 0x02122232, 0x01112131, 0x00102030);
  return _mm512_permutexvar_epi8(order, sets);
}

/* Of squares of 8 shapes (bytes, the last first) by 8 vectors, words: all shapes of a vector. */
static inline __m512i words_of_squares(__m512i squares) {
  const __m512i unit = _mm512_set1_epi64((long long)0x8040201008040201u);
  const __m512i order = _mm512_set_epi64(0x3f372f271f170f07, 0x3e362e261e160e06, 0x3d352d251d150d05,
                                         0x3c342c241c140c04, 0x3b332b231b130b03, 0x3a322a221a120a02,
                                         0x3931292119110901, 0x3830282018100800);
  return _mm512_permutexvar_epi8(order, _mm512_gf2p8affine_epi64_epi8(unit, squares, 0));
}

/* Sets of a chunk's shapes, four in each register, to a word of shapes for each of 128 vectors,
 * with `forced` in all. Register i is that of shapes 4 * (i ^ 1) on. */
static inline void turn(__m512i *sets, uint64_t forced, uint64_t *turned) {
  const __m512i own = _mm512_set1_epi64((long long)forced);
  for (unsigned i = 0; i < 16; i++)
    sets[i] = gather_bytes(sets[i]);
  turn_dwords(sets);
  for (unsigned i = 0; i < 16; i++)
    store(turned + 8 * i, _mm512_or_si512(words_of_squares(sets[i]), own));
}

static inline uint64_t all_shapes(const bf_shallow_chunk *chunk) {
  return UINT64_MAX >> (BF_SHALLOW_CHUNK - chunk->count);
}

/* Two words together: of the few shapes that have no two after the fold. */
static inline void turn_pairs(bf_shallow_chunk *chunk) {
  const __m512i own = _mm512_set1_epi64((long long)chunk->forced[0]);
  for (unsigned i = 0; i < 16; i++)
    store(&chunk->turned[0][8 * i], own);
  for (uint64_t left = all_shapes(chunk) & ~chunk->forced[0]; left; left &= left - 1) {
    unsigned s = (unsigned)__builtin_ctzll(left);
    const byte *eight = (const byte *)&chunk->pairs[s];
    const __m512i bit = _mm512_set1_epi64((long long)((uint64_t)1 << s));
    for (unsigned i = 0; i < 16; i++) {
      __m512i before = load(&chunk->turned[0][8 * i]);
      store(&chunk->turned[0][8 * i], _mm512_mask_or_epi64(before, eight[i], before, bit));
    }
  }
}

/* Takes sets of two kinds, each shape's beside one another, apart, in the order that turn wants. */
static inline void take_apart(bf_points (*from)[2], __m512i *first, __m512i *second) {
  const __m512i even = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
  const __m512i odd = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
  for (unsigned i = 0; i < 16; i++) {
    __m512i low = load(from[4 * i]), high = load(from[4 * i + 2]);
    first[i ^ 1] = _mm512_permutex2var_epi64(low, even, high);
    second[i ^ 1] = _mm512_permutex2var_epi64(low, odd, high);
  }
}

static inline void turn_units(bf_shallow_chunk *chunk) {
  __m512i three[16], four[16];
  take_apart(chunk->forces, three, four);
  turn_pairs(chunk);
  turn(three, chunk->forced[1], chunk->turned[1]);
  turn(four, chunk->forced[2], chunk->turned[2]);
}

static inline void turn_words(bf_shallow_chunk *chunk) {
  __m512i one[16], two[16], three[16];
  take_apart(chunk->points, one, two);
  for (unsigned i = 0; i < 16; i++)
    three[i ^ 1] = load(&chunk->three[4 * i]);
  turn(one, 0, chunk->words[0]);
  turn(two, 0, chunk->words[1]);
  turn(three, 0, chunk->words[2]);
}

/* ---- Costs ---- */

/* What eight vectors cost in a chunk, by the words of shapes that they force. */
static inline __m512i price(const bf_shallow_chunk *chunk, __m512i two, __m512i three,
                            __m512i four) {
  __m512i units =
      _mm512_add_epi64(_mm512_popcnt_epi64(two),
                       _mm512_add_epi64(_mm512_popcnt_epi64(three), _mm512_popcnt_epi64(four)));
  return _mm512_mullo_epi64(units, _mm512_set1_epi64((long long)chunk->weight));
}

/* The vectors that cost less than `below`. */
static bf_points cheap_vectors(const bf_shallow *shallow, uint64_t below) {
  const __m512i most = _mm512_set1_epi64((long long)below);
  bf_points cheap;
  byte *eight = (byte *)&cheap;
  for (unsigned i = 0; i < 16; i++) {
    __m512i cost = _mm512_setzero_si512();
    for (unsigned c = 0; c < shallow->chunks; c++) {
      const bf_shallow_chunk *chunk = &shallow->chunk[c];
      cost = _mm512_add_epi64(cost, price(chunk, load(&chunk->turned[0][8 * i]),
                                          load(&chunk->turned[1][8 * i]),
                                          load(&chunk->turned[2][8 * i])));
    }
    eight[i] = _mm512_cmplt_epu64_mask(cost, most);
  }
  return cheap;
}

/* Folds the points of a chunk; what N alone costs there. */
static uint64_t fold_chunk(bf_shallow_chunk *chunk, move by) {
  unsigned units = 0;
  memcpy(chunk->forced, chunk->has, sizeof chunk->forced);
  for (unsigned s = 0; s < chunk->count; s += 4)
    fold_points(chunk, s, by);
  for (unsigned l = 0; l < BF_SHALLOW_LEVELS; l++)
    units += (unsigned)__builtin_popcountll(chunk->forced[l]);
  return chunk->weight * units;
}

static bool shallow_fold(bf_shallow *shallow, unsigned t, uint64_t below) {
  uint64_t cost = 0;
  move by = move_by(t);
  shallow->is_laid = false;
  for (unsigned c = 0; c < shallow->chunks; c++)
    if ((cost += fold_chunk(&shallow->chunk[c], by)) >= below)
      return false;
  if (!shallow->has_units)
    make_units(shallow);
  for (unsigned c = 0; c < shallow->chunks; c++) {
    bf_shallow_chunk *chunk = &shallow->chunk[c];
    for (unsigned s = 0; s < chunk->count; s += 4)
      fold_units(chunk, s, by);
    force_from_merged(chunk);
    turn_units(chunk);
  }
  shallow->alive = shallow->allowed & cheap_vectors(shallow, below);
  return (shallow->alive[0] | shallow->alive[1]) != 0;
}

/* ---- Planes ---- */

/* Eight words from number 8 * i on, of what is x away. */
static inline __m512i load_away(const uint64_t *words, unsigned i, unsigned x, __m512i lanes) {
  return _mm512_permutexvar_epi64(lanes, load(words + 8 * (i ^ x >> 3)));
}

static inline __m512i lanes_away(unsigned x) {
  return _mm512_xor_si512(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(x & 7));
}

/* What the planes of u and eight vectors from number 8 * i on force, or-ed. */
static inline __m512i force_of_planes(const uint64_t *turned, unsigned u, unsigned i,
                                      __m512i lanes) {
  return or3(_mm512_set1_epi64((long long)turned[u]), load(turned + 8 * i),
             load_away(turned, i, u, lanes));
}

/* Of eight vectors from number 8 * i on, a bit for each whose plane with u stays below. */
static inline unsigned cheap_planes(const bf_shallow *shallow, unsigned u, unsigned i,
                                    uint64_t below) {
  const __m512i lanes = lanes_away(u);
  __m512i cost = _mm512_setzero_si512();
  for (unsigned c = 0; c < shallow->chunks; c++) {
    const bf_shallow_chunk *chunk = &shallow->chunk[c];
    __m512i two = chunk->forced[0] == all_shapes(chunk)
                      ? load(chunk->turned[0])
                      : force_of_planes(chunk->turned[0], u, i, lanes);
    cost = _mm512_add_epi64(cost, price(chunk, two, force_of_planes(chunk->turned[1], u, i, lanes),
                                        force_of_planes(chunk->turned[2], u, i, lanes)));
  }
  return _mm512_cmplt_epu64_mask(cost, _mm512_set1_epi64((long long)below));
}

/* Words at points joined by u, whose highest bit is `lead`: at those without that bit. */
static void join_words(bf_shallow_chunk *chunk, unsigned u, unsigned lead) {
  const __m512i lanes = lanes_away(u);
  for (unsigned i = 0; i < 16; i++) {
    if (i >> (lead - 3) & 1)
      continue;
    __m512i one = load(chunk->words[0] + 8 * i),
            other_one = load_away(chunk->words[0], i, u, lanes);
    __m512i two = load(chunk->words[1] + 8 * i),
            other_two = load_away(chunk->words[1], i, u, lanes);
    __m512i three = or3(load(chunk->words[2] + 8 * i), load_away(chunk->words[2], i, u, lanes),
                        _mm512_and_si512(two, other_one));
    store(chunk->joined[0] + 8 * i, _mm512_or_si512(one, other_one));
    store(chunk->joined[1] + 8 * i, or_and(_mm512_or_si512(two, other_two), one, other_one));
    store(chunk->joined[2] + 8 * i, or_and(three, one, other_two));
  }
}

/* What the plane of u and v costs, but for what is more than four words in a bank. */
static inline uint64_t price_plane(const bf_shallow_chunk *chunk, unsigned u, unsigned v) {
  unsigned lead = 31 - (unsigned)__builtin_clz(u), other = 31 - (unsigned)__builtin_clz(v);
  unsigned not_here = 1u << (lead - 3) | 1u << (other - 3);
  const __m512i lanes = lanes_away(v);
  __m512i three = _mm512_setzero_si512(), four = three;
  for (unsigned i = 0; i < 16; i++) {
    if (i & not_here)
      continue;
    __m512i one = load(chunk->joined[0] + 8 * i), two = load(chunk->joined[1] + 8 * i);
    __m512i other_one = load_away(chunk->joined[0], i, v, lanes);
    __m512i other_two = load_away(chunk->joined[1], i, v, lanes);
    three = or_and(or_and(three, two, other_one), one, other_two);
    four = or_and(four, two, other_two);
    four = or_and(four, load(chunk->joined[2] + 8 * i), other_one);
    four = or_and(four, one, load_away(chunk->joined[2], i, v, lanes));
  }
  uint64_t forced[BF_SHALLOW_LEVELS] = {0, (uint64_t)_mm512_reduce_or_epi64(three),
                                        (uint64_t)_mm512_reduce_or_epi64(four)};
  unsigned units = 0;
  for (unsigned l = 0; l < BF_SHALLOW_LEVELS; l++) {
    const uint64_t *turned = chunk->turned[l];
    units += (unsigned)__builtin_popcountll(forced[l] | turned[u] | turned[v] | turned[u ^ v]);
  }
  return chunk->weight * units;
}

/* Keeps those of the planes that stay below; returns how many. */
static unsigned keep_cheap(bf_shallow *shallow, unsigned u, uint64_t below, unsigned count,
                           byte *found) {
  unsigned lead = 31 - (unsigned)__builtin_clz(u), kept = 0;
  if (lead < 3 || count == 0)
    return count;
  for (unsigned c = 0; c < shallow->chunks; c++) {
    if (!shallow->is_laid)
      turn_words(&shallow->chunk[c]);
    join_words(&shallow->chunk[c], u, lead);
  }
  shallow->is_laid = true;
  for (unsigned i = 0; i < count; i++) {
    uint64_t cost = 0;
    for (unsigned c = 0; c < shallow->chunks; c++)
      cost += price_plane(&shallow->chunk[c], u, found[i]);
    found[kept] = found[i];
    kept += cost < below;
  }
  return kept;
}

/* The vectors of a set as a list; found has room for 64 more. Returns how many. */
static inline unsigned list_vectors(const bf_points *set, uint8_t *found) {
  unsigned low = (unsigned)__builtin_popcountll((*set)[0]);
  store(found, _mm512_maskz_compress_epi8((*set)[0], numbers_from(0)));
  store(found + low, _mm512_maskz_compress_epi8((*set)[1], numbers_from(64)));
  return low + (unsigned)__builtin_popcountll((*set)[1]);
}

static unsigned shallow_planes(bf_shallow *shallow, unsigned u, const bf_points *others,
                               uint64_t below, uint8_t *found) {
  byte listed[2 * BF_FOLD_POINTS];
  __m128i inside = _mm_gf2p8affine_epi64_epi8((__m128i)shallow->alive,
                                              _mm_set1_epi64x((long long)in_bytes[u & 7]), 0);
  bf_points wanted =
      shallow->alive & *others & (bf_points)_mm_shuffle_epi8(inside, order_of_bytes(u));
  if (!(wanted[0] | wanted[1]))
    return 0;
  unsigned some = _mm_test_epi8_mask((__m128i)*others, (__m128i)*others);
  bf_points cheap = {0};
  for (unsigned h = 0; h < 2; h++)
    for (unsigned left = some >> 8 * h & 0xff; left; left &= left - 1) {
      unsigned i = (unsigned)__builtin_ctz(left);
      cheap[h] |= (uint64_t)cheap_planes(shallow, u, 8 * h + i, below) << 8 * i;
    }
  cheap &= wanted;
  unsigned count = keep_cheap(shallow, u, below, list_vectors(&cheap, listed), listed);
  memcpy(found, listed, count);
  return count;
}

const bf_shallow_kernel bf_shallow_gfni = {shallow_open, shallow_fold, shallow_planes};

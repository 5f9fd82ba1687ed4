/* Finding patterns and counting new ones, eight lanes at a time. */
#include "memory/memo.h"

#include <immintrin.h>

enum { VECTORS = BF_MEMO_LANES / 8 };

/* All ones in the lanes whose bits are set in the low eight of mask. */
static inline __m256i spread(uint32_t mask) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bit), bit);
}

/* The two halves, and each half's neighbours, folded by op. */
#define FOLD(op, x)                                                                                \
  do {                                                                                             \
    __m128i half = op(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));                  \
    half = op(half, _mm_shuffle_epi32(half, 0x4e));                                                \
    half = op(half, _mm_shuffle_epi32(half, 0xb1));                                                \
    return _mm_cvtsi128_si32(half);                                                                \
  } while (0)
static inline int fold_add(__m256i x) { FOLD(_mm_add_epi32, x); }
static inline int fold_min(__m256i x) { FOLD(_mm_min_epi32, x); }
static inline int fold_max(__m256i x) { FOLD(_mm_max_epi32, x); }
static inline int fold_or(__m256i x) { FOLD(_mm_or_si128, x); }

static void put(bf_memo *memo, const __m256i *relative, uint64_t key) {
  __m256i lowest = relative[0], highest = relative[0], bits = relative[0];
  for (unsigned i = 0; i < VECTORS; i++) {
    _mm256_store_si256((__m256i *)memo->relative + i, relative[i]);
    lowest = _mm256_min_epi32(lowest, relative[i]);
    highest = _mm256_max_epi32(highest, relative[i]);
    bits = _mm256_or_si256(bits, relative[i]);
  }
  memo->key = key;
  memo->lowest = fold_min(lowest);
  memo->highest = fold_max(highest);
  memo->bits = (uint32_t)fold_or(bits);
}

static bf_memo *find(bf_memo *table, const uint32_t *address, uint64_t key, uint32_t base,
                     bool *found) {
  __m256i origin = _mm256_set1_epi32((int)base), relative[VECTORS];
  __m256i sum = _mm256_setzero_si256(), differs = sum;
  for (unsigned i = 0; i < VECTORS; i++) {
    __m256i at = _mm256_loadu_si256((const __m256i *)address + i);
    __m256i factor = _mm256_load_si256((const __m256i *)bf_memo_factor + i);
    relative[i] = _mm256_and_si256(_mm256_sub_epi32(at, origin), spread((uint32_t)key >> 8 * i));
    sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(relative[i], factor));
  }
  bf_memo *memo = &table[bf_memo_place((uint32_t)fold_add(sum), key)];
  for (unsigned i = 0; i < VECTORS; i++) {
    __m256i known = _mm256_load_si256((const __m256i *)memo->relative + i);
    differs = _mm256_or_si256(differs, _mm256_xor_si256(known, relative[i]));
  }
  *found = memo->key == key && _mm256_testz_si256(differs, differs);
  if (!*found)
    put(memo, relative, key);
  return memo;
}

static bool fits(const uint32_t *address, uint32_t mask, uint32_t last, uint32_t odd) {
  __m256i highest = _mm256_set1_epi32((int)last), bits = _mm256_setzero_si256();
  for (unsigned i = 0; i < VECTORS; i++) {
    __m256i at =
        _mm256_and_si256(_mm256_loadu_si256((const __m256i *)address + i), spread(mask >> 8 * i));
    highest = _mm256_max_epu32(highest, at);
    bits = _mm256_or_si256(bits, at);
  }
  __m256i beyond = _mm256_xor_si256(highest, _mm256_set1_epi32((int)last));
  bits = _mm256_and_si256(bits, _mm256_set1_epi32((int)odd));
  return _mm256_testz_si256(beyond, beyond) && _mm256_testz_si256(bits, bits);
}

/* Lanes whose number is still in the place of their word when all lanes have put theirs there: one
 * of the lanes of each word. */
static inline uint32_t put_owners(const uint32_t *word, uint32_t mask, uint32_t *owner) {
  uint32_t owners = 0;
  if (mask == UINT32_MAX) {
    for (uint32_t lane = 0; lane < BF_MEMO_LANES; lane++)
      owner[word[lane]] = lane;
    for (uint32_t lane = 0; lane < BF_MEMO_LANES; lane++)
      owners |= (uint32_t)(owner[word[lane]] == lane) << lane;
    return owners;
  }
  for (uint32_t left = mask; left; left &= left - 1)
    owner[word[__builtin_ctz(left)]] = (uint32_t)__builtin_ctz(left);
  for (uint32_t left = mask; left; left &= left - 1) {
    uint32_t lane = (uint32_t)__builtin_ctz(left);
    owners |= (uint32_t)(owner[word[lane]] == lane) << lane;
  }
  return owners;
}

/* Lanes of the word that most lanes want. */
static unsigned most_sharing(const uint32_t *word, uint32_t mask, const uint32_t *owner) {
  uint8_t lanes[BF_MEMO_LANES] = {0};
  unsigned most = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned own = ++lanes[owner[word[__builtin_ctz(left)]]];
    most = own > most ? own : most;
  }
  return most;
}

/* The bits of each number, counted. */
static inline __m256i bits_of(__m256i x) {
  const __m256i nibble = _mm256_set1_epi8(15), one = _mm256_set1_epi8(1);
  const __m256i count = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2,
                                         1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  __m256i low = _mm256_shuffle_epi8(count, _mm256_and_si256(x, nibble));
  __m256i high = _mm256_shuffle_epi8(count, _mm256_and_si256(_mm256_srli_epi32(x, 4), nibble));
  return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_add_epi8(low, high), one),
                           _mm256_set1_epi16(1));
}

/* The most lanes of a mask in one of 32 banks. plane[b] has bit b of the bank of each lane. A
 * vector holds eight banks: which lanes have their low three bits is the same for all four. */
static inline unsigned fullest_bank(const uint32_t *plane, uint32_t mask) {
  const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i lanes = _mm256_set1_epi32((int)mask), most = _mm256_setzero_si256();
  for (int bit = 0; bit < 3; bit++) {
    __m256i one = _mm256_set1_epi32(1 << bit);
    __m256i is_clear = _mm256_cmpeq_epi32(_mm256_and_si256(number, one), most);
    lanes = _mm256_and_si256(lanes, _mm256_xor_si256(_mm256_set1_epi32((int)plane[bit]), is_clear));
  }
  for (unsigned i = 0; i < VECTORS; i++) {
    uint32_t with = (i & 1 ? plane[3] : ~plane[3]) & (i & 2 ? plane[4] : ~plane[4]);
    most = _mm256_max_epi32(most, bits_of(_mm256_and_si256(lanes, _mm256_set1_epi32((int)with))));
  }
  return (unsigned)fold_max(most);
}

/* Bit planes of the banks of all lanes. */
static inline void bank_planes(const uint32_t *word, uint32_t mask, const uint8_t *bank_of_word,
                               uint32_t *plane) {
  const __m256i low = _mm256_set1_epi32(31);
  _Alignas(32) uint8_t own[BF_MEMO_LANES] = {0};
  __m256i bank;
  if (bank_of_word) {
    for (uint32_t left = mask; left; left &= left - 1)
      own[__builtin_ctz(left)] = bank_of_word[word[__builtin_ctz(left)]];
    bank = _mm256_load_si256((const __m256i *)own);
  } else {
    __m256i part[VECTORS];
    for (unsigned i = 0; i < VECTORS; i++)
      part[i] = _mm256_and_si256(_mm256_load_si256((const __m256i *)word + i), low);
    __m256i halves = _mm256_packus_epi16(_mm256_packus_epi32(part[0], part[1]),
                                         _mm256_packus_epi32(part[2], part[3]));
    bank = _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  for (int bit = 0; bit < 5; bit++)
    plane[bit] = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(bank, 7 - bit));
}

/* Words of 16 bits, and the same with their halves exchanged. */
typedef struct turned {
  __m256i words, swapped;
} turned;

static inline turned turn(__m256i words) {
  return (turned){words, _mm256_permute2x128_si256(words, words, 0x01)};
}

/* The least difference, as XOR, between words and those K and 8 + K places behind in a circle. */
#define NEAR(least, to, of, K)                                                                     \
  least = _mm256_min_epu16(                                                                        \
      least, _mm256_xor_si256(to, _mm256_alignr_epi8((of).swapped, (of).words, 2 * (K))))
#define FAR(least, to, of, K)                                                                      \
  least = _mm256_min_epu16(                                                                        \
      least, _mm256_xor_si256(to, _mm256_alignr_epi8((of).words, (of).swapped, 2 * (K))))

/* Whether two of 32 words are the same: within each half those up to 8 places behind, and every
 * place of the other half. */
static inline bool any_same(__m256i low, __m256i high) {
  turned a = turn(low), b = turn(high);
  __m256i x = _mm256_min_epu16(_mm256_xor_si256(low, a.swapped), _mm256_xor_si256(high, b.swapped));
  __m256i y = _mm256_min_epu16(_mm256_xor_si256(low, high), _mm256_xor_si256(low, b.swapped));
#define EACH(K)                                                                                    \
  do {                                                                                             \
    NEAR(x, low, a, K);                                                                            \
    NEAR(y, high, b, K);                                                                           \
    NEAR(x, low, b, K);                                                                            \
    FAR(y, low, b, K);                                                                             \
  } while (0)
  EACH(1);
  EACH(2);
  EACH(3);
  EACH(4);
  EACH(5);
  EACH(6);
  EACH(7);
#undef EACH
  __m256i same = _mm256_cmpeq_epi16(_mm256_min_epu16(x, y), _mm256_setzero_si256());
  return !_mm256_testz_si256(same, same);
}

/* Sixteen words as 16 bits each, in some order; lanes that are not active want words of their own,
 * from 0xFFE0 on. Bits of *high_bits say where a word needs more. */
static inline __m256i pack_words(const uint32_t *word, uint32_t mask, int32_t beyond,
                                 __m256i *high_bits) {
  const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                half = _mm256_set1_epi32(0xFFFF);
  __m256i part[2];
  for (int i = 0; i < 2; i++) {
    __m256i own = _mm256_load_si256((const __m256i *)word + i);
    __m256i other = _mm256_add_epi32(_mm256_set1_epi32(beyond + 8 * i), number);
    part[i] = _mm256_blendv_epi8(other, own, spread(mask >> 8 * i));
    *high_bits = _mm256_or_si256(*high_bits, _mm256_andnot_si256(half, part[i]));
  }
  return _mm256_packus_epi32(_mm256_and_si256(part[0], half), _mm256_and_si256(part[1], half));
}

/* Whether two active lanes want the same word; true also where words need more than 16 bits. */
static inline bool may_share(const uint32_t *word, uint32_t mask) {
  __m256i high_bits = _mm256_setzero_si256();
  __m256i low = pack_words(word, mask, 0xFFE0, &high_bits);
  __m256i high = pack_words(word + 16, mask >> 16, 0xFFF0, &high_bits);
  return !_mm256_testz_si256(high_bits, high_bits) || any_same(low, high);
}

/* A bank needs as many wavefronts as lanes want it where all words differ, and else as its words
 * have owners. */
static bf_served serve(const uint32_t *address, uint32_t mask, unsigned shift,
                       const uint8_t *bank_of_word, uint32_t *owner) {
  _Alignas(32) uint32_t word[BF_MEMO_LANES];
  uint32_t plane[5];
  __m128i by = _mm_cvtsi32_si128((int)shift);
  for (unsigned i = 0; i < VECTORS; i++) {
    __m256i at = _mm256_loadu_si256((const __m256i *)address + i);
    _mm256_store_si256((__m256i *)word + i, _mm256_srl_epi32(at, by));
  }
  bank_planes(word, mask, bank_of_word, plane);
  if (!may_share(word, mask)) {
    unsigned accesses = fullest_bank(plane, mask);
    return (bf_served){.words = accesses, .accesses = accesses, .sharing = 1};
  }
  uint32_t owners = put_owners(word, mask, owner);
  bf_served served = {.words = fullest_bank(plane, owners), .sharing = 1};
  served.accesses = served.words;
  if (owners != mask) {
    served.accesses = fullest_bank(plane, mask);
    served.sharing = most_sharing(word, mask, owner);
  }
  return served;
}

const bf_memo_kernel bf_memo_avx2 = {"avx2", find, fits, serve};

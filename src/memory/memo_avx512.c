/* Finding patterns, sixteen lanes at a time. */
#include "memory/memo.h"

#include <immintrin.h>

static bf_memo *find(bf_memo *table, const uint32_t *address, uint64_t key, uint32_t base,
                     bool *found) {
  __m512i origin = _mm512_set1_epi32((int)base);
  __mmask16 low_mask = (__mmask16)key, high_mask = (__mmask16)(key >> 16);
  __m512i low = _mm512_maskz_loadu_epi32(low_mask, address);
  __m512i high = _mm512_maskz_loadu_epi32(high_mask, address + 16);
  low = _mm512_maskz_sub_epi32(low_mask, low, origin);
  high = _mm512_maskz_sub_epi32(high_mask, high, origin);
  __m512i products =
      _mm512_add_epi32(_mm512_mullo_epi32(low, _mm512_load_si512(bf_memo_factor)),
                       _mm512_mullo_epi32(high, _mm512_load_si512(bf_memo_factor + 16)));
  bf_memo *memo = &table[bf_memo_place((uint32_t)_mm512_reduce_add_epi32(products), key)];
  __mmask16 differs = _mm512_cmpneq_epi32_mask(low, _mm512_load_si512(memo->relative)) |
                      _mm512_cmpneq_epi32_mask(high, _mm512_load_si512(memo->relative + 16));
  *found = memo->key == key && differs == 0;
  if (!*found) {
    _mm512_store_si512(memo->relative, low);
    _mm512_store_si512(memo->relative + 16, high);
    memo->key = key;
    memo->lowest = _mm512_reduce_min_epi32(_mm512_min_epi32(low, high));
    memo->highest = _mm512_reduce_max_epi32(_mm512_max_epi32(low, high));
    memo->bits = (uint32_t)_mm512_reduce_or_epi32(_mm512_or_si512(low, high));
  }
  return memo;
}

static bool fits(const uint32_t *address, uint32_t mask, uint32_t last, uint32_t odd) {
  __m512i low = _mm512_maskz_loadu_epi32((__mmask16)mask, address);
  __m512i high = _mm512_maskz_loadu_epi32((__mmask16)(mask >> 16), address + 16);
  __m512i bits = _mm512_or_si512(low, high);
  return (_mm512_cmpgt_epu32_mask(_mm512_max_epu32(low, high), _mm512_set1_epi32((int)last)) |
          _mm512_test_epi32_mask(bits, _mm512_set1_epi32((int)odd))) == 0;
}

/* 32 numbers, of lanes or of banks. */
typedef struct pair {
  __m512i low, high;
} pair;

/* Sixteen bits of each of 32 numbers. */
static inline __m512i pack(pair numbers) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(numbers.low)),
                            _mm512_cvtepi32_epi16(numbers.high), 1);
}

/* Lanes whose plane has the bit of each bank, of those given: where the bank has the bit, the ones
 * of the plane, and else the zeros. */
#define WITH_BIT(lanes, plane, bank_bits) _mm512_ternarylogic_epi32(lanes, plane, bank_bits, 0x90)

/* Per bank, which lanes want a word of it: the lanes whose five bank bits are those of the bank. */
static inline pair lanes_of_banks(__m512i bank, uint32_t mask) {
  const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i all = _mm512_set1_epi32((int)mask);
  pair lanes = {all, all};
  for (int bit = 0; bit < 5; bit++) {
    uint32_t plane = _mm512_test_epi16_mask(bank, _mm512_set1_epi16((short)(1 << bit)));
    __m512i planes = _mm512_set1_epi32((int)plane), one = _mm512_set1_epi32(1 << bit);
    __m512i own = _mm512_maskz_set1_epi32(_mm512_test_epi32_mask(number, one), -1);
    lanes.low = WITH_BIT(lanes.low, planes, bit == 4 ? _mm512_setzero_si512() : own);
    lanes.high = WITH_BIT(lanes.high, planes, bit == 4 ? _mm512_set1_epi32(-1) : own);
  }
  return lanes;
}

static inline unsigned most_lanes(__m512i low, __m512i high) {
  return (unsigned)_mm512_reduce_max_epi32(
      _mm512_max_epi32(_mm512_popcnt_epi32(low), _mm512_popcnt_epi32(high)));
}

/* The banks of 16 words, in their low five bits. */
static inline __m512i banks_of(__m512i word, __mmask16 mask, const uint8_t *bank_of_word) {
  return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, word, bank_of_word, 1);
}

/* Per lane of high, how many lanes of low have the same number. */
static inline __m512i equal_across(__m512i high, __m512i low) {
  const __m512i next = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
  const __m512i one = _mm512_set1_epi32(1);
  __m512i even = _mm512_setzero_si512(), odd = even;
  __m512i turned = _mm512_permutexvar_epi32(next, low);
  for (int i = 0; i < 8; i++) {
    even = _mm512_mask_add_epi32(even, _mm512_cmpeq_epi32_mask(high, low), even, one);
    odd = _mm512_mask_add_epi32(odd, _mm512_cmpeq_epi32_mask(high, turned), odd, one);
    low = _mm512_alignr_epi32(low, low, 2);
    turned = _mm512_alignr_epi32(turned, turned, 2);
  }
  return _mm512_add_epi32(even, odd);
}

#define FROM(k)                                                                                    \
  {                                                                                                \
    (k), (k) + 1, (k) + 2, (k) + 3, (k) + 4, (k) + 5, (k) + 6, (k) + 7, (k) + 8, (k) + 9,          \
        (k) + 10, (k) + 11, (k) + 12, (k) + 13, (k) + 14, (k) + 15, (k) + 16, (k) + 17, (k) + 18,  \
        (k) + 19, (k) + 20, (k) + 21, (k) + 22, (k) + 23, (k) + 24, (k) + 25, (k) + 26, (k) + 27,  \
        (k) + 28, (k) + 29, (k) + 30, (k) + 31                                                     \
  }
/* Places that lie 1 to 16 behind each of 32, modulo 32. */
_Alignas(64) static const uint16_t behind[BF_MEMO_LANES / 2][BF_MEMO_LANES] = {
    FROM(1), FROM(2),  FROM(3),  FROM(4),  FROM(5),  FROM(6),  FROM(7),  FROM(8),
    FROM(9), FROM(10), FROM(11), FROM(12), FROM(13), FROM(14), FROM(15), FROM(16)};

/* Whether two of 32 words are the same. Every pair is compared: each word with those 1 to 16 places
 * behind it, in a circle. */
static inline bool any_same(__m512i words) {
  __m512i least[2] = {_mm512_set1_epi16(-1), _mm512_set1_epi16(-1)};
  for (int i = 0; i < BF_MEMO_LANES / 2; i++) {
    __m512i other = _mm512_permutexvar_epi16(_mm512_load_si512(behind[i]), words);
    least[i % 2] = _mm512_min_epu16(least[i % 2], _mm512_xor_si512(words, other));
  }
  __m512i both = _mm512_min_epu16(least[0], least[1]);
  return _mm512_testn_epi16_mask(both, both) != 0;
}

/* Whether two active lanes want the same word; true also where words need more than 16 bits. packed
 * has 16 bits of each; lanes that are not active have words of their own, the highest ones. */
static inline bool may_share(pair word, __m512i packed, uint32_t mask) {
  __m512i highest = _mm512_maskz_max_epu32((__mmask16)mask, word.low, word.low);
  highest = _mm512_mask_max_epu32(highest, (__mmask16)(mask >> 16), highest, word.high);
  return _mm512_cmpge_epu32_mask(highest, _mm512_set1_epi32(0x10000 - BF_MEMO_LANES)) ||
         any_same(packed);
}

/* Where no two lanes want the same word, a bank needs as many wavefronts as lanes want it. Else
 * lanes are marked that want a word which no lane before them wants; a bank needs as many
 * wavefronts as it has marked lanes. Lanes that are not active want words of their own, beyond all
 * memory. */
static bf_served serve(const uint32_t *address, uint32_t mask, unsigned shift,
                       const uint8_t *bank_of_word, uint32_t *owner) {
  (void)owner;
  const __m512i beyond =
      _mm512_setr_epi32(-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16);
  __mmask16 low_mask = (__mmask16)mask, high_mask = (__mmask16)(mask >> 16);
  __m128i by = _mm_cvtsi32_si128((int)shift);
  pair word = {_mm512_mask_srl_epi32(beyond, low_mask, _mm512_loadu_si512(address), by),
               _mm512_mask_srl_epi32(_mm512_sub_epi32(beyond, _mm512_set1_epi32(16)), high_mask,
                                     _mm512_loadu_si512(address + 16), by)};
  __m512i packed = pack(word), bank = packed;
  if (bank_of_word)
    bank = pack((pair){banks_of(word.low, low_mask, bank_of_word),
                       banks_of(word.high, high_mask, bank_of_word)});
  pair lanes = lanes_of_banks(bank, mask);
  unsigned accesses = most_lanes(lanes.low, lanes.high);
  if (accesses == 1 || !may_share(word, packed, mask))
    return (bf_served){.words = accesses, .accesses = accesses, .sharing = 1};
  __m512i before_low = _mm512_popcnt_epi32(_mm512_conflict_epi32(word.low));
  __m512i before_high = _mm512_add_epi32(_mm512_popcnt_epi32(_mm512_conflict_epi32(word.high)),
                                         equal_across(word.high, word.low));
  uint32_t first = _mm512_testn_epi32_mask(before_low, before_low) |
                   (uint32_t)_mm512_testn_epi32_mask(before_high, before_high) << 16;
  __m512i marked = _mm512_set1_epi32((int)first);
  return (bf_served){
      .words =
          most_lanes(_mm512_and_si512(lanes.low, marked), _mm512_and_si512(lanes.high, marked)),
      .accesses = accesses,
      .sharing = 1 + (unsigned)_mm512_reduce_max_epi32(_mm512_max_epi32(before_low, before_high))};
}

const bf_memo_kernel bf_memo_avx512 = {"avx512", find, fits, serve};

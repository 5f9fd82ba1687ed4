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

/* Per bank, which lanes want a word of it: the lanes whose five bank bits are those of the bank.
 * Bit planes of the lanes, inverted where the bank's bit is 0, are and-ed. */
static inline pair lanes_of_banks(pair bank, uint32_t mask) {
  const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i all = _mm512_set1_epi32((int)mask);
  pair lanes = {all, all};
  for (int bit = 0; bit < 5; bit++) {
    __m512i one = _mm512_set1_epi32(1 << bit);
    uint32_t plane = _mm512_test_epi32_mask(bank.low, one) |
                     (uint32_t)_mm512_test_epi32_mask(bank.high, one) << 16;
    __m512i with = _mm512_set1_epi32((int)plane), without = _mm512_set1_epi32((int)~plane);
    if (bit == 4) {
      lanes.low = _mm512_and_si512(lanes.low, without);
      lanes.high = _mm512_and_si512(lanes.high, with);
    } else {
      __m512i chosen = _mm512_mask_mov_epi32(without, _mm512_test_epi32_mask(number, one), with);
      lanes.low = _mm512_and_si512(lanes.low, chosen);
      lanes.high = _mm512_and_si512(lanes.high, chosen);
    }
  }
  return lanes;
}

static inline unsigned most_lanes(__m512i low, __m512i high) {
  return (unsigned)_mm512_reduce_max_epi32(
      _mm512_max_epi32(_mm512_popcnt_epi32(low), _mm512_popcnt_epi32(high)));
}

/* The banks of 16 words. */
static inline __m512i banks_of(__m512i word, __mmask16 mask, const uint8_t *bank_of_word) {
  if (bank_of_word)
    word = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, word, bank_of_word, 1);
  return _mm512_and_si512(word, _mm512_set1_epi32(31));
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

/* Whether two of 32 words are the same. Every pair is compared: each word with those 1 to 16 places
 * behind it, in a circle. */
static inline bool any_same(__m512i words) {
  const __m512i low = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,
                                       16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i one = _mm512_set1_epi16(1);
  __m512i from = low, least = _mm512_set1_epi16(-1);
  for (int i = 0; i < BF_MEMO_LANES / 2; i++) {
    from = _mm512_add_epi16(from, one);
    __m512i behind = _mm512_permutexvar_epi16(from, words);
    least = _mm512_min_epu16(least, _mm512_xor_si512(words, behind));
  }
  return _mm512_testn_epi16_mask(least, least) != 0;
}

/* Whether two active lanes want the same word; true also where words need more than 16 bits. */
static inline bool may_share(pair word, uint32_t mask) {
  const __m512i beyond =
      _mm512_setr_epi32(0xFFFF, 0xFFFE, 0xFFFD, 0xFFFC, 0xFFFB, 0xFFFA, 0xFFF9, 0xFFF8, 0xFFF7,
                        0xFFF6, 0xFFF5, 0xFFF4, 0xFFF3, 0xFFF2, 0xFFF1, 0xFFF0);
  __m512i low = _mm512_mask_mov_epi32(beyond, (__mmask16)mask, word.low);
  __m512i high = _mm512_mask_mov_epi32(_mm512_sub_epi32(beyond, _mm512_set1_epi32(16)),
                                       (__mmask16)(mask >> 16), word.high);
  if (_mm512_cmpgt_epu32_mask(_mm512_max_epu32(low, high), _mm512_set1_epi32(0xFFFF)))
    return true;
  return any_same(_mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(low)),
                                     _mm512_cvtepi32_epi16(high), 1));
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
  pair bank = {banks_of(word.low, low_mask, bank_of_word),
               banks_of(word.high, high_mask, bank_of_word)};
  pair lanes = lanes_of_banks(bank, mask);
  unsigned accesses = most_lanes(lanes.low, lanes.high);
  if (accesses == 1 || !may_share(word, mask))
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

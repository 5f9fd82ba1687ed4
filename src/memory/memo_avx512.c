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

const bf_memo_kernel bf_memo_avx512 = {"avx512", find};

/* Finding patterns, eight lanes at a time. */
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

const bf_memo_kernel bf_memo_avx2 = {"avx2", find, NULL};

/* Inside room emu: comparisons of 32 lanes, as a word with a bit per lane. */
#ifndef BF_EMU_TRUTH_H
#define BF_EMU_TRUTH_H

#include "emu/inner.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* The top bits of the elements of a vector that has all ones or zeros in each, by bits of an
 * element. */
#if defined(__AVX512DQ__) && defined(__AVX512BW__)
enum { BF_TRUTH_BYTES = 64 };
#define BF_TRUTH_16(v) (uint32_t) _mm512_movepi16_mask((__m512i)(v))
#define BF_TRUTH_32(v) (uint32_t) _mm512_movepi32_mask((__m512i)(v))
#define BF_TRUTH_64(v) (uint32_t) _mm512_movepi64_mask((__m512i)(v))
#elif defined(__AVX2__)
enum { BF_TRUTH_BYTES = 32 };
static inline uint32_t bf_truth_16(__m256i v) {
  __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  return (uint32_t)_mm_movemask_epi8(bytes);
}
#define BF_TRUTH_16(v) bf_truth_16((__m256i)(v))
#define BF_TRUTH_32(v) (uint32_t) _mm256_movemask_ps((__m256)(v))
#define BF_TRUTH_64(v) (uint32_t) _mm256_movemask_pd((__m256d)(v))
#endif

/* Defines function(a, b): the lanes where expression of their values x and y holds. expression is
 * made of comparisons joined by & and |, so that it can be of vectors too. */
#if defined(__AVX2__)
#define BF_TRUTH(function, type, bits, expression)                                                 \
  typedef type function##_vector __attribute__((vector_size(BF_TRUTH_BYTES), aligned(bits / 8)));  \
  static inline uint32_t function(const void *a, const void *b) {                                  \
    const function##_vector *left = a, *right = b;                                                 \
    uint32_t truth = 0;                                                                            \
    for (unsigned i = 0; i < 4 * bits / BF_TRUTH_BYTES; i++) {                                     \
      function##_vector x = left[i], y = right[i];                                                 \
      truth |= BF_TRUTH_##bits(expression) << i * (8 * BF_TRUTH_BYTES / bits);                     \
    }                                                                                              \
    return truth;                                                                                  \
  }
#else
#define BF_TRUTH(function, type, bits, expression)                                                 \
  static inline uint32_t function(const void *a, const void *b) {                                  \
    const type *left = a, *right = b;                                                              \
    uint32_t truth = 0;                                                                            \
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                         \
      type x = left[lane], y = right[lane];                                                        \
      truth |= (uint32_t)(expression) << lane;                                                     \
    }                                                                                              \
    return truth;                                                                                  \
  }
#endif

#endif

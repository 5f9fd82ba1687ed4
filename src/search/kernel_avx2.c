/* The solver's inner loops, eight shapes at a time. AVX2 has no population count: nibbles are
 * looked up and their counts added within each 32-bit value. */
#include "search/kernel.h"

#include <immintrin.h>

typedef __m256i vec;
typedef __m256i sum;
enum { LANES = 8 };

static inline vec v_load(const uint32_t *at) { return _mm256_load_si256((const __m256i *)at); }
static inline void v_store(uint32_t *at, vec x) { _mm256_store_si256((__m256i *)at, x); }
static inline vec v_set1(uint32_t x) { return _mm256_set1_epi32((int)x); }
static inline vec v_and(vec a, vec b) { return _mm256_and_si256(a, b); }
static inline vec v_andnot(vec a, vec b) { return _mm256_andnot_si256(a, b); }
static inline vec v_xor(vec a, vec b) { return _mm256_xor_si256(a, b); }
static inline vec v_add(vec a, vec b) { return _mm256_add_epi32(a, b); }
static inline vec v_sub(vec a, vec b) { return _mm256_sub_epi32(a, b); }
static inline vec v_max(vec a, vec b) { return _mm256_max_epu32(a, b); }
static inline vec v_shift_right(vec a, unsigned shift) {
  return _mm256_srl_epi32(a, _mm_cvtsi32_si128((int)shift));
}
static inline vec v_popcount(vec a) {
  const vec nibble = _mm256_set1_epi8(15);
  const vec table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1,
                                     2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  vec low = _mm256_shuffle_epi8(table, _mm256_and_si256(a, nibble));
  vec high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(a, 4), nibble));
  vec pairs = _mm256_maddubs_epi16(_mm256_add_epi8(low, high), _mm256_set1_epi8(1));
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
static inline vec v_pairs(vec a) {
  return _mm256_srli_epi32(_mm256_mullo_epi32(a, _mm256_sub_epi32(a, _mm256_set1_epi32(1))), 1);
}
static inline sum s_zero(void) { return _mm256_setzero_si256(); }
static inline sum s_add(sum total, vec weight, vec value) {
  sum even = _mm256_mul_epu32(weight, value);
  sum odd = _mm256_mul_epu32(_mm256_srli_epi64(weight, 32), _mm256_srli_epi64(value, 32));
  return _mm256_add_epi64(total, _mm256_add_epi64(even, odd));
}
static inline uint64_t s_total(sum total) {
  __m128i half = _mm_add_epi64(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
  return (uint64_t)_mm_cvtsi128_si64(half) + (uint64_t)_mm_extract_epi64(half, 1);
}

static inline bf_bytes v_bytes(bf_bytes table, bf_bytes index) {
  return (bf_bytes)_mm_shuffle_epi8((__m128i)table, (__m128i)index);
}

#define KERNEL(name) avx2_##name
#include "search/fold_body.h"
#include "search/kernel_body.h"
#include "search/pencil_body.h"

const bf_kernel bf_kernel_avx2 = {"avx2",     avx2_cost,       avx2_split,  avx2_passes,
                                  avx2_bound, avx2_pencil,     avx2_planes, avx2_ends,
                                  avx2_fold,  avx2_fold_planes};

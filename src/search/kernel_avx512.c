/* The solver's inner loops, sixteen shapes at a time. */
#include "search/kernel.h"

#include <immintrin.h>

typedef __m512i vec;
typedef __m512i sum;
enum { LANES = 16 };

static inline vec v_load(const uint32_t *at) { return _mm512_load_si512(at); }
static inline void v_store(uint32_t *at, vec x) { _mm512_store_si512(at, x); }
static inline vec v_set1(uint32_t x) { return _mm512_set1_epi32((int)x); }
static inline vec v_and(vec a, vec b) { return _mm512_and_si512(a, b); }
static inline vec v_andnot(vec a, vec b) { return _mm512_andnot_si512(a, b); }
static inline vec v_xor(vec a, vec b) { return _mm512_xor_si512(a, b); }
static inline vec v_add(vec a, vec b) { return _mm512_add_epi32(a, b); }
static inline vec v_sub(vec a, vec b) { return _mm512_sub_epi32(a, b); }
static inline vec v_max(vec a, vec b) { return _mm512_max_epu32(a, b); }
static inline vec v_shift_right(vec a, unsigned shift) {
  return _mm512_srl_epi32(a, _mm_cvtsi32_si128((int)shift));
}
static inline vec v_popcount(vec a) { return _mm512_popcnt_epi32(a); }
static inline vec v_pairs(vec a) {
  return _mm512_srli_epi32(_mm512_mullo_epi32(a, _mm512_sub_epi32(a, _mm512_set1_epi32(1))), 1);
}
static inline sum s_zero(void) { return _mm512_setzero_si512(); }
static inline sum s_add(sum total, vec weight, vec value) {
  sum even = _mm512_mul_epu32(weight, value);
  sum odd = _mm512_mul_epu32(_mm512_srli_epi64(weight, 32), _mm512_srli_epi64(value, 32));
  return _mm512_add_epi64(total, _mm512_add_epi64(even, odd));
}
static inline uint64_t s_total(sum total) { return (uint64_t)_mm512_reduce_add_epi64(total); }

static inline bf_bytes v_bytes(bf_bytes table, bf_bytes index) {
  return (bf_bytes)_mm_shuffle_epi8((__m128i)table, (__m128i)index);
}

#define KERNEL(name) avx512_##name
#include "search/fold_body.h"
#include "search/kernel_body.h"
#include "search/pencil_body.h"

const bf_kernel bf_kernel_avx512 = {"avx512",     avx512_cost,       avx512_split,  avx512_passes,
                                    avx512_bound, avx512_pencil,     avx512_planes, avx512_ends,
                                    avx512_fold,  avx512_fold_planes};

/* Inside room emu: rows of f16 and bf16 to and from float, with the host's instructions where it
 * has them. For files compiled per instruction set. Counts are multiples of 16; a NaN becomes
 * 0x7fff or 0x7fffffff. */
#ifndef BF_EMU_HALF_LANES_H
#define BF_EMU_HALF_LANES_H

#include "emu/half.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__) || defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>
#endif

static inline float bf_emu_canonical(float x) { return x != x ? bf_emu_bits_float(0x7fffffff) : x; }

static inline void bf_emu_halves_to_floats(const uint16_t *half, float *value, unsigned count) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff));
  for (unsigned i = 0; i < count; i += 16) {
    __m512 x = _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(half + i)));
    __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    _mm512_storeu_ps(value + i, _mm512_mask_mov_ps(x, is_nan, nan));
  }
#elif defined(__AVX2__) && defined(__F16C__)
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  for (unsigned i = 0; i < count; i += 8) {
    __m256 x = _mm256_cvtph_ps(_mm_loadu_si128((const void *)(half + i)));
    _mm256_storeu_ps(value + i, _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
  }
#else
  for (unsigned i = 0; i < count; i++)
    value[i] = bf_emu_canonical(bf_emu_half_to_float(half[i]));
#endif
}

/* To the nearest, ties to even. */
static inline void bf_emu_floats_to_halves(const float *value, uint16_t *half, unsigned count) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const __m256i nan = _mm256_set1_epi16(0x7fff);
  for (unsigned i = 0; i < count; i += 16) {
    __m512 x = _mm512_loadu_ps(value + i);
    __m256i y = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    _mm256_storeu_si256((void *)(half + i), _mm256_mask_mov_epi16(y, is_nan, nan));
  }
#elif defined(__AVX2__) && defined(__F16C__)
  const __m128i nan = _mm_set1_epi16(0x7fff);
  for (unsigned i = 0; i < count; i += 8) {
    __m256 x = _mm256_loadu_ps(value + i);
    __m128i y = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    __m128i narrow =
        _mm_packs_epi32(_mm256_castsi256_si128(is_nan), _mm256_extracti128_si256(is_nan, 1));
    _mm_storeu_si128((void *)(half + i), _mm_blendv_epi8(y, nan, narrow));
  }
#else
  for (unsigned i = 0; i < count; i++)
    half[i] = bf_emu_float_to_half(value[i], BF_EMU_RN);
#endif
}

static inline void bf_emu_bf16s_to_floats(const uint16_t *half, float *value, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    value[i] = bf_emu_canonical(bf_emu_bf16_to_float(half[i]));
}

static inline void bf_emu_floats_to_bf16s(const float *value, uint16_t *half, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    half[i] = bf_emu_float_to_bf16(value[i], BF_EMU_RN);
}

#endif

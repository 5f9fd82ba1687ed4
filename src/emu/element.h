/* Inside room emu: elements of matrices as numbers, and sums as elements. */
#ifndef BF_EMU_ELEMENT_H
#define BF_EMU_ELEMENT_H

#include "emu/format.h"
#include "emu/half_lanes.h"
#include "emu/inner.h"

/* ---- Elements to numbers ---- */

static inline unsigned bf_matrix_bits(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_S4:
  case BF_PTX_U4:
    return 4;
  case BF_PTX_B1:
    return 1;
  default:
    return bf_ptx_type_bytes(type) * 8;
  }
}

/* Eight f16, exactly. */
static inline void bf_widen_halves(const void *halves, double *value) {
#if defined(__F16C__)
  __m256 single = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)halves));
  _mm256_storeu_pd(value, _mm256_cvtps_pd(_mm256_castps256_ps128(single)));
  _mm256_storeu_pd(value + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(single, 1)));
#else
  uint16_t half[8];
  memcpy(half, halves, sizeof half);
  for (unsigned i = 0; i < 8; i++)
    value[i] = bf_emu_half_to_float(half[i]);
#endif
}

/* Sixteen e5m2, which are the high bytes of f16; or e4m3, which are 2^8 times f16 whose bits they
 * are, with one NaN. */
static inline void bf_widen_float8(bool is_e4m3, const uint8_t *byte, double *value) {
  uint16_t half[16];
  for (unsigned i = 0; i < 16; i++)
    half[i] = (uint16_t)(is_e4m3 ? (byte[i] & 0x80) << 8 | (byte[i] & 0x7f) << 7 : byte[i] << 8);
  bf_widen_halves(half, value);
  bf_widen_halves(half + 8, value + 8);
  for (unsigned i = 0; i < 16 && is_e4m3; i++)
    value[i] = (byte[i] & 0x7f) == 0x7f ? (double)bf_emu_bits_float(0x7fffffff) : value[i] * 256;
}

/* The elements of a piece of 16 bytes. b1 and f64 are not for this. */
static inline void bf_unpack_piece(bf_ptx_type type, const void *bytes, double *value) {
  if (type == BF_PTX_F16) { /* by far the most frequent */
    bf_widen_halves(bytes, value);
    return;
  }
  uint8_t piece[16];
  uint16_t half[8];
  uint32_t word[4];
  memcpy(piece, bytes, sizeof piece);
  memcpy(half, bytes, sizeof half);
  memcpy(word, bytes, sizeof word);
  switch (type) {
  case BF_PTX_BF16:
    for (unsigned i = 0; i < 8; i++)
      value[i] = bf_emu_bf16_to_float(half[i]);
    return;
  case BF_PTX_TF32:
    for (unsigned i = 0; i < 4; i++)
      value[i] = bf_emu_bits_float(word[i] & 0xffffe000);
    return;
  case BF_PTX_E4M3:
  case BF_PTX_E5M2:
    bf_widen_float8(type == BF_PTX_E4M3, piece, value);
    return;
  case BF_PTX_S8:
    for (unsigned i = 0; i < 16; i++)
      value[i] = (int8_t)piece[i];
    return;
  case BF_PTX_S4:
    for (unsigned i = 0; i < 32; i++)
      value[i] = (int8_t)(piece[i / 2] << (i % 2 ? 0 : 4)) >> 4;
    return;
  case BF_PTX_U4:
    for (unsigned i = 0; i < 32; i++)
      value[i] = piece[i / 2] >> (i % 2 ? 4 : 0) & 15;
    return;
  default:
    for (unsigned i = 0; i < 16; i++)
      value[i] = piece[i];
    return;
  }
}

/* ---- Sums to elements ---- */

/* The s32 of an exact integer: clamped, or its low bits. */
static inline uint32_t bf_sum_to_s32(double value, bool saturate) {
  int64_t integer = (int64_t)value;
  if (saturate && integer > INT32_MAX)
    integer = INT32_MAX;
  if (saturate && integer < INT32_MIN)
    integer = INT32_MIN;
  return (uint32_t)integer;
}

/* The f16 next to a sum. */
static inline uint32_t bf_sum_to_half(double value) {
  return bf_emu_float_to_half(bf_emu_double_to_float_odd(value), BF_EMU_RN);
}

#endif

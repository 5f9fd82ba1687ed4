/* Inside room emu: products of matrices, for files compiled per instruction set.
 *
 * The registers of a matrix are all of one kind. With g = lane / 4 and t = lane % 4, a register of
 * A is 8 rows of 16 bytes: lane 4g + t has the four bytes from 4t on of row g. The same is so of B
 * with columns for rows. Of an accumulator, 8 rows of 8 columns, one register has the even columns,
 * lane 4g + t that of row g and column 2t, and the next the odd ones; f16 has both in one register.
 *
 * So A is kept row after row, and B in panels of 8 columns, a line of 8 numbers for each k, with
 * columns 0, 2, 4, 6, 1, 3, 5, 7: four neighbours of a line are multiplied into four neighbours of
 * a register.
 *
 * Everything is computed in double, c first, then k upwards, and rounded once to the type of d. The
 * product of two elements of any type here is exact in double, so that it does not matter whether
 * it is fused with the sum. */
#ifndef BF_EMU_PANEL_H
#define BF_EMU_PANEL_H

#include "emu/format.h"
#include "emu/half_lanes.h"
#include "emu/inner.h"

typedef double bf_four __attribute__((vector_size(32)));
typedef float bf_four_floats __attribute__((vector_size(16)));
typedef int32_t bf_four_words __attribute__((vector_size(16)));

enum { BF_PANEL = 8 }; /* columns of a panel, and rows of a register */

#if defined(__clang__)
#define BF_UNROLL _Pragma("unroll")
#else
#define BF_UNROLL _Pragma("GCC unroll 4")
#endif
#define BF_ALWAYS_INLINE inline __attribute__((always_inline))

static BF_ALWAYS_INLINE bf_four bf_four_load(const double *from) {
  bf_four value;
  memcpy(&value, from, sizeof value);
  return value;
}

static BF_ALWAYS_INLINE void bf_four_store(double *to, bf_four value) {
  memcpy(to, &value, sizeof value);
}

/* Four floats as doubles. */
static BF_ALWAYS_INLINE bf_four bf_four_widen(const float *from) {
#if defined(__AVX2__)
  return (bf_four)_mm256_cvtps_pd(_mm_loadu_ps(from));
#else
  bf_four_floats value;
  memcpy(&value, from, sizeof value);
  return __builtin_convertvector(value, bf_four);
#endif
}

/* a * b + c, where a * b is exact. */
static BF_ALWAYS_INLINE bf_four bf_four_add(bf_four a, bf_four b, bf_four c) {
#if defined(__FMA__)
  return (bf_four)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}

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
static inline void bf_widen_halves(const uint16_t *half, double *value) {
  float single[8];
#if defined(__F16C__)
  _mm256_storeu_ps(single, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)half)));
#else
  for (unsigned i = 0; i < 8; i++)
    single[i] = bf_emu_half_to_float(half[i]);
#endif
  bf_four_store(value, bf_four_widen(single));
  bf_four_store(value + 4, bf_four_widen(single + 4));
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
  uint8_t piece[16];
  uint16_t half[8];
  uint32_t word[4];
  memcpy(piece, bytes, sizeof piece);
  memcpy(half, bytes, sizeof half);
  memcpy(word, bytes, sizeof word);
  switch (type) {
  case BF_PTX_F16:
    bf_widen_halves(half, value);
    return;
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

/* A piece of each of the 8 columns of a panel, one after the other, to lines of the panel. */
static inline void bf_panel_from_columns(bf_ptx_type type, const void *pieces, double *panel) {
  double value[BF_PANEL][32];
  unsigned elements = 128 / bf_matrix_bits(type);
  for (unsigned column = 0; column < BF_PANEL; column++)
    bf_unpack_piece(type, (const uint8_t *)pieces + 16 * column, value[column]);
  for (unsigned k = 0; k < elements; k += 4)
    for (unsigned odd = 0; odd < 2; odd++) {
      bf_four a = bf_four_load(&value[odd][k]), b = bf_four_load(&value[odd + 2][k]);
      bf_four c = bf_four_load(&value[odd + 4][k]), d = bf_four_load(&value[odd + 6][k]);
      bf_four ab = __builtin_shufflevector(a, b, 0, 4, 2, 6);
      bf_four cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
      bf_four next_ab = __builtin_shufflevector(a, b, 1, 5, 3, 7);
      bf_four next_cd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
      double *to = panel + (size_t)k * BF_PANEL + 4 * odd;
      bf_four_store(to, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
      bf_four_store(to + BF_PANEL, __builtin_shufflevector(next_ab, next_cd, 0, 1, 4, 5));
      bf_four_store(to + 2 * BF_PANEL, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
      bf_four_store(to + 3 * BF_PANEL, __builtin_shufflevector(next_ab, next_cd, 2, 3, 6, 7));
    }
}

/* A piece with the 8 columns of line k (16-bit types) to that line of a panel. */
static inline void bf_panel_from_line(bf_ptx_type type, const void *piece, double *line) {
  double value[32] = {0};
  bf_unpack_piece(type, piece, value);
  for (unsigned i = 0; i < 4; i++) {
    line[i] = value[2 * i];
    line[4 + i] = value[2 * i + 1];
  }
}

/* ---- Accumulators ---- */

/* A register of zeros, of any type. */
static const uint32_t bf_no_sums[BF_EMU_LANES] = {0};

/* Eight rows of eight columns of c and d: registers of even and of odd columns; for f16 the same.
 */
typedef struct bf_sums {
  const uint32_t *c[2];
  uint32_t *d[2];
} bf_sums;

typedef struct bf_sum_types {
  bf_ptx_type c, d;
  bool saturate; /* of s32 */
} bf_sum_types;

/* Four sums of a row from lanes on. */
static BF_ALWAYS_INLINE bf_four bf_sums_load(bf_ptx_type type, const bf_sums *sums, unsigned odd,
                                             unsigned lane) {
  const uint32_t *word = sums->c[odd];
  float single[4];
  bf_four_words whole;
  switch (type) {
  case BF_PTX_F32:
    return bf_four_widen((const float *)(const void *)(word + lane));
  case BF_PTX_F16:
    for (unsigned i = 0; i < 4; i++)
      single[i] = bf_emu_half_to_float((uint16_t)(word[lane + i] >> 16 * odd));
    return bf_four_widen(single);
  default:
    memcpy(&whole, word + lane, sizeof whole);
    return __builtin_convertvector(whole, bf_four);
  }
}

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

static BF_ALWAYS_INLINE void bf_floats_store(uint32_t *to, bf_four sum) {
  bf_four_floats value = __builtin_convertvector(sum, bf_four_floats);
  bf_four_words is_nan = value != value, bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits & ~is_nan) | (is_nan & 0x7fffffff);
  memcpy(to, &bits, sizeof bits);
}

/* The even and the odd columns of a row to lanes from lane on. */
static BF_ALWAYS_INLINE void bf_sums_store(bf_sum_types types, const bf_sums *sums, unsigned lane,
                                           bf_four even, bf_four odd) {
  switch (types.d) {
  case BF_PTX_F32:
    bf_floats_store(sums->d[0] + lane, even);
    bf_floats_store(sums->d[1] + lane, odd);
    return;
  case BF_PTX_F16:
    for (unsigned i = 0; i < 4; i++)
      sums->d[0][lane + i] = bf_sum_to_half(even[i]) | bf_sum_to_half(odd[i]) << 16;
    return;
  default:
    for (unsigned i = 0; i < 4; i++) {
      sums->d[0][lane + i] = bf_sum_to_s32(even[i], types.saturate);
      sums->d[1][lane + i] = bf_sum_to_s32(odd[i], types.saturate);
    }
    return;
  }
}

/* ---- Products ---- */

/* Rows first to first + 3 of a block: d = c + a panel. a has depth numbers in a row. */
static BF_ALWAYS_INLINE void bf_multiply_rows(bf_sum_types types, const bf_sums *sums,
                                              unsigned first, const double *a, const double *panel,
                                              unsigned depth) {
  bf_four even[4], odd[4];
  BF_UNROLL
  for (unsigned row = 0; row < 4; row++) {
    even[row] = bf_sums_load(types.c, sums, 0, 4 * (first + row));
    odd[row] = bf_sums_load(types.c, sums, 1, 4 * (first + row));
  }
  const size_t pitch = depth;
  a += first * pitch;
  for (const double *end = a + pitch; a < end; a++, panel += BF_PANEL) {
    bf_four left = bf_four_load(panel), right = bf_four_load(panel + 4);
    BF_UNROLL
    for (unsigned row = 0; row < 4; row++) {
      double factor = a[row * pitch];
      bf_four factors = {factor, factor, factor, factor};
      even[row] = bf_four_add(factors, left, even[row]);
      odd[row] = bf_four_add(factors, right, odd[row]);
    }
  }
  BF_UNROLL
  for (unsigned row = 0; row < 4; row++)
    bf_sums_store(types, sums, 4 * (first + row), even[row], odd[row]);
}

/* d = c + a panel of an 8 x 8 block. */
static inline void bf_multiply_block(bf_sum_types types, const bf_sums *sums, const double *a,
                                     const double *panel, unsigned depth) {
  const bf_sum_types floats = {BF_PTX_F32, BF_PTX_F32, false};
  for (unsigned first = 0; first < BF_PANEL; first += 4)
    if (types.c == BF_PTX_F32 && types.d == BF_PTX_F32)
      bf_multiply_rows(floats, sums, first, a, panel, depth);
    else
      bf_multiply_rows(types, sums, first, a, panel, depth);
}

/* The same of a sparse a: of its row r the numbers a[r * kept] on, kept of them, belong to lines
 * index[r * kept] on of the panel. */
static inline void bf_multiply_sparse(bf_sum_types types, const bf_sums *sums, const double *a,
                                      const uint8_t *index, const double *panel, unsigned kept) {
  for (unsigned row = 0; row < BF_PANEL; row++) {
    bf_four even = bf_sums_load(types.c, sums, 0, 4 * row);
    bf_four odd = bf_sums_load(types.c, sums, 1, 4 * row);
    for (unsigned k = row * kept; k < (row + 1) * kept; k++) {
      bf_four factors = {a[k], a[k], a[k], a[k]};
      const double *line = panel + (size_t)index[k] * BF_PANEL;
      even = bf_four_add(factors, bf_four_load(line), even);
      odd = bf_four_add(factors, bf_four_load(line + 4), odd);
    }
    bf_sums_store(types, sums, 4 * row, even, odd);
  }
}

#endif

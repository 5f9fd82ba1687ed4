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

#include "emu/element.h"

/* ---- Four numbers ---- */

typedef double bf_four __attribute__((vector_size(32)));
typedef float bf_four_floats __attribute__((vector_size(16)));
typedef int32_t bf_four_words __attribute__((vector_size(16)));
typedef float bf_eight_floats __attribute__((vector_size(32)));

enum { BF_PANEL = 8 }; /* columns of a panel, and rows of a register */

#if defined(__clang__)
#define BF_UNROLL _Pragma("unroll")
#define BF_UNROLL_8 _Pragma("unroll")
#else
#define BF_UNROLL _Pragma("GCC unroll 4")
#define BF_UNROLL_8 _Pragma("GCC unroll 8")
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

/* ---- Panels ---- */

typedef uint16_t bf_halves __attribute__((vector_size(16)));
typedef uint32_t bf_pairs __attribute__((vector_size(16)));
typedef uint64_t bf_quads __attribute__((vector_size(16)));

/* Eight rows of eight numbers of 16 bits turned over: rows become columns. */
static BF_ALWAYS_INLINE void bf_turn_halves(bf_halves *row) {
  bf_pairs pair[BF_PANEL];
  bf_quads quad[BF_PANEL];
  BF_UNROLL_8
  for (unsigned i = 0; i < BF_PANEL; i += 2) { /* columns 0 to 3 and 4 to 7 of two rows */
    pair[i] = (bf_pairs)__builtin_shufflevector(row[i], row[i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
    pair[i + 1] = (bf_pairs)__builtin_shufflevector(row[i], row[i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  BF_UNROLL_8
  for (unsigned i = 0; i < 4; i++) { /* two columns of four rows */
    unsigned from = i / 2 * 4 + i % 2;
    quad[2 * i] = (bf_quads)__builtin_shufflevector(pair[from], pair[from + 2], 0, 4, 1, 5);
    quad[2 * i + 1] = (bf_quads)__builtin_shufflevector(pair[from], pair[from + 2], 2, 6, 3, 7);
  }
  BF_UNROLL_8
  for (unsigned i = 0; i < 4; i++) {
    row[2 * i] = (bf_halves)__builtin_shufflevector(quad[i], quad[i + 4], 0, 2);
    row[2 * i + 1] = (bf_halves)__builtin_shufflevector(quad[i], quad[i + 4], 1, 3);
  }
}

/* The same for 16-bit types: the pieces are turned over as bits, and become numbers line by line.
 */
static BF_ALWAYS_INLINE void bf_panel_from_halves(bf_ptx_type type, const void *pieces,
                                                  double *panel) {
  static const unsigned char column[BF_PANEL] = {0, 2, 4, 6, 1, 3, 5, 7};
  bf_halves line[BF_PANEL];
  BF_UNROLL_8
  for (unsigned i = 0; i < BF_PANEL; i++)
    memcpy(&line[i], (const uint8_t *)pieces + 16 * column[i], sizeof *line);
  bf_turn_halves(line);
  BF_UNROLL_8
  for (unsigned i = 0; i < BF_PANEL; i++)
    bf_unpack_piece(type, &line[i], panel + (size_t)i * BF_PANEL);
}

/* A piece of each of the 8 columns of a panel, one after the other, to lines of the panel. */
static inline void bf_panel_from_columns(bf_ptx_type type, const void *pieces, double *panel) {
  if (type == BF_PTX_F16 || type == BF_PTX_BF16) {
    bf_panel_from_halves(type, pieces, panel);
    return;
  }
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
  bf_halves half;
  memcpy(&half, piece, sizeof half);
  half = __builtin_shufflevector(half, half, 0, 2, 4, 6, 1, 3, 5, 7);
  bf_unpack_piece(type, &half, line);
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

static BF_ALWAYS_INLINE void bf_floats_store(uint32_t *to, bf_four sum) {
  bf_four_floats value = __builtin_convertvector(sum, bf_four_floats);
  bf_four_words is_nan = value != value, bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits & ~is_nan) | (is_nan & 0x7fffffff);
  memcpy(to, &bits, sizeof bits);
}

/* Four sums of each of two rows that follow each other, rounded. */
static BF_ALWAYS_INLINE bf_eight_floats bf_eight_round(bf_four first, bf_four second) {
  bf_four_floats low = __builtin_convertvector(first, bf_four_floats);
  bf_four_floats high = __builtin_convertvector(second, bf_four_floats);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* Whether none of 32 sums is a NaN. */
static BF_ALWAYS_INLINE bool bf_are_numbers(const bf_eight_floats *sum) {
#if defined(__AVX2__)
  __m256 wrong = _mm256_or_ps(_mm256_cmp_ps((__m256)sum[0], (__m256)sum[1], _CMP_UNORD_Q),
                              _mm256_cmp_ps((__m256)sum[2], (__m256)sum[3], _CMP_UNORD_Q));
  return _mm256_movemask_ps(wrong) == 0;
#else
  (void)sum;
  return false; /* they are looked at one by one */
#endif
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

#if defined(__AVX512F__)
/* The sums of a row: four of even columns, then four of odd ones. */
static BF_ALWAYS_INLINE __m512d bf_row_load(bf_ptx_type type, const bf_sums *sums, unsigned lane) {
  if (type == BF_PTX_F32) {
    __m128 even = _mm_loadu_ps((const float *)(const void *)(sums->c[0] + lane));
    __m128 odd = _mm_loadu_ps((const float *)(const void *)(sums->c[1] + lane));
    return _mm512_cvtps_pd(_mm256_insertf128_ps(_mm256_castps128_ps256(even), odd, 1));
  }
  __m512d even = _mm512_castpd256_pd512((__m256d)bf_sums_load(type, sums, 0, lane));
  return _mm512_insertf64x4(even, (__m256d)bf_sums_load(type, sums, 1, lane), 1);
}

/* Rounds the sums of a row, and stores them. */
static BF_ALWAYS_INLINE void bf_row_store(bf_sum_types types, const bf_sums *sums, unsigned lane,
                                          __m512d sum) {
  if (types.d == BF_PTX_F32) {
    __m256i bits = _mm256_castps_si256(_mm512_cvtpd_ps(sum));
    __mmask8 is_nan = _mm512_cmp_pd_mask(sum, sum, _CMP_UNORD_Q);
    bits = _mm256_mask_mov_epi32(bits, is_nan, _mm256_set1_epi32(0x7fffffff));
    _mm_storeu_si128((__m128i *)(void *)(sums->d[0] + lane), _mm256_castsi256_si128(bits));
    _mm_storeu_si128((__m128i *)(void *)(sums->d[1] + lane), _mm256_extracti128_si256(bits, 1));
    return;
  }
  bf_sums_store(types, sums, lane, (bf_four)_mm512_castpd512_pd256(sum),
                (bf_four)_mm512_extractf64x4_pd(sum, 1));
}

/* Eight rows: d = c + a panel. a has depth numbers in a row. */
static BF_ALWAYS_INLINE void bf_multiply_all(bf_sum_types types, const bf_sums *sums,
                                             const double *a, const double *panel, unsigned depth) {
  __m512d sum[BF_PANEL];
  const size_t pitch = depth;
  BF_UNROLL_8
  for (unsigned row = 0; row < BF_PANEL; row++)
    sum[row] = bf_row_load(types.c, sums, 4 * row);
  BF_UNROLL_8
  for (unsigned k = 0; k < depth; k++, a++, panel += BF_PANEL) {
    __m512d line = _mm512_loadu_pd(panel);
    BF_UNROLL_8
    for (unsigned row = 0; row < BF_PANEL; row++)
      sum[row] = _mm512_fmadd_pd(_mm512_set1_pd(a[row * pitch]), line, sum[row]);
  }
  BF_UNROLL_8
  for (unsigned row = 0; row < BF_PANEL; row++)
    bf_row_store(types, sums, 4 * row, sum[row]);
}
#else
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
  BF_UNROLL
  for (unsigned k = 0; k < depth; k++, a++, panel += BF_PANEL) {
    bf_four left = bf_four_load(panel), right = bf_four_load(panel + 4);
    BF_UNROLL
    for (unsigned row = 0; row < 4; row++) {
      double factor = a[row * pitch];
      bf_four factors = {factor, factor, factor, factor};
      even[row] = bf_four_add(factors, left, even[row]);
      odd[row] = bf_four_add(factors, right, odd[row]);
    }
  }
  if (types.d == BF_PTX_F32) {
    bf_eight_floats sum[4] = {bf_eight_round(even[0], even[1]), bf_eight_round(even[2], even[3]),
                              bf_eight_round(odd[0], odd[1]), bf_eight_round(odd[2], odd[3])};
    if (bf_are_numbers(sum)) {
      BF_UNROLL
      for (unsigned i = 0; i < 4; i++)
        memcpy(sums->d[i / 2] + 4 * first + 8 * (i % 2), &sum[i], sizeof *sum);
      return;
    }
  }
  BF_UNROLL
  for (unsigned row = 0; row < 4; row++)
    bf_sums_store(types, sums, 4 * (first + row), even[row], odd[row]);
}

/* The same of all eight rows, in two parts: more sums do not fit into the registers of the host. */
static BF_ALWAYS_INLINE void bf_multiply_all(bf_sum_types types, const bf_sums *sums,
                                             const double *a, const double *panel, unsigned depth) {
  for (unsigned first = 0; first < BF_PANEL; first += 4)
    bf_multiply_rows(types, sums, first, a, panel, depth);
}
#endif

/* d = c + a panel of an 8 x 8 block. What is most frequent is compiled for its types and K. */
static inline void bf_multiply_block(bf_sum_types types, const bf_sums *sums, const double *a,
                                     const double *panel, unsigned depth) {
  const bf_sum_types floats = {BF_PTX_F32, BF_PTX_F32, false};
  bool is_float = types.c == BF_PTX_F32 && types.d == BF_PTX_F32;
  if (is_float && depth == 16)
    bf_multiply_all(floats, sums, a, panel, 16);
  else if (is_float)
    bf_multiply_all(floats, sums, a, panel, depth);
  else
    bf_multiply_all(types, sums, a, panel, depth);
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

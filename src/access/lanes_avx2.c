/* Addresses of lanes, eight at a time. */
#include "access/lanes.h"

#include <immintrin.h>
#include <stddef.h>
#include <string.h>

enum { HALF = 16, VECTORS = BF_LANES / 8 };
static const uint64_t LAST_END = UINT64_C(1) << 59;

/* All ones in the lanes whose bits are set in the low eight of mask. */
static inline __m256i spread(uint32_t mask) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bit), bit);
}

/* Which of 60 bytes end a number: those without their top bit. The last one is taken to; where
 * fewer than 16 numbers end before it, one of them is too long anyway. So four bytes from behind
 * any end on are within the 64 that were read. */
static inline uint64_t ends_of(const unsigned char *at) {
  uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_loadu_si256((const __m256i *)at));
  uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_loadu_si256((const __m256i *)at + 1));
  return (~((uint64_t)high << 32 | low) & (LAST_END - 1)) | LAST_END;
}

/* Four bytes from the beginning of each number on, for up to 16 lanes: a number begins where the
 * one before it ends. Returns where the last ends. Lanes that are not active are left alone. */
static inline const unsigned char *find_numbers(const unsigned char *at, uint32_t mask,
                                                uint32_t *raw) {
  uint64_t ends = ends_of(at);
  unsigned begin = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    memcpy(&raw[__builtin_ctz(left)], at + begin, sizeof *raw);
    begin = (unsigned)__builtin_ctzll(ends) + 1;
    ends = (ends & (ends - 1)) | LAST_END;
  }
  return at + begin;
}

/* The signed numbers that begin in raw. Lanes of *long_ones become -1 where one has more than three
 * bytes. */
static inline __m256i read_numbers(__m256i raw, __m256i *long_ones) {
  const __m256i one = _mm256_set1_epi32(1), zero = _mm256_setzero_si256();
  __m256i ends = _mm256_andnot_si256(raw, _mm256_set1_epi32(0x808080));
  *long_ones = _mm256_or_si256(*long_ones, _mm256_cmpeq_epi32(ends, zero));
  /* All bits up to the lowest end. */
  raw = _mm256_and_si256(raw, _mm256_xor_si256(ends, _mm256_sub_epi32(ends, one)));
  __m256i folded = _mm256_or_si256(
      _mm256_and_si256(raw, _mm256_set1_epi32(0x7F)),
      _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(raw, 1), _mm256_set1_epi32(0x3F80)),
                      _mm256_and_si256(_mm256_srli_epi32(raw, 2), _mm256_set1_epi32(0x1FC000))));
  __m256i sign = _mm256_sub_epi32(zero, _mm256_and_si256(folded, one));
  return _mm256_xor_si256(_mm256_srli_epi32(folded, 1), sign);
}

/* Each number plus all before it, and one more. */
static inline __m256i sums(__m256i value, __m256i before) {
  value = _mm256_add_epi32(value, _mm256_slli_si256(value, 4));
  value = _mm256_add_epi32(value, _mm256_slli_si256(value, 8));
  __m256i half = _mm256_shuffle_epi32(_mm256_permute2x128_si256(value, value, 0x08), 0xFF);
  return _mm256_add_epi32(_mm256_add_epi32(value, half), before);
}

static const unsigned char *list(const unsigned char *at, uint32_t mask, uint32_t before,
                                 uint32_t *address) {
  const __m256i last = _mm256_set1_epi32(7);
  _Alignas(32) uint32_t raw[BF_LANES];
  if (before >> 30)
    return NULL;
  if (mask == UINT32_MAX) {
    at = find_numbers(at, 0xFFFF, raw);
    at = find_numbers(at, 0xFFFF, raw + HALF);
  } else {
    memset(raw, 0, sizeof raw);
    at = find_numbers(at, mask & 0xFFFF, raw);
    at = find_numbers(at, mask >> HALF, raw + HALF);
  }
  __m256i sum = _mm256_set1_epi32((int)before), wrong = _mm256_setzero_si256();
  for (unsigned i = 0; i < VECTORS; i++) {
    __m256i value = read_numbers(_mm256_load_si256((const __m256i *)raw + i), &wrong);
    __m256i found = sums(value, sum);
    wrong = _mm256_or_si256(wrong, found); /* negative */
    _mm256_storeu_si256((__m256i *)address + i, _mm256_and_si256(found, spread(mask >> 8 * i)));
    sum = _mm256_permutevar8x32_epi32(found, last);
  }
  return _mm256_movemask_ps(_mm256_castsi256_ps(wrong)) ? NULL : at;
}

/* Eight numbers that lie `place` bits behind at, as they are in four bytes each. */
static inline __m256i eight_numbers(const unsigned char *at, unsigned place, unsigned bits) {
  const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3);
  const __m256i low_byte = _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0C0C0C0C, 0, 0x04040404,
                                             0x08080808, 0x0C0C0C0C);
  unsigned next = place + 4 * bits;
  __m256i data = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(at + place / 8))),
      _mm_loadu_si128((const __m128i *)(at + next / 8)), 1);
  __m256i begin = _mm256_inserti128_si256(_mm256_set1_epi32((int)(place % 8)),
                                          _mm_set1_epi32((int)(next % 8)), 1);
  begin = _mm256_add_epi32(begin, _mm256_mullo_epi32(number, _mm256_set1_epi32((int)bits)));
  __m256i index = _mm256_add_epi32(_mm256_shuffle_epi8(_mm256_srli_epi32(begin, 3), low_byte),
                                   _mm256_set1_epi32(0x03020100));
  __m256i raw = _mm256_srlv_epi32(_mm256_shuffle_epi8(data, index),
                                  _mm256_and_si256(begin, _mm256_set1_epi32(7)));
  return _mm256_and_si256(raw, _mm256_set1_epi32((int)((1U << bits) - 1)));
}

static void unpack(const unsigned char *at, uint32_t mask, unsigned bits, unsigned shift,
                   uint32_t lowest, uint32_t *address) {
  uint32_t dense[BF_LANES], *to = mask == UINT32_MAX ? address : dense;
  for (unsigned i = 0; i < VECTORS; i++) {
    __m256i value =
        _mm256_sll_epi32(eight_numbers(at, 8 * i * bits, bits), _mm_cvtsi32_si128((int)shift));
    _mm256_storeu_si256((__m256i *)to + i, _mm256_add_epi32(value, _mm256_set1_epi32((int)lowest)));
  }
  if (mask == UINT32_MAX)
    return;
  memset(address, 0, BF_LANES * sizeof *address);
  for (uint32_t left = mask; left; left &= left - 1)
    address[__builtin_ctz(left)] = *to++;
}

static void stride(uint32_t mask, uint32_t origin, uint32_t stride, uint32_t *address) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i at = _mm256_add_epi32(_mm256_mullo_epi32(lane, _mm256_set1_epi32((int)stride)),
                                _mm256_set1_epi32((int)origin));
  for (unsigned i = 0; i < VECTORS; i++) {
    _mm256_storeu_si256((__m256i *)address + i, _mm256_and_si256(at, spread(mask >> 8 * i)));
    at = _mm256_add_epi32(at, _mm256_set1_epi32((int)(8 * stride)));
  }
}

/* The two halves, and each half's neighbours, folded by op. */
#define FOLD(op, x)                                                                                \
  do {                                                                                             \
    __m128i half = op(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));                  \
    half = op(half, _mm_shuffle_epi32(half, 0x4e));                                                \
    half = op(half, _mm_shuffle_epi32(half, 0xb1));                                                \
    return (uint32_t)_mm_cvtsi128_si32(half);                                                      \
  } while (0)
static inline uint32_t fold_min(__m256i x) { FOLD(_mm_min_epu32, x); }
static inline uint32_t fold_max(__m256i x) { FOLD(_mm_max_epu32, x); }
static inline uint32_t fold_or(__m256i x) { FOLD(_mm_or_si128, x); }

static bf_lanes_span take(const uint32_t *address, uint32_t mask, uint32_t first,
                          uint32_t *relative) {
  __m256i origin = _mm256_set1_epi32((int)first), most = _mm256_set1_epi32(-1);
  __m256i lowest = most, highest = _mm256_setzero_si256(), bits = highest;
  for (unsigned i = 0; i < VECTORS; i++) {
    __m256i active = spread(mask >> 8 * i);
    __m256i at = _mm256_loadu_si256((const __m256i *)address + i);
    _mm256_storeu_si256((__m256i *)relative + i,
                        _mm256_and_si256(_mm256_sub_epi32(at, origin), active));
    __m256i own = _mm256_and_si256(at, active);
    lowest = _mm256_min_epu32(lowest, _mm256_or_si256(own, _mm256_andnot_si256(active, most)));
    highest = _mm256_max_epu32(highest, own);
    bits = _mm256_or_si256(bits, own);
  }
  return (bf_lanes_span){fold_min(lowest), fold_max(highest), fold_or(bits)};
}

static void place(const uint32_t *relative, uint32_t mask, uint32_t first, uint32_t *address) {
  __m256i origin = _mm256_set1_epi32((int)first);
  for (unsigned i = 0; i < VECTORS; i++) {
    __m256i at = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)relative + i), origin);
    _mm256_storeu_si256((__m256i *)address + i, _mm256_and_si256(at, spread(mask >> 8 * i)));
  }
}

const bf_lanes_kernel bf_lanes_avx2 = {"avx2", list, unpack, stride, take, place};

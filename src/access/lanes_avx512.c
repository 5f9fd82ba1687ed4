/* Addresses of lanes, sixteen at a time. Bytes are permuted across whole registers, for which the
 * processor needs more than the flags of this file say; bf_lanes_available asks for it. */
#include "access/lanes.h"

#include <immintrin.h>

#define TARGET __attribute__((target("avx512vbmi,avx512vbmi2,avx512bw,avx512vl,bmi2")))

/* Numbers that were read, 0 past the last, and where they end; NULL: one is too long. */
typedef struct numbers {
  __m512i value;
  const unsigned char *next;
} numbers;

/* Reads count numbers, 1 to 16. A byte without its top bit ends a number, so that the places of
 * these bytes, moved together, say where each number begins and how long it is. */
TARGET static inline numbers read_numbers(const unsigned char *at, unsigned count) {
  const __m512i byte = _mm512_set_epi64(0x3F3E3D3C3B3A3938, 0x3736353433323130, 0x2F2E2D2C2B2A2928,
                                        0x2726252423222120, 0x1F1E1D1C1B1A1918, 0x1716151413121110,
                                        0x0F0E0D0C0B0A0908, 0x0706050403020100);
  const __m512i lowest = _mm512_set4_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0);
  const __m512i kept = _mm512_set4_epi32(0, 0x7F7F7F, 0x7F7F, 0x7F);
  const __m512i minus = _mm512_set1_epi32(-1);
  __mmask16 wanted = (__mmask16)((1U << count) - 1);
  __m512i data = _mm512_loadu_si512(at);
  __mmask64 ends = ~_mm512_movepi8_mask(data);
  __m512i places = _mm512_maskz_compress_epi8(ends, byte);
  __m512i end = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
  __m512i start = _mm512_sub_epi32(_mm512_alignr_epi32(end, minus, 15), minus);
  __m512i longer = _mm512_sub_epi32(end, start);
  uint64_t last = _pdep_u64(UINT64_C(1) << (count - 1), ends);
  if (!last || _mm512_mask_cmpgt_epu32_mask(wanted, longer, _mm512_set1_epi32(2)))
    return (numbers){_mm512_setzero_si512(), NULL};
  __m512i index =
      _mm512_add_epi32(_mm512_shuffle_epi8(start, lowest), _mm512_set1_epi32(0x03020100));
  __m512i raw = _mm512_and_si512(_mm512_permutexvar_epi8(index, data),
                                 _mm512_permutexvar_epi32(longer, kept));
  __m512i folded = _mm512_or_si512(
      _mm512_and_si512(raw, _mm512_set1_epi32(0x7F)),
      _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(raw, 1), _mm512_set1_epi32(0x3F80)),
                      _mm512_and_si512(_mm512_srli_epi32(raw, 2), _mm512_set1_epi32(0x1FC000))));
  __m512i sign =
      _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_and_si512(folded, _mm512_set1_epi32(1)));
  return (numbers){_mm512_maskz_xor_epi32(wanted, _mm512_srli_epi32(folded, 1), sign),
                   at + __builtin_ctzll(last) + 1};
}

/* Each number plus all before it, and one more. */
TARGET static inline __m512i sums(__m512i value, __m512i before) {
  const __m512i zero = _mm512_setzero_si512();
  value = _mm512_add_epi32(value, _mm512_alignr_epi32(value, zero, 15));
  value = _mm512_add_epi32(value, _mm512_alignr_epi32(value, zero, 14));
  value = _mm512_add_epi32(value, _mm512_alignr_epi32(value, zero, 12));
  value = _mm512_add_epi32(value, _mm512_alignr_epi32(value, zero, 8));
  return _mm512_add_epi32(value, before);
}

/* Up to 16 lanes; *before becomes the last address, in every place. */
TARGET static inline const unsigned char *list_half(const unsigned char *at, __mmask16 mask,
                                                    __m512i *before, uint32_t *address) {
  unsigned count = (unsigned)__builtin_popcount(mask);
  if (count == 0) {
    _mm512_storeu_si512(address, _mm512_setzero_si512());
    return at;
  }
  numbers read = read_numbers(at, count);
  __m512i sum = sums(read.value, *before);
  *before = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), sum);
  _mm512_storeu_si512(address, _mm512_maskz_expand_epi32(mask, sum));
  return _mm512_cmplt_epi32_mask(sum, _mm512_setzero_si512()) ? NULL : read.next;
}

TARGET static const unsigned char *list(const unsigned char *at, uint32_t mask, uint32_t before,
                                        uint32_t *address) {
  __m512i last = _mm512_set1_epi32((int)before);
  if (before >> 30)
    return NULL;
  at = list_half(at, (__mmask16)mask, &last, address);
  return at ? list_half(at, (__mmask16)(mask >> 16), &last, address + 16) : NULL;
}

/* Up to 16 lanes, whose numbers begin `place` bits behind at. */
TARGET static inline void unpack_half(const unsigned char *at, unsigned place, __mmask16 mask,
                                      unsigned bits, unsigned shift, uint32_t lowest,
                                      uint32_t *address) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i low_byte = _mm512_set4_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0);
  __m512i data = _mm512_loadu_si512(at + place / 8);
  __m512i begin = _mm512_add_epi32(_mm512_mullo_epi32(lane, _mm512_set1_epi32((int)bits)),
                                   _mm512_set1_epi32((int)(place % 8)));
  __m512i index = _mm512_add_epi32(_mm512_shuffle_epi8(_mm512_srli_epi32(begin, 3), low_byte),
                                   _mm512_set1_epi32(0x03020100));
  __m512i raw = _mm512_srlv_epi32(_mm512_permutexvar_epi8(index, data),
                                  _mm512_and_si512(begin, _mm512_set1_epi32(7)));
  __m512i value = _mm512_and_si512(raw, _mm512_set1_epi32((int)((1U << bits) - 1)));
  value = _mm512_add_epi32(_mm512_sll_epi32(value, _mm_cvtsi32_si128((int)shift)),
                           _mm512_set1_epi32((int)lowest));
  _mm512_storeu_si512(address, _mm512_maskz_expand_epi32(mask, value));
}

TARGET static void unpack(const unsigned char *at, uint32_t mask, unsigned bits, unsigned shift,
                          uint32_t lowest, uint32_t *address) {
  unsigned before = (unsigned)__builtin_popcount(mask & 0xFFFF);
  unpack_half(at, 0, (__mmask16)mask, bits, shift, lowest, address);
  unpack_half(at, before * bits, (__mmask16)(mask >> 16), bits, shift, lowest, address + 16);
}

static void stride(uint32_t mask, uint32_t origin, uint32_t stride, uint32_t *address) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i low = _mm512_add_epi32(_mm512_mullo_epi32(lane, _mm512_set1_epi32((int)stride)),
                                 _mm512_set1_epi32((int)origin));
  __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32((int)(16 * stride)));
  _mm512_storeu_si512(address, _mm512_maskz_mov_epi32((__mmask16)mask, low));
  _mm512_storeu_si512(address + 16, _mm512_maskz_mov_epi32((__mmask16)(mask >> 16), high));
}

static bf_lanes_span take(const uint32_t *address, uint32_t mask, uint32_t first,
                          uint32_t *relative) {
  __mmask16 low = (__mmask16)mask, high = (__mmask16)(mask >> 16);
  __m512i origin = _mm512_set1_epi32((int)first), most = _mm512_set1_epi32(-1);
  __m512i a = _mm512_maskz_loadu_epi32(low, address);
  __m512i b = _mm512_maskz_loadu_epi32(high, address + 16);
  _mm512_storeu_si512(relative, _mm512_maskz_sub_epi32(low, a, origin));
  _mm512_storeu_si512(relative + 16, _mm512_maskz_sub_epi32(high, b, origin));
  __m512i least =
      _mm512_min_epu32(_mm512_mask_mov_epi32(most, low, a), _mm512_mask_mov_epi32(most, high, b));
  return (bf_lanes_span){_mm512_reduce_min_epu32(least),
                         _mm512_reduce_max_epu32(_mm512_max_epu32(a, b)),
                         (uint32_t)_mm512_reduce_or_epi32(_mm512_or_si512(a, b))};
}

static void place(const uint32_t *relative, uint32_t mask, uint32_t first, uint32_t *address) {
  __m512i origin = _mm512_set1_epi32((int)first);
  for (unsigned half = 0; half < 2; half++) {
    __m512i distance = _mm512_loadu_si512(relative + 16 * half);
    _mm512_storeu_si512(address + 16 * half,
                        _mm512_maskz_add_epi32((__mmask16)(mask >> 16 * half), distance, origin));
  }
}

const bf_lanes_kernel bf_lanes_avx512 = {"avx512", list, unpack, stride, take, place};

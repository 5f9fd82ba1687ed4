/* Inside room emu: loads and stores of one register in shared and in local memory, for
 * run_memory.c, which has how single registers, eights and rows are moved. */
#ifndef BF_EMU_OWN_H
#define BF_EMU_OWN_H

#include "emu/deferred.h"
#include "emu/lined.h"
#include "emu/near.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Whether the offsets of eight lanes stand apart from one to the next. */
static inline bool are_eight(const uint32_t *offset, uint32_t apart_bytes) {
#if defined(__AVX2__)
  __m256i steps = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                     _mm256_set1_epi32((int)apart_bytes));
  __m256i wanted = _mm256_add_epi32(_mm256_set1_epi32((int)offset[0]), steps);
  __m256i wrong = _mm256_xor_si256(_mm256_loadu_si256((const void *)offset), wanted);
  return _mm256_testz_si256(wrong, wrong);
#else
  uint32_t wrong = 0;
  for (unsigned i = 1; i < 8; i++)
    wrong |= offset[i] ^ (offset[0] + i * apart_bytes);
  return wrong == 0;
#endif
}

/* Whether addresses of the lanes of mask, and by, are aligned and inside stacks of some bytes. */
static inline bool are_on_stack(uint64_t stack_bytes, unsigned size, uint64_t by, uint32_t mask,
                                const uint64_t *from) {
  uint64_t last = stack_bytes - size, outside = 0, low = 0;
  if (stack_bytes < size)
    return false;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint64_t own = 0 - (uint64_t)(mask >> lane & 1), address = from[lane] + by;
    outside |= own & BF_NEAR_WRONG(address, last);
    low |= own & address;
  }
  return outside >> 63 == 0 && (low & (size - 1)) == 0;
}

/* What a load or store of shared memory knows of its lanes. */
typedef struct lie {
  uint32_t offset[BF_EMU_LANES];
  bf_lined_key line;
  bool is_line; /* line says all of it */
} lie;

/* Looks at the lanes of a shared access: whether all are inside the block's memory and aligned, and
 * whether they lie in line. */
static inline bool look_at_own(const bf_emu_warp *warp, const bf_emu_op *op, unsigned size,
                               uint32_t mask, lie *at) {
  uint32_t behind = (uint32_t)op->offset - bf_near_base(warp, BF_PTX_SPACE_SHARED);
  const uint32_t *from = BF_LANES(const uint32_t, op->a);
#if defined(__AVX512F__)
  uint64_t bytes = warp->block->shared_bytes;
  __mmask16 low = (__mmask16)mask, high = (__mmask16)(mask >> 16);
  __m512i by = _mm512_set1_epi32((int)behind), parts = _mm512_set1_epi32((int)size - 1);
  __m512i lower = _mm512_add_epi32(_mm512_loadu_si512(from), by);
  __m512i upper = _mm512_add_epi32(_mm512_loadu_si512(from + 16), by);
  _mm512_storeu_si512(at->offset, lower);
  _mm512_storeu_si512(at->offset + 16, upper);
  if (bytes < size || bytes >> 31)
    return false;
  __m512i last = _mm512_set1_epi32((int)(uint32_t)(bytes - size));
  uint32_t wrong = _mm512_mask_cmpgt_epu32_mask(low, lower, last) |
                   _mm512_mask_cmpgt_epu32_mask(high, upper, last) |
                   _mm512_mask_test_epi32_mask(low, lower, parts) |
                   _mm512_mask_test_epi32_mask(high, upper, parts);
  if (wrong)
    return false;
  at->is_line = bf_lined_steps(op->site, mask, from, &at->line);
  at->line.first += behind;
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i wanted =
      _mm512_add_epi32(_mm512_set1_epi32((int)bf_lined_base(&at->line)),
                       _mm512_mullo_epi32(lanes, _mm512_set1_epi32((int)at->line.step)));
  __m512i above = _mm512_add_epi32(wanted, _mm512_set1_epi32((int)at->line.jump));
  at->is_line &= (_mm512_mask_cmpneq_epi32_mask(low, lower, wanted) |
                  _mm512_mask_cmpneq_epi32_mask(high, upper, above)) == 0;
#else
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    at->offset[lane] = from[lane] + behind;
  if (!bf_near_inside(warp->block->shared_bytes, size, mask, at->offset))
    return false;
  at->is_line = bf_lined_find(op->site, mask, at->offset, &at->line);
#endif
  return true;
}

typedef enum told { TOLD, NOT_TOLD, HAS_ENDED } told;

/* Tells of an access that was looked at. */
static inline void tell_lie(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned size,
                            uint32_t mask, const lie *at) {
  const bf_emu_worker *worker = warp->worker;
  if (!at->is_line)
    bf_emu_tell_shared(warp, op, kind, size, mask, at->offset);
  else if (!worker->tally || !*worker->tally ||
           !bf_lined_count(*worker->tally, &at->line, warp->block->index))
    bf_emu_tell_line(warp, op, kind, size, at->offset, &at->line);
}

/* tell_own where races are looked for. (By itself: what a compiler has to keep in memory for it
 * makes all others slower.) */
__attribute__((noinline)) static told tell_checked(bf_emu_warp *warp, const bf_emu_op *op,
                                                   bf_op kind, unsigned size, uint32_t mask,
                                                   lie *at) {
  uint64_t inside[BF_EMU_LANES];
  if (warp->block->shadow || !look_at_own(warp, op, size, mask, at))
    return NOT_TOLD;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    inside[lane] = at->offset[lane];
  bool is_deferred = kind == BF_OP_LD && at->is_line && bf_race_defer(warp, &at->line, size);
  if (!is_deferred && !bf_race_access(warp, op, kind, size, kind == BF_OP_ST, mask, 0, inside))
    return HAS_ENDED;
  tell_lie(warp, op, kind, size, mask, at);
  return TOLD;
}

/* Where lanes of a shared access are, and tells of it; NOT_TOLD: that takes more than a look. */
static inline told tell_own(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned size,
                            uint32_t mask, lie *at) {
  if (warp->block->is_checked)
    return tell_checked(warp, op, kind, size, mask, at);
  if (!look_at_own(warp, op, size, mask, at))
    return NOT_TOLD;
  tell_lie(warp, op, kind, size, mask, at);
  return TOLD;
}

/* Shared memory. Lanes in line are moved as rows, or read once; eight neighbouring lanes are often
 * one behind the other, or at the same place, where all 32 are not. eight moves the values of
 * eight lanes. */
#define PLAIN_SHARED(name, type, is_write, whole, eight, one)                                      \
  static const bf_emu_op *name(bf_emu_warp *warp, const bf_emu_op *op) {                           \
    uint32_t mask = BF_MASK();                                                                     \
    lie at;                                                                                        \
    if (mask == 0)                                                                                 \
      return op + 1;                                                                               \
    bf_op kind = is_write ? BF_OP_ST : BF_OP_LD;                                                   \
    type *own = BF_LANES(type, op->d);                                                             \
    uint8_t *shared = warp->block->shared;                                                         \
    told has = tell_own(warp, op, kind, sizeof(type), mask, &at);                                  \
    if (has == HAS_ENDED)                                                                          \
      return NULL;                                                                                 \
    if (has == NOT_TOLD) {                                                                         \
      bf_emu_address address = {op->a, 4, op->offset, BF_PTX_SPACE_SHARED};                        \
      bf_near_access access = {BF_PTX_SPACE_SHARED, kind, sizeof(type), sizeof(type), is_write};   \
      uint8_t *pointer[BF_EMU_LANES];                                                              \
      if (!bf_near_reach(warp, op, &address, &access, mask, pointer))                              \
        return NULL;                                                                               \
      BF_EACH_LANE(mask, lane) {                                                                   \
        uint8_t *memory = pointer[lane];                                                           \
        one;                                                                                       \
      }                                                                                            \
      return op + 1;                                                                               \
    }                                                                                              \
    const uint32_t *offset = at.offset, size = sizeof(type);                                       \
    unsigned first = BF_FIRST_LANE(mask);                                                          \
    bool is_row = at.is_line && at.line.step == size && at.line.jump == 16 * size;                 \
    if (mask == UINT32_MAX && is_row) {                                                            \
      uint8_t *memory = shared + offset[0];                                                        \
      type *to = own;                                                                              \
      whole;                                                                                       \
      return op + 1;                                                                               \
    }                                                                                              \
    if (!is_write && at.is_line && (at.line.step | at.line.jump) == 0) {                           \
      type value;                                                                                  \
      memcpy(&value, shared + offset[first], sizeof value);                                        \
      BF_SET_LANES(mask, own, value);                                                              \
      return op + 1;                                                                               \
    }                                                                                              \
    if (mask == UINT32_MAX) {                                                                      \
      for (unsigned group = 0; group < BF_EMU_LANES; group += 8) {                                 \
        uint8_t *memory = shared + offset[group];                                                  \
        if (are_eight(offset + group, sizeof(type))) {                                             \
          eight;                                                                                   \
        } else if (!is_write && are_eight(offset + group, 0)) {                                    \
          type value;                                                                              \
          memcpy(&value, memory, sizeof value);                                                    \
          for (unsigned i = 0; i < 8; i++)                                                         \
            own[group + i] = value;                                                                \
        } else {                                                                                   \
          for (unsigned lane = group; lane < group + 8; lane++) {                                  \
            memory = shared + offset[lane];                                                        \
            one;                                                                                   \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
      return op + 1;                                                                               \
    }                                                                                              \
    uint32_t base = offset[first] - first * size;                                                  \
    if (!is_write && is_row &&                                                                     \
        (uint64_t)base + sizeof(type) * BF_EMU_LANES <= warp->block->shared_bytes) {               \
      uint8_t *memory = shared + base;                                                             \
      type fresh[BF_EMU_LANES], *to = fresh;                                                       \
      whole;                                                                                       \
      BF_SET_LANES(mask, own, fresh[lane]);                                                        \
      return op + 1;                                                                               \
    }                                                                                              \
    if (!is_row) {                                                                                 \
      BF_EACH_LANE(mask, lane) {                                                                   \
        uint8_t *memory = shared + offset[lane];                                                   \
        one;                                                                                       \
      }                                                                                            \
      return op + 1;                                                                               \
    }                                                                                              \
    for (unsigned group = 0; group < BF_EMU_LANES; group += 8)                                     \
      if ((mask >> group & 0xff) == 0xff) {                                                        \
        uint8_t *memory = shared + offset[group];                                                  \
        eight;                                                                                     \
      } else {                                                                                     \
        BF_EACH_LANE(mask &UINT32_C(0xff) << group, lane) {                                        \
          uint8_t *memory = shared + offset[lane];                                                 \
          one;                                                                                     \
        }                                                                                          \
      }                                                                                            \
    return op + 1;                                                                                 \
  }
/* Local memory: the stacks of the lanes lie one behind the other; by is what is added. */
#define PLAIN_LOCAL(name, type, is_write, one)                                                     \
  static const bf_emu_op *name(bf_emu_warp *warp, const bf_emu_op *op) {                           \
    uint32_t mask = BF_MASK();                                                                     \
    if (mask == 0)                                                                                 \
      return op + 1;                                                                               \
    const uint64_t *from = BF_LANES(const uint64_t, op->a);                                        \
    type *own = BF_LANES(type, op->d);                                                             \
    uint64_t stride = warp->local ? warp->worker->flight->stack_bytes : 0;                         \
    uint64_t by = (uint64_t)(int64_t)op->by;                                                       \
    if (!are_on_stack(stride, sizeof(type), by, mask, from))                                       \
      return move_all(warp, op, is_write);                                                         \
    uint8_t *stack = warp->local + by;                                                             \
    if (mask == UINT32_MAX) {                                                                      \
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                       \
        uint8_t *memory = stack + lane * stride + from[lane];                                      \
        one;                                                                                       \
      }                                                                                            \
      return op + 1;                                                                               \
    }                                                                                              \
    BF_EACH_LANE(mask, lane) {                                                                     \
      uint8_t *memory = stack + lane * stride + from[lane];                                        \
      one;                                                                                         \
    }                                                                                              \
    return op + 1;                                                                                 \
  }

#endif

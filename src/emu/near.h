/* Inside room emu: the addresses of a warp checked all at once, where that is enough.
 *
 * Each place of the code remembers the range of global memory that it used last. Addresses in that
 * range, in the shared memory of the block or in the lanes' own local memory need no search; all
 * others go through bf_emu_reach, which knows everything and says what is wrong. */
#ifndef BF_EMU_NEAR_H
#define BF_EMU_NEAR_H

#include "emu/put_off.h"
#include "emu/race.h"

/* Whether mask has one lane, or none. */
static inline bool bf_near_is_single(uint32_t mask) { return (mask & (mask - 1)) == 0; }

/* Whether somebody wants to be told of global accesses, or races are looked for. */
static inline bool bf_near_is_watched(const bf_emu_warp *warp) {
  const bf_emu_flight *flight = warp->worker->flight;
  return (flight->observer && flight->observer->wants_global) || flight->races;
}

/* The range that a place of the code used last, as its start and the last offset from there at
 * which width_bytes fit; false: none that serves. */
static inline bool bf_near_range(const bf_emu_warp *warp, const bf_emu_op *op, unsigned width_bytes,
                                 bool is_write, uint64_t *first, uint64_t *last) {
  const bf_emu_known *known = &warp->worker->known[op->site % BF_EMU_KNOWN];
  *first = known->first;
  *last = known->end - known->first - width_bytes;
  return known->end - known->first >= width_bytes && (!is_write || known->writable);
}

/* Offsets are right where neither they nor last - offset are negative: that takes no unsigned
 * comparison, which AVX2 has none of. Ranges are shorter than 2^63 bytes. */
#define BF_NEAR_WRONG(offset, last) ((offset) | ((last) - (offset)))

/* Global addresses in the range that the place of the code used last. */
static inline bool bf_near_global(const bf_emu_warp *warp, const bf_emu_op *op,
                                  unsigned width_bytes, bool is_write, uint32_t mask,
                                  const uint64_t *address) {
  uint64_t first, last, outside = 0, low = 0;
  if (!bf_near_range(warp, op, width_bytes, is_write, &first, &last))
    return false;
  if (mask == UINT32_MAX) {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
      outside |= BF_NEAR_WRONG(address[lane] - first, last);
      low |= address[lane];
    }
  } else {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
      uint64_t own = 0 - (uint64_t)(mask >> lane & 1);
      outside |= own & BF_NEAR_WRONG(address[lane] - first, last);
      low |= own & address[lane];
    }
  }
  return outside >> 63 == 0 && (low & (width_bytes - 1)) == 0;
}

/* Whether offsets of lanes of mask lie in memory of some bytes, which are less than 2^31. */
static inline bool bf_near_inside(uint64_t bytes, unsigned width_bytes, uint32_t mask,
                                  const uint32_t *offset) {
  uint32_t last = (uint32_t)(bytes - width_bytes), outside = 0, low = 0;
  if (bytes < width_bytes || bytes >> 31)
    return false;
  if (mask == UINT32_MAX) {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
      outside |= BF_NEAR_WRONG(offset[lane], last);
      low |= offset[lane];
    }
  } else {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
      uint32_t own = 0 - (mask >> lane & 1);
      outside |= own & BF_NEAR_WRONG(offset[lane], last);
      low |= own & offset[lane];
    }
  }
  return outside >> 31 == 0 && (low & (width_bytes - 1)) == 0;
}

/* What addresses of the block's own shared memory have above their offset (cluster.h). */
static inline uint32_t bf_near_base(const bf_emu_warp *warp, bf_ptx_space space) {
  return space == BF_PTX_SPACE_LOCAL ? 0 : (uint32_t)warp->block->rank << 24;
}

/* The addresses of [register + offset] as offsets in the block's or the lanes' memory; false where
 * a 64-bit one does not fit. */
static inline bool bf_near_offsets(const bf_emu_warp *warp, const bf_emu_address *from,
                                   uint32_t mask, uint32_t *offset) {
  uint64_t high = 0, behind = (uint64_t)from->offset - bf_near_base(warp, from->space);
  if (from->register_bytes == 4) {
    const uint32_t *narrow = BF_LANES(const uint32_t, from->place);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      offset[lane] = narrow[lane] + (uint32_t)behind;
    return true;
  }
  const uint64_t *wide = BF_LANES(const uint64_t, from->place);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint64_t whole = wide[lane] + behind;
    offset[lane] = (uint32_t)whole;
    high |= mask >> lane & 1 ? whole >> 32 : 0;
  }
  return high == 0;
}

/* What an access is, as bf_emu_reach wants to know it. */
typedef struct bf_near_access {
  bf_ptx_space space;
  bf_op kind;
  unsigned width_bytes, told_bytes;
  bool is_write;
} bf_near_access;

/* One lane in global memory. */
static inline bool bf_near_single(bf_emu_warp *warp, const bf_emu_op *op,
                                  const bf_emu_address *from, const bf_near_access *what,
                                  unsigned lane, uint8_t **pointer) {
  uint64_t first, last;
  uint64_t address =
      from->register_bytes == 4
          ? (uint32_t)(BF_LANES(uint32_t, from->place)[lane] + (uint32_t)from->offset)
          : BF_LANES(uint64_t, from->place)[lane] + (uint64_t)from->offset;
  if ((what->space != BF_PTX_SPACE_GLOBAL && what->space != BF_PTX_SPACE_NONE) ||
      bf_near_is_watched(warp) ||
      !bf_near_range(warp, op, what->width_bytes, what->is_write, &first, &last) ||
      address - first > last || address & (what->width_bytes - 1))
    return false;
  pointer[lane] = (uint8_t *)(uintptr_t)address;
  return true;
}

/* The memory of the block, or of each lane, and the offsets there. */
static inline bool bf_near_own(const bf_emu_warp *warp, const bf_emu_address *from,
                               const bf_near_access *what, uint32_t mask, uint32_t *offset,
                               uint8_t **pointer) {
  bool is_shared = what->space == BF_PTX_SPACE_SHARED;
  uint64_t stack_bytes = warp->local ? warp->worker->flight->stack_bytes : 0;
  uint64_t stride = is_shared ? 0 : stack_bytes;
  uint8_t *memory = is_shared ? warp->block->shared : warp->local;
  if ((is_shared && (warp->block->shadow || what->told_bytes != what->width_bytes)) ||
      !bf_near_offsets(warp, from, mask, offset) ||
      !bf_near_inside(is_shared ? warp->block->shared_bytes : stack_bytes, what->width_bytes, mask,
                      offset))
    return false;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    pointer[lane] = memory + lane * stride + offset[lane];
  return true;
}

/* Tells of an access to the block's shared memory; false: it was a race that ended the launch. */
static inline bool bf_near_tell_shared(bf_emu_warp *warp, const bf_emu_op *op,
                                       const bf_near_access *what, uint32_t mask,
                                       const uint32_t *offset) {
  if (warp->block->words) {
    uint64_t inside[BF_EMU_LANES];
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      inside[lane] = offset[lane];
    if (!bf_race_access(warp, op, what->kind, what->width_bytes, what->is_write, mask, 0, inside))
      return false;
  }
  bf_emu_tell_shared(warp, op, what->kind, what->width_bytes, mask, offset);
  return true;
}

/* The same for global memory; false, too, where it must wait for what is put off. */
static inline bool bf_near_tell_global(bf_emu_warp *warp, const bf_emu_op *op,
                                       const bf_near_access *what, uint32_t mask,
                                       const uint64_t *address) {
  if (bf_emu_must_wait(warp->worker, what->kind, what->width_bytes, mask, address))
    return false;
  if (warp->worker->flight->races &&
      !bf_race_access(warp, op, what->kind, what->width_bytes, what->is_write, 0, mask, address))
    return false;
  bf_emu_tell_global(warp, op, what->kind, what->width_bytes, mask, address);
  return true;
}

/* bf_near_reach at addresses that were computed, where what is told is as wide as what is done. */
static inline bool bf_near_reach_at(bf_emu_warp *warp, const bf_emu_op *op,
                                    const bf_near_access *what, uint32_t mask,
                                    const uint64_t *address, uint8_t **pointer) {
  uint32_t offset[BF_EMU_LANES];
  uint64_t window = what->space == BF_PTX_SPACE_NONE ? BF_EMU_SHARED_WINDOW : 0, high = 0;
  window += bf_near_base(warp, what->space);
  bool may_be_shared = what->space == BF_PTX_SPACE_SHARED || what->space == BF_PTX_SPACE_NONE;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint64_t inside = address[lane] - window;
    offset[lane] = (uint32_t)inside;
    high |= mask >> lane & 1 ? inside >> 32 : 0;
  }
  if (may_be_shared && high == 0 && !warp->block->shadow &&
      bf_near_inside(warp->block->shared_bytes, what->width_bytes, mask, offset)) {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      pointer[lane] = warp->block->shared + offset[lane];
    return bf_near_tell_shared(warp, op, what, mask, offset);
  }
  return bf_emu_reach(warp, op, what->space, what->kind, what->width_bytes, what->width_bytes,
                      what->told_bytes, what->is_write, mask, address, pointer);
}

/* Pointers for an access of lanes of mask to width_bytes each, aligned to them; false: the launch
 * has ended. */
static inline bool bf_near_reach(bf_emu_warp *warp, const bf_emu_op *op, const bf_emu_address *from,
                                 const bf_near_access *what, uint32_t mask, uint8_t **pointer) {
  uint64_t address[BF_EMU_LANES];
  uint32_t offset[BF_EMU_LANES];
  if (bf_near_is_single(mask) && bf_near_single(warp, op, from, what, BF_FIRST_LANE(mask), pointer))
    return true;
  if ((what->space == BF_PTX_SPACE_SHARED || what->space == BF_PTX_SPACE_LOCAL) &&
      bf_near_own(warp, from, what, mask, offset, pointer))
    return what->space != BF_PTX_SPACE_SHARED || bf_near_tell_shared(warp, op, what, mask, offset);
  bf_emu_addresses(warp, from->place, from->register_bytes, from->offset, address);
  if ((what->space == BF_PTX_SPACE_GLOBAL || what->space == BF_PTX_SPACE_NONE) &&
      bf_near_global(warp, op, what->width_bytes, what->is_write, mask, address)) {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) /* pointers may be narrower */
      pointer[lane] = (uint8_t *)(uintptr_t)address[lane];
    return !bf_near_is_watched(warp) || bf_near_tell_global(warp, op, what, mask, address);
  }
  if (what->space == BF_PTX_SPACE_NONE && what->told_bytes == what->width_bytes)
    return bf_near_reach_at(warp, op, what, mask, address, pointer);
  return bf_emu_reach(warp, op, what->space, what->kind, what->width_bytes, what->width_bytes,
                      what->told_bytes, what->is_write, mask, address, pointer);
}

/* Whether all lanes touch consecutive elements. */
static inline bool bf_near_are_consecutive(uint8_t *const *pointer, unsigned size) {
  uint64_t first = (uintptr_t)pointer[0], wrong = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    wrong |= (uintptr_t)pointer[lane] ^ (first + (uint64_t)lane * size);
  return wrong == 0;
}

#endif

/* Uninitialised reads of shared memory, byte by byte. */
#include "emu/shadow.h"

#include <stdlib.h>

struct bf_emu_shadow {
  uint8_t written[1]; /* per byte */
};

bf_emu_shadow *bf_emu_shadow_create(uint64_t shared_bytes) {
  return calloc(1, sizeof(bf_emu_shadow) + shared_bytes);
}

void bf_emu_shadow_free(bf_emu_shadow *shadow) { free(shadow); }

void bf_emu_shadow_reset(bf_emu_shadow *shadow, uint64_t shared_bytes) {
  memset(shadow->written, 0, shared_bytes);
}

bool bf_emu_shadow_access(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                          bool is_write, uint32_t mask, const uint64_t *address) {
  uint8_t *written = warp->block->shadow->written;
  bool reads = !is_write || bf_op_side(kind) == BF_SIDE_ATOMIC;
  BF_EACH_LANE(mask, lane)
  for (unsigned i = 0; i < width_bytes; i++) {
    if (reads && !written[address[lane] + i]) {
      bf_emu_fail_access(warp, op, BF_PTX_SPACE_SHARED, lane, address[lane], width_bytes, is_write,
                         BF_EMU_UNINITIALISED);
      return false;
    }
    written[address[lane] + i] |= is_write;
  }
  return true;
}

bool bf_emu_shadow_read(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                        const bf_emu_block *block, uint64_t offset, uint64_t bytes) {
  const uint8_t *missing = block->shadow ? memchr(block->shadow->written + offset, 0, bytes) : NULL;
  if (missing)
    bf_emu_fail_access(warp, op, BF_PTX_SPACE_SHARED, lane,
                       (uint64_t)(missing - block->shadow->written), 1, false,
                       BF_EMU_UNINITIALISED);
  return !missing;
}

void bf_emu_shadow_fill(bf_emu_shadow *shadow, uint64_t offset, uint64_t bytes) {
  memset(shadow->written + offset, 1, bytes);
}

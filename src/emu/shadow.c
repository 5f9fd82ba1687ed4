/* Uninitialised reads and races in shared memory, byte by byte.
 *
 * A race is two accesses of different threads to the same byte, at least one of them a plain write
 * (or a plain and an atomic one), with no barrier of the block between them. Accesses of one warp
 * in one instruction do not race as reads; two lanes that write the same byte do. Lanes of one warp
 * that are ordered by bar.warp.sync or by running in step are taken as ordered: only threads of
 * different warps, or of the same instruction, are compared. */
#include "emu/shadow.h"

#include <stdlib.h>

typedef struct byte_state {
  uint32_t write_epoch, read_epoch; /* epoch + 1 of the last access; 0: none */
  uint16_t writer, reader;          /* warps; reader MANY where several read in the epoch */
  uint8_t written;                  /* ever */
  uint8_t atomic;                   /* the last write was atomic */
} byte_state;

enum { MANY = UINT16_MAX };

struct bf_emu_shadow {
  bool uninitialised, races;
  byte_state byte[];
};

bf_emu_shadow *bf_emu_shadow_create(uint64_t shared_bytes, bool uninitialised, bool races) {
  bf_emu_shadow *shadow = calloc(1, sizeof *shadow + shared_bytes * sizeof(byte_state));
  if (shadow) {
    shadow->uninitialised = uninitialised;
    shadow->races = races;
  }
  return shadow;
}

void bf_emu_shadow_free(bf_emu_shadow *shadow) { free(shadow); }

void bf_emu_shadow_reset(bf_emu_shadow *shadow, uint64_t shared_bytes) {
  memset(shadow->byte, 0, shared_bytes * sizeof(byte_state));
}

/* Whether a read of this byte by a warp in an epoch races with a write. */
static bool read_races(const byte_state *byte, uint32_t epoch, unsigned warp, bool atomic) {
  return byte->write_epoch == epoch && byte->writer != warp && !(atomic && byte->atomic);
}

/* Whether a write races with a read or write. */
static bool write_races(const byte_state *byte, uint32_t epoch, unsigned warp, bool atomic) {
  return read_races(byte, epoch, warp, atomic) ||
         (byte->read_epoch == epoch && byte->reader != warp);
}

static void note_read(byte_state *byte, uint32_t epoch, unsigned warp) {
  if (byte->read_epoch == epoch && byte->reader != warp)
    byte->reader = MANY;
  else
    byte->reader = (uint16_t)warp;
  byte->read_epoch = epoch;
}

static void note_write(byte_state *byte, uint32_t epoch, unsigned warp, bool atomic) {
  byte->write_epoch = epoch;
  byte->writer = (uint16_t)warp;
  byte->written = 1;
  byte->atomic = atomic;
}

/* The first lane of mask below `lane` that touches the byte at address; -1: none. */
static int earlier_lane(uint32_t mask, const uint32_t *address, unsigned width_bytes, unsigned lane,
                        uint32_t at) {
  for (unsigned i = 0; i < lane; i++)
    if (mask >> i & 1 && at - address[i] < width_bytes)
      return (int)i;
  return -1;
}

static bool fail(bf_emu_warp *warp, const bf_emu_op *op, bf_emu_fault_kind kind, unsigned lane,
                 uint32_t address, unsigned width_bytes, bool is_write) {
  bf_emu_fail_access(warp, op, BF_PTX_SPACE_SHARED, lane, address, width_bytes, is_write, kind);
  return false;
}

bool bf_emu_shadow_access(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                          bool is_write, uint32_t mask, const uint32_t *address) {
  bf_emu_shadow *shadow = warp->block->shadow;
  uint32_t epoch = (uint32_t)warp->block->epoch + 1;
  bool atomic = bf_op_side(kind) == BF_SIDE_ATOMIC, reads = !is_write || atomic;
  BF_EACH_LANE(mask, lane)
  for (unsigned i = 0; i < width_bytes; i++) {
    uint32_t at = address[lane] + i;
    byte_state *byte = &shadow->byte[at];
    if (shadow->uninitialised && reads && !byte->written)
      return fail(warp, op, BF_EMU_UNINITIALISED, lane, address[lane], width_bytes, is_write);
    bool races = is_write ? write_races(byte, epoch, warp->index, atomic)
                          : read_races(byte, epoch, warp->index, atomic);
    if (is_write && !atomic && !races)
      races = earlier_lane(mask, address, width_bytes, lane, at) >= 0;
    if (shadow->races && races)
      return fail(warp, op, BF_EMU_RACE, lane, address[lane], width_bytes, is_write);
    if (is_write)
      note_write(byte, epoch, warp->index, atomic);
    else
      note_read(byte, epoch, warp->index);
  }
  return true;
}

void bf_emu_shadow_fill(bf_emu_shadow *shadow, uint64_t offset, uint64_t bytes) {
  for (uint64_t i = offset; i < offset + bytes; i++)
    shadow->byte[i] = (byte_state){.written = 1};
}

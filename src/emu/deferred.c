/* Reads of shared memory that are kept until a write may meet them. */
#include "emu/deferred.h"
#include "emu/proxy.h"
#include "emu/race.h"

#include <stdlib.h>

bool bf_race_may_defer(const bf_emu_flight *flight) {
  const bf_emu_kernel *kernel = flight->kernel;
  if (flight->is_clustered || kernel->uses_cluster || bf_proxy_is_used(kernel) ||
      flight->launch->check_uninitialised)
    return false;
  for (unsigned i = 0; i < kernel->site_count; i++)
    if (kernel->sites[i].instruction->opcode == BF_PTX_OP_CP)
      return false;
  return true;
}

bf_race_reads *bf_race_reads_create(void) {
  bf_race_reads *reads = malloc(sizeof *reads);
  if (reads)
    reads->count = 0;
  return reads;
}

void bf_race_reads_begin(bf_emu_block *block) {
  block->written = 0;
  if (block->reads)
    block->reads->count = 0;
}

void bf_race_reads_settle(bf_emu_block *block) {
  bf_race_reads *reads = block->reads;
  uint32_t count = reads && reads->stretch == bf_race_stretch(block) ? reads->count : 0;
  for (uint32_t i = 0; i < count; i++) {
    const bf_race_read *read = &reads->read[i];
    uint32_t base = bf_lined_base(&read->line);
    uint64_t offset[BF_EMU_LANES];
    for (uint32_t lane = 0; lane < BF_EMU_LANES; lane++)
      offset[lane] = base + lane % 16 * read->line.step + lane / 16 * read->line.jump;
    bf_race_note_read(&block->warp[read->warp], read->line.site, read->width_bytes, read->order,
                      read->time, read->line.mask, offset);
  }
  if (reads)
    reads->count = 0;
}

bool bf_race_defer(bf_emu_warp *warp, const bf_lined_key *line, unsigned width_bytes) {
  bf_emu_block *block = warp->block;
  bf_race_reads *reads = block->reads;
  uint64_t stretch = bf_race_stretch(block);
  if (!reads || block->written == stretch || block->has_acquired)
    return false;
  if (reads->stretch != stretch)
    reads->count = 0;
  if (reads->count == BF_RACE_READS)
    return false;
  reads->stretch = stretch;
  reads->read[reads->count++] =
      (bf_race_read){*line, warp->order, bf_race_time(warp->worker->flight), (uint16_t)warp->index,
                     (uint16_t)width_bytes};
  return true;
}

/* The copy engine of a multiprocessor: bulk and tensor copies.
 *
 * A copy is cut into lines of 128 bytes, which leave one behind the other, past the first-level
 * cache. When the last one has come, its bytes are counted at its mbarrier a little later, and
 * warps that wait there are told. Stores are done for their group when they have left. */
#include "sim/copies.h"

#include <stdlib.h>

/* Room for one more copy in flight; NULL: out of memory. */
static bf_sim_copy *new_copy(bf_sim_sm *sm) {
  bf_sim_copies *own = &sm->copies;
  for (unsigned i = 0; i < own->count; i++)
    if (!own->copy[i].is_used)
      return &own->copy[i];
  unsigned count = own->count ? 2 * own->count : 16;
  bf_sim_copy *grown = realloc(own->copy, count * sizeof *grown);
  if (!grown) {
    sm->failed = true;
    return NULL;
  }
  own->copy = grown;
  for (unsigned i = own->count; i < count; i++)
    grown[i] = (bf_sim_copy){0};
  unsigned first = own->count;
  own->count = count;
  return &grown[first];
}

/* Begins a copy: when the engine turns to it. */
static void begin_copy(bf_sim_sm *sm, const bf_emu_copy *told) {
  const bf_sim_gpu *gpu = sm->gpu;
  bf_sim_copies *own = &sm->copies;
  bf_sim_copy *copy = new_copy(sm);
  if (!copy)
    return;
  own->is_engines = sm->executing->is_bulk;
  *copy = (bf_sim_copy){.is_used = true,
                        .block = sm->acting->block,
                        .index = sm->acting->block->index,
                        .emu = sm->acting->block->emu};
  double latency =
      (double)(told->way == BF_EMU_WAY_STORE ? gpu->copy_store_cycles : gpu->copy_start_cycles);
  latency += told->is_tensor ? (double)gpu->copy_tensor_cycles : 0;
  own->begin = (double)sm->now > own->free_at ? (double)sm->now : own->free_at;
  own->latency = latency;
  own->taken = 0;
  own->current = (unsigned)(copy - own->copy);
  own->is_open = true;
}

/* Cycles that the engine is taken by sectors of a line. */
static double line_cycles(const bf_sim_gpu *gpu, bf_emu_way way, uint8_t sectors) {
  return way == BF_EMU_WAY_STORE ? gpu->copy_sector_cycles * bf_sim_sectors(sectors)
                                 : gpu->copy_line_cycles;
}

/* Sends sectors of a line. */
static void send_line(bf_sim_sm *sm, bf_emu_way way, uint64_t line, uint8_t sectors) {
  bf_sim_copies *own = &sm->copies;
  bf_sim_request request = {.cycle = (uint64_t)(own->begin + own->latency + own->taken),
                            .line = line,
                            .sm = sm->index,
                            .token = BF_SIM_COPY_TOKEN | own->current,
                            .sectors = sectors,
                            .kind = way == BF_EMU_WAY_STORE ? BF_SIM_STORE : BF_SIM_PAST,
                            .operations = 1,
                            .is_copy = true};
  own->taken += line_cycles(sm->gpu, way, sectors);
  own->copy[own->current].lines += bf_sim_post(sm, &request);
  sm->count.global_sectors += bf_sim_sectors(sectors);
}

/* Sends the lines of a piece of global memory. */
static void send_piece(bf_sim_sm *sm, bf_emu_way way, const bf_emu_piece *piece) {
  uint64_t first = bf_sim_moved_address(sm, piece->address), end = first + piece->bytes;
  for (uint64_t next; first < end; first = next) {
    next = (first / BF_SIM_LINE_BYTES + 1) * BF_SIM_LINE_BYTES;
    next = next < end ? next : end;
    unsigned from = (unsigned)(first % BF_SIM_LINE_BYTES) / BF_SIM_SECTOR_BYTES;
    unsigned to = (unsigned)((next - 1) % BF_SIM_LINE_BYTES) / BF_SIM_SECTOR_BYTES;
    send_line(sm, way, first / BF_SIM_LINE_BYTES, (uint8_t)((2u << to) - (1u << from)));
  }
}

/* News of a copy at a cycle. */
static void land_at(bf_sim_sm *sm, unsigned number, double cycle) {
  bf_sim_request news = {.kind = BF_SIM_LANDED, .token = BF_SIM_COPY_TOKEN | number};
  if (!bf_sim_sm_answer(sm, &news, (uint64_t)cycle))
    sm->failed = true;
}

/* All of a copy was told of. */
static void end_copy(bf_sim_sm *sm, const bf_emu_copy *told) {
  const bf_sim_gpu *gpu = sm->gpu;
  bf_sim_copies *own = &sm->copies;
  bf_sim_copy *copy = &own->copy[own->current];
  bool is_store = told->way == BF_EMU_WAY_STORE;
  if (!own->is_engines) { /* st.async and red.async: stores of threads */
    copy->ticket = told->ticket;
    copy->ranks = told->ranks;
    own->is_open = false;
    land_at(sm, own->current, (double)(sm->now + gpu->remote_cycles));
    return;
  }
  double least = is_store ? gpu->copy_store_least_cycles : gpu->copy_cycles;
  if (told->way == BF_EMU_WAY_SHARE)
    own->taken = told->bytes * gpu->copy_line_cycles / BF_SIM_LINE_BYTES;
  own->free_at = own->begin + (own->taken > least ? own->taken : least);
  own->is_open = false;
  if (is_store) {
    uint64_t *done = &sm->acting->stored[sm->acting->stored_group];
    uint64_t end = (uint64_t)(own->free_at + own->latency);
    *done = end > *done ? end : *done;
  } else if (told->way != BF_EMU_WAY_PREFETCH) {
    copy->ticket = told->ticket;
    copy->ranks = told->ranks;
  }
  if (copy->lines == 0)
    land_at(sm, own->current,
            own->begin + own->latency + own->taken + (double)gpu->copy_land_cycles);
}

void bf_sim_copy_told(bf_sim_sm *sm, const bf_emu_copy *told) {
  if (!sm->copies.is_open)
    begin_copy(sm, told);
  for (unsigned i = 0; i < told->pieces && !sm->failed; i++)
    send_piece(sm, told->way, &told->piece[i]);
  if (told->ticket && !sm->failed)
    end_copy(sm, told);
}

void bf_sim_copy_answered(bf_sim_sm *sm, uint32_t token) {
  unsigned number = token & ~BF_SIM_COPY_TOKEN;
  if (--sm->copies.copy[number].lines == 0)
    land_at(sm, number, (double)(sm->now + sm->gpu->copy_land_cycles));
}

void bf_sim_copy_landed(bf_sim_sm *sm, uint32_t token) {
  bf_sim_copy *copy = &sm->copies.copy[token & ~BF_SIM_COPY_TOKEN];
  bf_sim_block *block = copy->block;
  copy->is_used = false;
  for (unsigned rank = 0; copy->ticket && copy->ranks >> rank; rank++) {
    bf_emu_block *peer = copy->ranks >> rank & 1 ? bf_emu_block_peer(copy->emu, rank) : NULL;
    if (peer)
      bf_emu_block_land(peer, copy->ticket);
  }
  if (block->emu && block->index == copy->index)
    bf_sim_block_news(sm, block);
}

void bf_sim_copies_free(bf_sim_sm *sm) { free(sm->copies.copy); }

/* Blocks: the warps of a block with their registers, its shared memory, and how it begins. */
#include "emu/block.h"
#include "emu/cluster.h"

#include "emu/deferred.h"
#include "emu/late.h"
#include "emu/passed.h"
#include "emu/proxy.h"
#include "emu/race.h"
#include "emu/shadow.h"
#include "emu/tensor_core.h"
#include "emu/visit.h"

#include <stdlib.h>
#include <sys/mman.h>

static void free_warp(bf_emu_warp *warp) {
  for (bf_emu_frame *frame = warp->frames, *next; frame; frame = next) {
    next = frame->next;
    free(frame->registers);
    free(frame);
  }
  for (bf_emu_join *join = warp->joins, *next; join; join = next) {
    next = join->next_made;
    free(join);
  }
  bf_emu_async_free(warp);
  bf_emu_late_free(warp);
}

void bf_emu_block_free(bf_emu_block *block) {
  if (!block)
    return;
  for (unsigned i = 0; i < block->warps; i++)
    free_warp(&block->warp[i]);
  bf_emu_jobs_drop(block);
  bf_emu_tensor_free(block);
  if (block->local)
    munmap(block->local, block->local_bytes);
  bf_emu_shadow_free(block->shadow);
  free(block->words);
  free(block->lines);
  free(block->bodies);
  free(block->reads);
  free(block->proxy);
  bf_passed_free(block);
  bf_visit_free(block);
  if (!block->is_borrowed)
    free(block);
}

/* Lanes and thread indices of a warp: the same in every block. */
static void number_threads(bf_emu_warp *warp, const bf_emu_launch *launch) {
  uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint64_t linear = (uint64_t)warp->index * BF_EMU_LANES + lane;
    if (linear < threads)
      warp->lanes |= UINT32_C(1) << lane;
    warp->tid[0][lane] = (uint32_t)(linear % launch->block[0]);
    warp->tid[1][lane] = (uint32_t)(linear / launch->block[0] % launch->block[1]);
    warp->tid[2][lane] = (uint32_t)(linear / launch->block[0] / launch->block[1]);
  }
}

/* Frame, which lies at registers, and thread numbers of one warp. */
static void make_warp(bf_emu_block *block, unsigned index, const bf_emu_flight *flight,
                      uint8_t *registers) {
  bf_emu_warp *warp = &block->warp[index];
  const bf_emu_code *code = flight->kernel->code;
  warp->block = block;
  warp->index = index;
  memcpy(registers, code->first_frame, code->frame_bytes);
  warp->first_frame = (bf_emu_frame){.code = code, .registers = registers};
  if (block->local)
    warp->local = block->local + (uint64_t)index * BF_EMU_LANES * flight->stack_bytes;
  number_threads(warp, flight->launch);
}

/* ---- Memory of a block: itself, its warps, their first frames, shared memory ---- */

/* Where the parts begin, in bytes, each at a line of the host's cache. */
typedef struct layout {
  unsigned warps;
  size_t warp, frame, frame_bytes, shared, end;
} layout;

static size_t to_line(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static layout lay_out(const bf_emu_flight *flight) {
  const bf_emu_launch *launch = flight->launch;
  uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
  layout own = {.warps = (unsigned)((threads + BF_EMU_LANES - 1) / BF_EMU_LANES)};
  own.frame_bytes = to_line(flight->kernel->code->frame_bytes);
  own.warp = to_line(sizeof(bf_emu_block));
  own.frame = own.warp + to_line(own.warps * sizeof(bf_emu_warp));
  own.shared = own.frame + own.warps * own.frame_bytes;
  own.end = own.shared + to_line(flight->shared_bytes + 64);
  return own;
}

size_t bf_emu_block_room(const bf_emu_flight *flight) { return lay_out(flight).end; }

/* Local memory, and what is noted of shared memory. */
static bool add_extras(bf_emu_block *block, const bf_emu_flight *flight) {
  const bf_emu_launch *launch = flight->launch;
  if (flight->stack_bytes) {
    block->local_bytes = (uint64_t)block->warps * BF_EMU_LANES * flight->stack_bytes;
    void *local = mmap(NULL, block->local_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (local == MAP_FAILED)
      return false;
    block->local = local;
  }
  if (launch->check_uninitialised)
    block->shadow = bf_emu_shadow_create(block->shared_bytes);
  if (flight->races) {
    block->words = bf_race_words(block->shared_bytes);
    block->lines = bf_race_lines(block->shared_bytes);
    block->bodies = bf_race_bodies(block->shared_bytes);
    if (bf_proxy_is_used(flight->kernel))
      block->proxy = bf_proxy_create(block->shared_bytes);
    if (bf_race_may_defer(flight))
      block->reads = bf_race_reads_create();
  }
  block->is_checked = block->shadow || block->words;
  return (!launch->check_uninitialised || block->shadow) &&
         (!flight->races || (block->words && block->lines && block->bodies &&
                             (block->proxy || !bf_proxy_is_used(flight->kernel))));
}

bf_emu_block *bf_emu_block_make(const bf_emu_flight *flight, void *memory) {
  layout parts = lay_out(flight);
  bool is_borrowed = memory != NULL;
  if (!memory && posix_memalign(&memory, 64, parts.end))
    return NULL;
  memset(memory, 0, parts.frame);
  bf_emu_block *block = memory;
  uint8_t *bytes = memory;
  block->is_borrowed = is_borrowed;
  block->shared_bytes = flight->shared_bytes;
  block->shared = bytes + parts.shared;
  block->warp = (bf_emu_warp *)(void *)(bytes + parts.warp);
  block->warps = parts.warps;
  if (!add_extras(block, flight)) {
    bf_emu_block_free(block);
    return NULL;
  }
  for (unsigned i = 0; i < parts.warps; i++)
    make_warp(block, i, flight, bytes + parts.frame + i * parts.frame_bytes);
  return block;
}

uint32_t bf_emu_sample_of(const bf_emu_launch *launch, uint64_t block) {
  size_t low = 0, high = launch->samples;
  if (!launch->sample)
    return 0;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (launch->sample[middle].block < block)
      low = middle + 1;
    else
      high = middle;
  }
  return low < launch->samples && launch->sample[low].block == block ? (uint32_t)low
                                                                     : BF_EMU_UNTOLD;
}

/* Makes a block start as block number index of the grid. */
void bf_emu_block_begin(bf_emu_block *block, bf_emu_worker *worker, uint64_t index) {
  const bf_emu_launch *launch = worker->flight->launch;
  block->worker = worker;
  block->index = index;
  block->sample = bf_emu_sample_of(launch, index);
  block->id[0] = (uint32_t)(index % launch->grid[0]);
  block->id[1] = (uint32_t)(index / launch->grid[0] % launch->grid[1]);
  block->id[2] = (uint32_t)(index / launch->grid[0] / launch->grid[1]);
  block->threads_alive = 0;
  block->epoch = block->fences = 0;
  block->has_waited = false;
  block->has_acquired = false;
  block->has_ended = false;
  block->cluster = NULL;
  bf_emu_block_rank(block, 0);
  block->quiet = 0;
  bf_emu_jobs_drop(block);
  bf_emu_tensor_begin(block);
  bf_proxy_begin(block);
  bf_passed_begin(block);
  bf_visit_begin(block);
  bf_race_reads_begin(block);
  memset(block->barrier, 0, sizeof block->barrier);
  memset(block->shared, 0, block->shared_bytes);
  if (block->shadow)
    bf_emu_shadow_reset(block->shadow, block->shared_bytes);
  for (unsigned i = 0; i < block->warps; i++) {
    bf_emu_warp *warp = &block->warp[i];
    warp->worker = worker;
    warp->alive = warp->lanes;
    warp->active = 0;
    warp->at = NULL;
    warp->join = NULL;
    warp->free_joins = NULL;
    for (bf_emu_join *join = warp->joins; join; join = join->next_made) {
      join->next_free = warp->free_joins;
      warp->free_joins = join;
    }
    warp->polled = 0;
    warp->is_meeting = false;
    warp->test = NULL;
    warp->product = NULL;
    warp->products = 0;
    warp->resizes = (bf_emu_resizes){0};
    bf_emu_late_begin(warp);
    warp->instructions = warp->lined_up = 0;
    warp->is_lining_up = warp->is_fetching = false;
    warp->fetched = NULL;
    warp->look.at = NULL;
    for (bf_emu_frame *frame = warp->frames; frame; frame = frame->next)
      frame->is_free = true;
    warp->first_frame.reserved = 0;
    warp->path[0] = (bf_emu_path){.at = warp->first_frame.code->op,
                                  .mask = warp->lanes,
                                  .frame = &warp->first_frame,
                                  .state = BF_EMU_READY};
    warp->paths = 1;
    block->threads_alive += bf_emu_count(warp->lanes);
  }
}

/* Launches of traces: instructions come one after the other as warps have executed them. A warp
 * waits at a barrier until all warps of its block that have not ended are there. */
#include "sim/feed.h"
#include "sim/sass_op.h"

#include <stdlib.h>
#include <string.h>

typedef struct tally {
  uint64_t warps, threads;
  char apart[48]; /* a line of the host's cache for each */
} tally;

typedef struct played {
  bf_sim_feed feed;
  const bf_sim_sass *trace;
  bf_emu_observer observer;
  unsigned places;
  tally *count; /* instructions, by multiprocessor */
} played;

typedef struct played_warp {
  struct played_block *block;
  unsigned index;
  uint64_t next, end; /* records */
  uint64_t behind;    /* barriers that its block must have passed for it to go on */
  bool has_ended;
} played_warp;

typedef struct played_block {
  played *own;
  unsigned place, warps;
  uint64_t index;
  unsigned alive, arrived;
  uint64_t barriers; /* passed */
  played_warp warp[];
} played_block;

/* ---- Barriers ---- */

/* Lets warps go on where all that have not ended are at the barrier. */
static void pass_barrier(played_block *block) {
  if (!block->arrived || block->arrived < block->alive)
    return;
  block->arrived = 0;
  block->barriers++;
}

static bool is_waiting(const played_warp *warp) { return warp->behind > warp->block->barriers; }

/* ---- Instructions ---- */

/* Addresses of an access by lane. */
static void list_addresses(const bf_sim_sass *trace, const bf_sass_record *record,
                           uint64_t *address) {
  const uint64_t *from = &trace->pool[record->at / 2];
  bool is_strided = record->at % 2;
  uint64_t next = from[0];
  for (uint32_t left = record->mask; left; left &= left - 1) {
    address[__builtin_ctz(left)] = is_strided ? next : *from++;
    next += is_strided ? from[1] : 0;
  }
}

/* Lanes of an access whose addresses lie in a space. */
static uint32_t lanes_in(const bf_sim_sass *trace, const bf_sass_op *op, uint32_t mask,
                         const uint64_t *address, bf_sass_space space) {
  uint32_t lanes = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    lanes |= (uint32_t)(bf_sass_space_of(trace, op, address[lane]) == space) << lane;
  }
  return lanes;
}

/* Addresses of shared memory count from its start. */
static void list_shared(const bf_sim_sass *trace, uint32_t mask, const uint64_t *address,
                        uint32_t *shared) {
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    uint64_t base = trace->shared_base;
    shared[lane] = (uint32_t)(address[lane] - (base && address[lane] >= base ? base : 0));
  }
}

/* Tells the observer what an instruction touches. */
static void tell(const played_warp *warp, const bf_sass_op *op, const bf_sass_record *record) {
  const played_block *block = warp->block;
  const bf_sim_sass *trace = block->own->trace;
  const bf_emu_observer *observer = &block->own->observer;
  uint64_t address[BF_SASS_LANES];
  uint32_t shared[BF_SASS_LANES];
  list_addresses(trace, record, address);
  bf_emu_event event = {.site = op->site,
                        .worker = block->place,
                        .block = block->index,
                        .warp = warp->index,
                        .space = BF_PTX_SPACE_SHARED,
                        .op = op->op,
                        .width_bytes = op->width_bytes,
                        .mask = lanes_in(trace, op, record->mask, address, BF_SASS_SHARED),
                        .shared_address = shared};
  list_shared(trace, event.mask, address, shared);
  if (event.mask)
    observer->access(observer->context, &event);
  event.space = BF_PTX_SPACE_GLOBAL;
  event.mask = lanes_in(trace, op, record->mask, address, BF_SASS_GLOBAL);
  event.shared_address = NULL;
  event.global_address = address;
  if (event.mask)
    observer->access(observer->context, &event);
}

static bf_emu_turn peek(void *own, bf_emu_next *next) {
  played_warp *warp = own;
  played_block *block = warp->block;
  if (!warp->has_ended && warp->next == warp->end && !is_waiting(warp)) {
    warp->has_ended = true;
    block->alive--;
    pass_barrier(block);
  }
  next->barriers = block->barriers;
  if (warp->has_ended)
    return BF_EMU_TURN_ENDED;
  if (is_waiting(warp))
    return BF_EMU_TURN_WAITS;
  const bf_sass_record *record = &block->own->trace->record[warp->next];
  next->instruction = record->op;
  next->active = record->mask;
  return BF_EMU_TURN_READY;
}

static bool step(void *own) {
  played_warp *warp = own;
  played_block *block = warp->block;
  const bf_sass_record *record = &block->own->trace->record[warp->next++];
  const bf_sass_op *op = &block->own->trace->op[record->op];
  tally *count = &block->own->count[block->place];
  count->warps++;
  count->threads += (unsigned)__builtin_popcount(record->mask);
  if (op->waits) {
    block->arrived++;
    warp->behind = block->barriers + 1;
    pass_barrier(block);
  }
  if (op->space && op->space != BF_SASS_LOCAL && record->mask)
    tell(warp, op, record);
  return true;
}

static bf_emu_wait wait_of(const void *own) {
  const played_warp *warp = own;
  if (warp->has_ended)
    return (bf_emu_wait){.kind = BF_EMU_WAIT_ENDED};
  if (!is_waiting(warp))
    return (bf_emu_wait){.kind = BF_EMU_WAIT_NOTHING};
  const bf_sim_sass *trace = warp->block->own->trace;
  return (bf_emu_wait){.kind = BF_EMU_WAIT_BARRIER,
                       .line = trace->op[trace->record[warp->next - 1].op].line};
}

/* ---- Blocks ---- */

static size_t bytes_of(unsigned warps) {
  return sizeof(played_block) + warps * sizeof(played_warp);
}

static void *begin(bf_sim_feed *feed, unsigned place, uint64_t index) {
  played *own = (played *)feed;
  unsigned warps = own->trace->warps;
  played_block *block = calloc(1, bytes_of(warps));
  if (!block)
    return NULL;
  block->own = own;
  block->place = place;
  block->index = index;
  block->warps = block->alive = warps;
  for (unsigned i = 0; i < warps; i++) {
    const bf_sass_warp *from = &own->trace->warp[index * warps + i];
    block->warp[i] = (played_warp){
        .block = block, .index = i, .next = from->first, .end = from->first + from->count};
  }
  return block;
}

static void end(bf_sim_feed *feed, unsigned place, void *block) {
  (void)feed;
  (void)place;
  free(block);
}

static void *warp_of(void *block, unsigned index) { return &((played_block *)block)->warp[index]; }

static uint64_t block_bytes(const void *block) {
  return bytes_of(((const played_block *)block)->warps);
}

static uint64_t barriers(const void *block) { return ((const played_block *)block)->barriers; }

/* ---- Launches ---- */

/* Instructions of the program as the timing model sees them. */
static int make_program(const bf_sim_gpu *gpu, const bf_sim_sass *trace, bf_sim_program *program) {
  program->instructions = (uint32_t)trace->ops;
  program->registers = BF_SASS_ALL_REGISTERS;
  program->op = bf_arena_alloc(&program->arena, (trace->ops + 1) * sizeof *program->op);
  int error = program->op ? BF_OK : BF_NO_MEMORY;
  for (size_t i = 0; !error && i < trace->ops; i++)
    error = bf_sass_time(gpu, &trace->op[i], &program->arena, &program->op[i]);
  return error;
}

static int open_trace(bf_sim_feed *feed, const bf_sim_gpu *gpu, const bf_emu_launch *launch,
                      bf_sim_program **program, bf_sim_addresses *addresses,
                      bf_diagnostic *diagnostic) {
  played *own = (played *)feed;
  own->observer = *launch->observer;
  own->places = launch->workers;
  own->count = calloc(own->places, sizeof *own->count);
  *program = calloc(1, sizeof **program);
  *addresses = (bf_sim_addresses){0}; /* those of the trace are kept */
  if (!own->count || !*program || make_program(gpu, own->trace, *program))
    return bf_no_memory(diagnostic);
  return BF_OK;
}

static void close_trace(bf_sim_feed *feed) { free(((played *)feed)->count); }

static int result_of(const bf_sim_feed *feed, bf_emu_result *result, bf_diagnostic *diagnostic) {
  const played *own = (const played *)feed;
  (void)diagnostic;
  *result = (bf_emu_result){.workers = own->places};
  for (unsigned i = 0; i < own->places; i++) {
    result->warp_instructions += own->count[i].warps;
    result->thread_instructions += own->count[i].threads;
  }
  return BF_OK;
}

static bool stopped(const bf_sim_feed *feed) {
  (void)feed;
  return false;
}

static void set_clock(bf_sim_feed *feed, unsigned place, const uint64_t *clock) {
  (void)feed;
  (void)place;
  (void)clock;
}

static const bf_sim_feed_calls calls = {.open = open_trace,
                                        .close = close_trace,
                                        .result = result_of,
                                        .stopped = stopped,
                                        .clock = set_clock,
                                        .begin = begin,
                                        .end = end,
                                        .warp = warp_of,
                                        .block_bytes = block_bytes,
                                        .barriers = barriers,
                                        .peek = peek,
                                        .step = step,
                                        .wait = wait_of};

int bf_sim_sass_run(const bf_sim_settings *settings, const bf_sim_sass *trace,
                    const bf_emu_launch *launch, bf_sim_result *result, bf_diagnostic *diagnostic) {
  bf_sim_gpu gpu = *settings->gpu;
  bf_sim_settings of_trace = *settings;
  gpu.lookahead = 0; /* the compiler has put instructions where they are */
  of_trace.gpu = &gpu;
  played own = {.feed = {.calls = &calls,
                         .kernel = trace->kernel,
                         .needs = {.shared_bytes = trace->shared_bytes,
                                   .has_registers = true,
                                   .registers = (unsigned)(trace->registers < BF_SASS_NO_REGISTER
                                                               ? trace->registers
                                                               : BF_SASS_NO_REGISTER)},
                         .sites = trace->sites},
                .trace = trace};
  return bf_sim_run_feed(&of_trace, &own.feed, launch, result, diagnostic);
}

/* Launches: blocks spread over threads of the host.
 *
 * Each worker takes one block after the other and runs its warps in turn, each until it waits for
 * others. A block whose warps all wait for something outside it (they poll memory) is set aside and
 * another one is begun or taken up again, so that blocks may wait for each other; of a cooperative
 * launch all blocks can be in flight. Memory is needed only for blocks in flight; a block that is
 * done leaves its memory to the next. */
#include "emu/device.h"
#include "emu/shadow.h"
#include "emu/warp.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
  ROUNDS = 1 << 12, /* of all warps of a block between two reports */
  DEFAULT_STACK_BYTES = 1 << 16,
  LEAST_STACK_BYTES = 1 << 10,
  IN_FLIGHT = 4096
};

/* ---- Blocks ---- */

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
  free(warp->first_frame.registers);
  bf_emu_async_free(warp);
}

static void free_block(bf_emu_block *block) {
  if (!block)
    return;
  for (unsigned i = 0; block->warp && i < block->warps; i++)
    free_warp(&block->warp[i]);
  if (block->local)
    munmap(block->local, block->local_bytes);
  bf_emu_shadow_free(block->shadow);
  free(block->shared);
  free(block->warp);
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

/* Frame and thread numbers of one warp. */
static bool make_warp(bf_emu_block *block, unsigned index, const bf_emu_flight *flight) {
  bf_emu_warp *warp = &block->warp[index];
  const bf_emu_code *code = flight->kernel->code;
  warp->block = block;
  warp->index = index;
  void *registers = NULL;
  if (posix_memalign(&registers, 64, code->frame_bytes))
    return false;
  memcpy(registers, code->first_frame, code->frame_bytes);
  warp->first_frame = (bf_emu_frame){.code = code, .registers = registers};
  if (block->local)
    warp->local = block->local + (uint64_t)index * BF_EMU_LANES * flight->stack_bytes;
  number_threads(warp, flight->launch);
  return true;
}

static bool fill_block(bf_emu_block *block, const bf_emu_flight *flight) {
  const bf_emu_launch *launch = flight->launch;
  uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
  unsigned warps = (unsigned)((threads + BF_EMU_LANES - 1) / BF_EMU_LANES);
  block->shared_bytes = flight->shared_bytes;
  void *shared = NULL, *memory = NULL;
  if (posix_memalign(&shared, 4096, (size_t)(block->shared_bytes + 4096) & ~(size_t)4095))
    return false;
  block->shared = shared;
  if (posix_memalign(&memory, 64, warps * sizeof *block->warp))
    return false;
  block->warp = memory;
  memset(memory, 0, warps * sizeof *block->warp);
  block->warps = warps;
  if (flight->stack_bytes) {
    block->local_bytes = (uint64_t)warps * BF_EMU_LANES * flight->stack_bytes;
    void *local = mmap(NULL, block->local_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (local == MAP_FAILED)
      return false;
    block->local = local;
  }
  if (launch->check_uninitialised || launch->check_races) {
    block->shadow =
        bf_emu_shadow_create(block->shared_bytes, launch->check_uninitialised, launch->check_races);
    if (!block->shadow)
      return false;
  }
  for (unsigned i = 0; i < warps; i++)
    if (!make_warp(block, i, flight))
      return false;
  return true;
}

static bf_emu_block *make_block(const bf_emu_flight *flight) {
  bf_emu_block *block = calloc(1, sizeof *block);
  if (block && fill_block(block, flight))
    return block;
  free_block(block);
  return NULL;
}

/* Makes a block start as block number index of the grid. */
static void begin_block(bf_emu_block *block, bf_emu_worker *worker, uint64_t index) {
  const bf_emu_launch *launch = worker->flight->launch;
  block->worker = worker;
  block->index = index;
  block->id[0] = (uint32_t)(index % launch->grid[0]);
  block->id[1] = (uint32_t)(index / launch->grid[0] % launch->grid[1]);
  block->id[2] = (uint32_t)(index / launch->grid[0] / launch->grid[1]);
  block->threads_alive = 0;
  block->epoch = 0;
  memset(block->barrier, 0, sizeof block->barrier);
  memset(block->shared, 0, block->shared_bytes);
  if (block->shadow)
    bf_emu_shadow_reset(block->shadow, block->shared_bytes);
  for (unsigned i = 0; i < block->warps; i++) {
    bf_emu_warp *warp = &block->warp[i];
    warp->worker = worker;
    warp->alive = warp->lanes;
    warp->active = 0;
    warp->join = NULL;
    warp->free_joins = NULL;
    for (bf_emu_join *join = warp->joins; join; join = join->next_made) {
      join->next_free = warp->free_joins;
      warp->free_joins = join;
    }
    warp->polled = warp->is_meeting = false;
    warp->instructions = 0;
    for (bf_emu_frame *frame = warp->frames; frame; frame = frame->next)
      frame->is_free = true;
    warp->path[0] = (bf_emu_path){.at = warp->first_frame.code->op,
                                  .mask = warp->lanes,
                                  .frame = &warp->first_frame,
                                  .state = BF_EMU_READY};
    warp->paths = 1;
    block->threads_alive += (uint32_t)__builtin_popcount(warp->lanes);
  }
}

/* ---- Running ---- */

/* Runs a warp until all its lanes wait or its time is up. */
static void run_warp(bf_emu_warp *warp) {
  warp->budget = BF_EMU_SLICE;
  for (unsigned i = 0; i < warp->paths; i++)
    warp->path[i].yielded = false;
  const bf_emu_flight *flight = warp->worker->flight;
  for (;;) {
    const bf_emu_op *op = bf_emu_next_path(warp);
    if (!op)
      return;
    while (op)
      op = op->run(warp, op);
    if (flight->stop || warp->budget == 0)
      return;
  }
}

typedef enum outcome { DONE, WAITS, STUCK, STOPPED } outcome;

/* Whether the path could go on, given time. */
static bool has_hope(const bf_emu_warp *warp) {
  for (unsigned i = 0; i < warp->paths; i++)
    if (warp->path[i].state == BF_EMU_READY)
      return true;
  return false;
}

/* Reports progress; where the answer is to stop, the launch ends. */
static void report(bf_emu_flight *flight) {
  const bf_emu_launch *launch = flight->launch;
  if (!launch->progress || pthread_mutex_trylock(&flight->lock))
    return; /* somebody else reports, or prints */
  uint64_t done = __atomic_load_n(&flight->blocks_done, __ATOMIC_RELAXED);
  bool goes_on = launch->progress(launch->progress_context, done, flight->blocks);
  pthread_mutex_unlock(&flight->lock);
  if (goes_on)
    return;
  int none = 0;
  if (__atomic_compare_exchange_n(&flight->fault_taken, &none, 1, false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST))
    flight->fault =
        (bf_emu_fault){.kind = BF_EMU_INTERRUPTED, .kernel = flight->kernel->function->name};
  __atomic_store_n(&flight->stop, 1, __ATOMIC_SEQ_CST);
}

/* Runs the warps of a block in turn until the block is done, or until a whole round has only made
 * warps give up their turn: then others should run. */
static outcome run_block(bf_emu_block *block) {
  bf_emu_flight *flight = block->worker->flight;
  for (unsigned round = 1;; round++) {
    bool waits = false, moved = false;
    if (round % ROUNDS == 0) /* a block may pass barriers for ever */
      report(flight);
    for (unsigned i = 0; i < block->warps; i++) {
      bf_emu_warp *warp = &block->warp[i];
      if (warp->paths == 0 || !bf_emu_can_run(warp))
        continue;
      run_warp(warp);
      if (flight->stop)
        return STOPPED;
      bool gave_up = warp->budget == 0 && has_hope(warp);
      waits |= gave_up;
      moved |= !gave_up;
    }
    if (block->threads_alive == 0)
      return DONE;
    if (!moved)
      return waits ? WAITS : STUCK;
  }
}

/* Says which thread waits for ever. */
static void fail_stuck(bf_emu_block *block) {
  for (unsigned i = 0; i < block->warps; i++) {
    bf_emu_warp *warp = &block->warp[i];
    if (warp->paths == 0)
      continue;
    const bf_emu_path *path = &warp->path[0];
    warp->frame = path->frame;
    const bf_emu_op *at = path->at > path->frame->code->op ? path->at - 1 : path->at;
    bf_emu_fail(warp, at, BF_EMU_DEADLOCK, (unsigned)__builtin_ctz(path->mask),
                path->state == BF_EMU_AT_BARRIER
                    ? "threads wait at barrier %u for others that never come"
                    : "threads wait for lanes that never come",
                path->barrier);
    return;
  }
}

static bool is_stopped(const bf_emu_flight *flight) {
  return __atomic_load_n(&flight->stop, __ATOMIC_RELAXED) != 0;
}

/* The blocks of a worker that have begun and wait, first in first out. */
typedef struct queue {
  bf_emu_block *first, **last;
  unsigned count;
} queue;

static void push(queue *waiting, bf_emu_block *block) {
  block->next = NULL;
  *waiting->last = block;
  waiting->last = &block->next;
  waiting->count++;
}

static bf_emu_block *pop(queue *waiting) {
  bf_emu_block *block = waiting->first;
  if (block) {
    waiting->first = block->next;
    waiting->count--;
    if (!waiting->first)
      waiting->last = &waiting->first;
  }
  return block;
}

/* A block that has not begun; NULL: none is left, or there is no memory. */
static bf_emu_block *next_block(bf_emu_worker *worker, bf_emu_block **spare) {
  bf_emu_flight *flight = worker->flight;
  uint64_t index = __atomic_fetch_add(&flight->next_block, 1, __ATOMIC_RELAXED);
  if (index >= flight->blocks)
    return NULL;
  bf_emu_block *block = *spare;
  if (block)
    *spare = block->next;
  else
    block = make_block(flight);
  if (!block) {
    __atomic_store_n(&flight->out_of_memory, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&flight->stop, 1, __ATOMIC_SEQ_CST);
    return NULL;
  }
  begin_block(block, worker, index);
  return block;
}

/* A thread of the launch. New blocks are begun before waiting ones go on, up to a limit. */
static void work(void *context, unsigned index) {
  bf_emu_flight *flight = context;
  bf_emu_worker *worker = &flight->worker[index];
  worker->flight = flight;
  worker->index = index;
  bf_emu_block *spare = NULL;
  queue waiting = {.last = &waiting.first};
  while (!is_stopped(flight)) {
    bool has_room = waiting.count < IN_FLIGHT || flight->launch->cooperative;
    bf_emu_block *block = has_room ? next_block(worker, &spare) : NULL;
    if (!block)
      block = pop(&waiting);
    if (!block)
      break;
    outcome end = run_block(block);
    if (end == STUCK)
      fail_stuck(block);
    if (end == WAITS) {
      push(&waiting, block);
      report(flight);
      continue;
    }
    if (end == DONE) {
      __atomic_add_fetch(&flight->blocks_done, 1, __ATOMIC_RELAXED);
      if (index == 0)
        report(flight);
    }
    block->next = spare;
    spare = block;
  }
  for (bf_emu_block *block; (block = pop(&waiting));)
    free_block(block);
  for (bf_emu_block *block = spare, *next; block; block = next) {
    next = block->next;
    free_block(block);
  }
}

/* ---- Launching ---- */

/* Whether code of the kernel can call itself, or something not known. */
static bool uses_stack(const bf_emu_kernel *kernel) { return kernel->code->next != NULL; }

static int check_sizes(const bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  const bf_emu_needs *needs = &launch->kernel->needs;
  const char *name = bf_emu_kernel_name(launch->kernel);
  uint64_t threads = 1, blocks = 1;
  for (unsigned k = 0; k < 3; k++) {
    if (launch->grid[k] == 0 || launch->block[k] == 0 || launch->block[k] > BF_EMU_MOST_THREADS)
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "kernel '%s': sizes of grid and block must be positive, "
                     "and a block has at most %d threads",
                     name, BF_EMU_MOST_THREADS);
    threads *= launch->block[k];
    if (__builtin_mul_overflow(blocks, (uint64_t)launch->grid[k], &blocks))
      return bf_fail(diagnostic, BF_BAD_INPUT, "kernel '%s': the grid is too large", name);
  }
  if (threads > needs->most_threads)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "kernel '%s': %llu threads in a block, at most %u are possible", name,
                   (unsigned long long)threads, needs->most_threads);
  for (unsigned k = 0; k < 3; k++)
    if (needs->exact_block[k] && needs->exact_block[k] != launch->block[k])
      return bf_fail(diagnostic, BF_BAD_INPUT, "kernel '%s' needs blocks of %ux%ux%u threads", name,
                     needs->exact_block[0], needs->exact_block[1], needs->exact_block[2]);
  if (launch->parameter_bytes < needs->parameter_bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "kernel '%s': %llu bytes of parameters, needs %llu",
                   name, (unsigned long long)launch->parameter_bytes,
                   (unsigned long long)needs->parameter_bytes);
  if (launch->dynamic_shared_bytes > (UINT64_C(1) << 28))
    return bf_fail(diagnostic, BF_BAD_INPUT, "kernel '%s': %llu bytes of dynamic shared memory",
                   name, (unsigned long long)launch->dynamic_shared_bytes);
  return BF_OK;
}

static void prepare(bf_emu_flight *flight, bf_emu *emu, const bf_emu_launch *launch) {
  const bf_emu_kernel *kernel = launch->kernel;
  uint64_t stack = (kernel->needs.local_bytes + 15) & ~UINT64_C(15);
  if (uses_stack(kernel)) {
    stack = launch->stack_bytes ? launch->stack_bytes : DEFAULT_STACK_BYTES;
    stack = stack < LEAST_STACK_BYTES ? LEAST_STACK_BYTES : (stack + 15) & ~UINT64_C(15);
  }
  flight->emu = emu;
  flight->launch = launch;
  flight->kernel = kernel;
  flight->observer = launch->observer;
  flight->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  flight->stack_bytes = stack;
  flight->shared_bytes = kernel->dynamic_offset + launch->dynamic_shared_bytes;
  flight->workers = launch->workers ? launch->workers : bf_cores();
  if (flight->workers > flight->blocks)
    flight->workers = (unsigned)flight->blocks;
  flight->alone = flight->workers == 1;
}

int bf_emu_run(bf_emu *emu, const bf_emu_launch *launch, bf_emu_result *result,
               bf_diagnostic *diagnostic) {
  *result = (bf_emu_result){0};
  BF_TRY(check_sizes(launch, diagnostic));
  bf_emu_flight *flight = calloc(1, sizeof *flight);
  if (!flight)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  prepare(flight, emu, launch);
  pthread_mutex_init(&flight->lock, NULL);
  flight->worker = calloc(flight->workers, sizeof *flight->worker);
  flight->parameters = calloc(1, launch->parameter_bytes + 16);
  int error = BF_OK;
  if (!flight->worker || !flight->parameters) {
    error = bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  } else {
    if (launch->parameter_bytes)
      memcpy(flight->parameters, launch->parameters, launch->parameter_bytes);
    bf_run_threads(flight->workers, work, flight);
    for (unsigned i = 0; i < flight->workers; i++) {
      result->warp_instructions += flight->worker[i].warp_instructions;
      result->thread_instructions += flight->worker[i].thread_instructions;
    }
    result->workers = flight->workers;
    result->fault = flight->fault;
    if (flight->out_of_memory)
      error = bf_fail(diagnostic, BF_NO_MEMORY, "out of memory for the blocks of a launch");
  }
  for (size_t i = 0; i < flight->garbage_count; i++)
    bf_emu_release(emu, flight->garbage[i], NULL);
  free(flight->garbage);
  pthread_mutex_destroy(&flight->lock);
  free(flight->parameters);
  free(flight->worker);
  free(flight);
  return error;
}

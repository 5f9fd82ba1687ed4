/* Launches: blocks spread over threads of the host.
 *
 * Each worker takes one block after the other and runs its warps in turn, each until it waits for
 * others. A block whose warps all wait for something outside it (they poll memory) is set aside and
 * another one is begun or taken up again, so that blocks may wait for each other; of a cooperative
 * launch all blocks can be in flight. Memory is needed only for blocks in flight; a block that is
 * done leaves its memory to the next. */
#include "emu/block.h"
#include "emu/race.h"
#include "emu/warp.h"
#include "ptx/rewritten.h"

#include <stdlib.h>

enum {
  ROUNDS = 1 << 12, /* of all warps of a block between two reports */
  DEFAULT_STACK_BYTES = 1 << 16,
  LEAST_STACK_BYTES = 1 << 10,
  IN_FLIGHT = 4096
};

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
    block = bf_emu_block_make(flight, NULL);
  if (!block) {
    __atomic_store_n(&flight->out_of_memory, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&flight->stop, 1, __ATOMIC_SEQ_CST);
    return NULL;
  }
  bf_emu_block_begin(block, worker, index);
  return block;
}

/* A thread of the launch. New blocks are begun before waiting ones go on, up to a limit. */
static void work(void *context, unsigned index) {
  bf_emu_flight *flight = context;
  bf_emu_worker *worker = &flight->worker[index];
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
    bf_emu_block_free(block);
  for (bf_emu_block *block = spare, *next; block; block = next) {
    next = block->next;
    bf_emu_block_free(block);
  }
}

/* ---- Launching ---- */

/* Whether code of the kernel can call itself, or something not known. */
static bool uses_stack(const bf_emu_kernel *kernel) {
  return kernel->code->next != NULL || kernel->reserves_stack;
}

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
    uint64_t own = (kernel->code->local_bytes + 15) & ~UINT64_C(15); /* however large */
    stack = launch->stack_bytes ? launch->stack_bytes : DEFAULT_STACK_BYTES;
    stack = stack < LEAST_STACK_BYTES ? LEAST_STACK_BYTES : (stack + 15) & ~UINT64_C(15);
    stack += own;
  }
  flight->emu = emu;
  flight->launch = launch;
  flight->kernel = kernel;
  flight->observer = launch->observer;
  flight->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  flight->stack_bytes = stack;
  flight->shared_bytes = kernel->dynamic_offset + launch->dynamic_shared_bytes;
  if (kernel->owns_rows)
    flight->shared_bytes += -flight->shared_bytes % BF_PTX_ROW_BYTES;
  flight->workers = launch->workers ? launch->workers : bf_cores();
  if (flight->workers > flight->blocks)
    flight->workers = (unsigned)flight->blocks;
  flight->alone = flight->workers == 1;
}

void bf_emu_flight_close(bf_emu_flight *flight) {
  if (!flight)
    return;
  for (size_t i = 0; i < flight->garbage_count; i++)
    bf_emu_release(flight->emu, flight->garbage[i], NULL);
  free(flight->garbage);
  bf_race_close(flight);
  pthread_mutex_destroy(&flight->lock);
  free(flight->parameters);
  free(flight->worker);
  free(flight);
}

int bf_emu_flight_open(bf_emu *emu, const bf_emu_launch *launch, bf_emu_flight **opened,
                       bf_diagnostic *diagnostic) {
  *opened = NULL;
  BF_TRY(check_sizes(launch, diagnostic));
  bf_emu_flight *flight = calloc(1, sizeof *flight);
  if (!flight)
    return bf_no_memory(diagnostic);
  prepare(flight, emu, launch);
  pthread_mutex_init(&flight->lock, NULL);
  flight->worker = calloc(flight->workers, sizeof *flight->worker);
  flight->parameters = calloc(1, launch->parameter_bytes + 16);
  if (!flight->worker || !flight->parameters) {
    bf_emu_flight_close(flight);
    return bf_no_memory(diagnostic);
  }
  if (launch->parameter_bytes)
    memcpy(flight->parameters, launch->parameters, launch->parameter_bytes);
  for (unsigned i = 0; i < flight->workers; i++) {
    flight->worker[i].flight = flight;
    flight->worker[i].index = i;
  }
  int error = launch->check_races ? bf_race_open(flight, diagnostic) : BF_OK;
  if (error)
    bf_emu_flight_close(flight);
  else
    *opened = flight;
  return error;
}

int bf_emu_flight_result(const bf_emu_flight *flight, bf_emu_result *result,
                         bf_diagnostic *diagnostic) {
  *result = (bf_emu_result){.fault = flight->fault, .workers = flight->workers};
  for (unsigned i = 0; i < flight->workers; i++) {
    result->warp_instructions += flight->worker[i].warp_instructions;
    result->thread_instructions += flight->worker[i].thread_instructions;
  }
  return flight->out_of_memory
             ? bf_fail(diagnostic, BF_NO_MEMORY, "out of memory for the blocks of a launch")
             : BF_OK;
}

int bf_emu_run(bf_emu *emu, const bf_emu_launch *launch, bf_emu_result *result,
               bf_diagnostic *diagnostic) {
  *result = (bf_emu_result){0};
  bf_emu_flight *flight;
  BF_TRY(bf_emu_flight_open(emu, launch, &flight, diagnostic));
  bf_run_threads(flight->workers, work, flight);
  int error = bf_emu_flight_result(flight, result, diagnostic);
  bf_emu_flight_close(flight);
  return error;
}

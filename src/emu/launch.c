/* Launches: blocks spread over threads of the host.
 *
 * Each worker takes one block after the other and runs its warps in turn, each until it waits for
 * others, or for memory (fetch.h). A block whose warps all wait for something outside it (they poll
 * memory) is set aside and another one is begun or taken up again, so that blocks may wait for each
 * other; of a cooperative launch all blocks can be in flight. Memory is needed only for blocks in
 * flight; a block that is done leaves its memory to the next. The blocks of a cluster are begun
 * together by one worker, which runs them in turn; their memory stays until all of them are done.
 *
 * The calling thread is the first worker. It begins alone, and after a short while calls the crew
 * of the device: most launches of some programs are over before another thread is awake. */
#include "emu/block.h"
#include "emu/builtin.h"
#include "emu/cluster.h"
#include "emu/device.h"
#include "emu/fetch.h"
#include "emu/isa.h"
#include "emu/race.h"
#include "emu/visit.h"
#include "emu/warp.h"
#include "ptx/rewritten.h"

#include <stdlib.h>

enum {
  ROUNDS = 1 << 12,       /* of all warps of a block between two reports */
  POLLING_ROUNDS = 64,    /* after which a block is set aside that polls memory between barriers */
  LONGEST_TURN = 1 << 14, /* rounds, after which any block is: it may wait by means not known */
  DEFAULT_STACK_BYTES = 1 << 16,
  LEAST_STACK_BYTES = 1 << 10,
  IN_FLIGHT = 4096,
  PATIENCE = 256 /* turns of waiting blocks, each, before those that are skipped run after all */
};

/* How long the first worker runs before it calls others. */
#define ALONE_SECONDS 20e-6

/* ---- Running ---- */

/* Runs a warp until all its lanes wait or its time is up. */
static void run_warp(bf_emu_warp *warp) {
  warp->budget = BF_EMU_SLICE;
  for (unsigned i = 0; i < warp->paths; i++)
    warp->path[i].yielded = false;
  const bf_emu_flight *flight = warp->worker->flight;
  const bf_alone_run alone = flight->kernel->isa->run_alone;
  for (;;) {
    const bf_emu_op *op = bf_emu_next_path(warp);
    if (!op)
      return;
    while (op)
      op = warp->active & (warp->active - 1) ? op->run(warp, op) : alone(warp, op);
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

/* Blocks that a launch runs. */
static uint64_t blocks_to_run(const bf_emu_flight *flight) {
  return flight->launch->skips_rest ? flight->launch->samples : flight->blocks;
}

/* Reports progress; where the answer is to stop, the launch ends. */
static void report(bf_emu_flight *flight) {
  const bf_emu_launch *launch = flight->launch;
  if (!launch->progress || pthread_mutex_trylock(&flight->lock))
    return; /* somebody else reports, or prints */
  uint64_t done = __atomic_load_n(&flight->blocks_done, __ATOMIC_RELAXED);
  bool goes_on = launch->progress(launch->progress_context, done, blocks_to_run(flight));
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

static void work(void *context, unsigned index);

/* Whether several workers would take longer than one has so far: their atomics must lock the memory
 * of the host, which takes 10 to 15 nanoseconds each (bench/results/2026-11-18-atomics.md). */
static bool is_better_alone(const bf_emu_flight *flight, double seconds) {
  const double lock_seconds = 12e-9;
  return (double)flight->worker[0].atomics * lock_seconds > seconds * (flight->workers - 1);
}

/* Calls the other workers, once the launch has taken so long that they are of use, and blocks are
 * left for them. */
static void call_others(bf_emu_flight *flight) {
  double now = bf_seconds();
  if (flight->has_called || now < flight->next_look)
    return;
  if (is_better_alone(flight, now - flight->begun)) {
    flight->next_look = now + (now - flight->begun);
    return;
  }
  flight->has_called = true;
  if (__atomic_load_n(&flight->next_block, __ATOMIC_RELAXED) >= blocks_to_run(flight))
    return;
  flight->alone = false;
  flight->has_crew = bf_crew_begin(flight->emu->crew, flight->workers - 1, work, flight);
}

/* What a turn of warps has come to. */
typedef struct turn {
  bool waits; /* one gave up its turn, */
  bool moved; /* one did not */
} turn;

/* Gives one warp its turn; false: the launch has been stopped. */
static bool take_turn(bf_emu_warp *warp, turn *all) {
  bf_emu_flight *flight = warp->worker->flight;
  run_warp(warp);
  if (warp->worker->index == 0 && !flight->has_called)
    call_others(flight);
  bool pauses = warp->is_lining_up || warp->is_fetching;
  bool gave_up = warp->budget == 0 && has_hope(warp) && !pauses;
  warp->is_lining_up = false;
  all->waits |= gave_up;
  all->moved |= !gave_up;
  return !flight->stop;
}

/* Gives some warps their turns, one after the other, and further ones to those for which memory is
 * fetched meanwhile; false: the launch has been stopped. */
static bool take_turns(bf_emu_block *block, unsigned first, unsigned end, turn *all) {
  bool again = false;
  for (unsigned pass = 0; pass == 0 || again; pass++) {
    unsigned left = 0;
    for (unsigned i = first; i < end; i++)
      left += pass ? block->warp[i].is_fetching : bf_emu_can_run(&block->warp[i]);
    block->may_fetch = left > 1;
    again = false;
    for (unsigned i = first; i < end; i++) {
      bf_emu_warp *warp = &block->warp[i];
      bool has_turn = pass ? warp->is_fetching : bf_emu_can_run(warp);
      warp->is_fetching = false;
      if (has_turn && !take_turn(warp, all))
        return false;
      again |= warp->is_fetching;
    }
    if (pass % ROUNDS == ROUNDS - 1)
      report(block->worker->flight);
  }
  return true;
}

/* Runs the warps of a block in turn until the block is done, or until a whole round has only made
 * warps give up their turn, or many rounds have polled memory: then others should run. */
static outcome run_block(bf_emu_block *block) {
  bf_emu_flight *flight = block->worker->flight;
  block->polls = 0;
  for (unsigned round = 1;; round++) {
    turn all = {0};
    if (round == LONGEST_TURN || (round % POLLING_ROUNDS == 0 && block->polls >= POLLING_ROUNDS))
      return WAITS;
    if (round % ROUNDS == 0) /* a block may pass barriers for ever */
      report(flight);
    for (unsigned first = 0; first < block->warps; first += BF_FETCH_BESIDE) {
      unsigned end = first + BF_FETCH_BESIDE;
      if (!take_turns(block, first, end < block->warps ? end : block->warps, &all))
        return STOPPED;
    }
    if (block->threads_alive == 0)
      return DONE;
    if (!all.moved && (all.waits || flight->races || !bf_emu_barrier_by_warps(block)))
      return all.waits ? WAITS : STUCK;
  }
}

/* Says how many have come to a barrier, and what the first thread does that has not. Those of a
 * warp group are counted as far as the group goes. */
static void put_missing(const bf_emu_block *block, unsigned number, char *text, size_t room) {
  const bf_emu_barrier *barrier = &block->barrier[number];
  bool is_group = number >= BF_EMU_NAMED_BARRIERS;
  unsigned first = is_group ? (number - BF_EMU_NAMED_BARRIERS) * 4 : 0;
  unsigned end = is_group && first + 4 < block->warps ? first + 4 : block->warps;
  int put = snprintf(text, room, "%u of %u have come", barrier->arrived,
                     barrier->expected ? barrier->expected : block->threads_alive);
  for (unsigned w = first; w < end; w++) {
    const bf_emu_warp *warp = &block->warp[w];
    for (unsigned i = 0; i < warp->paths; i++) {
      const bf_emu_path *path = &warp->path[i];
      char what[160] = "";
      if (path->state == BF_EMU_AT_BARRIER && path->barrier == number)
        continue;
      bf_emu_put_wait(warp, path, what, sizeof what);
      unsigned lane = BF_FIRST_LANE(path->mask);
      snprintf(text + put, room - (size_t)put, "; thread (%u,%u,%u) %s", warp->tid[0][lane],
               warp->tid[1][lane], warp->tid[2][lane], what);
      return;
    }
  }
  snprintf(text + put, room - (size_t)put, ", and no other thread %s",
           is_group ? "of the group is left" : "is left");
}

/* Says which thread waits for ever, and for whom. */
static void fail_stuck(bf_emu_block *block) {
  for (unsigned i = 0; i < block->warps; i++)
    if (bf_emu_fail_meeting(&block->warp[i]))
      return;
  for (unsigned i = 0; i < block->warps; i++) {
    bf_emu_warp *warp = &block->warp[i];
    if (warp->paths == 0)
      continue;
    const bf_emu_path *path = &warp->path[0];
    bool is_at_barrier = path->state == BF_EMU_AT_BARRIER;
    char missing[240] = "";
    if (is_at_barrier)
      put_missing(block, path->barrier, missing, sizeof missing);
    warp->frame = path->frame;
    const bf_emu_op *at = is_at_barrier ? path->at - 1 : path->at;
    unsigned lane = (unsigned)__builtin_ctz(path->mask);
    if (!is_at_barrier)
      bf_emu_fail(warp, at, BF_EMU_DEADLOCK, lane, "threads wait for lanes that never come");
    else if (path->barrier < BF_EMU_NAMED_BARRIERS)
      bf_emu_fail(warp, at, BF_EMU_DEADLOCK, lane,
                  "threads wait at barrier %u for others that never come: %s", path->barrier,
                  missing);
    else
      bf_emu_fail(warp, at, BF_EMU_DEADLOCK, lane,
                  "a warp waits for the other warps of its group, which never come: %s", missing);
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

/* The number of a block that has not begun; false: none is left. */
static bool next_index(bf_emu_flight *flight, uint64_t *index) {
  const bf_emu_launch *launch = flight->launch;
  *index = __atomic_fetch_add(&flight->next_block, 1, __ATOMIC_RELAXED);
  if (!launch->skips_rest)
    return *index < flight->blocks;
  if (*index < launch->samples) {
    *index = launch->sample[*index].block;
    return true;
  }
  if (!__atomic_load_n(&flight->needs_rest, __ATOMIC_RELAXED))
    return false;
  do
    *index = __atomic_fetch_add(&flight->next_rest, 1, __ATOMIC_RELAXED);
  while (*index < flight->blocks && bf_emu_sample_of(launch, *index) != BF_EMU_UNTOLD);
  return *index < flight->blocks;
}

/* Makes a block begin as number index of the grid; NULL: there is no memory. */
static bf_emu_block *begin_block(bf_emu_worker *worker, bf_emu_block **spare, uint64_t index) {
  bf_emu_flight *flight = worker->flight;
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

/* A block that has not begun; NULL: none is left, or there is no memory. */
static bf_emu_block *next_block(bf_emu_worker *worker, bf_emu_block **spare) {
  uint64_t index;
  return next_index(worker->flight, &index) ? begin_block(worker, spare, index) : NULL;
}

/* ---- Clusters ---- */

/* The clusters that a worker has begun, and those of its blocks that wait. */
typedef struct clusters {
  bf_emu_cluster *first;
  unsigned idle; /* turns since something happened */
} clusters;

/* Begins the blocks of the next cluster, which then wait for their turns; false: none is left, or
 * there is no memory. */
static bool next_cluster(bf_emu_worker *worker, bf_emu_block **spare, clusters *own,
                         queue *waiting) {
  bf_emu_flight *flight = worker->flight;
  unsigned count = bf_emu_cluster_blocks(flight);
  uint64_t index = __atomic_fetch_add(&flight->next_block, 1, __ATOMIC_RELAXED);
  if (index >= flight->blocks / count)
    return false;
  bf_emu_cluster *cluster = calloc(1, sizeof *cluster);
  if (!cluster) {
    __atomic_store_n(&flight->out_of_memory, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&flight->stop, 1, __ATOMIC_SEQ_CST);
    return false;
  }
  cluster->next = own->first;
  own->first = cluster;
  for (; cluster->count < count; cluster->count++) {
    bf_emu_block *block =
        begin_block(worker, spare, bf_emu_cluster_block_index(flight, index, cluster->count));
    if (!block)
      return false;
    block->cluster = cluster;
    bf_emu_block_rank(block, cluster->count);
    cluster->block[cluster->count] = block;
    push(waiting, block);
  }
  return true;
}

/* Takes note of a block that is done; the memory of a cluster is spare once all are. */
static void end_in_cluster(bf_emu_block *block, bf_emu_block **spare, clusters *own) {
  bf_emu_cluster *cluster = block->cluster;
  bf_visit_ended(block);
  block->has_ended = true;
  block->worker->changes++;
  if (++cluster->done < cluster->count)
    return;
  for (unsigned i = 0; i < cluster->count; i++) {
    cluster->block[i]->cluster = NULL;
    cluster->block[i]->next = *spare;
    *spare = cluster->block[i];
  }
  bf_emu_cluster **at = &own->first;
  while (*at != cluster)
    at = &(*at)->next;
  *at = cluster->next;
  free(cluster);
}

/* What is left of clusters when a launch has been stopped. */
static void free_clusters(clusters *own) {
  for (bf_emu_cluster *cluster = own->first, *next; cluster; cluster = next) {
    next = cluster->next;
    for (unsigned i = 0; i < cluster->count; i++)
      bf_emu_block_free(cluster->block[i]);
    free(cluster);
  }
}

/* A thread of a launch with clusters. Blocks that have begun go on before new ones are begun,
 * unless all of them only wait. */
static void work_clusters(void *context, unsigned index) {
  bf_emu_flight *flight = context;
  bf_emu_worker *worker = &flight->worker[index];
  bf_emu_block *spare = NULL;
  queue waiting = {.last = &waiting.first};
  clusters own = {0};
  while (!is_stopped(flight)) {
    bool begins = waiting.count == 0 || (own.idle > 2 * waiting.count && waiting.count < IN_FLIGHT);
    if (begins && next_cluster(worker, &spare, &own, &waiting))
      own.idle = 0;
    bf_emu_block *block = pop(&waiting);
    if (!block || is_stopped(flight))
      break;
    uint64_t changes = worker->changes;
    outcome end = run_block(block);
    own.idle = worker->changes == changes && end != DONE ? own.idle + 1 : 0;
    if (end == DONE) {
      __atomic_add_fetch(&flight->blocks_done, 1, __ATOMIC_RELAXED);
      end_in_cluster(block, &spare, &own);
      continue;
    }
    if (end != STOPPED && bf_emu_is_dead(block)) {
      bf_emu_fail_dead(block);
      fail_stuck(block);
    }
    push(&waiting, block);
    report(flight);
  }
  free_clusters(&own);
  for (bf_emu_block *block = spare, *next; block; block = next) {
    next = block->next;
    bf_emu_block_free(block);
  }
}

/* ---- Blocks ---- */

/* A thread of the launch. New blocks are begun before waiting ones go on, up to a limit. */
static void work(void *context, unsigned index) {
  bf_emu_flight *flight = context;
  bf_emu_worker *worker = &flight->worker[index];
  bf_emu_block *spare = NULL;
  queue waiting = {.last = &waiting.first};
  uint64_t turns = 0; /* of waiting blocks, since one was done */
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
    if (end == WAITS && bf_emu_is_dead(block))
      bf_emu_fail_dead(block);
    if (end == WAITS) {
      push(&waiting, block);
      report(flight);
      if (++turns > (uint64_t)PATIENCE * waiting.count)
        __atomic_store_n(&flight->needs_rest, 1, __ATOMIC_RELAXED);
      continue;
    }
    turns = 0;
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

bool bf_emu_cluster_size(const bf_emu_launch *launch, uint32_t *size) {
  const bf_emu_needs *needs = &launch->kernel->needs;
  bool is_asked = launch->cluster[0] != 0;
  for (unsigned k = 0; k < 3; k++) {
    uint32_t own = is_asked ? launch->cluster[k] : needs->exact_cluster[k];
    size[k] = own ? own : 1;
  }
  return is_asked || needs->exact_cluster[0] != 0;
}

static int check_cluster(const bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  const char *name = bf_emu_kernel_name(launch->kernel);
  const uint32_t *exact = launch->kernel->needs.exact_cluster;
  uint32_t size[3];
  uint64_t blocks = 1;
  bf_emu_cluster_size(launch, size);
  for (unsigned k = 0; k < 3; k++) {
    blocks *= size[k] < 4096 ? size[k] : 4096;
    if (exact[0] && exact[k] != size[k])
      return bf_fail(diagnostic, BF_BAD_INPUT, "kernel '%s' needs clusters of %ux%ux%u blocks",
                     name, exact[0], exact[1], exact[2]);
    if (launch->grid[k] % size[k])
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "kernel '%s': a grid of %ux%ux%u blocks cannot be cut into clusters of "
                     "%ux%ux%u",
                     name, launch->grid[0], launch->grid[1], launch->grid[2], size[0], size[1],
                     size[2]);
  }
  if (blocks > BF_EMU_MOST_CLUSTER)
    return bf_fail(diagnostic, BF_BAD_INPUT, "kernel '%s': %llu blocks in a cluster, at most %d",
                   name, (unsigned long long)blocks, BF_EMU_MOST_CLUSTER);
  return BF_OK;
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
  BF_TRY(check_cluster(launch, diagnostic));
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
  flight->is_clustered = bf_emu_cluster_size(launch, flight->cluster);
  flight->shared_bytes = kernel->dynamic_offset + launch->dynamic_shared_bytes;
  if (kernel->owns_rows)
    flight->shared_bytes += -flight->shared_bytes % BF_PTX_ROW_BYTES;
  flight->reserved_at = flight->shared_bytes;
  if (kernel->uses_reserved) {
    flight->reserved_at += -flight->reserved_at % BF_PTX_ROW_BYTES;
    flight->shared_bytes = flight->reserved_at + BF_EMU_RESERVED_BYTES;
  }
  flight->workers = launch->workers ? launch->workers : bf_cores();
  if (flight->workers > blocks_to_run(flight))
    flight->workers = (unsigned)blocks_to_run(flight);
  flight->workers += flight->workers == 0;
  flight->alone = flight->workers == 1 && !launch->is_beside;
}

void bf_emu_flight_close(bf_emu_flight *flight) {
  if (!flight)
    return;
  bf_emu_heap_close(flight);
  bf_race_close(flight);
  pthread_mutex_destroy(&flight->lock);
  free(flight->parameters);
  for (unsigned i = 0; flight->worker && i < flight->workers; i++) {
    if (flight->worker[i].tally)
      flight->observer->settle(flight->observer->context, i);
    free(flight->worker[i].matrices);
    free(flight->worker[i].fetches);
  }
  free(flight->worker);
  free(flight);
}

/* Where accesses of a worker are counted; NULL: the observer is told of all, one by one. */
static bf_lined *const *tally_of(const bf_emu_flight *flight, unsigned worker) {
  const bf_emu_observer *observer = flight->observer;
  bool counts = observer && observer->tally && worker < observer->tallies && !observer->written &&
                !flight->launch->sample;
  return counts ? &observer->tally[worker] : NULL;
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
  /* As aligned as tensor maps among the parameters must be. */
  size_t room = (launch->parameter_bytes + 16 + 127) & ~(size_t)127;
  flight->parameters = aligned_alloc(128, room);
  if (!flight->worker || !flight->parameters) {
    bf_emu_flight_close(flight);
    return bf_no_memory(diagnostic);
  }
  memset(flight->parameters, 0, room);
  if (launch->parameter_bytes)
    memcpy(flight->parameters, launch->parameters, launch->parameter_bytes);
  for (unsigned i = 0; i < flight->workers; i++) {
    flight->worker[i].flight = flight;
    flight->worker[i].index = i;
    flight->worker[i].tally = tally_of(flight, i);
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
  *result = (bf_emu_result){.fault = flight->fault,
                            .workers = flight->workers,
                            .leaves_out_races = bf_race_has_left_out(flight)};
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
  if (flight->is_clustered || flight->kernel->uses_cluster) {
    flight->has_called = true;
    bf_run_threads(flight->workers, work_clusters, flight);
  } else {
    flight->begun = bf_seconds();
    flight->next_look = flight->begun + ALONE_SECONDS;
    flight->has_called = flight->workers == 1 || !emu->crew;
    /* Until others are called, unless the program itself goes on beside it. */
    flight->alone |= !flight->kernel->uses_system && !launch->is_beside;
    work(flight, 0);
    if (flight->has_crew)
      bf_crew_end(emu->crew);
  }
  int error = bf_emu_flight_result(flight, result, diagnostic);
  bf_emu_flight_close(flight);
  return error;
}

/* The load/store unit of the scoreboard pipeline: one for all schedulers of a multiprocessor, with
 * a way from each of them and a queue. docs/simulator_model.md says what an access takes. */
#include "sim/scoreboard.h"

enum { LOCK_HOLDS_LOOP = 1 }; /* the second word of lock_holds */

/* Forgets queued accesses that have started. */
void bf_sim_drain_queue(bf_sim_sm *sm, board *own) {
  uint64_t now = sm->now * TICKS;
  unsigned left = 0;
  own->queue_first = UINT64_MAX;
  for (unsigned i = 0; i < own->queue_count; i++)
    if (own->queue[i] > now) {
      own->queue[left++] = own->queue[i];
      if (own->queue[i] < own->queue_first)
        own->queue_first = own->queue[i];
    }
  own->queue_count = left;
  if (left == 0)
    own->queue_has_conflicts = false;
}

/* Gives duration ticks of the load/store unit to an access that cannot start before earliest, and
 * returns when it starts, in ticks. The unit works for others until then: only work that is there
 * makes it busy. */
static uint64_t take_memory(bf_sim_sm *sm, board *own, uint64_t earliest, uint64_t duration,
                            bool conflicts) {
  uint64_t now = sm->now * TICKS;
  uint64_t free_at = own->memory_free > now ? own->memory_free : now;
  uint64_t start = free_at > earliest ? free_at : earliest;
  own->memory_free = free_at + duration;
  if (free_at > now && own->queue_count < sm->gpu->shared_queue) {
    own->queue[own->queue_count++] = start;
    if (start < own->queue_first)
      own->queue_first = start;
  }
  own->queue_has_conflicts |= conflicts;
  return start;
}

/* Cycles that a lock loop holds its warp: from src/memory where the machine says it, else from the
 * iterations. */
static double lock_loop_cycles(const bf_sim_gpu *gpu, const bf_count *count) {
  if (count->latency_cycles)
    return count->latency_cycles;
  uint32_t further = count->wavefronts_load > count->lock_iterations
                         ? count->wavefronts_load - count->lock_iterations
                         : 0;
  return (double)gpu->lock_cycles * count->lock_iterations + gpu->lock_wavefront_cycles * further;
}

/* What a shared access takes, in cycles. */
typedef struct shared_cost {
  double memory;    /* of the memory, which all schedulers share */
  double scheduler; /* of the way between its scheduler and the memory */
  double result;    /* from its start to its result */
  bool holds_warp;  /* the warp itself goes round a loop until then */
} shared_cost;

/* Cycles that a store of so many wavefronts takes its scheduler's way. */
static double store_way(const bf_sim_gpu *gpu, double each, uint32_t wavefronts, unsigned bytes) {
  double most = gpu->shared_store_most_cycles * (bytes > 8 ? bytes / 8 : 1);
  double own = gpu->shared_return_cycles > each ? gpu->shared_return_cycles * (wavefronts - 1)
                                                : each * wavefronts;
  return most > 0 && own > most ? most : own;
}

static shared_cost cost_of_shared(const bf_sim_gpu *gpu, const bf_sim_touched *touched,
                                  uint64_t now, bool is_hashed) {
  const bf_count *count = &touched->shared;
  uint32_t plain = count->wavefronts_load + count->wavefronts_store;
  uint32_t atomic = count->wavefronts_atomic;
  plain = (plain + (uint32_t)gpu->shared_ports - 1) / (uint32_t)gpu->shared_ports;
  double each = gpu->shared_wavefront_cycles;
  double back = gpu->shared_return_cycles > each ? gpu->shared_return_cycles : each;
  shared_cost cost = {.result = is_hashed ? (double)gpu->hash_cycles : 0};
  if (touched->has_locks) {
    double loop = lock_loop_cycles(gpu, count);
    if (touched->locked_until > now && (double)(touched->locked_until - now) > loop)
      loop = (double)(touched->locked_until - now);
    cost.memory = gpu->lock_holds == LOCK_HOLDS_LOOP ? loop : each * (plain + atomic);
    cost.result += loop;
    cost.holds_warp = true;
  } else if (touched->shared_op == BF_OP_ST || touched->shared_op == BF_OP_RED) {
    each = gpu->shared_store_cycles > 0 ? gpu->shared_store_cycles : each;
    cost.memory = each * (plain + atomic);
    cost.scheduler = store_way(gpu, each, plain + atomic, touched->width_bytes);
    cost.result += (double)gpu->shared_cycles;
  } else if (atomic) {
    cost.memory = gpu->atomic_wavefront_cycles * atomic + each * plain;
    cost.scheduler = back * atomic;
    cost.result += (double)gpu->atomic_cycles + back * (atomic - 1);
  } else {
    cost.memory = each * plain;
    cost.scheduler = back * plain;
    cost.result += (double)gpu->shared_cycles + back * (plain ? plain - 1 : 0);
  }
  if (cost.scheduler < gpu->shared_issue_cycles)
    cost.scheduler = gpu->shared_issue_cycles;
  return cost;
}

/* Times a shared access that was executed and has its address at cycle `from`: when its result is
 * there; *busy is when the warp can go on. */
static uint64_t time_shared(bf_sim_sm *sm, bf_sim_warp *warp, uint64_t from, uint64_t *busy) {
  board *own = sm->core_data;
  const bf_count *count = &sm->touched.shared;
  shared_cost cost = cost_of_shared(sm->gpu, &sm->touched, sm->now, sm->settings->hash != NULL);
  issuer *its = &own->scheduler[own->warp[warp->slot].scheduler];
  uint64_t now = sm->now * TICKS;
  if (own->operands_until > now) /* the others share what products leave */
    cost.memory /= fmax(1 - (double)own->operand_share, 0.125);
  uint64_t way = its->way_free > now ? its->way_free : now;
  uint64_t earliest = way > from * TICKS ? way : from * TICKS;
  uint64_t start = take_memory(sm, own, earliest, ticks(cost.memory), count->conflicts > 0);
  its->way_free = way + ticks(cost.scheduler);
  its->way_has_conflicts = count->conflicts > 0;
  if (warp->next->site != UINT32_MAX)
    sm->count.site[warp->next->site].waited_cycles += (start - now) / TICKS;
  uint64_t ready = (uint64_t)ceil((double)start / TICKS + cost.result);
  if (cost.holds_warp)
    *busy = ready;
  return ready;
}

/* When constants that are asked for at a cycle leave: the multiprocessor serves one address after
 * the other; a single one costs what other loads do. */
static uint64_t time_constants(const bf_sim_sm *sm, board *own, uint64_t cycle) {
  uint64_t begin = cycle * TICKS;
  if (sm->touched.constants < 2)
    return cycle;
  begin = own->constants_free > begin ? own->constants_free : begin;
  own->constants_free = begin + ticks(sm->gpu->constant_word_cycles * (sm->touched.constants - 1));
  return own->constants_free / TICKS;
}

uint64_t bf_sim_time_memory(bf_sim_sm *sm, bf_sim_warp *warp, const bf_sim_op *op, uint64_t from,
                            uint64_t *busy) {
  board *own = sm->core_data;
  const bf_sim_touched *touched = &sm->touched;
  bool is_remote = op->may_be_remote && !touched->lines && !touched->shared_accesses;
  uint64_t ready = from + (is_remote       ? sm->gpu->remote_cycles
                           : op->is_memory ? sm->gpu->l1_cycles
                                           : sm->gpu->shared_cycles);
  if (touched->lines) {
    uint64_t start = take_memory(sm, own, from * TICKS,
                                 ticks(sm->gpu->global_line_cycles * touched->lines), false) /
                     TICKS;
    start = time_constants(sm, own, start);
    const bf_sim_load *load = bf_sim_send(sm, warp, op, start);
    ready = load ? LOADING_FROM + (uint64_t)(load - sm->load) : start + sm->gpu->l1_cycles;
  }
  if (touched->shared_accesses) {
    uint64_t shared = time_shared(sm, warp, from, busy);
    own->warp[warp->slot].shared_at = shared;
    if (!touched->lines)
      ready = shared;
  } else if (!touched->lines) /* local and constant memory, exchange between lanes */
    take_memory(sm, own, sm->now * TICKS, TICKS, false);
  return ready;
}

/* FIFOs, and the firing rule: a node fires when all its FIFOs have a value and all FIFOs of its
 * readers have room. Within a cycle readers come before writers, so that an entry which is freed
 * can be taken in the same cycle. What is still in the pipeline of a core takes no entry: where the
 * FIFO is full when it comes, it waits in the pipeline. */
#include "rgpu/sim_inner.h"

const char *const bf_rgpu_stall_names[BF_RGPU_STALLS] = {"empty", "full", "memory", "port", "done"};

/* ---- FIFOs ---- */

/* Something happens by itself at `cycle`. */
static void wake_at(sim_sm *sm, uint64_t cycle) {
  if (cycle < sm->next)
    sm->next = cycle;
}

/* The place of value number i. */
static unsigned place_of(const sm_fifo *fifo, unsigned i) {
  unsigned at = fifo->head + i;
  return at < fifo->places ? at : at - fifo->places;
}

/* Whether as many values have arrived as there are entries. */
static bool is_full(const sim_sm *sm, sm_fifo *fifo) {
  if (fifo->count < fifo->capacity || sm->chip->settings->fabric.pipelines_take_entries)
    return fifo->count >= fifo->capacity;
  while (fifo->arrived < fifo->count && fifo->ready[place_of(fifo, fifo->arrived)] <= sm->now)
    fifo->arrived++;
  return fifo->arrived >= fifo->capacity;
}

bool rgpu_fifo_ready(sim_sm *sm, uint32_t fifo) {
  const sm_fifo *at = &sm->fifo[fifo];
  if (at->count == 0)
    return false;
  uint64_t ready = at->ready[at->head];
  if (ready > sm->now)
    wake_at(sm, ready);
  return ready <= sm->now;
}

void rgpu_fifo_push(sim_sm *sm, uint32_t fifo, uint32_t value, uint64_t ready) {
  sm_fifo *at = &sm->fifo[fifo];
  unsigned end = place_of(at, at->count);
  at->value[end] = value;
  at->ready[end] = ready;
  at->count++;
  if (at->count > at->most && at->count <= at->capacity)
    at->most = at->count;
}

/* Takes the value in front. */
static void pop(sm_fifo *fifo) {
  fifo->head = place_of(fifo, 1);
  fifo->count--;
  fifo->arrived -= fifo->arrived > 0;
}

/* ---- Firing ---- */

bf_rgpu_stall rgpu_find_stall(sim_sm *sm, uint32_t node, uint32_t *at) {
  const sim_plan *all = sm->chip->plan;
  const plan_node *plan = &all->node[node];
  if (sm->node[node].fired == all->setup->iterations)
    return BF_RGPU_STALL_DONE;
  for (unsigned i = 0; i < plan->inputs; i++)
    if (!rgpu_fifo_ready(sm, plan->input[i])) {
      *at = plan->input[i];
      return BF_RGPU_STALL_EMPTY;
    }
  for (unsigned i = 0; i < plan->receivers; i++) {
    uint32_t fifo = plan->receiver[i];
    if (is_full(sm, &sm->fifo[fifo]) && all->fifo[fifo].reader != node) {
      *at = fifo;
      return BF_RGPU_STALL_FULL;
    }
  }
  return BF_RGPU_STALLS;
}

uint32_t rgpu_operand(const sim_sm *sm, uint32_t node, unsigned position) {
  uint32_t fifo = sm->chip->plan->node[node].fifo[position];
  return fifo == NO_FIFO ? sm->node[node].constant[position] : rgpu_fifo_head(sm, fifo);
}

bool rgpu_is_on(const sim_sm *sm, uint32_t node) {
  const bf_rgpu_node *own = sm->chip->plan->node[node].node;
  if (!own->predicate.source)
    return true;
  return (rgpu_operand(sm, node, BF_RGPU_PREDICATE) != 0) != own->is_negated;
}

/* Keeps a result that a final value may need. */
static void keep(sim_sm *sm, uint32_t node, uint32_t result) {
  const plan_node *plan = &sm->chip->plan->node[node];
  if (plan->keeps)
    sm->kept[plan->kept_from + sm->node[node].fired % plan->keeps] = result;
}

/* Makes pieces twice as long. */
static void join_pieces(bf_rgpu_activity *activity) {
  for (unsigned class = 0; class < BF_RGPU_CLASSES; class ++)
    for (unsigned i = 0; i < BF_RGPU_PIECES; i++) {
      uint64_t *fired = activity->fired[class];
      fired[i] = i < BF_RGPU_PIECES / 2 ? fired[2 * i] + fired[2 * i + 1] : 0;
    }
  activity->piece_cycles *= 2;
  activity->pieces = (activity->pieces + 1) / 2;
}

/* Adds a firing of the first SM to its picture. */
static void count_activity(bf_rgpu_activity *activity, bf_rgpu_class class, uint64_t cycle) {
  while (cycle / activity->piece_cycles >= BF_RGPU_PIECES)
    join_pieces(activity);
  unsigned piece = (unsigned)(cycle / activity->piece_cycles);
  activity->fired[class][piece]++;
  if (activity->pieces <= piece)
    activity->pieces = piece + 1;
}

/* Counts a firing. */
static void count_firing(sim_sm *sm, uint32_t node) {
  const plan_node *plan = &sm->chip->plan->node[node];
  sm->count[node].fired++;
  sm->chip->result->fired[plan->kind]++;
  if (sm->index == 0)
    count_activity(&sm->chip->result->activity, plan->kind, sm->now);
}

void rgpu_fire(sim_sm *sm, uint32_t node, uint32_t result, unsigned latency) {
  const plan_node *plan = &sm->chip->plan->node[node];
  for (unsigned i = 0; i < plan->inputs; i++)
    pop(&sm->fifo[plan->input[i]]);
  for (unsigned i = 0; i < plan->receivers; i++)
    rgpu_fifo_push(sm, plan->receiver[i], result, sm->now + latency);
  keep(sm, node, result);
  count_firing(sm, node);
  sm->node[node].last = result;
  sm->node[node].fired++;
  sm->left -= sm->node[node].fired == sm->chip->plan->setup->iterations;
  sm->has_moved = true;
}

/* An operation whose FIFOs allow it fires, unless another one has its core in this cycle. Why it
 * does not. */
static bf_rgpu_stall fire_core(sim_sm *sm, uint32_t node) {
  const plan_node *plan = &sm->chip->plan->node[node];
  uint32_t result = sm->node[node].last;
  if (sm->core_taken[plan->core] > sm->now)
    return BF_RGPU_STALL_PORT;
  sm->core_taken[plan->core] = sm->now + 1;
  if (rgpu_is_on(sm, node)) {
    uint32_t operand[BF_RGPU_OPERANDS] = {0};
    for (unsigned i = 0; i < BF_RGPU_OPERANDS; i++)
      operand[i] = rgpu_operand(sm, node, i);
    result = bf_rgpu_operate(plan->node, operand);
  }
  rgpu_fire(sm, node, result, plan->latency);
  return BF_RGPU_STALLS;
}

/* ---- A cycle ---- */

/* Adds cycles in which a node did not fire. */
static void count_stall(sim_sm *sm, uint32_t node, uint64_t cycles) {
  const sm_node *own = &sm->node[node];
  sm->count[node].stalled[own->stall] += cycles;
  if (own->stall == BF_RGPU_STALL_EMPTY)
    sm->fifo[own->stall_at].empty_cycles += cycles;
  else if (own->stall == BF_RGPU_STALL_FULL)
    sm->fifo[own->stall_at].full_cycles += cycles;
}

void rgpu_step(sim_sm *sm) {
  const sim_plan *plan = sm->chip->plan;
  for (unsigned i = 0; i < plan->nodes; i++) {
    uint32_t node = plan->order[i];
    sm_node *own = &sm->node[node];
    own->stall = (uint8_t)rgpu_find_stall(sm, node, &own->stall_at);
    if (own->stall == BF_RGPU_STALLS && plan->node[node].kind == BF_RGPU_MEMORY)
      own->stall = (uint8_t)rgpu_unit_fire(sm, node);
    else if (own->stall == BF_RGPU_STALLS)
      own->stall = (uint8_t)fire_core(sm, node);
    count_stall(sm, node, 1);
  }
  if (!sm->chip->settings->fabric.no_prefetch)
    rgpu_prefetch(sm);
}

void rgpu_stall_again(sim_sm *sm, uint64_t cycles) {
  for (unsigned i = 0; i < sm->chip->plan->nodes; i++)
    count_stall(sm, i, cycles);
}

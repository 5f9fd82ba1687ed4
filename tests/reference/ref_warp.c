/* Where threads meet: the lanes of a warp, and the threads of a block at a barrier. A thread that
 * comes to such an instruction waits; once no thread can go on, those that are complete are served,
 * all at once. */
#include "ref.h"

#include <string.h>

static bool is_warp_barrier(const ref_op *op) {
  return (op->opcode == BF_PTX_OP_BAR || op->opcode == BF_PTX_OP_BARRIER) && HAS(op, warp);
}

static bool is_block_barrier(const ref_op *op) {
  return (op->opcode == BF_PTX_OP_BAR || op->opcode == BF_PTX_OP_BARRIER) && !HAS(op, warp) &&
         !HAS(op, cluster);
}

bool ref_meets(const ref_op *op) {
  switch (op->opcode) {
  case BF_PTX_OP_SHFL:
  case BF_PTX_OP_VOTE:
  case BF_PTX_OP_MATCH:
  case BF_PTX_OP_REDUX:
  case BF_PTX_OP_ELECT:
  case BF_PTX_OP_ACTIVEMASK:
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
  case BF_PTX_OP_MOVMATRIX:
  case BF_PTX_OP_MMA:
  case BF_PTX_OP_WMMA:
    return true;
  default:
    return is_warp_barrier(op) || is_block_barrier(op);
  }
}

/* bar: [d,] a [, b] [, p]: barrier a, b threads. */
static void start_barrier(ref_thread *thread, const ref_op *op) {
  const bf_ptx_operand *operand = op->in->operand + HAS(op, red);
  unsigned left = op->operands - HAS(op, red) - HAS(op, red);
  thread->state = REF_AT_BARRIER;
  thread->barrier = (unsigned)ref_get(thread, &operand[0], BF_PTX_U32) % REF_BARRIERS;
  thread->expected = left > 1 ? (unsigned)ref_get(thread, &operand[1], BF_PTX_U32) : 0;
  if (HAS(op, arrive)) {
    thread->state = REF_RUNNING;
    thread->block->arrived[thread->barrier]++;
  }
}

void ref_meet_start(ref_thread *thread, const ref_op *op) {
  thread->waiting = op;
  if (is_block_barrier(op)) {
    start_barrier(thread, op);
    return;
  }
  thread->state = REF_AT_WARP;
  thread->mask = 0xffffffff;
  if (op->opcode == BF_PTX_OP_ELECT || is_warp_barrier(op) || HAS(op, sync)) {
    const bf_ptx_operand *last = &op->in->operand[op->operands - 1];
    bool is_matrix = op->opcode == BF_PTX_OP_LDMATRIX || op->opcode == BF_PTX_OP_STMATRIX ||
                     op->opcode == BF_PTX_OP_MOVMATRIX || op->opcode == BF_PTX_OP_MMA ||
                     op->opcode == BF_PTX_OP_WMMA;
    if (!is_matrix)
      thread->mask = (uint32_t)ref_get(thread, last, BF_PTX_U32);
  }
}

/* ---- Barriers of the block ---- */

/* Whether predicate p of a waiting thread holds. */
static bool predicate_of(ref_thread *thread) {
  const ref_op *op = thread->waiting;
  return ref_get(thread, &op->in->operand[op->operands - 1], BF_PTX_PRED) & 1;
}

/* The result of barrier.red over the threads that wait. */
static ref_bits reduce_barrier(ref_block *block, unsigned barrier, const ref_op *op) {
  unsigned count = 0, threads = 0;
  for (unsigned i = 0; i < block->threads; i++) {
    ref_thread *thread = &block->thread[i];
    if (thread->state == REF_AT_BARRIER && thread->barrier == barrier) {
      count += predicate_of(thread);
      threads++;
    }
  }
  return HAS(op, popc) ? count : HAS(op, and) ? count == threads : count > 0;
}

static bool serve_barrier(ref_block *block, unsigned barrier) {
  unsigned here = block->arrived[barrier], waiting = 0, alive = 0, expected = 0;
  const ref_op *op = NULL;
  for (unsigned i = 0; i < block->threads; i++) {
    const ref_thread *thread = &block->thread[i];
    alive += thread->state != REF_ENDED;
    if (thread->state == REF_AT_BARRIER && thread->barrier == barrier) {
      waiting++;
      expected = thread->expected;
      op = thread->waiting;
    }
  }
  if (waiting == 0 || here + waiting < (expected ? expected : alive))
    return false;
  ref_bits value = HAS(op, red) ? reduce_barrier(block, barrier, op) : 0;
  for (unsigned i = 0; i < block->threads; i++) {
    ref_thread *thread = &block->thread[i];
    if (thread->state != REF_AT_BARRIER || thread->barrier != barrier)
      continue;
    if (HAS(op, red))
      ref_set(thread, &thread->waiting->in->operand[0], value);
    thread->state = REF_RUNNING;
  }
  block->arrived[barrier] = 0;
  return true;
}

/* ---- Meetings of a warp; lane[i] is NULL where lane i does not take part ---- */

typedef ref_thread *const lanes[REF_WARP];

/* The first part of a result d or d|p; the second, if any. */
static void set_pair(ref_thread *thread, const bf_ptx_operand *operand, ref_bits d, ref_bits p) {
  if (operand->kind == BF_PTX_PAIR) {
    ref_set(thread, &operand->item[0], d);
    ref_set(thread, &operand->item[1], p);
  } else {
    ref_set(thread, operand, d);
  }
}

/* The lane that shfl reads from, by the PTX ISA's description; *valid: it is in range. */
static unsigned source_lane(const ref_op *op, unsigned lane, uint32_t b, uint32_t c, bool *valid) {
  unsigned value = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  unsigned most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  int j = (int)lane;
  if (HAS(op, up)) {
    j -= (int)value;
    *valid = j >= (int)most;
  } else if (HAS(op, down)) {
    j += (int)value;
    *valid = j <= (int)most;
  } else {
    j = HAS(op, bfly) ? j ^ (int)value : (int)(least | (value & ~segment));
    *valid = j <= (int)most;
  }
  return *valid ? (unsigned)j : lane;
}

static void shuffle(lanes lane, const ref_op *op) {
  const bf_ptx_operand *operand = op->in->operand;
  ref_bits value[REF_WARP] = {0}, result[REF_WARP] = {0};
  bool valid[REF_WARP] = {0};
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i])
      value[i] = ref_get(lane[i], &operand[1], BF_PTX_B32);
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i]) {
      uint32_t b = (uint32_t)ref_get(lane[i], &operand[2], BF_PTX_U32);
      uint32_t c = (uint32_t)ref_get(lane[i], &operand[3], BF_PTX_U32);
      result[i] = value[source_lane(op, i, b, c, &valid[i])];
    }
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i])
      set_pair(lane[i], &operand[0], result[i], valid[i]);
}

static void vote(lanes lane, const ref_op *op) {
  uint32_t there = 0, ballot = 0;
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i]) {
      there |= UINT32_C(1) << i;
      ballot |= (uint32_t)(ref_get(lane[i], &op->in->operand[1], BF_PTX_PRED) & 1) << i;
    }
  ref_bits result = HAS(op, ballot) ? ballot
                    : HAS(op, all)  ? ballot == there
                    : HAS(op, any)  ? ballot != 0
                                    : ballot == there || ballot == 0;
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i])
      ref_set(lane[i], &op->in->operand[0], result);
}

static void match(lanes lane, const ref_op *op) {
  ref_bits value[REF_WARP] = {0};
  uint32_t equal[REF_WARP] = {0}, there = 0;
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i]) {
      value[i] = ref_low(ref_get(lane[i], &op->in->operand[1], op->type), ref_type_bits(op->type));
      there |= UINT32_C(1) << i;
    }
  for (unsigned i = 0; i < REF_WARP; i++)
    for (unsigned j = 0; j < REF_WARP; j++)
      if (lane[i] && lane[j] && value[i] == value[j])
        equal[i] |= UINT32_C(1) << j;
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i]) {
      bool all = equal[i] == there;
      set_pair(lane[i], &op->in->operand[0], HAS(op, any) ? equal[i] : all ? there : 0, all);
    }
}

static void reduce(lanes lane, const ref_op *op) {
  ref_signed result = 0;
  bool first = true;
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i]) {
      ref_signed value = ref_number(ref_get(lane[i], &op->in->operand[1], op->type), op->type);
      result = first          ? value
               : HAS(op, add) ? result + value
               : HAS(op, min) ? (value < result ? value : result)
               : HAS(op, max) ? (value > result ? value : result)
               : HAS(op, and) ? (result & value)
               : HAS(op, or)  ? (result | value)
                              : (result ^ value);
      first = false;
    }
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i])
      ref_set(lane[i], &op->in->operand[0], (ref_bits)result);
}

/* elect chooses the lowest lane; activemask tells who is there. */
static void who(lanes lane, const ref_op *op) {
  uint32_t there = 0;
  unsigned lowest = REF_WARP;
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i]) {
      there |= UINT32_C(1) << i;
      lowest = lowest < i ? lowest : i;
    }
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i] && op->opcode == BF_PTX_OP_ELECT)
      set_pair(lane[i], &op->in->operand[0], lowest, i == lowest);
    else if (lane[i])
      ref_set(lane[i], &op->in->operand[0], there);
}

static bool execute(lanes lane, const ref_op *op) {
  switch (op->opcode) {
  case BF_PTX_OP_SHFL:
    shuffle(lane, op);
    return true;
  case BF_PTX_OP_VOTE:
    vote(lane, op);
    return true;
  case BF_PTX_OP_MATCH:
    match(lane, op);
    return true;
  case BF_PTX_OP_REDUX:
    reduce(lane, op);
    return true;
  case BF_PTX_OP_ELECT:
  case BF_PTX_OP_ACTIVEMASK:
    who(lane, op);
    return true;
  case BF_PTX_OP_BAR:
  case BF_PTX_OP_BARRIER:
    return true;
  default:
    return ref_matrix_step(lane, op);
  }
}

/* Serves the meeting that a waiting thread is at, if all who must come are there. */
static bool serve_warp(ref_thread *first) {
  ref_block *block = first->block;
  ref_thread *lane[REF_WARP] = {NULL};
  unsigned start = first->warp * REF_WARP;
  bool open = first->waiting->opcode == BF_PTX_OP_ACTIVEMASK;
  for (unsigned i = 0; i < REF_WARP && start + i < block->threads; i++) {
    ref_thread *thread = &block->thread[start + i];
    bool with = thread->state == REF_AT_WARP && thread->waiting == first->waiting &&
                thread->calls == first->calls && thread->mask == first->mask;
    if (!(first->mask >> i & 1))
      continue;
    if (with)
      lane[i] = thread;
    else if (thread->state != REF_ENDED && !open)
      return false;
  }
  if (!execute(lane, first->waiting))
    return false;
  for (unsigned i = 0; i < REF_WARP; i++)
    if (lane[i])
      lane[i]->state = REF_RUNNING;
  return true;
}

bool ref_meet_serve(ref_block *block) {
  bool served = false;
  for (unsigned i = 0; i < block->threads; i++)
    if (block->thread[i].state == REF_AT_WARP && serve_warp(&block->thread[i]))
      served = true;
  for (unsigned barrier = 0; barrier < REF_BARRIERS; barrier++)
    if (serve_barrier(block, barrier))
      served = true;
  return served;
}

/* Control flow: branches, calls, ends, barriers, and the operations that decoding adds. */
#include "emu/clock.h"
#include "emu/decode.h"
#include "emu/warp.h"

#include <stdlib.h>

/* ---- Joins, branches ---- */

const bf_emu_op *bf_emu_step_join(bf_emu_warp *warp, const bf_emu_op *op) {
  if (warp->paths)
    bf_emu_absorb(warp, op);
  if (!warp->join || warp->join->at != op || warp->join->frame != warp->frame)
    return op + 1;
  return bf_emu_arrive(warp, op);
}

/* Goes back to target, unless it is time for others. */
static const bf_emu_op *go_back(bf_emu_warp *warp, const bf_emu_op *op, const bf_emu_op *target) {
  bf_emu_jump(warp, op, target);
  bool polled = warp->polled != 0;
  warp->polled = 0;
  if (polled && ++warp->spins >= BF_EMU_MOST_SPINS)
    return bf_emu_yield(warp, target, true);
  if (warp->budget == 0 || --warp->budget == 0)
    return bf_emu_yield(warp, target, false);
  return warp->paths ? bf_emu_let_pass(warp, target) : target;
}

const bf_emu_op *bf_emu_step_branch(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  if (mask == 0)
    return op + 1;
  const bf_emu_branch *branch = op->detail;
  if (mask != warp->active)
    return bf_emu_split(warp, op, mask, branch->target[0], branch->ends ? NULL : branch->join);
  if (branch->is_backward)
    return go_back(warp, op, branch->target[0]);
  bf_emu_jump(warp, op, branch->target[0]);
  return warp->paths ? bf_emu_let_pass(warp, branch->target[0]) : branch->target[0];
}

/* brx.idx: lanes go to the target that their index in a chooses. Lanes with another target than the
 * first one's are set aside to execute this operation again. */
const bf_emu_op *bf_emu_step_branch_list(bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_branch *branch = op->detail;
  const uint32_t *index = BF_LANES(uint32_t, op->a);
  uint32_t mask = BF_MASK(), same = 0;
  if (mask == 0)
    return op + 1;
  unsigned first = (unsigned)__builtin_ctz(mask);
  if (index[first] >= branch->targets)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, first, "branch to entry %u of %u",
                       index[first], branch->targets);
  BF_EACH_LANE(mask, lane) same |= (uint32_t)(index[lane] == index[first]) << lane;
  const bf_emu_op *target = branch->target[index[first]];
  if (same != warp->active) {
    if (!bf_emu_split_off(warp, op, warp->active & ~same, op, branch->ends ? NULL : branch->join))
      return NULL;
    warp->segment = target;
    return target;
  }
  return branch->is_backward ? go_back(warp, op, target) : bf_emu_jump(warp, op, target);
}

/* ---- Ends ---- */

const bf_emu_op *bf_emu_step_exit(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  return mask ? bf_emu_end_lanes(warp, op, mask) : op + 1;
}

/* The way back to the caller: copies results, frees the frame once all lanes have left it. */
static const bf_emu_op *leave(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_emu_frame *frame = warp->frame, *caller = frame->caller;
  const bf_emu_call *call = frame->call->detail;
  const bf_ptx_variables *returns = &frame->code->function->returns;
  bf_emu_account(warp, op);
  for (unsigned i = 0; i < call->returns && i < returns->count; i++) {
    uint32_t stride = (uint32_t)(returns->item[i].bytes + 15) & ~15u;
    uint32_t bytes = stride < call->result[i].stride ? stride : call->result[i].stride;
    BF_EACH_LANE(warp->active, lane)
    memcpy(caller->registers + call->result[i].place + lane * call->result[i].stride,
           frame->registers + frame->code->formal[i] + lane * stride, bytes);
  }
  frame->lanes &= ~warp->active;
  frame->is_free = frame->lanes == 0;
  warp->frame = caller;
  warp->registers = caller->registers;
  warp->segment = frame->call + 1;
  return warp->segment;
}

const bf_emu_op *bf_emu_step_end(bf_emu_warp *warp, const bf_emu_op *op) {
  if (warp->join && warp->join->at == op && warp->join->frame == warp->frame)
    return bf_emu_arrive(warp, op);
  if (warp->frame->caller)
    return leave(warp, op);
  return bf_emu_end_lanes(warp, op, warp->active);
}

static const bf_emu_op *step_trap(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  if (mask == 0)
    return op + 1;
  return bf_emu_fail(warp, op, BF_EMU_TRAP, (unsigned)__builtin_ctz(mask), "%s", "");
}

/* ---- Calls ---- */

/* Enters code with all active lanes. */
static const bf_emu_op *enter(bf_emu_warp *warp, const bf_emu_op *op, const bf_emu_code *code) {
  const bf_emu_call *call = op->detail;
  const bf_ptx_function *function = code->function;
  bf_emu_frame *caller = warp->frame;
  if (warp->budget == 0 || --warp->budget == 0) { /* recursion takes time as loops do */
    bf_emu_account(warp, op);
    return bf_emu_yield(warp, op, false);
  }
  unsigned first = (unsigned)__builtin_ctz(warp->active);
  uint64_t base = bf_emu_local_end(caller);
  if (base + code->local_bytes > warp->worker->flight->stack_bytes ||
      caller->depth + 1 >= BF_EMU_MOST_DEPTH)
    return bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, first, "call of '%s', %u deep",
                       function->name, caller->depth + 1);
  bf_emu_frame *frame = bf_emu_frame_get(warp, code);
  if (!frame)
    return bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, first, "out of memory");
  frame->caller = caller;
  frame->call = op;
  frame->local_base = base;
  frame->reserved = 0;
  frame->lanes = warp->active;
  frame->depth = caller->depth + 1;
  for (unsigned i = 0; i < call->arguments && i < function->parameters.count; i++) {
    uint32_t stride = (uint32_t)(function->parameters.item[i].bytes + 15) & ~15u;
    uint32_t bytes = stride < call->argument[i].stride ? stride : call->argument[i].stride;
    BF_EACH_LANE(warp->active, lane)
    memcpy(frame->registers + code->formal[function->returns.count + i] + lane * stride,
           caller->registers + call->argument[i].place + lane * call->argument[i].stride, bytes);
  }
  bf_emu_account(warp, op + 1);
  warp->frame = frame;
  warp->registers = frame->registers;
  warp->segment = code->op;
  return code->op;
}

static const bf_emu_op *step_call(bf_emu_warp *warp, const bf_emu_op *op) {
  return enter(warp, op, ((const bf_emu_call *)op->detail)->code);
}

static const bf_emu_op *step_builtin(bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_call *call = op->detail;
  bf_emu_touch_more(warp->worker->flight);
  return call->builtin(warp, op, BF_MASK()) ? NULL : op + 1;
}

/* A call through a pointer: lanes that call another function than the first one's are set aside to
 * execute this operation again; all meet behind it. */
static const bf_emu_op *step_call_pointer(bf_emu_warp *warp, const bf_emu_op *op) {
  const uint64_t *pointer = BF_LANES(uint64_t, op->a);
  unsigned first = (unsigned)__builtin_ctz(warp->active);
  uint32_t same = 0;
  BF_EACH_LANE(warp->active, lane) same |= (uint32_t)(pointer[lane] == pointer[first]) << lane;
  const bf_emu_code *code = warp->worker->flight->kernel->code;
  while (code && (bf_emu_function_address(code->function) != pointer[first] || !code->op))
    code = code->next;
  if (!code || code->function->is_entry)
    return bf_emu_fail(warp, op, BF_EMU_BAD_CALL, first, "call of 0x%llx, which is no function",
                       (unsigned long long)pointer[first]);
  if (same != warp->active && !bf_emu_split_off(warp, op, warp->active & ~same, op, op + 1))
    return NULL;
  warp->segment = op;
  return enter(warp, op, code);
}

/* ---- Barriers ---- */

enum { SYNC, ARRIVE, RED_POPC, RED_AND, RED_OR };

/* Adds lanes to a barrier. */
static void add_to_barrier(bf_emu_warp *warp, bf_emu_barrier *barrier, uint32_t lanes,
                           uint32_t count, uint32_t predicate) {
  uint32_t threads = bf_emu_count(lanes);
  /* Barriers with a count take a warp as 32 threads, also where it has fewer. */
  if (count && lanes == warp->alive)
    threads = BF_EMU_LANES;
  if (barrier->arrived == 0) {
    barrier->ands = 1;
    barrier->ors = barrier->sums = 0;
  }
  barrier->arrived += threads;
  barrier->expected = count;
  barrier->sums += bf_emu_count(predicate & lanes);
  barrier->ors |= (predicate & lanes) != 0;
  barrier->ands &= (predicate & lanes) == lanes;
}

/* Lanes that have been added to a barrier wait there; the others go on behind op. */
static const bf_emu_op *wait_at(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask,
                                unsigned number) {
  bf_emu_block *block = warp->block;
  bf_emu_account(warp, op + 1);
  uint32_t rest = warp->active & ~mask;
  warp->active = mask;
  bf_emu_path *path = bf_emu_set_aside(warp, op + 1);
  path->state = BF_EMU_AT_BARRIER;
  path->barrier = number;
  block->polls += (warp->polled & BF_EMU_POLLS_GRID) != 0;
  if (rest) {
    warp->active = rest;
    bf_emu_set_aside(warp, op + 1);
  }
  bf_emu_barrier_check(block, number);
  return bf_emu_next_path(warp);
}

const bf_emu_op *bf_emu_wait_for_group(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  unsigned number = BF_EMU_NAMED_BARRIERS + warp->index / 4;
  if (mask == 0 || warp->worker->clock) /* a simulator decides itself who waits */
    return op + 1;
  add_to_barrier(warp, &warp->block->barrier[number], mask, 4 * BF_EMU_LANES, 0);
  return wait_at(warp, op, mask, number);
}

/* Whether a count of threads is one that a barrier takes, and that of those who have come; 0 is the
 * whole block. Else the launch ends. */
static bool is_agreed(bf_emu_warp *warp, const bf_emu_op *op, unsigned number, uint32_t count) {
  const bf_emu_barrier *barrier = &warp->block->barrier[number];
  unsigned lane = BF_FIRST_LANE(BF_MASK());
  if (count % BF_EMU_LANES)
    return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                       "barrier %u for %u threads, which is no multiple of %d", number, count,
                       BF_EMU_LANES) != NULL;
  if (barrier->arrived && count && barrier->expected && count != barrier->expected)
    return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                       "barrier %u for %u threads, at which others have come for %u", number, count,
                       barrier->expected) != NULL;
  return true;
}

/* d = barrier number a with b threads (0: all), predicate c xor e for the .red forms. */
static const bf_emu_op *step_barrier(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  if (mask == 0)
    return op + 1;
  unsigned first = (unsigned)__builtin_ctz(mask), mode = op->small[0];
  uint32_t number = BF_LANES(uint32_t, op->a)[first], count = BF_LANES(uint32_t, op->b)[first];
  if (number >= BF_EMU_NAMED_BARRIERS || count > BF_EMU_MOST_THREADS)
    return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, first, "barrier %u for %u threads", number,
                       count);
  if (warp->worker->flight->races && !is_agreed(warp, op, number, count))
    return NULL;
  add_to_barrier(warp, &warp->block->barrier[number], mask, count, BF_PREDICATE(op->c) ^ op->e);
  if (mode == ARRIVE) {
    bf_emu_barrier_check(warp->block, number);
    return op + 1;
  }
  return wait_at(warp, op, mask, number);
}

/* The result of bar.red, after the barrier. */
const bf_emu_op *bf_emu_step_barrier_result(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  if (mask == 0)
    return op + 1;
  uint32_t number = BF_LANES(uint32_t, op->a)[__builtin_ctz(mask)];
  const bf_emu_barrier *barrier = &warp->block->barrier[number % BF_EMU_BARRIERS];
  if (op->small[0] == RED_POPC) {
    uint32_t *sum = BF_LANES(uint32_t, op->d);
    BF_EACH_LANE(mask, lane) sum[lane] = barrier->result_sum;
  } else {
    bool is_true = op->small[0] == RED_AND ? barrier->result_and : barrier->result_or;
    bf_emu_set_predicate(warp, op->d, mask, is_true ? UINT32_MAX : 0);
  }
  return op + 1;
}

/* bar.warp.sync of the lanes in a. */
static const bf_emu_op *step_warp_barrier(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  if (mask == 0)
    return op + 1;
  uint32_t members = BF_LANES(uint32_t, op->a)[__builtin_ctz(mask)];
  return bf_emu_meet_by_mask(warp, op, mask, members) ? op + 1 : NULL;
}

/* ---- Special registers and addresses ---- */

/* The number of a block among all of its launch. */
static uint64_t number_of(const bf_emu_launch *launch, const bf_emu_block *block) {
  return block->id[0] + launch->grid[0] * (block->id[1] + (uint64_t)launch->grid[1] * block->id[2]);
}

/* The value of a special register that is the same for all lanes. */
static uint64_t uniform_special(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_ptx_special special = (bf_ptx_special)op->a;
  unsigned component = op->b;
  const bf_emu_flight *flight = warp->worker->flight;
  const bf_emu_launch *launch = flight->launch;
  unsigned k = component < 3 ? component : 0;
  switch (special) {
  case BF_PTX_SPECIAL_NTID:
    return component < 3 ? launch->block[k] : 0;
  case BF_PTX_SPECIAL_CTAID:
    return component < 3 ? warp->block->id[k] : 0;
  case BF_PTX_SPECIAL_NCTAID:
    return component < 3 ? launch->grid[k] : 0;
  /* Without clusters every block is one by itself. */
  case BF_PTX_SPECIAL_CLUSTERID:
    return component < 3 ? warp->block->id[k] / flight->cluster[k] : 0;
  case BF_PTX_SPECIAL_NCLUSTERID:
    return component < 3 ? launch->grid[k] / flight->cluster[k] : 0;
  case BF_PTX_SPECIAL_CLUSTER_CTAID:
    return component < 3 ? warp->block->id[k] % flight->cluster[k] : 0;
  case BF_PTX_SPECIAL_CLUSTER_NCTAID:
    return component < 3 ? flight->cluster[k] : 0;
  case BF_PTX_SPECIAL_CLUSTER_CTARANK:
    return warp->block->rank;
  case BF_PTX_SPECIAL_CLUSTER_NCTARANK:
    return (uint64_t)flight->cluster[0] * flight->cluster[1] * flight->cluster[2];
  case BF_PTX_SPECIAL_IS_EXPLICIT_CLUSTER:
    return flight->is_clustered;
  case BF_PTX_SPECIAL_WARPID:
    return warp->index;
  case BF_PTX_SPECIAL_NWARPID:
    return BF_EMU_MOST_THREADS / BF_EMU_LANES;
  case BF_PTX_SPECIAL_SMID:
    return launch->multiprocessors ? number_of(launch, warp->block) % launch->multiprocessors
                                   : warp->worker->index;
  case BF_PTX_SPECIAL_NSMID:
    return launch->multiprocessors ? launch->multiprocessors : flight->workers;
  case BF_PTX_SPECIAL_CLOCK:
  case BF_PTX_SPECIAL_CLOCK64:
    bf_emu_touch_more(flight);
    return bf_emu_clock_cycles(warp, op);
  case BF_PTX_SPECIAL_GLOBALTIMER:
  case BF_PTX_SPECIAL_GLOBALTIMER_LO:
    bf_emu_touch_more(flight);
    return bf_emu_clock_nanoseconds(warp, op);
  case BF_PTX_SPECIAL_GLOBALTIMER_HI:
    bf_emu_touch_more(flight);
    return bf_emu_clock_nanoseconds(warp, op) >> 32;
  case BF_PTX_SPECIAL_TOTAL_SMEM_SIZE:
  case BF_PTX_SPECIAL_AGGR_SMEM_SIZE:
    return flight->reserved_at;
  case BF_PTX_SPECIAL_RESERVED_SMEM_BEGIN:
    return flight->reserved_at;
  case BF_PTX_SPECIAL_RESERVED_SMEM_END:
    return flight->shared_bytes;
  case BF_PTX_SPECIAL_RESERVED_SMEM_CAP:
    return BF_EMU_RESERVED_BYTES;
  case BF_PTX_SPECIAL_RESERVED_SMEM: /* its two parts: which begins where is not documented */
    return flight->reserved_at + (op->c ? BF_EMU_RESERVED_BYTES / 2 : 0);
  case BF_PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
    return launch->dynamic_shared_bytes;
  default:
    return 0;
  }
}

/* %envreg and its number. */
static uint64_t environment(const bf_emu_warp *warp, uint32_t number) {
  const uint32_t *value = warp->worker->flight->launch->environment;
  return value && number < 32 ? value[number] : 0;
}

/* The value of a special register in one lane. */
static uint64_t lane_special(const bf_emu_warp *warp, const bf_emu_op *op, unsigned lane) {
  uint32_t bit = UINT32_C(1) << lane;
  switch ((bf_ptx_special)op->a) {
  case BF_PTX_SPECIAL_TID:
    return op->b < 3 ? warp->tid[op->b][lane] : 0;
  case BF_PTX_SPECIAL_LANEID:
    return lane;
  case BF_PTX_SPECIAL_LANEMASK_EQ:
    return bit;
  case BF_PTX_SPECIAL_LANEMASK_LT:
    return bit - 1;
  case BF_PTX_SPECIAL_LANEMASK_LE:
    return bit | (bit - 1);
  case BF_PTX_SPECIAL_LANEMASK_GT:
    return ~(bit | (bit - 1));
  default:
    return ~(bit - 1); /* LANEMASK_GE */
  }
}

static bool is_per_lane(bf_ptx_special special) {
  return special == BF_PTX_SPECIAL_TID || special == BF_PTX_SPECIAL_LANEID ||
         (special >= BF_PTX_SPECIAL_LANEMASK_EQ && special <= BF_PTX_SPECIAL_LANEMASK_GT);
}

/* d = value in all lanes, as small[0] bytes; two numbers are stored at once. */
static void set_all(bf_emu_warp *warp, const bf_emu_op *op, uint64_t value) {
  typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
  pair *to = (pair *)BF_LANES(uint64_t, op->d);
  uint64_t half = op->small[0] == 8 ? value : (uint64_t)(uint32_t)value << 32 | (uint32_t)value;
  unsigned pairs = BF_EMU_LANES * (op->small[0] == 8 ? 8u : 4u) / sizeof *to;
  for (unsigned i = 0; i < pairs; i++)
    to[i] = (pair){half, half};
}

/* d = special register a, component b, as small[0] bytes. */
const bf_emu_op *bf_emu_step_special(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t *narrow = BF_LANES(uint32_t, op->d);
  uint64_t *wide = BF_LANES(uint64_t, op->d);
  bool lanes = is_per_lane((bf_ptx_special)op->a);
  if (op->a == BF_PTX_SPECIAL_TID && op->b < 3 && op->small[0] == 4) {
    memcpy(narrow, warp->tid[op->b], sizeof warp->tid[0]);
    return op + 1;
  }
  if (!lanes) {
    set_all(warp, op,
            op->a == BF_PTX_SPECIAL_ENVREG ? environment(warp, op->c) : uniform_special(warp, op));
    return op + 1;
  }
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint64_t own = lane_special(warp, op, lane);
    if (op->small[0] == 8)
      wide[lane] = own;
    else
      narrow[lane] = (uint32_t)own;
  }
  return op + 1;
}

const bf_emu_op *bf_emu_step_local_address(bf_emu_warp *warp, const bf_emu_op *op) {
  set_all(warp, op, warp->frame->local_base + op->immediate);
  return op + 1;
}

const bf_emu_op *bf_emu_step_parameter_address(bf_emu_warp *warp, const bf_emu_op *op) {
  set_all(warp, op, (uintptr_t)warp->worker->flight->parameters + op->immediate);
  return op + 1;
}

/* ---- Finding the operation of an instruction ---- */

bool bf_emu_ends_at(const bf_ptx_function *function, uint32_t index) {
  if (!function->is_entry)
    return false;
  if (index >= function->instructions)
    return true;
  const bf_ptx_instruction *instruction = function->instruction[index];
  return !instruction->guard &&
         (instruction->opcode == BF_PTX_OP_RET || instruction->opcode == BF_PTX_OP_EXIT);
}

/* A branch that can go to targets, given as labels. */
static bf_emu_branch *make_branch(bf_emu_decoder *decoder, uint32_t targets) {
  bf_emu_branch *branch = bf_emu_detail(decoder, sizeof *branch);
  if (!branch)
    return NULL;
  branch->targets = targets;
  branch->target_instruction = bf_emu_detail(decoder, targets * sizeof(uint32_t));
  branch->target = bf_emu_detail(decoder, targets * sizeof *branch->target);
  const bf_ptx_flow *flow = decoder->flow;
  uint32_t meet = flow->block[flow->block_of[decoder->index]].post_dominator;
  branch->join_instruction =
      meet == flow->blocks ? decoder->function->instructions : flow->block[meet].first;
  branch->ends = bf_emu_ends_at(decoder->function, branch->join_instruction);
  return decoder->failed ? NULL : branch;
}

static bool label_of(const bf_ptx_operand *operand, uint32_t *instruction) {
  if (operand->kind != BF_PTX_SYMBOL || operand->symbol->kind != BF_PTX_SYMBOL_LABEL)
    return false;
  *instruction = operand->symbol->instruction;
  return true;
}

static bool select_branch(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op) {
  bf_emu_branch *branch = make_branch(decoder, 1);
  if (!branch)
    return true;
  if (!label_of(&instruction->operand[0], &branch->target_instruction[0]))
    return bf_emu_refuse(decoder, "branch to what is no label");
  op->run = bf_emu_step_branch;
  op->detail = branch;
  return true;
}

static bool select_branch_list(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                               bf_emu_op *op) {
  const bf_ptx_operand *list = &instruction->operand[1];
  if (list->kind != BF_PTX_SYMBOL || list->symbol->kind != BF_PTX_SYMBOL_TARGETS)
    return bf_emu_refuse(decoder, "no list of targets");
  const bf_ptx_targets *targets = list->symbol->targets;
  bf_emu_branch *branch = make_branch(decoder, targets->count);
  if (!branch)
    return true;
  for (unsigned i = 0; i < targets->count; i++)
    if (!label_of(&targets->item[i], &branch->target_instruction[i]))
      return bf_emu_refuse(decoder, "branch to what is no label");
  op->a = bf_emu_source(decoder, &instruction->operand[0], BF_PTX_U32);
  op->run = bf_emu_step_branch_list;
  op->detail = branch;
  return true;
}

/* ret: the end of the thread in a kernel, a branch to the end in a function. */
static bool select_return(bf_emu_decoder *decoder, bf_emu_op *op) {
  if (decoder->function->is_entry) {
    op->run = bf_emu_step_exit;
    return true;
  }
  bf_emu_branch *branch = make_branch(decoder, 1);
  if (!branch)
    return true;
  branch->target_instruction[0] = decoder->function->instructions;
  op->run = bf_emu_step_branch;
  op->detail = branch;
  return true;
}

/* The regions behind the names in a list of arguments. */
static bf_emu_region *regions_of(bf_emu_decoder *decoder, const bf_ptx_operand *list,
                                 unsigned *count) {
  *count = list ? list->count : 0;
  bf_emu_region *found = bf_emu_detail(decoder, *count * sizeof *found);
  for (unsigned i = 0; found && i < *count; i++) {
    const bf_ptx_operand *item = &list->item[i];
    const bf_emu_region *region =
        item->kind == BF_PTX_SYMBOL && item->symbol->kind == BF_PTX_SYMBOL_VARIABLE
            ? bf_emu_region_of(decoder, item->symbol->variable)
            : NULL;
    if (!region) {
      bf_emu_refuse(decoder, "argument that is no .param variable");
      return found;
    }
    found[i] = *region;
  }
  return found;
}

/* Finds what a call by name leads to. */
static bool select_callee(bf_emu_decoder *decoder, const bf_ptx_function *function,
                          bf_emu_call *call, bf_emu_op *op) {
  call->function = function;
  op->run = step_call;
  for (bf_emu_code *code = decoder->kernel->code; code; code = code->next)
    if (code->function == function)
      call->code = code;
  if (call->code)
    return true;
  call->builtin = bf_emu_builtin_find(function->name);
  op->run = step_builtin;
  if (call->builtin)
    return true;
  char why[100];
  snprintf(why, sizeof why, "'%.70s' is not defined here", function->name);
  return bf_emu_refuse(decoder, why);
}

/* Lets lanes whose guard does not hold go round the call that follows; all meet behind it. */
static void branch_over(bf_emu_decoder *decoder) {
  bf_emu_branch *branch = make_branch(decoder, 1);
  bf_emu_op *over = branch ? bf_emu_emit(decoder) : NULL;
  if (!over)
    return;
  branch->target_instruction[0] = branch->join_instruction = decoder->index + 1;
  branch->ends = false;
  over->run = bf_emu_step_branch;
  over->detail = branch;
  over->guard_flip = ~over->guard_flip;
}

static bool select_call(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  unsigned at = instruction->operand[0].kind == BF_PTX_ARGUMENTS ? 1 : 0;
  const bf_ptx_operand *callee = &instruction->operand[at];
  bf_emu_call *call = bf_emu_detail(decoder, sizeof *call);
  if (!call)
    return true;
  call->result = regions_of(decoder, at ? &instruction->operand[0] : NULL, &call->returns);
  call->argument =
      regions_of(decoder, at + 1 < instruction->operands ? &instruction->operand[at + 1] : NULL,
                 &call->arguments);
  op->detail = call;
  bool is_pointer = callee->kind == BF_PTX_REGISTER;
  if (instruction->guard)
    branch_over(decoder);
  op->guard = BF_EMU_TRUE;
  op->guard_flip = 0;
  if (!is_pointer && (callee->kind != BF_PTX_SYMBOL ||
                      callee->symbol->kind != BF_PTX_SYMBOL_FUNCTION || !callee->symbol->function))
    return bf_emu_refuse(decoder, "call of what is no function");
  if (!is_pointer)
    return select_callee(decoder, callee->symbol->function, call, op);
  /* The join behind it comes first in the list, because op is appended after this. */
  op->a = bf_emu_source(decoder, callee, BF_PTX_U64);
  op->run = step_call_pointer;
  bf_emu_op *added = bf_emu_emit(decoder);
  if (added)
    *added = *op;
  *op = (bf_emu_op){.run = bf_emu_step_join, .guard = BF_EMU_TRUE};
  return true;
}

/* The numbers of a barrier and its threads; the predicate of the .red forms. */
static bool select_barrier(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  if (bf_ptx_has(instruction, "warp")) {
    op->a = bf_emu_source(decoder, &instruction->operand[0], BF_PTX_U32);
    op->small[2] = BF_EMU_ALIKE_BARRIER;
    op->run = step_warp_barrier;
    return true;
  }
  bool is_red = bf_ptx_has(instruction, "red");
  unsigned at = is_red ? 1 : 0;
  unsigned last = instruction->operands - (is_red ? 1 : 0);
  op->run = step_barrier;
  op->a = bf_emu_source(decoder, &instruction->operand[at], BF_PTX_U32);
  op->b = at + 1 < last ? bf_emu_source(decoder, &instruction->operand[at + 1], BF_PTX_U32)
                        : bf_emu_constant(decoder, 0, 4);
  op->c = BF_EMU_FALSE;
  op->small[0] = bf_ptx_has(instruction, "arrive") ? ARRIVE : SYNC;
  if (!is_red)
    return true;
  op->c = bf_emu_predicate(decoder, &instruction->operand[last], &op->e);
  op->small[0] = bf_ptx_has(instruction, "popc")  ? RED_POPC
                 : bf_ptx_has(instruction, "and") ? RED_AND
                                                  : RED_OR;
  bf_emu_op *added = bf_emu_emit(decoder);
  if (added)
    *added = *op;
  op->run = bf_emu_step_barrier_result;
  op->d = bf_emu_destination(decoder, &instruction->operand[0]);
  return true;
}

bool bf_emu_select_control(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  switch (instruction->opcode) {
  case BF_PTX_OP_BRA:
    return select_branch(decoder, instruction, op);
  case BF_PTX_OP_BRX:
    return select_branch_list(decoder, instruction, op);
  case BF_PTX_OP_CALL:
    return select_call(decoder, instruction, op);
  case BF_PTX_OP_RET:
    return select_return(decoder, op);
  case BF_PTX_OP_EXIT:
    op->run = bf_emu_step_exit;
    return true;
  case BF_PTX_OP_TRAP:
    op->run = step_trap;
    return true;
  case BF_PTX_OP_BAR:
  case BF_PTX_OP_BARRIER:
    return !bf_ptx_has(instruction, "cluster") && select_barrier(decoder, instruction, op);
  default:
    return false;
  }
}

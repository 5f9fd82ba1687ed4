/* The pipeline of a multiprocessor since Fermi: schedulers with warps of their own, in-order issue
 * within a warp, a scoreboard, units with lanes and latencies, and one load/store unit that serves
 * shared and global memory.
 *
 * Each warp is in one of four states. READY: all registers of its next instruction are there; it
 * competes for issue. TIMED: it will be ready at a known cycle; it sleeps in a wheel. LOADING: it
 * needs the data of a global load. WAITING: at a barrier. Only warps that are ready cost time of
 * the host, and cycles in which no warp can issue are skipped.
 *
 * For each register of each warp the scoreboard holds the cycle from which it can be read; while a
 * global load is in flight it holds the number of the load instead. */
#include "sim/inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WHEEL = 1024, TICKS = 256 }; /* cycles of the wheel; parts of a cycle that units count in */
enum { SETS = 64, NO_SLOT = 64 };
enum { LOCK_HOLDS_LOOP = 1 }; /* the second word of lock_holds */

/* Cycles from here on stand for loads in flight; the last one for all loads that are owed. */
#define LOADING_FROM (UINT64_C(1) << 62)
#define LOADING_OWED UINT64_MAX

enum { OWED = 16, LATE = 64 };

typedef enum state { READY, TIMED, LOADING, WAITING } state;

typedef struct scored {
  state state;
  uint64_t wake;      /* TIMED: the cycle */
  uint64_t loading;   /* LOADING: what the scoreboard holds for the load */
  uint64_t earliest;  /* LOADING: and not before that cycle */
  uint64_t shared_at; /* when the data of its last shared load is there */
  uint64_t *ready;    /* per register */
  /* Instructions whose operands were not there and that others have passed (lookahead): the cycles
   * at which operands will be there, in a ring, and the loads that must come. */
  uint64_t late[LATE], late_until; /* late_until: when all of them are there */
  unsigned late_first, late_count;
  unsigned owed_count, owed_instructions;
  uint64_t owed[OWED];
  unsigned owed_by[OWED]; /* instructions that wait for that load */
} scored;

typedef struct issuer {
  uint64_t mask;     /* slots that belong to it */
  uint64_t turn;     /* cycle of its next turn */
  unsigned last;     /* slot that issued last; NO_SLOT: none yet */
  uint64_t active;   /* two-level: slots in the first group */
  uint64_t way_free; /* ticks: when another of its accesses can go to memory */
  bool way_has_conflicts;
  bf_sim_stall blocked_by;
  unsigned count[4]; /* its warps by state */
} issuer;

typedef struct board {
  scored warp[64];
  uint64_t *registers; /* of all slots */
  issuer scheduler[8];
  unsigned schedulers, next_scheduler; /* the one whose turn is being taken in this cycle */
  uint64_t ready;                      /* slots */
  uint64_t wheel[WHEEL];
  uint64_t filled[WHEEL / 64];            /* bits: entries of the wheel that are not empty */
  uint64_t unit_free[SETS][BF_SIM_UNITS]; /* ticks */
  uint64_t unit_ticks[BF_SIM_UNITS];      /* that an instruction takes its unit */
  uint64_t unit_cycles[BF_SIM_UNITS];     /* to the result */
  uint64_t memory_free;                   /* ticks: the load/store unit */
  uint64_t *queue;                        /* ticks at which queued accesses start */
  uint64_t queue_first;                   /* the earliest of them */
  unsigned queue_count;
  uint64_t blocked_until; /* ticks: when the unit is free that a ready warp waits for */
  bool queue_has_conflicts;
} board;

static uint64_t ticks(double cycles) { return (uint64_t)llround(cycles * TICKS); }

static unsigned scheduler_of(const board *own, const bf_sim_warp *warp) {
  return warp->slot % own->schedulers;
}

/* ---- The wheel ---- */

static void sleep_until(board *own, unsigned slot, uint64_t now, uint64_t wake) {
  uint64_t at = (wake - now < WHEEL ? wake : now + WHEEL - 1) % WHEEL;
  own->wheel[at] |= UINT64_C(1) << slot;
  own->filled[at / 64] |= UINT64_C(1) << at % 64;
}

/* The first cycle after now with somebody in it; UINT64_MAX: none. */
static uint64_t next_wake(const board *own, uint64_t now) {
  unsigned start = (unsigned)((now + 1) % WHEEL);
  for (unsigned i = 0; i <= WHEEL / 64; i++) {
    unsigned word = (start / 64 + i) % (WHEEL / 64);
    uint64_t bits = own->filled[word];
    if (i == 0)
      bits &= ~UINT64_C(0) << start % 64;
    else if (i == WHEEL / 64)
      bits &= start % 64 ? (UINT64_C(1) << start % 64) - 1 : 0;
    if (bits) {
      unsigned at = word * 64 + (unsigned)__builtin_ctzll(bits);
      return now + 1 + (at + WHEEL - start) % WHEEL;
    }
  }
  return UINT64_MAX;
}

/* ---- States ---- */

static void set_state(bf_sim_sm *sm, bf_sim_warp *warp, state next) {
  board *own = sm->core_data;
  scored *score = &own->warp[warp->slot];
  issuer *its = &own->scheduler[scheduler_of(own, warp)];
  uint64_t bit = UINT64_C(1) << warp->slot;
  its->count[score->state]--;
  its->count[next]++;
  score->state = next;
  if (next == READY)
    own->ready |= bit;
  else
    own->ready &= ~bit;
  if (sm->gpu->scheduler != BF_SIM_TWO_LEVEL)
    return;
  if (next == LOADING || next == WAITING) /* leaves the first group */
    its->active &= ~bit;
}

/* Wakes those whose cycle has come. */
static void wake_due(bf_sim_sm *sm) {
  board *own = sm->core_data;
  unsigned at = (unsigned)(sm->now % WHEEL);
  uint64_t due = own->wheel[at];
  if (!due)
    return;
  own->wheel[at] = 0;
  own->filled[at / 64] &= ~(UINT64_C(1) << at % 64);
  for (; due; due &= due - 1) {
    unsigned slot = (unsigned)__builtin_ctzll(due);
    scored *score = &own->warp[slot];
    if (!sm->warp[slot].emu || score->state != TIMED)
      continue;
    if (score->wake > sm->now)
      sleep_until(own, slot, sm->now, score->wake);
    else
      set_state(sm, &sm->warp[slot], READY);
  }
}

/* When the registers that an instruction names are free; at least `earliest`. A load that must come
 * first is *loading; 0: none. */
static uint64_t registers_ready(const scored *score, const bf_sim_op *op, uint64_t earliest,
                                uint64_t *loading) {
  uint64_t ready = earliest;
  unsigned count = (unsigned)op->sources + op->results;
  *loading = 0;
  for (unsigned i = 0; i < count; i++) {
    uint64_t own = score->ready[op->source[i]];
    if (own >= LOADING_FROM)
      *loading = own;
    else if (own > ready)
      ready = own;
  }
  return ready;
}

/* Forgets instructions whose operands are there. */
static void forget_late(scored *score, uint64_t now) {
  while (score->late_count && score->late[score->late_first] <= now) {
    score->late_first = (score->late_first + 1) % LATE;
    score->late_count--;
  }
}

static bool ends_block(const bf_sim_op *op) {
  return op->unit == BF_SIM_UNIT_BRANCH || op->unit == BF_SIM_UNIT_BARRIER || op->is_ordered ||
         op->reads_clock;
}

/* Whether those behind an instruction that must wait may pass it: arithmetic and stores, but not
 * loads, whose data would come later, nor what ends the block of code. */
static bool may_be_passed(const bf_sim_sm *sm, scored *score, const bf_sim_op *op) {
  bool loads = op->unit == BF_SIM_UNIT_MEMORY && op->results > 0;
  if (sm->gpu->lookahead == 0 || loads || ends_block(op) || score->owed_count == OWED)
    return false;
  forget_late(score, sm->now);
  return score->late_count + score->owed_instructions < sm->gpu->lookahead;
}

/* Notes an instruction that is passed: its operands are there at cycle `ready`, and a load must
 * come first (0: none). */
static void be_passed(scored *score, uint64_t ready, uint64_t loading) {
  if (ready > score->late_until)
    score->late_until = ready;
  if (!loading) {
    score->late[(score->late_first + score->late_count++) % LATE] = ready;
    return;
  }
  unsigned i = 0;
  while (i < score->owed_count && score->owed[i] != loading)
    i++;
  if (i == score->owed_count) {
    score->owed[score->owed_count++] = loading;
    score->owed_by[i] = 0;
  }
  score->owed_by[i]++;
  score->owed_instructions++;
}

/* A load has come. */
static void pay(scored *score, uint64_t loading) {
  for (unsigned i = 0; i < score->owed_count; i++)
    if (score->owed[i] == loading) {
      score->owed_instructions -= score->owed_by[i];
      score->owed_count--;
      score->owed[i] = score->owed[score->owed_count];
      score->owed_by[i] = score->owed_by[score->owed_count];
      return;
    }
}

/* Puts a warp into the state that its next instruction asks for; it cannot issue before earliest.
 */
static void settle(bf_sim_sm *sm, bf_sim_warp *warp, uint64_t earliest) {
  board *own = sm->core_data;
  scored *score = &own->warp[warp->slot];
  if (warp->turn == BF_EMU_TURN_WAITS) {
    set_state(sm, warp, WAITING);
    return;
  }
  uint64_t loading, ready = registers_ready(score, warp->next, earliest, &loading);
  if (ends_block(warp->next)) { /* what was passed must have happened */
    ready = ready > score->late_until ? ready : score->late_until;
    loading = score->owed_count ? LOADING_OWED : loading;
  } else if ((loading || ready > earliest) && may_be_passed(sm, score, warp->next)) {
    loading = 0;
    ready = earliest;
  }
  if (loading) {
    score->loading = loading;
    score->earliest = earliest;
    set_state(sm, warp, LOADING);
  } else if (ready > sm->now) {
    score->wake = ready;
    set_state(sm, warp, TIMED);
    sleep_until(own, warp->slot, sm->now, ready);
  } else
    set_state(sm, warp, READY);
}

/* ---- Instructions that take no time ---- */

/* Sets all results of an instruction. */
static void set_results(scored *score, const bf_sim_op *op, uint64_t ready) {
  for (unsigned i = 0; i < op->results; i++)
    score->ready[op->source[op->sources + i]] = ready;
}

/* The later of two entries of the scoreboard; of two loads the one issued later. */
static uint64_t later(const bf_sim_sm *sm, uint64_t a, uint64_t b) {
  if (a < LOADING_FROM || b < LOADING_FROM)
    return a > b ? a : b;
  return sm->load[a - LOADING_FROM].issued > sm->load[b - LOADING_FROM].issued ? a : b;
}

/* Executes what the hardware does not have as instructions: their results are there when their
 * sources are. An absorbed shared access has its data when the access that leads it has. */
static void run_free(bf_sim_sm *sm, bf_sim_warp *warp) {
  board *own = sm->core_data;
  scored *score = &own->warp[warp->slot];
  while (warp->emu && warp->turn == BF_EMU_TURN_READY && warp->next->unit == BF_SIM_UNIT_NONE &&
         !warp->next->is_ordered && !warp->next->may_free_others && !sm->is_stopped) {
    const bf_sim_op *op = warp->next;
    uint64_t ready = op->is_absorbed ? score->shared_at : 0;
    for (unsigned i = 0; i < op->sources && !op->is_absorbed; i++)
      ready = later(sm, score->ready[op->source[i]], ready);
    bf_sim_execute(sm, warp);
    set_results(score, op, ready);
    bf_sim_look(sm, warp);
  }
}

/* Forgets a warp that has left its slot. */
static void forget(bf_sim_sm *sm, const bf_sim_warp *warp) {
  board *own = sm->core_data;
  uint64_t bit = UINT64_C(1) << warp->slot;
  issuer *its = &own->scheduler[scheduler_of(own, warp)];
  its->count[own->warp[warp->slot].state]--;
  its->active &= ~bit;
  own->ready &= ~bit;
}

/* The warp has executed an instruction: looks at what comes next. */
static void go_on(bf_sim_sm *sm, bf_sim_warp *warp, uint64_t earliest) {
  if (sm->is_stopped)
    return;
  bf_sim_look(sm, warp);
  run_free(sm, warp);
  if (warp->emu)
    settle(sm, warp, earliest);
  else
    forget(sm, warp);
}

/* The cycle at which warps of a block go on when the last one has come to a barrier now. */
static uint64_t behind_barrier(const bf_sim_sm *sm) {
  double cycles =
      (double)sm->gpu->barrier_cycles + sm->gpu->barrier_warp_cycles * sm->warps_per_block;
  return sm->now + (uint64_t)cycles;
}

static void freed(bf_sim_sm *sm, bf_sim_warp *warp) {
  run_free(sm, warp);
  if (warp->emu)
    settle(sm, warp, behind_barrier(sm));
  else
    forget(sm, warp);
}

/* ---- Memory ---- */

/* Forgets queued accesses that have started. */
static void drain_queue(bf_sim_sm *sm, board *own) {
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
  if (start > now && own->queue_count < sm->gpu->shared_queue) {
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
                                  bool is_hashed) {
  const bf_count *count = &touched->shared;
  uint32_t plain = count->wavefronts_load + count->wavefronts_store;
  uint32_t atomic = count->wavefronts_atomic;
  plain = (plain + (uint32_t)gpu->shared_ports - 1) / (uint32_t)gpu->shared_ports;
  double each = gpu->shared_wavefront_cycles;
  double back = gpu->shared_return_cycles > each ? gpu->shared_return_cycles : each;
  shared_cost cost = {.result = is_hashed ? (double)gpu->hash_cycles : 0};
  if (touched->has_locks) {
    double loop = lock_loop_cycles(gpu, count);
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

/* Times a shared access that was executed: when its result is there; *busy is when the warp can go
 * on. */
static uint64_t time_shared(bf_sim_sm *sm, bf_sim_warp *warp, uint64_t *busy) {
  board *own = sm->core_data;
  const bf_count *count = &sm->touched.shared;
  shared_cost cost = cost_of_shared(sm->gpu, &sm->touched, sm->settings->hash != NULL);
  issuer *its = &own->scheduler[scheduler_of(own, warp)];
  uint64_t now = sm->now * TICKS;
  uint64_t earliest = its->way_free > now ? its->way_free : now;
  uint64_t start = take_memory(sm, own, earliest, ticks(cost.memory), count->conflicts > 0);
  its->way_free = earliest + ticks(cost.scheduler);
  its->way_has_conflicts = count->conflicts > 0;
  if (warp->next->site != UINT32_MAX)
    sm->count.site[warp->next->site].waited_cycles += (start - now) / TICKS;
  uint64_t ready = (uint64_t)ceil((double)start / TICKS + cost.result);
  if (cost.holds_warp)
    *busy = ready;
  return ready;
}

/* Times an instruction on memory that was executed; *busy is when the warp can go on. Returns when
 * its results are there, or what stands for a load in flight. */
static uint64_t time_memory(bf_sim_sm *sm, bf_sim_warp *warp, const bf_sim_op *op, uint64_t *busy) {
  board *own = sm->core_data;
  const bf_sim_touched *touched = &sm->touched;
  uint64_t ready = sm->now + (op->is_memory ? sm->gpu->l1_cycles : sm->gpu->shared_cycles);
  if (touched->lines) {
    uint64_t start = take_memory(sm, own, sm->now * TICKS,
                                 ticks(sm->gpu->global_line_cycles * touched->lines), false) /
                     TICKS;
    const bf_sim_load *load = bf_sim_send(sm, warp, op, start);
    ready = load ? LOADING_FROM + (uint64_t)(load - sm->load) : start + sm->gpu->l1_cycles;
  }
  if (touched->shared_accesses) {
    uint64_t shared = time_shared(sm, warp, busy);
    own->warp[warp->slot].shared_at = shared;
    if (!touched->lines)
      ready = shared;
  } else if (!touched->lines) /* local and constant memory, exchange between lanes */
    take_memory(sm, own, sm->now * TICKS, TICKS, false);
  return ready;
}

/* ---- Issue ---- */

/* A set of units in which the unit is free at the latest by now; SETS: none, and *free_at is when
 * one will be. */
static unsigned free_set(const bf_sim_sm *sm, const board *own, unsigned scheduler, unsigned unit,
                         uint64_t *free_at) {
  uint64_t now = sm->now * TICKS;
  unsigned first = scheduler, end = scheduler + 1;
  if (sm->gpu->units_per_sm) {
    first = 0;
    end = (unsigned)sm->gpu->units_per_sm;
  }
  *free_at = UINT64_MAX;
  for (unsigned i = first; i < end; i++) {
    if (own->unit_free[i][unit] <= now)
      return i;
    if (own->unit_free[i][unit] < *free_at)
      *free_at = own->unit_free[i][unit];
  }
  return SETS;
}

static void note_blocked(board *own, unsigned scheduler, uint64_t until, bf_sim_stall reason) {
  if (until < own->blocked_until)
    own->blocked_until = until;
  own->scheduler[scheduler].blocked_by = reason;
}

/* Whether the load/store unit takes another instruction; notes what keeps it. */
static bool memory_takes(bf_sim_sm *sm, board *own, unsigned scheduler, const bf_sim_op *op) {
  uint64_t way_free = own->scheduler[scheduler].way_free;
  if (way_free > sm->now * TICKS) {
    note_blocked(own, scheduler, way_free,
                 own->scheduler[scheduler].way_has_conflicts ? BF_SIM_CONFLICT : BF_SIM_UNIT);
    return false;
  }
  if (own->queue_count >= sm->gpu->shared_queue) {
    note_blocked(own, scheduler, own->queue_first,
                 own->queue_has_conflicts ? BF_SIM_CONFLICT : BF_SIM_UNIT);
    return false;
  }
  if (op->is_memory && !op->is_shared && !bf_sim_has_room(sm)) {
    note_blocked(own, scheduler, UINT64_MAX, BF_SIM_OTHER);
    return false;
  }
  return true;
}

/* Whether the next instruction of a ready warp can issue now. */
static bool can_issue(bf_sim_sm *sm, unsigned scheduler, const bf_sim_warp *warp) {
  board *own = sm->core_data;
  unsigned unit = warp->next->unit;
  uint64_t free_at;
  if (unit == BF_SIM_UNIT_MEMORY)
    return memory_takes(sm, own, scheduler, warp->next);
  if (unit == BF_SIM_UNIT_NONE || unit == BF_SIM_UNIT_BRANCH || unit == BF_SIM_UNIT_BARRIER)
    return true;
  if (free_set(sm, own, scheduler, unit, &free_at) < SETS)
    return true;
  note_blocked(own, scheduler, free_at, BF_SIM_UNIT);
  return false;
}

/* Issues the next instruction of a warp. False: it must wait for other multiprocessors. */
static bool issue(bf_sim_sm *sm, unsigned scheduler, bf_sim_warp *warp) {
  board *own = sm->core_data;
  const bf_sim_op *op = warp->next;
  scored *score = &own->warp[warp->slot];
  if (bf_sim_must_pause(sm, op))
    return false;
  uint32_t instruction = warp->instruction;
  uint64_t busy = sm->now + sm->gpu->issue_cycles * op->slots;
  uint64_t ready = sm->now + own->unit_cycles[op->unit] + (op->slots - 1) * sm->gpu->issue_cycles;
  bf_sim_execute(sm, warp);
  if (op->unit == BF_SIM_UNIT_MEMORY)
    ready = time_memory(sm, warp, op, &busy);
  else if (own->unit_ticks[op->unit]) {
    uint64_t free_at;
    unsigned set = free_set(sm, own, scheduler, op->unit, &free_at);
    if (set < SETS)
      own->unit_free[set][op->unit] = sm->now * TICKS + own->unit_ticks[op->unit] * op->slots;
  }
  if (op->unit == BF_SIM_UNIT_BRANCH)
    busy = sm->now + sm->gpu->branch_cycles;
  uint64_t loading, operands = registers_ready(score, op, 0, &loading);
  if (loading || operands > sm->now)
    be_passed(score, operands, loading);
  if (loading)
    ready = loading;
  else if (operands > sm->now)
    ready += operands - sm->now;
  set_results(score, op, ready);
  sm->count.issued++;
  own->scheduler[scheduler].last = warp->slot;
  uint64_t turn = sm->now + sm->gpu->issue_cycles * op->slots;
  if (own->scheduler[scheduler].turn < turn) {
    uint64_t from =
        own->scheduler[scheduler].turn > sm->now ? own->scheduler[scheduler].turn : sm->now;
    sm->count.turns += turn - from;
    own->scheduler[scheduler].turn = turn;
  }
  if (ready < LOADING_FROM) /* else when the data has come */
    bf_sim_tell(sm, warp, scheduler, instruction, sm->now, ready,
                sm->touched.shared.wavefronts_load + sm->touched.shared.wavefronts_store +
                    sm->touched.shared.wavefronts_atomic);
  uint64_t earliest = op->unit == BF_SIM_UNIT_BARRIER ? behind_barrier(sm) : busy;
  go_on(sm, warp, earliest);
  return true;
}

/* ---- Schedulers ---- */

static unsigned oldest_of(const bf_sim_sm *sm, uint64_t slots) {
  unsigned best = (unsigned)__builtin_ctzll(slots);
  for (uint64_t left = slots & (slots - 1); left; left &= left - 1) {
    unsigned slot = (unsigned)__builtin_ctzll(left);
    if (sm->warp[slot].age < sm->warp[best].age)
      best = slot;
  }
  return best;
}

/* The first slot behind last, going round; the first of all where last is NO_SLOT. */
static unsigned next_of(uint64_t slots, unsigned last) {
  uint64_t behind = last < 63 ? slots & (~UINT64_C(0) << (last + 1)) : 0;
  return (unsigned)__builtin_ctzll(behind ? behind : slots);
}

/* Fills the first group of a two-level scheduler from the warps that could go on. */
static void refill(const bf_sim_sm *sm, issuer *its, uint64_t ready) {
  while ((unsigned)__builtin_popcountll(its->active) < sm->gpu->active_warps) {
    uint64_t others = ready & ~its->active;
    if (!others)
      return;
    its->active |= UINT64_C(1) << oldest_of(sm, others);
  }
}

/* The warp among slots to look at first. */
static unsigned choose(bf_sim_sm *sm, issuer *its, uint64_t slots) {
  board *own = sm->core_data;
  uint64_t others = 0;
  switch ((bf_sim_scheduler)sm->gpu->scheduler) {
  case BF_SIM_GTO:
    if (its->last != NO_SLOT && slots >> its->last & 1)
      return its->last;
    return oldest_of(sm, slots);
  case BF_SIM_OLDEST:
    return oldest_of(sm, slots);
  case BF_SIM_TWO_LEVEL:
    refill(sm, its, slots);
    if (slots & its->active)
      return next_of(slots & its->active, its->last);
    break;
  case BF_SIM_CONFLICT_AWARE: /* accesses to shared memory last, while it is busy */
    if (own->memory_free <= sm->now * TICKS)
      break;
    for (uint64_t left = slots; left; left &= left - 1) {
      unsigned slot = (unsigned)__builtin_ctzll(left);
      if (!sm->warp[slot].next->is_shared)
        others |= UINT64_C(1) << slot;
    }
    if (others)
      return next_of(others, its->last);
    break;
  case BF_SIM_LRR:
    break;
  }
  return next_of(slots, its->last);
}

/* Lets the warp that has issued issue once more in the same turn, where it can. */
static bool issue_second(bf_sim_sm *sm, unsigned index, unsigned slot, bf_sim_unit first) {
  board *own = sm->core_data;
  bf_sim_warp *warp = &sm->warp[slot];
  scored *score = &own->warp[slot];
  if (!warp->emu || warp->turn != BF_EMU_TURN_READY || score->state != TIMED ||
      score->wake > sm->now + sm->gpu->issue_cycles || warp->next->unit == first ||
      warp->next->unit == BF_SIM_UNIT_NONE || warp->next->is_ordered || warp->next->may_free_others)
    return false;
  uint64_t loading;
  if (registers_ready(score, warp->next, 0, &loading) > sm->now || loading ||
      !can_issue(sm, index, warp))
    return false;
  set_state(sm, warp, READY);
  return issue(sm, index, warp);
}

/* A turn of a scheduler. False: the multiprocessor has paused. */
static bool take_turn(bf_sim_sm *sm, unsigned index) {
  board *own = sm->core_data;
  issuer *its = &own->scheduler[index];
  for (uint64_t slots = own->ready & its->mask; slots;) {
    unsigned slot = choose(sm, its, slots);
    if (can_issue(sm, index, &sm->warp[slot])) {
      const bf_sim_op *op = sm->warp[slot].next;
      if (!issue(sm, index, &sm->warp[slot]))
        return false;
      bool pairs = sm->gpu->dispatch > 1 && op->slots == 1 && op->unit != BF_SIM_UNIT_BRANCH &&
                   op->unit != BF_SIM_UNIT_BARRIER && !sm->is_stopped;
      if (pairs)
        issue_second(sm, index, slot, (bf_sim_unit)op->unit);
      return true;
    }
    slots &= ~(UINT64_C(1) << slot);
  }
  return true;
}

/* Why a scheduler did not issue. */
static bf_sim_stall reason_of(const board *own, const issuer *its) {
  if (own->ready & its->mask)
    return its->blocked_by;
  if (its->count[TIMED])
    return BF_SIM_DEPENDENCY;
  if (its->count[LOADING])
    return BF_SIM_GLOBAL;
  return its->count[WAITING] ? BF_SIM_BARRIER : BF_SIM_EMPTY;
}

/* ---- Time ---- */

/* One cycle. False: paused, or the launch has ended. */
static bool run_cycle(bf_sim_sm *sm, bool *issued_any) {
  board *own = sm->core_data;
  if (own->next_scheduler == 0) {
    bf_sim_take_answers(sm);
    wake_due(sm);
    if (own->queue_count)
      drain_queue(sm, own);
    own->blocked_until = UINT64_MAX;
  }
  for (; own->next_scheduler < own->schedulers; own->next_scheduler++) {
    issuer *its = &own->scheduler[own->next_scheduler];
    if (its->turn > sm->now)
      continue;
    its->blocked_by = BF_SIM_UNIT;
    uint64_t before = sm->count.issued;
    if (own->ready & its->mask && !take_turn(sm, own->next_scheduler))
      return false;
    if (sm->is_stopped || sm->failed)
      return false;
    if (sm->count.issued != before)
      *issued_any = true;
    else
      sm->count.stalls[reason_of(own, its)]++;
  }
  own->next_scheduler = 0;
  return true;
}

/* The next cycle at which a warp can become able to issue, from what is known here. */
static uint64_t next_cycle(const bf_sim_sm *sm) {
  const board *own = sm->core_data;
  uint64_t next = next_wake(own, sm->now);
  for (unsigned i = 0; i < own->schedulers; i++)
    if (own->ready & own->scheduler[i].mask) {
      uint64_t turn = own->scheduler[i].turn;
      uint64_t free_at =
          own->blocked_until == UINT64_MAX ? UINT64_MAX : (own->blocked_until + TICKS - 1) / TICKS;
      uint64_t at = turn > sm->now ? turn : free_at > sm->now ? free_at : sm->now + 1;
      if (at < next)
        next = at;
    }
  return next;
}

/* Counts the turns of the cycles that are skipped. */
static void count_skipped(bf_sim_sm *sm, uint64_t from, uint64_t to) {
  const board *own = sm->core_data;
  for (unsigned i = 0; i < own->schedulers; i++) {
    const issuer *its = &own->scheduler[i];
    uint64_t first = its->turn > from ? its->turn : from;
    if (first < to)
      sm->count.stalls[reason_of(own, its)] += to - first;
  }
}

static void run(bf_sim_sm *sm, uint64_t until) {
  while (sm->now < until) {
    bool issued = false;
    if (!run_cycle(sm, &issued))
      return;
    uint64_t next = sm->now + 1;
    if (!issued) {
      next = next_cycle(sm);
      uint64_t answer = bf_sim_next_answer(sm);
      if (answer < next)
        next = answer;
      if (next <= sm->now)
        next = sm->now + 1;
      if (next > until)
        next = until;
      count_skipped(sm, sm->now + 1, next);
    }
    sm->count.resident_warp_cycles += (next - sm->now) * sm->warps_alive;
    sm->now = next;
  }
}

static uint64_t next_event(const bf_sim_sm *sm) {
  const board *own = sm->core_data;
  if (own->ready)
    return sm->now;
  for (unsigned i = 0; i < own->schedulers; i++)
    if (own->scheduler[i].count[TIMED])
      return next_wake(own, sm->now - 1);
  return UINT64_MAX;
}

/* ---- Warps that come, loads that end ---- */

static void admit(bf_sim_sm *sm, bf_sim_warp *warp) {
  board *own = sm->core_data;
  scored *score = &own->warp[warp->slot];
  memset(score->ready, 0, sm->program->registers * sizeof *score->ready);
  score->shared_at = 0;
  score->late_count = score->owed_count = score->owed_instructions = 0;
  score->late_until = 0;
  score->state = WAITING;
  issuer *its = &own->scheduler[scheduler_of(own, warp)];
  its->count[WAITING]++;
  if (its->turn < sm->now)
    its->turn = sm->now;
  run_free(sm, warp);
  if (warp->emu)
    settle(sm, warp, sm->now);
  else
    forget(sm, warp);
}

static void loaded(bf_sim_sm *sm, bf_sim_load *load) {
  board *own = sm->core_data;
  bf_sim_warp *warp = load->warp;
  scored *score = &own->warp[warp->slot];
  uint64_t code = LOADING_FROM + (uint64_t)(load - sm->load);
  for (uint32_t i = 0; i < sm->program->registers; i++)
    if (score->ready[i] == code)
      score->ready[i] = sm->now;
  bf_sim_tell(sm, warp, warp->slot % (unsigned)sm->gpu->schedulers,
              (uint32_t)(load->op - sm->program->op), load->issued, sm->now, 0);
  pay(score, code);
  bool is_paid = score->loading == LOADING_OWED && score->owed_count == 0;
  if (score->state == LOADING && (score->loading == code || is_paid))
    settle(sm, warp, score->earliest > sm->now ? score->earliest : sm->now);
}

static void explain(const bf_sim_sm *sm, const bf_sim_warp *warp, bf_text *text) {
  const board *own = sm->core_data;
  const scored *score = &own->warp[warp->slot];
  switch (score->state) {
  case READY:
    bf_text_addf(text, "is ready");
    break;
  case TIMED:
    bf_text_addf(text, "is ready in cycle %llu", (unsigned long long)score->wake);
    break;
  case LOADING:
    bf_text_addf(text, "waits for global memory");
    break;
  case WAITING:
    bf_emu_warp_explain(warp->emu, text);
  }
}

static uint64_t warp_bytes(const bf_sim_sm *sm) {
  return sizeof(scored) + sm->program->registers * sizeof(uint64_t);
}

/* ---- Making and freeing ---- */

/* How long an instruction takes its unit, and when its result is there. */
static void set_units(const bf_sim_gpu *gpu, board *own) {
  const struct {
    bf_sim_unit unit;
    uint64_t lanes, cycles;
  } units[] = {{BF_SIM_UNIT_INT, gpu->int_lanes, gpu->int_cycles},
               {BF_SIM_UNIT_MUL, gpu->mul_lanes, gpu->mul_cycles},
               {BF_SIM_UNIT_FLOAT, gpu->float_lanes, gpu->float_cycles},
               {BF_SIM_UNIT_DOUBLE, gpu->double_lanes, gpu->double_cycles},
               {BF_SIM_UNIT_SPECIAL, gpu->special_lanes, gpu->special_cycles},
               {BF_SIM_UNIT_CONVERT, gpu->convert_lanes, gpu->convert_cycles},
               {BF_SIM_UNIT_MATRIX, gpu->matrix_lanes, gpu->matrix_cycles}};
  for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
    own->unit_ticks[units[i].unit] = ticks((double)BF_EMU_LANES / (double)units[i].lanes);
    own->unit_cycles[units[i].unit] = units[i].cycles;
  }
}

static void free_board(bf_sim_sm *sm) {
  board *own = sm->core_data;
  free(own->registers);
  free(own->queue);
  free(own);
}

static int create(bf_sim_sm *sm, bf_diagnostic *diagnostic) {
  board *own = sm->core_data = calloc(1, sizeof *own);
  if (!own)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  own->registers = calloc((size_t)sm->slots * sm->program->registers + 1, sizeof *own->registers);
  own->queue = calloc(sm->gpu->shared_queue, sizeof *own->queue);
  if (!own->registers || !own->queue)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  own->schedulers = (unsigned)sm->gpu->schedulers;
  for (unsigned i = 0; i < own->schedulers; i++)
    own->scheduler[i].last = NO_SLOT;
  for (unsigned i = 0; i < sm->slots; i++) {
    own->warp[i].ready = own->registers + (size_t)i * sm->program->registers;
    own->scheduler[i % own->schedulers].mask |= UINT64_C(1) << i;
  }
  set_units(sm->gpu, own);
  return BF_OK;
}

const bf_sim_core bf_sim_scoreboard_core = {.create = create,
                                            .free = free_board,
                                            .admit = admit,
                                            .run = run,
                                            .freed = freed,
                                            .loaded = loaded,
                                            .next_event = next_event,
                                            .explain = explain,
                                            .warp_bytes = warp_bytes};

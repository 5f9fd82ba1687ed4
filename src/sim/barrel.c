/* Multiprocessors with one of the in-order pipelines of gou13: one scheduler, which lets a
 * warp instruction enter the pipeline in parts of simd_width lanes, one part per cycle.
 *
 * Strict barrel execution has one instruction of a warp in the pipeline; the warp is ready again in
 * the cycle after its last part was written. Relaxed execution lets instructions follow that do not
 * need registers which are still to be written; ordered execution also, but writes the results of
 * a warp in the order of its program (the second choice of section 4.2), for which nothing may
 * follow a global access, or a shared one that is foretold to conflict.
 *
 * An instruction happens when it enters; barriers and exits, on which other warps wait, happen when
 * they are written. Global accesses are sent when their first part is in MEM0, and their data comes
 * back by bf_sim_pipe_return.
 *
 * Conflict-aware scheduling keeps all memory instructions back for as long as the last shared
 * access is foretold to need MEM0 (Eq. 7): the history says what it needed last time. */
#include "sim/pipeline.h"
#include "sim/sm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX /* no flight */
/* Words of gpu.def. */
enum { BARREL_STRICT, BARREL_RELAXED, BARREL_ORDERED };

/* A warp instruction on its way. */
struct flight {
  bf_sim_warp *warp;
  const bf_sim_op *op;
  uint32_t instruction;
  uint32_t order;          /* among those of its warp */
  uint64_t number, issued; /* in the order of issue; cycle */
  uint16_t parts, entered, written;
  bool is_late;                       /* happens when it is written */
  bool is_sent, leaves;               /* its global access was sent; its data will come back */
  bool has_left, has_data;            /* its last part has left MEM0; its data has come */
  bool was_known;                     /* to the history */
  uint32_t foretold;                  /* shared: wavefronts above one per part */
  uint32_t wavefronts;                /* shared: all that were needed */
  uint32_t line_cycles;               /* global: that sending its lines takes */
  uint16_t part_cycles[BF_EMU_LANES]; /* in MEM0 */
};

/* What a warp waits for before its next instruction is looked at. */
typedef enum wait { NOTHING, ONE, ALL } wait;

typedef struct barrelled {
  unsigned flights;         /* instructions in flight */
  uint32_t issued, written; /* instructions, for the order of writing */
  wait wait;                /* ONE: for flight `branch`, ALL: for all in flight */
  uint32_t branch;
  uint64_t wake; /* asleep: the cycle */
} barrelled;

typedef struct barrel {
  bf_sim_pipe *pipe;
  bf_sim_history *history; /* NULL: nobody asks */
  unsigned parts;          /* of a warp */
  barrelled warp[64];
  /* Sets of slots. */
  uint64_t alive;
  uint64_t ready;   /* can issue */
  uint64_t rising;  /* ready from the next cycle on */
  uint64_t memory;  /* of ready and rising ones: memory instructions */
  uint64_t waiting; /* at barriers, or asleep after one */
  uint64_t asleep;
  uint64_t loading; /* data of global memory is on its way */
  uint64_t next_wake;
  unsigned last; /* slot that issued last */
  /* Flights. */
  struct flight *flight;
  bf_sim_touched *touched; /* per flight, what it will send */
  uint32_t *free_flight;
  uint32_t *flight_of_load;
  unsigned flights, free_flights;
  uint32_t entering; /* flight whose parts are entering, or NONE */
  uint32_t ended;    /* flight that was written in this cycle, or NONE: watchers still ask for it */
  uint64_t issues;
  uint64_t safe_from; /* cycle from which memory instructions may issue */
  uint32_t words;     /* of 64 registers */
  uint64_t *pending;  /* relaxed: registers of each slot that are still to be written */
  bool is_resumed;    /* the cycle has begun already: only issue is left */
  bool is_stalled;    /* nothing entered in this cycle */
  bf_sim_stall stall; /* and why */
} barrel;

static uint64_t bit_of(const bf_sim_warp *warp) { return UINT64_C(1) << warp->slot; }

/* ---- Registers that are still to be written ---- */

static bool is_pending(const uint64_t *pending, uint32_t number) {
  return pending[number / 64] >> number % 64 & 1;
}

/* Whether the next instruction of a warp names a register that is still to be written. */
static bool must_wait(const barrel *own, const bf_sim_warp *warp) {
  if (!own->pending || own->warp[warp->slot].flights == 0)
    return false;
  const uint64_t *pending = own->pending + (size_t)warp->slot * own->words;
  const bf_sim_op *op = warp->next;
  for (unsigned i = 0; i < (unsigned)op->sources + op->results; i++)
    if (is_pending(pending, op->source[i]))
      return true;
  return false;
}

/* Notes that the results of an instruction are still to be written, or that they are there. */
static void set_pending(barrel *own, const struct flight *flight, bool is_set) {
  if (!own->pending)
    return;
  uint64_t *pending = own->pending + (size_t)flight->warp->slot * own->words;
  const bf_sim_op *op = flight->op;
  for (unsigned i = op->sources; i < (unsigned)op->sources + op->results; i++) {
    uint64_t bit = UINT64_C(1) << op->source[i] % 64;
    if (is_set)
      pending[op->source[i] / 64] |= bit;
    else
      pending[op->source[i] / 64] &= ~bit;
  }
}

/* ---- What warps do next ---- */

/* Whether an instruction takes no time. */
static bool is_free(const bf_sim_op *op) {
  return op->unit == BF_SIM_UNIT_NONE && !op->is_ordered && !op->may_free_others;
}

/* Puts a warp where its next instruction, which was looked at, asks for; instructions that take no
 * time happen at once. */
static void settle(bf_sim_sm *sm, bf_sim_warp *warp) {
  barrel *own = sm->core_data;
  uint64_t bit = bit_of(warp);
  own->waiting &= ~bit;
  while (warp->emu && warp->turn == BF_EMU_TURN_READY && is_free(warp->next) &&
         !must_wait(own, warp) && !sm->is_stopped) {
    bf_sim_execute(sm, warp);
    bf_sim_look(sm, warp);
  }
  if (!warp->emu)
    own->alive &= ~bit;
  else if (warp->turn == BF_EMU_TURN_WAITS)
    own->waiting |= bit;
  else if (!must_wait(own, warp)) {
    own->rising |= bit;
    own->memory = warp->next->is_memory ? own->memory | bit : own->memory & ~bit;
  }
}

/* A barrier has let the warp go on. */
static void freed(bf_sim_sm *sm, bf_sim_warp *warp) {
  barrel *own = sm->core_data;
  if (sm->gpu->barrier_cycles == 0 || !warp->emu) {
    settle(sm, warp);
    return;
  }
  own->asleep |= bit_of(warp);
  own->warp[warp->slot].wake = sm->now + sm->gpu->barrier_cycles;
  if (own->warp[warp->slot].wake < own->next_wake)
    own->next_wake = own->warp[warp->slot].wake;
}

/* Wakes those whose cycle has come. */
static void wake_due(bf_sim_sm *sm) {
  barrel *own = sm->core_data;
  if (own->next_wake > sm->now)
    return;
  own->next_wake = UINT64_MAX;
  for (uint64_t left = own->asleep; left; left &= left - 1) {
    unsigned slot = (unsigned)__builtin_ctzll(left);
    if (own->warp[slot].wake <= sm->now) {
      own->asleep &= ~(UINT64_C(1) << slot);
      settle(sm, &sm->warp[slot]);
    } else if (own->warp[slot].wake < own->next_wake)
      own->next_wake = own->warp[slot].wake;
  }
}

/* ---- The end of an instruction ---- */

/* Looks at what a warp does next, unless it has to wait for instructions in flight. */
static void go_on(bf_sim_sm *sm, bf_sim_warp *warp) {
  barrel *own = sm->core_data;
  barrelled *state = &own->warp[warp->slot];
  if (sm->is_stopped || state->wait == ONE || (state->wait == ALL && state->flights > 0))
    return;
  if (state->wait == ALL) {
    state->wait = NOTHING;
    bf_sim_look(sm, warp);
  }
  if (!((own->ready | own->rising | own->waiting) & bit_of(warp)))
    settle(sm, warp);
}

/* The last part of an instruction has been written. */
static void end_flight(bf_sim_sm *sm, uint32_t index) {
  barrel *own = sm->core_data;
  struct flight *flight = &own->flight[index];
  bf_sim_warp *warp = flight->warp;
  barrelled *state = &own->warp[warp->slot];
  bf_sim_tell(sm, warp, 0, flight->instruction, flight->issued, sm->now, flight->wavefronts);
  if (flight->is_late)
    bf_sim_execute(sm, warp);
  if (flight->op->may_free_others && !sm->is_stopped)
    bf_sim_free_others(sm, warp);
  set_pending(own, flight, false);
  if (warp->loads == 0)
    own->loading &= ~bit_of(warp);
  state->flights--;
  state->written++;
  own->ended = index;
  if (state->wait == ONE && state->branch == index) {
    state->wait = NOTHING;
    bf_sim_look(sm, warp);
  }
  go_on(sm, warp);
}

/* A part has been written. */
static void written(void *context, const bf_sim_part *part) {
  bf_sim_sm *sm = context;
  barrel *own = sm->core_data;
  struct flight *flight = &own->flight[part->flight];
  if (++flight->written == flight->parts)
    end_flight(sm, part->flight);
}

/* Ordered: only the oldest instruction of a warp is written. */
static bool may_write(void *context, const bf_sim_part *part) {
  const bf_sim_sm *sm = context;
  const barrel *own = sm->core_data;
  const struct flight *flight = &own->flight[part->flight];
  return flight->order == own->warp[flight->warp->slot].written;
}

/* ---- Memory ---- */

/* Sends the global accesses of an instruction whose first part is in MEM0. */
static bool send(bf_sim_sm *sm, uint32_t index) {
  barrel *own = sm->core_data;
  struct flight *flight = &own->flight[index];
  if (!bf_sim_has_room(sm))
    return false;
  const bf_sim_touched *touched = &own->touched[index];
  sm->touched.lines = touched->lines;
  sm->touched.is_store = touched->is_store;
  sm->touched.is_atomic = touched->is_atomic;
  memcpy(sm->touched.line, touched->line, touched->lines * sizeof *touched->line);
  flight->is_sent = true;
  const bf_sim_load *load = bf_sim_send(sm, flight->warp, flight->op, sm->now);
  if (load) {
    flight->leaves = true;
    own->flight_of_load[load - sm->load] = index;
    own->loading |= bit_of(flight->warp);
  }
  return true;
}

/* A memory part is in MEM0: global accesses are sent with the first one. */
static bf_sim_reached reached(void *context, const bf_sim_part *part) {
  bf_sim_sm *sm = context;
  barrel *own = sm->core_data;
  struct flight *flight = &own->flight[part->flight];
  if (flight->line_cycles && !flight->is_sent && !send(sm, part->flight))
    return BF_SIM_WAITS;
  return flight->leaves ? BF_SIM_LEAVES : BF_SIM_STAYS;
}

/* The history learns what a shared access needed. */
static void learn(bf_sim_sm *sm, const struct flight *flight) {
  barrel *own = sm->core_data;
  uint32_t above = flight->wavefronts > own->parts ? flight->wavefronts - own->parts : 0;
  if (!flight->was_known)
    sm->count.history_unknown++;
  else if (flight->foretold == above)
    sm->count.history_right++;
  else
    sm->count.history_wrong++;
  bf_sim_history_set(own->history, flight->instruction, above);
}

/* A memory part has left MEM0. */
static void served(void *context, const bf_sim_part *part) {
  bf_sim_sm *sm = context;
  barrel *own = sm->core_data;
  struct flight *flight = &own->flight[part->flight];
  if (flight->wavefronts && flight->op->site != NONE)
    sm->count.site[flight->op->site].waited_cycles += part->memory_cycles - 1U;
  if (part->index + 1U < flight->parts)
    return;
  flight->has_left = true;
  if (flight->has_data)
    bf_sim_pipe_return(own->pipe, part->flight, flight->parts);
  if (own->history && flight->op->is_shared)
    learn(sm, flight);
}

/* The data of a load has come; it is written when all parts of the load have gone out. */
static void loaded(bf_sim_sm *sm, bf_sim_load *load) {
  barrel *own = sm->core_data;
  uint32_t index = own->flight_of_load[load - sm->load];
  struct flight *flight = &own->flight[index];
  flight->has_data = true;
  if (flight->has_left)
    bf_sim_pipe_return(own->pipe, index, flight->parts);
}

/* ---- Issue ---- */

/* How long the parts of an instruction that was executed take MEM0. */
static void time_memory(bf_sim_sm *sm, uint32_t index) {
  barrel *own = sm->core_data;
  struct flight *flight = &own->flight[index];
  const bf_sim_touched *touched = &sm->touched;
  unsigned ports = (unsigned)sm->gpu->shared_ports;
  if (touched->shared_accesses)
    for (unsigned i = 0; i < own->parts; i++) {
      unsigned wavefronts = touched->part[i] ? touched->part[i] : 1;
      flight->part_cycles[i] = (uint16_t)((wavefronts + ports - 1) / ports);
      flight->wavefronts += wavefronts;
    }
  if (touched->lines == 0)
    return;
  flight->line_cycles = (uint32_t)ceil(touched->lines * sm->gpu->global_line_cycles);
  bf_sim_touched *kept = &own->touched[index];
  kept->lines = touched->lines;
  kept->is_store = touched->is_store;
  kept->is_atomic = touched->is_atomic;
  memcpy(kept->line, touched->line, touched->lines * sizeof *touched->line);
  if (flight->line_cycles > own->parts)
    flight->part_cycles[own->parts - 1] += (uint16_t)(flight->line_cycles - own->parts);
}

/* What the history says of a shared access that issues, and until when memory instructions must
 * be kept back for it. */
static void foretell(bf_sim_sm *sm, struct flight *flight) {
  barrel *own = sm->core_data;
  if (!own->history || !flight->op->is_shared)
    return;
  flight->foretold = (uint32_t)sm->gpu->history_default;
  flight->was_known = bf_sim_history_look(own->history, flight->instruction, &flight->foretold);
  uint64_t ports = sm->gpu->shared_ports;
  own->safe_from = sm->now + (flight->foretold + own->parts + ports - 1) / ports;
}

/* What a warp waits for after an instruction has entered. */
static wait wait_after(const bf_sim_sm *sm, const struct flight *flight) {
  const bf_sim_op *op = flight->op;
  if (sm->gpu->barrel == BARREL_STRICT || op->may_free_others)
    return ALL;
  if (sm->gpu->barrel == BARREL_ORDERED && op->is_memory &&
      (!op->is_shared || flight->foretold > 0))
    return ALL;
  return op->unit == BF_SIM_UNIT_BRANCH ? ONE : NOTHING;
}

/* Lets the next instruction of a warp begin. */
static void begin_flight(bf_sim_sm *sm, bf_sim_warp *warp) {
  barrel *own = sm->core_data;
  barrelled *state = &own->warp[warp->slot];
  uint32_t index = own->free_flight[--own->free_flights];
  struct flight *flight = &own->flight[index];
  const bf_sim_op *op = warp->next;
  *flight = (struct flight){.warp = warp,
                            .op = op,
                            .instruction = warp->instruction,
                            .order = state->issued++,
                            .number = own->issues++,
                            .issued = sm->now,
                            .parts = (uint16_t)(own->parts * (op->slots ? op->slots : 1)),
                            .is_late = op->may_free_others && !op->is_memory};
  for (unsigned i = 0; i < own->parts; i++)
    flight->part_cycles[i] = 1;
  if (!flight->is_late) {
    bf_sim_execute(sm, warp);
    if (op->is_memory)
      time_memory(sm, index);
  }
  foretell(sm, flight);
  set_pending(own, flight, true);
  own->ready &= ~bit_of(warp);
  own->last = warp->slot;
  own->entering = index;
  sm->count.issued++;
  state->flights++;
  state->wait = wait_after(sm, flight);
  state->branch = index;
  if (state->wait == NOTHING && !sm->is_stopped) {
    bf_sim_look(sm, warp);
    settle(sm, warp);
  }
}

/* Lets the next part of the instruction that is entering in. */
static void enter_part(bf_sim_sm *sm) {
  barrel *own = sm->core_data;
  struct flight *flight = &own->flight[own->entering];
  unsigned place = flight->entered % own->parts;
  bf_sim_part part = {.flight = own->entering,
                      .index = flight->entered,
                      .memory_cycles = flight->part_cycles[place],
                      .held_by = flight->wavefronts ? BF_SIM_CONFLICT : BF_SIM_UNIT,
                      .is_memory = flight->op->is_memory};
  bf_sim_pipe_enter(own->pipe, sm->now, part);
  sm->count.turns++;
  if (++flight->entered == flight->parts)
    own->entering = NONE;
}

/* ---- The scheduler ---- */

/* The slot whose warp came first. */
static unsigned oldest_of(const bf_sim_sm *sm, uint64_t slots) {
  unsigned best = (unsigned)__builtin_ctzll(slots);
  for (uint64_t left = slots & (slots - 1); left; left &= left - 1) {
    unsigned slot = (unsigned)__builtin_ctzll(left);
    if (sm->warp[slot].age < sm->warp[best].age)
      best = slot;
  }
  return best;
}

/* The warp that issues among those that can. */
static unsigned choose(const bf_sim_sm *sm, uint64_t slots) {
  const barrel *own = sm->core_data;
  bool is_greedy = sm->gpu->scheduler == BF_SIM_GTO;
  if (is_greedy && slots >> own->last & 1)
    return own->last;
  if (is_greedy || sm->gpu->scheduler == BF_SIM_OLDEST)
    return oldest_of(sm, slots);
  uint64_t behind = own->last < 63 ? slots & (~UINT64_C(0) << (own->last + 1)) : 0;
  return (unsigned)__builtin_ctzll(behind ? behind : slots);
}

/* The warps that may issue now. */
static uint64_t candidates(const bf_sim_sm *sm) {
  const barrel *own = sm->core_data;
  bool keeps_back = sm->gpu->scheduler == BF_SIM_CONFLICT_AWARE && sm->now < own->safe_from;
  uint64_t others = own->ready & ~own->memory;
  if (!keeps_back || (others == 0 && sm->gpu->let_through))
    return own->ready;
  return others;
}

/* Why no warp can issue. */
static bf_sim_stall why_none(const barrel *own) {
  uint64_t moving = own->alive & ~own->waiting;
  if (own->ready)
    return BF_SIM_MASKED;
  if (moving & ~own->loading)
    return BF_SIM_DEPENDENCY;
  if (moving)
    return BF_SIM_GLOBAL;
  return own->alive ? BF_SIM_BARRIER : BF_SIM_EMPTY;
}

/* Nothing enters in this cycle. */
static void stall(bf_sim_sm *sm, bf_sim_stall reason) {
  barrel *own = sm->core_data;
  own->is_stalled = true;
  own->stall = reason;
  sm->count.stalls[reason]++;
}

/* What enters in this cycle. False: the multiprocessor has paused. */
static bool issue(bf_sim_sm *sm) {
  barrel *own = sm->core_data;
  own->is_stalled = false;
  if (!bf_sim_pipe_has_room(own->pipe)) {
    stall(sm, bf_sim_pipe_blocked(own->pipe, sm->now));
    return true;
  }
  if (own->entering == NONE) {
    uint64_t slots = candidates(sm);
    if (slots == 0 || own->free_flights == 0) {
      stall(sm, slots == 0 ? why_none(own) : BF_SIM_OTHER);
      return true;
    }
    bf_sim_warp *warp = &sm->warp[choose(sm, slots)];
    if (bf_sim_must_pause(sm, warp->next))
      return false;
    begin_flight(sm, warp);
  }
  enter_part(sm);
  return true;
}

/* ---- Time ---- */

typedef struct told {
  bf_sim_sm *sm;
  const bf_sim_watch *watch;
} told;

/* Tells the watch where a part is, if its instruction issued while it watches. */
static void tell_part(void *context, const bf_sim_part *part, const char *stage, bool is_stalled) {
  const told *to = context;
  const barrel *own = to->sm->core_data;
  const struct flight *flight = &own->flight[part->flight];
  if (flight->issued < to->watch->first_cycle || flight->issued > to->watch->last_cycle)
    return;
  bf_sim_stage where = {.sm = to->sm->index,
                        .cycle = to->sm->now,
                        .stage = stage,
                        .slot = flight->warp->slot,
                        .part = part->index,
                        .number = flight->number,
                        .is_stalled = is_stalled};
  to->watch->stage(to->watch->context, &where);
}

static bool is_watched(const bf_sim_sm *sm) {
  return sm->settings->watch && sm->settings->watch->stage;
}

static void tell(bf_sim_sm *sm) {
  const barrel *own = sm->core_data;
  told to = {sm, sm->settings->watch};
  bf_sim_pipe_tell(own->pipe, sm->now, tell_part, &to);
}

/* What happens in a cycle before something may enter. */
static void begin_cycle(bf_sim_sm *sm) {
  barrel *own = sm->core_data;
  if (own->ended != NONE)
    own->free_flight[own->free_flights++] = own->ended;
  own->ended = NONE;
  if (sm->next_answer <= sm->now)
    bf_sim_take_answers(sm, sm->now + 1);
  wake_due(sm);
  own->ready |= own->rising;
  own->rising = 0;
  bf_sim_pipe_advance(own->pipe, sm->now);
  if (is_watched(sm)) {
    told to = {sm, sm->settings->watch};
    bf_sim_pipe_tell_written(own->pipe, tell_part, &to);
  }
}

/* The cycle after one in which nothing entered and nothing else happens before it. */
static uint64_t skip_to(const bf_sim_sm *sm, uint64_t until) {
  const barrel *own = sm->core_data;
  uint64_t next = own->rising ? sm->now + 1 : bf_sim_pipe_next(own->pipe, sm->now);
  if (is_watched(sm) && next != UINT64_MAX)
    next = sm->now + 1;
  uint64_t answer = sm->next_answer;
  next = answer < next ? answer : next;
  next = own->next_wake < next ? own->next_wake : next;
  next = own->ready && own->safe_from < next ? own->safe_from : next;
  next = next > sm->now ? next : sm->now + 1;
  return next < until ? next : until;
}

/* Cycle by cycle; those in which nothing can happen are skipped. */
static void run(bf_sim_sm *sm, uint64_t until) {
  barrel *own = sm->core_data;
  while (sm->now < until && !sm->is_stopped && !sm->failed) {
    if (!own->is_resumed)
      begin_cycle(sm);
    if (sm->warps_alive == 0 && sm->begins == 0) {
      if (is_watched(sm))
        tell(sm);
      sm->now = until;
      return;
    }
    own->is_resumed = !issue(sm);
    if (own->is_resumed)
      return;
    if (is_watched(sm))
      tell(sm);
    uint64_t next = own->is_stalled ? skip_to(sm, until) : sm->now + 1;
    sm->count.stalls[own->stall] += own->is_stalled ? next - sm->now - 1 : 0;
    sm->count.resident_warp_cycles += (next - sm->now) * sm->warps_alive;
    sm->now = next;
  }
}

static uint64_t next_event(const bf_sim_sm *sm) {
  const barrel *own = sm->core_data;
  if (own->ready | own->rising || own->entering != NONE)
    return sm->now;
  uint64_t next = bf_sim_pipe_next(own->pipe, sm->now ? sm->now - 1 : 0);
  return own->next_wake < next ? own->next_wake : next;
}

/* ---- Warps that come; messages ---- */

static void admit(bf_sim_sm *sm, bf_sim_warp *warp) {
  barrel *own = sm->core_data;
  own->warp[warp->slot] = (barrelled){0};
  own->alive |= bit_of(warp);
  settle(sm, warp);
}

static bf_sim_wait wait_of(const bf_sim_sm *sm, const bf_sim_warp *warp) {
  const barrel *own = sm->core_data;
  uint64_t bit = bit_of(warp);
  if (own->asleep & bit)
    return (bf_sim_wait){.kind = BF_SIM_WAIT_ASLEEP, .cycle = own->warp[warp->slot].wake};
  if (own->waiting & bit)
    return (bf_sim_wait){.kind = BF_SIM_WAIT_OTHERS, .others = sm->feed->calls->wait(warp->emu)};
  if ((own->ready | own->rising) & bit)
    return (bf_sim_wait){.kind = BF_SIM_WAIT_NOTHING};
  if (own->loading & bit)
    return (bf_sim_wait){.kind = BF_SIM_WAIT_GLOBAL};
  return (bf_sim_wait){.kind = BF_SIM_WAIT_PIPELINE};
}

static uint64_t warp_bytes(const bf_sim_sm *sm) {
  const barrel *own = sm->core_data;
  size_t shared_by_all = own->flights * (sizeof(struct flight) + sizeof(bf_sim_touched));
  return sizeof(barrelled) + own->words * sizeof(uint64_t) + shared_by_all / sm->slots;
}

/* ---- Making and freeing ---- */

static void free_barrel(bf_sim_sm *sm) {
  barrel *own = sm->core_data;
  bf_sim_pipe_free(own->pipe);
  bf_sim_history_free(own->history);
  free(own->flight);
  free(own->touched);
  free(own->free_flight);
  free(own->flight_of_load);
  free(own->pending);
  free(own);
}

/* The pipeline that the parameters describe. */
static int make_pipe(bf_sim_sm *sm, barrel *own, bf_diagnostic *diagnostic) {
  const bf_sim_gpu *gpu = sm->gpu;
  bool hashed = sm->settings->hash != NULL;
  bf_sim_pipe_shape shape = {
      .kind = (bf_sim_pipeline)gpu->pipeline,
      .front_stages = (unsigned)(gpu->stages - gpu->memory_stages - 1),
      .memory_stages = (unsigned)(gpu->memory_stages + (hashed ? gpu->hash_cycles : 0)),
      .nonmem_stages =
          (unsigned)(gpu->pipeline == BF_SIM_SPLIT ? gpu->memory_stages : gpu->nonmem_queue),
      .premem_queue = (unsigned)gpu->premem_queue,
      .returns = own->flights};
  bf_sim_pipe_user user = {.context = sm,
                           .reached = reached,
                           .served = served,
                           .written = written,
                           .may_write = gpu->barrel == BARREL_ORDERED ? may_write : NULL};
  return bf_sim_pipe_create(&shape, &user, &own->pipe, diagnostic);
}

static int create(bf_sim_sm *sm, bf_diagnostic *diagnostic) {
  const bf_sim_gpu *gpu = sm->gpu;
  barrel *own = sm->core_data = calloc(1, sizeof *own);
  if (!own)
    return bf_no_memory(diagnostic);
  own->parts = BF_EMU_LANES / (unsigned)gpu->simd_width;
  own->entering = own->ended = NONE;
  own->next_wake = UINT64_MAX;
  own->last = 63;
  /* Strict: one per warp. Else as many as the stages and queues hold, and loads in flight. */
  own->flights = sm->slots;
  if (gpu->barrel != BARREL_STRICT)
    own->flights += (unsigned)(gpu->stages + gpu->nonmem_queue + gpu->premem_queue) + sm->loads;
  own->words = gpu->barrel == BARREL_STRICT ? 0 : (sm->program->registers + 63) / 64;
  own->flight = calloc(own->flights, sizeof *own->flight);
  own->touched = calloc(own->flights, sizeof *own->touched);
  own->free_flight = calloc(own->flights, sizeof *own->free_flight);
  own->flight_of_load = calloc(sm->loads, sizeof *own->flight_of_load);
  if (own->words)
    own->pending = calloc((size_t)sm->slots * own->words, sizeof *own->pending);
  if (!own->flight || !own->touched || !own->free_flight || !own->flight_of_load ||
      (own->words && !own->pending))
    return bf_no_memory(diagnostic);
  for (uint32_t i = 0; i < own->flights; i++)
    own->free_flight[own->free_flights++] = own->flights - 1 - i;
  if (gpu->scheduler == BF_SIM_CONFLICT_AWARE || gpu->barrel == BARREL_ORDERED)
    BF_TRY(bf_sim_history_create((unsigned)gpu->history_sets, (unsigned)gpu->history_ways,
                                 &own->history, diagnostic));
  return make_pipe(sm, own, diagnostic);
}

const bf_sim_core bf_sim_barrel_core = {.create = create,
                                        .free = free_barrel,
                                        .admit = admit,
                                        .run = run,
                                        .freed = freed,
                                        .loaded = loaded,
                                        .next_event = next_event,
                                        .wait = wait_of,
                                        .warp_bytes = warp_bytes};

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
#include "sim/scoreboard.h"

#include <stdlib.h>
#include <string.h>

/* The second words of first_warps and barrier_release. */
enum { FIRST_WARPS_TURN = 1, RELEASE_TURN = 1 };

/* ---- The wheel ---- */

static void sleep_until(board *own, unsigned slot, uint64_t now, uint64_t wake) {
  uint64_t bit = UINT64_C(1) << slot;
  if (wake - now < WHEEL) {
    own->wheel[wake % WHEEL] |= bit;
    own->filled |= UINT64_C(1) << wake % WHEEL;
    return;
  }
  own->far |= bit;
  if (wake < own->far_first)
    own->far_first = wake;
}

/* The first cycle from `from` on with somebody in it; UINT64_MAX: none. No entry of the wheel lies
 * before it. */
static uint64_t next_wake(const board *own, uint64_t from) {
  unsigned turn = (unsigned)(from % WHEEL);
  uint64_t ahead = own->filled >> turn | (turn ? own->filled << (WHEEL - turn) : 0);
  uint64_t near = ahead ? from + (unsigned)__builtin_ctzll(ahead) : UINT64_MAX;
  return near < own->far_first ? near : own->far_first;
}

/* ---- States ---- */

static void set_state(bf_sim_sm *sm, bf_sim_warp *warp, state next) {
  board *own = sm->core_data;
  scored *score = &own->warp[warp->slot];
  uint64_t bit = UINT64_C(1) << warp->slot;
  own->in[score->state] &= ~bit;
  own->in[next] |= bit;
  score->state = (uint8_t)next;
  if (next == LOADING || next == WAITING) /* leaves the first group of a two-level scheduler */
    own->scheduler[score->scheduler].active &= ~bit;
}

/* Wakes those of `slots` whose cycle has come; the others go on sleeping. */
static void wake(bf_sim_sm *sm, uint64_t slots) {
  board *own = sm->core_data;
  for (; slots; slots &= slots - 1) {
    unsigned slot = (unsigned)__builtin_ctzll(slots);
    const scored *score = &own->warp[slot];
    if (!(own->in[TIMED] >> slot & 1))
      continue;
    if (score->wake > sm->now)
      sleep_until(own, slot, sm->now, score->wake);
    else
      set_state(sm, &sm->warp[slot], READY);
  }
}

/* Wakes those whose cycle has come. */
static void wake_due(bf_sim_sm *sm) {
  board *own = sm->core_data;
  unsigned at = (unsigned)(sm->now % WHEEL);
  uint64_t due = own->wheel[at];
  if (own->far_first < sm->now + WHEEL) {
    due |= own->far;
    own->far = 0;
    own->far_first = UINT64_MAX;
  }
  own->wheel[at] = 0;
  own->filled &= ~(UINT64_C(1) << at);
  wake(sm, due);
}

/* When the registers that an instruction names are free; at least `earliest`. A load that must come
 * first is *loading; 0: none. Where instructions pass each other (lookahead), those that are
 * written need not be free: the compiler gives results of rounds of a loop registers of their own.
 */
static uint64_t registers_ready(const scored *score, const bf_sim_op *op, uint64_t earliest,
                                uint64_t *loading) {
  uint64_t ready = earliest;
  unsigned count = score->passed ? op->sources : (unsigned)op->sources + op->results;
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
  while (score->late_count && score->passed->late[score->late_first] <= now) {
    score->late_first = (uint8_t)((score->late_first + 1) % LATE);
    score->late_count--;
  }
}

static bool ends_block(const bf_sim_op *op) {
  return op->unit == BF_SIM_UNIT_BRANCH || op->unit == BF_SIM_UNIT_BARRIER || op->keeps_order ||
         op->reads_clock || op->is_fence;
}

/* Whether an instruction gets data of memory, whichever kind. */
static bool is_load(const bf_sim_op *op) {
  return op->unit == BF_SIM_UNIT_MEMORY && op->results > 0;
}

/* Whether those behind an instruction that must wait may pass it: arithmetic and stores, but not
 * what ends the block of code, nor loads, whose data would come later; but where addresses come
 * from divisions, ptxas interleaves those of several loads. loading: a load that it waits for; 0:
 * none. */
static bool may_be_passed(const bf_sim_sm *sm, scored *score, const bf_sim_op *op,
                          uint64_t loading) {
  bool is_bound = is_load(op) && (loading || op->is_behind_store || op->is_ordered ||
                                  !op->is_memory || score->divided_at <= sm->now);
  if (op->is_made && !op->is_overtaken)
    return false;
  if (sm->gpu->lookahead == 0 || is_bound || ends_block(op) || score->owed_count == OWED)
    return false;
  forget_late(score, sm->now);
  return score->late_count < sm->gpu->lookahead &&
         score->late_count + score->owed_instructions < 2 * sm->gpu->lookahead;
}

/* The place of an instruction in the machine's code; 0: not known. */
static uint32_t place_of(const scored *score, const bf_sim_op *op) {
  if (!op->places)
    return 0;
  return op->place[score->round < op->places ? score->round : op->places - 1];
}

/* An instruction waits for what was passed and stands before it in the machine's code. */
static void keep_places(const scored *score, const bf_sim_op *op, uint64_t *ready,
                        uint64_t *loading) {
  uint32_t place = score->passed ? place_of(score, op) : 0;
  for (unsigned i = 0; place && i < score->late_count; i++) {
    unsigned at = (score->late_first + i) % LATE;
    bool is_before = score->passed->late_place[at] && score->passed->late_place[at] < place;
    if (is_before && score->passed->late[at] > *ready)
      *ready = score->passed->late[at];
  }
  for (unsigned i = 0; place && i < score->owed_count; i++)
    if (score->passed->owed_place[i] < place)
      *loading = score->passed->owed[i];
}

/* Notes an instruction that is passed: its operands are there at cycle `ready`, and a load must
 * come first (0: none). */
static void be_passed(scored *score, const bf_sim_op *op, uint64_t ready, uint64_t loading) {
  passed *own = score->passed;
  uint32_t place = place_of(score, op);
  if (ready > score->late_until)
    score->late_until = ready;
  if (!loading) {
    unsigned at = (score->late_first + score->late_count++) % LATE;
    own->late[at] = ready;
    own->late_place[at] = place;
    return;
  }
  score->has_copies = true;
  unsigned i = 0;
  while (i < score->owed_count && own->owed[i] != loading)
    i++;
  if (i == score->owed_count) {
    own->owed[score->owed_count++] = loading;
    own->owed_by[i] = 0;
    own->owed_place[i] = UINT32_MAX;
  }
  own->owed_place[i] = place && place < own->owed_place[i] ? place : own->owed_place[i];
  own->owed_by[i]++;
  score->owed_instructions++;
}

/* A load has come. */
static void pay(scored *score, uint64_t loading) {
  passed *own = score->passed;
  for (unsigned i = 0; i < score->owed_count; i++)
    if (own->owed[i] == loading) {
      score->owed_instructions -= own->owed_by[i];
      score->owed_count--;
      own->owed[i] = own->owed[score->owed_count];
      own->owed_place[i] = own->owed_place[score->owed_count];
      own->owed_by[i] = own->owed_by[score->owed_count];
      return;
    }
}

/* Notes the kind of a warp's next instruction. */
static void set_kind(board *own, scored *score, unsigned slot, const bf_sim_op *op) {
  uint8_t kind =
      op->unit == BF_SIM_UNIT_MEMORY && op->is_memory && !op->is_shared ? KIND_GLOBAL : op->unit;
  kind = op->is_either ? KIND_EITHER : kind;
  uint64_t bit = UINT64_C(1) << slot;
  own->of_kind[score->kind] &= ~bit;
  own->of_kind[kind] |= bit;
  score->kind = kind;
}

/* Whether copies that its next instruction waits for have not come. */
static bool awaits_copies(const bf_sim_warp *warp) {
  unsigned waiting = 0;
  bool has_all = warp->next->groups_left == 0;
  for (unsigned back = has_all ? 0 : warp->next->groups_left + 1U; back < BF_SIM_GROUPS; back++)
    waiting += warp->copies[(warp->group + BF_SIM_GROUPS - back) % BF_SIM_GROUPS];
  return waiting > 0;
}

/* When all groups of a warp but the last ones that its next instruction names are done; done: by
 * group, filled: the one being filled. */
static uint64_t groups_done(const bf_sim_warp *warp, const uint64_t *done, unsigned filled) {
  uint64_t latest = 0;
  for (unsigned back = warp->next->groups_left + 1U; back < BF_SIM_GROUPS; back++) {
    uint64_t own = done[(filled + BF_SIM_GROUPS - back) % BF_SIM_GROUPS];
    latest = own > latest ? own : latest;
  }
  return latest;
}

/* The later of `ready` and when what the next instruction of a warp waits for is done. */
static uint64_t behind_groups(const bf_sim_warp *warp, uint64_t ready) {
  uint64_t done = 0;
  if (warp->next->awaits_products)
    done = groups_done(warp, warp->multiplied, warp->multiplied_group);
  if (warp->next->awaits_stores)
    done = groups_done(warp, warp->stored, warp->stored_group);
  return done > ready ? done : ready;
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
  earliest = earliest > score->guarded_at ? earliest : score->guarded_at;
  uint64_t loading, ready = registers_ready(score, warp->next, earliest, &loading);
  set_kind(own, score, warp->slot, warp->next);
  score->is_passed = false;
  if (warp->next->is_behind_store) {
    ready = ready > score->stored_at ? ready : score->stored_at;
    loading = loading ? loading : score->store_loading;
  }
  if (warp->next->places && !ends_block(warp->next))
    keep_places(score, warp->next, &ready, &loading);
  if (ends_block(warp->next)) { /* what was passed must have happened */
    ready = ready > score->late_until ? ready : score->late_until;
    loading = score->owed_count ? LOADING_OWED : loading;
  } else if ((loading || ready > earliest) && may_be_passed(sm, score, warp->next, loading)) {
    score->is_passed = true;
    loading = 0;
    ready = earliest;
  }
  ready = behind_groups(warp, ready);
  if (warp->next->awaits_copies && awaits_copies(warp))
    loading = LOADING_COPIES;
  if (warp->tests)
    loading = LOADING_TEST;
  if (warp->next->is_fence && warp->loads + warp->writes)
    loading = LOADING_FENCE;
  if (loading) {
    score->loading = loading;
    score->wake = earliest;
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

/* Whether the next instruction of a warp takes no issue slot. */
static bool is_free(const scored *score, const bf_sim_op *op) {
  bool is_absent = op->unit == BF_SIM_UNIT_NONE || (op->vanishes && score->round + 1 < op->rounds);
  return is_absent && !op->is_ordered && !op->may_free_others;
}

/* A guard keeps instructions from all lanes of a warp: they take their turns nevertheless. */
static void issue_guarded(bf_sim_sm *sm, scored *score, const bf_sim_op *op) {
  issuer *its = &((board *)sm->core_data)->scheduler[score->scheduler];
  uint64_t cycles = sm->gpu->issue_cycles * op->guarded;
  uint64_t turn = its->turn > sm->now ? its->turn : sm->now;
  its->turn = turn + cycles;
  sm->count.turns += cycles;
  sm->count.issued += op->guarded;
  sm->count.guarded += op->guarded;
  score->guarded_at = its->turn;
}

/* Executes what the hardware does not have as instructions: their results are there when their
 * sources are. An absorbed shared access has its data when the access that leads it has. */
static void run_free(bf_sim_sm *sm, bf_sim_warp *warp) {
  board *own = sm->core_data;
  scored *score = &own->warp[warp->slot];
  while (warp->emu && warp->turn == BF_EMU_TURN_READY && is_free(score, warp->next) &&
         !sm->is_stopped) {
    const bf_sim_op *op = warp->next;
    uint64_t ready = op->is_absorbed ? score->shared_at : 0;
    for (unsigned i = 0; i < op->sources && !op->is_absorbed; i++)
      ready = later(sm, score->ready[op->source[i]], ready);
    score->has_copies |= ready >= LOADING_FROM;
    if (op->more_cycles && op->unit == BF_SIM_UNIT_NONE && ready < sm->now + op->more_cycles)
      ready = sm->now + op->more_cycles;
    if (op->is_guard)
      score->guarded = warp->active;
    bf_sim_execute(sm, warp);
    set_results(score, op, ready);
    score->round = (uint8_t)(score->round + (op->unit == BF_SIM_UNIT_BRANCH));
    bf_sim_look(sm, warp);
    if (op->guarded && warp->emu && warp->next != op + 1)
      issue_guarded(sm, score, op);
  }
}

/* Forgets a warp that has left its slot. */
static void forget(bf_sim_sm *sm, const bf_sim_warp *warp) {
  board *own = sm->core_data;
  scored *score = &own->warp[warp->slot];
  uint64_t bit = UINT64_C(1) << warp->slot;
  own->in[score->state] &= ~bit;
  own->scheduler[score->scheduler].active &= ~bit;
}

/* Whether lanes go on that have not issued last: those that have taken another way, or all together
 * behind where they meet. Where a guard takes the place of the branch, none have parted. */
static bool is_other_way(const scored *score, const bf_sim_warp *warp, uint32_t before) {
  return warp->turn == BF_EMU_TURN_READY && (warp->active & ~before) != 0 && !score->guarded;
}

/* The warp has executed an instruction: looks at what comes next. */
static void go_on(bf_sim_sm *sm, bf_sim_warp *warp, uint64_t earliest) {
  if (sm->is_stopped)
    return;
  scored *score = &((board *)sm->core_data)->warp[warp->slot];
  uint32_t before = warp->active;
  bf_sim_look(sm, warp);
  run_free(sm, warp);
  if (warp->emu && is_other_way(score, warp, before))
    earliest += sm->gpu->diverge_cycles;
  if (score->guarded == warp->active)
    score->guarded = 0;
  if (warp->emu)
    settle(sm, warp, earliest);
  else
    forget(sm, warp);
}

/* The cycle at which a warp goes on when the last one of its block has come to a barrier now. */
static uint64_t behind_barrier(const bf_sim_sm *sm, const bf_sim_warp *warp) {
  unsigned before =
      sm->gpu->barrier_release == RELEASE_TURN ? warp->index + 1 : sm->warps_per_block;
  double cycles = (double)sm->gpu->barrier_cycles + sm->gpu->barrier_warp_cycles * before;
  return sm->now + (uint64_t)cycles;
}

/* A warp that waits for the phase of an mbarrier tests it again. */
static void tested(bf_sim_sm *sm, bf_sim_warp *warp) {
  warp->tests = false;
  settle(sm, warp, sm->now + sm->gpu->mbarrier_wake_cycles);
}

/* When a warp that waits at the barrier of the cluster goes on: whoever came last, all learn of it
 * as late after the last arrival. */
static uint64_t behind_meeting(const bf_sim_sm *sm, const bf_sim_warp *warp, const scored *score) {
  const uint64_t *last = bf_emu_block_notes(warp->block->emu);
  uint64_t over = last ? last[score->meetings & 1] + sm->gpu->cluster_barrier_cycles : 0;
  return over > sm->now ? over : sm->now;
}

/* Notes that a warp arrives at the barrier of the cluster, or waits there, and returns when it goes
 * on if it can. Phases take turns with two numbers, as no block is ahead of another by two. */
static uint64_t meet(const bf_sim_sm *sm, const bf_sim_warp *warp, scored *score,
                     const bf_sim_op *op, uint64_t busy) {
  uint64_t *last = bf_emu_block_notes(warp->block->emu);
  score->is_meeting = op->joins_cluster;
  if (op->joins_cluster)
    return behind_meeting(sm, warp, score);
  score->meetings++;
  if (last && last[score->meetings & 1] < sm->now)
    last[score->meetings & 1] = sm->now;
  return busy;
}

static void freed(bf_sim_sm *sm, bf_sim_warp *warp) {
  scored *score = &((board *)sm->core_data)->warp[warp->slot];
  run_free(sm, warp);
  if (warp->emu)
    settle(sm, warp,
           score->is_meeting ? behind_meeting(sm, warp, score) : behind_barrier(sm, warp));
  else
    forget(sm, warp);
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
  own->scheduler[scheduler].blocked_by = (uint8_t)reason;
}

/* Whether the load/store unit takes another instruction; notes what keeps it. */
static bool memory_takes(const bf_sim_sm *sm, board *own, unsigned scheduler, unsigned kind) {
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
  if (kind == KIND_GLOBAL && !bf_sim_has_room(sm)) {
    note_blocked(own, scheduler, UINT64_MAX, BF_SIM_OTHER);
    return false;
  }
  return true;
}

/* The unit that an instruction takes now: of additions that two of them make, the one that is free.
 */
static unsigned unit_of(const bf_sim_sm *sm, const board *own, unsigned scheduler,
                        const bf_sim_op *op) {
  uint64_t free_at;
  bool is_taken = op->is_either && free_set(sm, own, scheduler, op->unit, &free_at) == SETS;
  return is_taken ? BF_SIM_UNIT_MUL : op->unit;
}

/* Whether instructions of a kind can issue now; notes what keeps them. */
static bool can_issue(const bf_sim_sm *sm, board *own, unsigned scheduler, unsigned kind) {
  uint64_t free_at, other_at;
  if (kind == KIND_EITHER) {
    if (free_set(sm, own, scheduler, BF_SIM_UNIT_INT, &free_at) < SETS ||
        free_set(sm, own, scheduler, BF_SIM_UNIT_MUL, &other_at) < SETS)
      return true;
    note_blocked(own, scheduler, free_at < other_at ? free_at : other_at, BF_SIM_UNIT);
    return false;
  }
  if (kind == BF_SIM_UNIT_MEMORY || kind == KIND_GLOBAL)
    return memory_takes(sm, own, scheduler, kind);
  if (!own->unit_ticks[kind] || free_set(sm, own, scheduler, kind, &free_at) < SETS)
    return true;
  note_blocked(own, scheduler, free_at, BF_SIM_UNIT);
  return false;
}

/* Notes that an instruction has issued before its operands were there, if so, and returns when its
 * results will be there; ready: as if the operands were. */
static uint64_t pass(const bf_sim_sm *sm, scored *score, const bf_sim_op *op, uint64_t ready) {
  uint64_t loading, operands = registers_ready(score, op, 0, &loading);
  keep_places(score, op, &operands, &loading);
  if (loading || operands > sm->now) {
    be_passed(score, op, operands, loading);
    if (op->is_store && loading)
      score->store_loading = loading;
    else if (op->is_store && operands > score->stored_at)
      score->stored_at = operands;
  }
  if (loading)
    return loading;
  return operands > sm->now && !is_load(op) ? ready + (operands - sm->now) : ready;
}

static bf_sim_activity activity_of(const bf_sim_op *op) {
  static const uint8_t kinds[BF_SIM_UNITS] = {[BF_SIM_UNIT_INT] = BF_SIM_ACTIVITY_INT,
                                              [BF_SIM_UNIT_MUL] = BF_SIM_ACTIVITY_INT,
                                              [BF_SIM_UNIT_FLOAT] = BF_SIM_ACTIVITY_FLOAT,
                                              [BF_SIM_UNIT_DOUBLE] = BF_SIM_ACTIVITY_DOUBLE,
                                              [BF_SIM_UNIT_SPECIAL] = BF_SIM_ACTIVITY_SPECIAL,
                                              [BF_SIM_UNIT_CONVERT] = BF_SIM_ACTIVITY_SPECIAL,
                                              [BF_SIM_UNIT_MATRIX] = BF_SIM_ACTIVITY_MATRIX,
                                              [BF_SIM_UNIT_BRANCH] = BF_SIM_ACTIVITY_OTHER,
                                              [BF_SIM_UNIT_BARRIER] = BF_SIM_ACTIVITY_OTHER,
                                              [BF_SIM_UNIT_ISSUE] = BF_SIM_ACTIVITY_OTHER,
                                              [BF_SIM_UNIT_MEMORY] = BF_SIM_ACTIVITY_OTHER};
  return kinds[op->unit];
}

/* The scheduler has issued an instruction: when its next turn is. */
static void end_turn(bf_sim_sm *sm, issuer *its, unsigned slot, const bf_sim_op *op) {
  uint64_t turn = sm->now + sm->gpu->issue_cycles * op->slots;
  its->last = slot;
  if (its->turn >= turn)
    return;
  sm->count.turns += turn - (its->turn > sm->now ? its->turn : sm->now);
  its->turn = turn;
}

/* Begins the next group of what a warp does later. */
static uint8_t next_group(uint64_t *done, uint8_t group) {
  group = (uint8_t)((group + 1) % BF_SIM_GROUPS);
  done[group] = 0;
  return group;
}

/* What an instruction that was issued does beside: groups that it ends, products that it begins. */
static void begin_late(bf_sim_sm *sm, unsigned scheduler, bf_sim_warp *warp, const bf_sim_op *op) {
  board *own = sm->core_data;
  if (op->ends_group)
    warp->group = (uint8_t)((warp->group + 1) % BF_SIM_GROUPS);
  if (op->ends_stores)
    warp->stored_group = next_group(warp->stored, warp->stored_group);
  if (op->ends_products)
    warp->multiplied_group = next_group(warp->multiplied, warp->multiplied_group);
  if (op->product_cycles > 0) {
    uint64_t *unit = &own->unit_free[scheduler][BF_SIM_UNIT_MATRIX], now = sm->now * TICKS;
    *unit = (*unit > now ? *unit : now) + ticks((double)op->product_cycles);
    warp->multiplied[warp->multiplied_group] = *unit / TICKS + sm->gpu->product_cycles;
    own->operands_until = *unit > own->operands_until ? *unit : own->operands_until;
    own->operand_share = op->operand_share;
  }
}

/* Issues the next instruction of a warp. False: it must wait for other multiprocessors. */
static bool issue(bf_sim_sm *sm, unsigned scheduler, bf_sim_warp *warp) {
  board *own = sm->core_data;
  const bf_sim_op *op = warp->next;
  scored *score = &own->warp[warp->slot];
  unsigned unit = unit_of(sm, own, scheduler, op);
  if ((op->is_ordered || op->is_beyond) && bf_sim_must_pause(sm, op))
    return false;
  uint32_t instruction = warp->instruction;
  uint64_t busy = sm->now + sm->gpu->issue_cycles * op->slots;
  uint64_t ready = sm->now + own->unit_cycles[op->unit] + op->more_cycles +
                   (op->slots - 1) * sm->gpu->issue_cycles;
  uint64_t loading, from = sm->now; /* when a load that is passed has its address */
  if (score->is_passed && is_load(op))
    from = registers_ready(score, op, sm->now, &loading);
  if (!bf_sim_execute(sm, warp))
    return false;
  if (op->unit == BF_SIM_UNIT_MEMORY)
    ready = bf_sim_time_memory(sm, warp, op, from, &busy);
  else if (own->unit_ticks[unit]) {
    uint64_t free_at;
    unsigned set = free_set(sm, own, scheduler, unit, &free_at);
    if (set < SETS)
      own->unit_free[set][unit] =
          sm->now * TICKS + own->unit_ticks[unit] * (op->unit_slots ? op->unit_slots : op->slots);
  }
  if (op->unit == BF_SIM_UNIT_BRANCH) {
    busy = sm->now + sm->gpu->branch_cycles;
    score->round = 0;
  }
  if (op->is_fence)
    busy = sm->now + sm->gpu->fence_cycles;
  if (op->holds_warp)
    busy = ready;
  if (op->is_fixed)
    ready = sm->now + 1;
  if (op->stall && busy < sm->now + op->stall)
    busy = sm->now + op->stall;
  begin_late(sm, scheduler, warp, op);
  if (op->is_try) {
    warp->tests = bf_emu_warp_test_again(warp->emu);
    ready = sm->now + sm->gpu->mbarrier_cycles;
  }
  if (score->is_passed)
    ready = pass(sm, score, op, ready);
  set_results(score, op, ready);
  if (op->is_division)
    score->divided_at = ready;
  sm->count.issued += op->is_made ? op->slots : 1;
  sm->count.activity[activity_of(op)] += op->slots;
  end_turn(sm, &own->scheduler[scheduler], warp->slot, op);
  if (sm->settings->watch && ready < LOADING_FROM) /* else when the data has come */
    bf_sim_tell(sm, warp, scheduler, instruction, sm->now, ready,
                (unsigned)bf_count_wavefronts(&sm->touched.shared));
  uint64_t earliest = op->unit == BF_SIM_UNIT_BARRIER ? behind_barrier(sm, warp) : busy;
  score->is_meeting = false;
  if (op->is_ordered && op->unit == BF_SIM_UNIT_BARRIER) /* of the cluster */
    earliest = meet(sm, warp, score, op, busy);
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
      !can_issue(sm, own, index, score->kind))
    return false;
  set_state(sm, warp, READY);
  return issue(sm, index, warp);
}

/* The warp among slots that would be looked at last. */
static unsigned choose_last(bf_sim_sm *sm, issuer *its, uint64_t slots) {
  unsigned slot = 0;
  if (sm->gpu->scheduler == BF_SIM_LRR) {
    uint64_t before = its->last < 63 ? slots & ((UINT64_C(2) << its->last) - 1) : slots;
    return 63 - (unsigned)__builtin_clzll(before ? before : slots);
  }
  for (; slots; slots &= ~(UINT64_C(1) << slot))
    slot = choose(sm, its, slots);
  return slot;
}

/* Whether all of these slots of a scheduler wait for nothing but room among the loads in flight, as
 * they mostly do where memory is the limit: who comes first does not matter then. (Two-level
 * scheduling changes its first group when it is asked.) */
static bool waits_for_room(const bf_sim_sm *sm, const board *own, const issuer *its,
                           uint64_t slots) {
  return !bf_sim_has_room(sm) && !(slots & ~own->of_kind[KIND_GLOBAL]) &&
         its->way_free <= sm->now * TICKS && own->queue_count < sm->gpu->shared_queue &&
         sm->gpu->scheduler != BF_SIM_TWO_LEVEL;
}

/* The warp of a scheduler that issues; false: none can, and blocked_by says why the one that was
 * looked at last cannot. Where a warp cannot issue, no other with an instruction of the same kind
 * can. */
static bool find_warp(bf_sim_sm *sm, unsigned index, unsigned *slot) {
  board *own = sm->core_data;
  issuer *its = &own->scheduler[index];
  uint64_t all = own->in[READY] & its->mask, left = all;
  if (waits_for_room(sm, own, its, all)) {
    its->blocked_by = BF_SIM_OTHER;
    return false;
  }
  uint8_t reason[KINDS];
  uint8_t last_reason = 0;
  bool differ = false;
  while (left) {
    *slot = choose(sm, its, left);
    unsigned kind = own->warp[*slot].kind;
    if (can_issue(sm, own, index, kind))
      return true;
    reason[kind] = its->blocked_by;
    differ |= left != all && reason[kind] != last_reason;
    last_reason = reason[kind];
    left &= ~own->of_kind[kind];
  }
  if (differ)
    its->blocked_by = reason[own->warp[choose_last(sm, its, all)].kind];
  return false;
}

/* A turn of a scheduler. False: the multiprocessor has paused. */
static bool take_turn(bf_sim_sm *sm, unsigned index) {
  unsigned slot;
  if (!find_warp(sm, index, &slot))
    return true;
  const bf_sim_op *op = sm->warp[slot].next;
  if (!issue(sm, index, &sm->warp[slot]))
    return false;
  bool pairs = sm->gpu->dispatch > 1 && op->slots == 1 && op->unit != BF_SIM_UNIT_BRANCH &&
               op->unit != BF_SIM_UNIT_BARRIER && !sm->is_stopped;
  if (pairs)
    issue_second(sm, index, slot, (bf_sim_unit)op->unit);
  return true;
}

/* Why a scheduler did not issue. */
static bf_sim_stall reason_of(const board *own, const issuer *its) {
  if (own->in[READY] & its->mask)
    return (bf_sim_stall)its->blocked_by;
  if (own->in[TIMED] & its->mask)
    return BF_SIM_DEPENDENCY;
  if (own->in[LOADING] & its->mask)
    return BF_SIM_GLOBAL;
  return own->in[WAITING] & its->mask ? BF_SIM_BARRIER : BF_SIM_EMPTY;
}

/* ---- Time ---- */

/* One cycle. False: paused, or the launch has ended. */
static bool run_cycle(bf_sim_sm *sm, bool *issued_any) {
  board *own = sm->core_data;
  if (own->next_scheduler == 0) {
    if (sm->next_answer <= sm->now)
      bf_sim_take_answers(sm, sm->now + 1);
    wake_due(sm);
    if (own->queue_count)
      bf_sim_drain_queue(sm, own);
    own->blocked_until = UINT64_MAX;
  }
  for (; own->next_scheduler < own->schedulers; own->next_scheduler++) {
    issuer *its = &own->scheduler[own->next_scheduler];
    if (its->turn > sm->now)
      continue;
    its->blocked_by = BF_SIM_UNIT;
    uint64_t before = sm->count.issued;
    if (own->in[READY] & its->mask && !take_turn(sm, own->next_scheduler))
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

/* The next cycle at which a warp can become able to issue, from what is known here. Where a warp
 * has issued in this cycle, all others are looked at again in the next one. */
static uint64_t next_cycle(const bf_sim_sm *sm, bool has_issued) {
  const board *own = sm->core_data;
  uint64_t soon = sm->now + 1, next = next_wake(own, soon);
  for (unsigned i = 0; i < own->schedulers && next > soon; i++) {
    const issuer *its = &own->scheduler[i];
    if (!(own->in[READY] & its->mask))
      continue;
    uint64_t at = soon;
    if (its->turn > sm->now)
      at = its->turn;
    else if (!has_issued && own->blocked_until > soon * TICKS)
      at = own->blocked_until == UINT64_MAX ? UINT64_MAX : (own->blocked_until + TICKS - 1) / TICKS;
    if (at < next)
      next = at;
  }
  return next;
}

/* Turns that a scheduler does not use in cycles that are skipped: why, and the first of them. */
typedef struct skipped {
  uint64_t first;
  bf_sim_stall reason;
} skipped;

/* What schedulers do from a cycle on in which nothing happens to their warps. */
static void find_skipped(const board *own, uint64_t from, skipped *skip) {
  for (unsigned i = 0; i < own->schedulers; i++) {
    const issuer *its = &own->scheduler[i];
    skip[i].first = its->turn > from ? its->turn : from;
    skip[i].reason = reason_of(own, its);
  }
}

/* Counts these turns, up to those of cycle `to`. */
static void count_skipped(bf_sim_sm *sm, const skipped *skip, uint64_t to) {
  const board *own = sm->core_data;
  for (unsigned i = 0; i < own->schedulers; i++)
    if (skip[i].first < to)
      sm->count.stalls[skip[i].reason] += to - skip[i].first;
}

/* Goes on to cycle `next`, before which no warp can issue by itself, or to the first answer before
 * it that may let one. Most lines of a load come before its last one, and change nothing. */
static void go_to(bf_sim_sm *sm, uint64_t next) {
  const board *own = sm->core_data;
  uint64_t from = sm->now, warps = sm->warps_alive;
  skipped skip[SCHEDULERS];
  /* Its order of warps, and so the reason of a turn without issue, changes by itself. */
  bool looks_again = sm->gpu->scheduler == BF_SIM_CONFLICT_AWARE;
  bool is_changed = false;
  if (next > from + 1 || sm->next_answer < next)
    find_skipped(own, from + 1, skip); /* the turns of `from` were counted */
  if (sm->next_answer <= from)         /* what this cycle itself has set down */
    sm->now = from + 1;
  while (sm->next_answer < next && !is_changed)
    is_changed = bf_sim_take_answers(sm, looks_again ? sm->next_answer + 1 : next) || sm->failed ||
                 looks_again;
  if (!is_changed)
    sm->now = next;
  if (sm->now > from + 1)
    count_skipped(sm, skip, sm->now);
  sm->count.resident_warp_cycles += (sm->now - from) * warps;
}

static void run(bf_sim_sm *sm, uint64_t until) {
  while (sm->now < until) {
    bool issued = false;
    if (!run_cycle(sm, &issued))
      return;
    uint64_t next = next_cycle(sm, issued);
    if (next <= sm->now)
      next = sm->now + 1;
    go_to(sm, next < until ? next : until);
  }
}

static uint64_t next_event(const bf_sim_sm *sm) {
  const board *own = sm->core_data;
  if (own->in[READY])
    return sm->now;
  return own->in[TIMED] ? next_wake(own, sm->now) : UINT64_MAX;
}

/* ---- Warps that come, loads that end ---- */

static void admit(bf_sim_sm *sm, bf_sim_warp *warp) {
  board *own = sm->core_data;
  scored *score = &own->warp[warp->slot];
  memset(score->ready, 0, sm->program->registers * sizeof *score->ready);
  score->shared_at = score->late_until = score->stored_at = score->store_loading = 0;
  score->divided_at = score->guarded_at = 0;
  score->late_count = score->owed_count = score->round = 0;
  score->guarded = 0;
  score->meetings = 0;
  score->is_meeting = false;
  score->owed_instructions = 0;
  score->has_copies = false;
  score->state = WAITING;
  own->in[WAITING] |= UINT64_C(1) << warp->slot;
  issuer *its = &own->scheduler[score->scheduler];
  if (its->turn < sm->now)
    its->turn = sm->now;
  run_free(sm, warp);
  if (warp->emu)
    settle(sm, warp, sm->now);
  else
    forget(sm, warp);
}

/* The registers that wait for a load have their data: its results, and what was made of them. */
static void set_loaded(const bf_sim_sm *sm, const scored *score, const bf_sim_op *op,
                       uint64_t code) {
  for (unsigned i = 0; i < op->results; i++) {
    uint64_t *own = &score->ready[op->source[op->sources + i]];
    *own = *own == code ? sm->now : *own;
  }
  for (uint32_t i = 0; score->has_copies && i < sm->program->registers; i++)
    score->ready[i] = score->ready[i] == code ? sm->now : score->ready[i];
}

static void loaded(bf_sim_sm *sm, bf_sim_load *load) {
  board *own = sm->core_data;
  bf_sim_warp *warp = load->warp;
  scored *score = &own->warp[warp->slot];
  uint64_t code = LOADING_FROM + (uint64_t)(load - sm->load);
  set_loaded(sm, score, load->op, code);
  score->has_copies &= warp->loads > 0;
  bf_sim_tell(sm, warp, score->scheduler, (uint32_t)(load->op - sm->program->op), load->issued,
              sm->now, 0);
  pay(score, code);
  if (score->store_loading == code) {
    score->store_loading = 0;
    score->stored_at = sm->now;
  }
  bool is_paid = score->loading == LOADING_OWED && score->owed_count == 0;
  bool is_last = score->state == LOADING &&
                 ((score->loading == LOADING_COPIES && !awaits_copies(warp)) ||
                  (score->loading == LOADING_FENCE && warp->loads == 0 && warp->writes == 0));
  if (score->state == LOADING && (score->loading == code || is_paid || is_last))
    settle(sm, warp, score->wake > sm->now ? score->wake : sm->now);
}

static void written(bf_sim_sm *sm, bf_sim_warp *warp) {
  const board *own = sm->core_data;
  const scored *score = &own->warp[warp->slot];
  if (score->state == LOADING && score->loading == LOADING_FENCE && warp->loads == 0)
    settle(sm, warp, score->wake > sm->now ? score->wake : sm->now);
}

static bf_sim_wait wait_of(const bf_sim_sm *sm, const bf_sim_warp *warp) {
  const board *own = sm->core_data;
  const scored *score = &own->warp[warp->slot];
  switch (score->state) {
  case TIMED:
    return (bf_sim_wait){.kind = BF_SIM_WAIT_READY, .cycle = score->wake};
  case LOADING:
    return (bf_sim_wait){.kind = score->loading == LOADING_TEST ? BF_SIM_WAIT_MBARRIER
                                                                : BF_SIM_WAIT_GLOBAL};
  case WAITING:
    return (bf_sim_wait){.kind = BF_SIM_WAIT_OTHERS, .others = sm->feed->calls->wait(warp->emu)};
  default:
    return (bf_sim_wait){.kind = BF_SIM_WAIT_NOTHING};
  }
}

static uint64_t warp_bytes(const bf_sim_sm *sm) {
  return sizeof(scored) + (sm->gpu->lookahead ? sizeof(passed) : 0) +
         sm->program->registers * sizeof(uint64_t);
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
  free(own->warp);
  free(own->registers);
  free(own->passed);
  free(own->queue);
  free(own);
}

/* The scheduler of a slot. Where the warps of a block are a multiple of the schedulers, the first
 * of each block may be with the next one (first_warps), so that what only first warps do is shared.
 */
static unsigned scheduler_of(const bf_sim_sm *sm, unsigned slot) {
  unsigned schedulers = (unsigned)sm->gpu->schedulers, block = slot / sm->warps_per_block;
  bool turns = sm->gpu->first_warps == FIRST_WARPS_TURN && sm->warps_per_block % schedulers == 0;
  return (slot + (turns ? block : 0)) % schedulers;
}

static int create(bf_sim_sm *sm, bf_diagnostic *diagnostic) {
  board *own = sm->core_data = calloc(1, sizeof *own);
  if (!own)
    return bf_no_memory(diagnostic);
  own->warp = calloc(sm->slots, sizeof *own->warp);
  own->registers = calloc((size_t)sm->slots * sm->program->registers + 1, sizeof *own->registers);
  own->passed = sm->gpu->lookahead ? calloc(sm->slots, sizeof *own->passed) : NULL;
  own->queue = calloc(sm->gpu->shared_queue, sizeof *own->queue);
  if (!own->warp || !own->registers || (sm->gpu->lookahead && !own->passed) || !own->queue)
    return bf_no_memory(diagnostic);
  own->schedulers = (unsigned)sm->gpu->schedulers;
  own->far_first = UINT64_MAX;
  for (unsigned i = 0; i < own->schedulers; i++)
    own->scheduler[i].last = NO_SLOT;
  for (unsigned i = 0; i < sm->slots; i++) {
    scored *score = &own->warp[i];
    score->ready = own->registers + (size_t)i * sm->program->registers;
    score->passed = own->passed ? &own->passed[i] : NULL;
    score->scheduler = (uint8_t)scheduler_of(sm, i);
    own->scheduler[score->scheduler].mask |= UINT64_C(1) << i;
  }
  set_units(sm->gpu, own);
  return BF_OK;
}

const bf_sim_core bf_sim_scoreboard_core = {.create = create,
                                            .free = free_board,
                                            .admit = admit,
                                            .run = run,
                                            .freed = freed,
                                            .tested = tested,
                                            .loaded = loaded,
                                            .written = written,
                                            .next_event = next_event,
                                            .wait = wait_of,
                                            .warp_bytes = warp_bytes};

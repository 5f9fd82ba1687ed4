/* Lanes that go different ways and meet again.
 *
 * The lanes of a warp are spread over paths: sets of lanes at the same place. One path runs; the
 * others are ready, or wait at a barrier, or wait for lanes to take part in an operation. When a
 * branch sends lanes two ways, a join is made for the place where the ways meet (the nearest
 * post-dominator of the branch). A path that comes to its join waits there until all lanes that the
 * join expects have come, and then they go on as one path. Between the branch and its join, the
 * path that is furthest behind runs first, and paths that come to the same place go on as one: that
 * is where both halves of `if (a || b)` meet, and where ptxas lets them meet too. So lanes are
 * together wherever they can be, and still every path gets its turn: one that has polled memory for
 * a while is set aside, and where nobody else can run, the lanes that wait for it at a join are let
 * go without it. That is how a lock that one lane holds and the others of its warp wait for is
 * released. */
#include "emu/warp.h"

#include "emu/cluster.h"
#include "emu/device.h"
#include "emu/proxy.h"
#include "ptx/site.h"

#include <stdlib.h>

void bf_emu_account(bf_emu_warp *warp, const bf_emu_op *end) {
  const bf_emu_code *code = warp->frame->code;
  uint32_t count = code->counted[end - code->op] - code->counted[warp->segment - code->op];
  warp->instructions += count;
  warp->worker->warp_instructions += count;
  warp->worker->thread_instructions += (uint64_t)count * bf_emu_count(warp->active);
}

/* ---- Joins ---- */

static bf_emu_join *new_join(bf_emu_warp *warp, const bf_emu_op *at) {
  bf_emu_join *join = warp->free_joins;
  if (join)
    warp->free_joins = join->next_free;
  else if ((join = calloc(1, sizeof *join))) {
    join->next_made = warp->joins;
    warp->joins = join;
  } else
    return NULL;
  join->at = at;
  join->frame = warp->frame;
  join->expected = warp->active;
  join->arrived = 0;
  join->outer = warp->join;
  return join;
}

static void free_join(bf_emu_warp *warp, bf_emu_join *join) {
  join->next_free = warp->free_joins;
  warp->free_joins = join;
}

/* Whether a is further behind than b in a call. */
static bool is_behind(const bf_emu_frame *frame, const bf_emu_op *a, const bf_emu_op *b) {
  const bf_emu_code *code = frame->code;
  return code->order[a - code->op] < code->order[b - code->op];
}

/* Adds a path of the running call that is ready. */
static void add_path(bf_emu_warp *warp, const bf_emu_op *at, uint32_t mask, bf_emu_join *join) {
  warp->path[warp->paths++] = (bf_emu_path){
      .at = at, .mask = mask, .frame = warp->frame, .join = join, .state = BF_EMU_READY};
}

static void remove_path(bf_emu_warp *warp, unsigned index) {
  warp->paths--;
  memmove(warp->path + index, warp->path + index + 1, (warp->paths - index) * sizeof *warp->path);
}

/* Makes a path out of the lanes that have arrived at a join. */
static void release(bf_emu_warp *warp, bf_emu_join *join) {
  bf_emu_path *path = &warp->path[warp->paths++];
  *path = (bf_emu_path){.at = join->at,
                        .mask = join->arrived,
                        .frame = join->frame,
                        .join = join->outer,
                        .state = BF_EMU_READY};
  join->expected &= ~join->arrived;
  join->arrived = 0;
}

bf_emu_path *bf_emu_set_aside(bf_emu_warp *warp, const bf_emu_op *at) {
  bf_emu_path *path = &warp->path[warp->paths++];
  *path = (bf_emu_path){.at = at,
                        .mask = warp->active,
                        .frame = warp->frame,
                        .join = warp->join,
                        .state = BF_EMU_READY};
  warp->active = 0;
  return path;
}

bool bf_emu_split_off(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes, const bf_emu_op *at,
                      const bf_emu_op *join_at) {
  bf_emu_account(warp, op + 1);
  bf_emu_join *join = warp->join;
  if (join_at && (!join || join->at != join_at || join->frame != warp->frame)) {
    join = new_join(warp, join_at);
    if (!join)
      return bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, 0, "out of memory") != NULL;
  }
  warp->join = join;
  warp->active &= ~lanes;
  if (join_at && at == join_at)
    join->arrived |= lanes;
  else
    add_path(warp, at, lanes, join);
  return true;
}

const bf_emu_op *bf_emu_split(bf_emu_warp *warp, const bf_emu_op *op, uint32_t taken,
                              const bf_emu_op *target, const bf_emu_op *join_at) {
  const bf_emu_op *first = op + 1, *second = target;
  uint32_t later = taken;
  if (is_behind(warp->frame, target, op + 1)) {
    first = target;
    second = op + 1;
    later = warp->active & ~taken;
  }
  if (!bf_emu_split_off(warp, op, later, second, join_at))
    return NULL;
  warp->segment = first;
  return bf_emu_let_pass(warp, first);
}

void bf_emu_absorb(bf_emu_warp *warp, const bf_emu_op *op) {
  for (unsigned i = warp->paths; i-- > 0;) {
    const bf_emu_path *path = &warp->path[i];
    if (path->at != op || path->state != BF_EMU_READY || path->join != warp->join ||
        path->frame != warp->frame)
      continue;
    bf_emu_account(warp, op);
    warp->segment = op;
    warp->active |= path->mask;
    remove_path(warp, i);
  }
}

const bf_emu_op *bf_emu_let_pass(bf_emu_warp *warp, const bf_emu_op *target) {
  int behind = -1;
  for (unsigned i = 0; i < warp->paths; i++) {
    const bf_emu_path *path = &warp->path[i];
    if (path->state == BF_EMU_READY && !path->yielded && path->join == warp->join &&
        path->frame == warp->frame && is_behind(path->frame, path->at, target) &&
        (behind < 0 || is_behind(path->frame, path->at, warp->path[behind].at)))
      behind = (int)i;
  }
  if (behind < 0)
    return target;
  bf_emu_path next = warp->path[behind];
  remove_path(warp, (unsigned)behind);
  add_path(warp, target, warp->active, warp->join);
  warp->active = next.mask;
  warp->segment = next.at;
  return next.at;
}

const bf_emu_op *bf_emu_arrive(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_emu_join *join = warp->join;
  bf_emu_account(warp, op);
  join->arrived |= warp->active;
  warp->segment = op;
  if (join->arrived != join->expected) {
    warp->active = 0;
    return bf_emu_next_path(warp);
  }
  warp->active = join->arrived;
  warp->join = join->outer;
  free_join(warp, join);
  return op; /* perhaps the place of the outer join too */
}

/* ---- Choosing a path ---- */

bool bf_emu_can_run(const bf_emu_warp *warp) {
  for (unsigned i = 0; i < warp->paths; i++)
    if (warp->path[i].state == BF_EMU_READY)
      return true;
  return false;
}

/* The path with the same join and call as path index that is furthest behind. */
static int furthest_behind(const bf_emu_warp *warp, int index) {
  const bf_emu_path *path = &warp->path[index];
  int found = index;
  for (unsigned i = 0; i < warp->paths; i++) {
    const bf_emu_path *other = &warp->path[i];
    if (other->state == BF_EMU_READY && !other->yielded && other->join == path->join &&
        other->frame == path->frame && is_behind(path->frame, other->at, warp->path[found].at))
      found = (int)i;
  }
  return found;
}

/* Index of the path to run: the youngest that has not yielded, or one beside it that is further
 * behind; or else the oldest; -1: none is ready. */
static int ready_path(bf_emu_warp *warp) {
  int oldest = -1;
  for (unsigned i = warp->paths; i-- > 0;) {
    if (warp->path[i].state != BF_EMU_READY)
      continue;
    if (!warp->path[i].yielded)
      return furthest_behind(warp, (int)i);
    oldest = (int)i;
  }
  return oldest;
}

/* Takes path index out of the list and makes it the running one. */
static const bf_emu_op *resume(bf_emu_warp *warp, unsigned index) {
  bf_emu_path path = warp->path[index];
  remove_path(warp, index);
  warp->active = path.mask;
  warp->frame = path.frame;
  warp->registers = path.frame->registers;
  warp->join = path.join;
  warp->segment = path.at;
  warp->spins = 0;
  return path.at;
}

/* The lanes of a waiting path that execute its operation: its guard may leave some out. */
static uint32_t comers(const bf_emu_path *path) {
  const bf_emu_op *op = path->at;
  uint32_t guard = *(const uint32_t *)(const void *)(path->frame->registers + op->guard);
  return path->mask & (guard ^ op->guard_flip);
}

/* The lanes that wait where path waits. */
static uint32_t gathered(const bf_emu_warp *warp, const bf_emu_path *path) {
  uint32_t lanes = 0;
  for (unsigned i = 0; i < warp->paths; i++)
    if (warp->path[i].state == BF_EMU_AT_MEETING && warp->path[i].at == path->at &&
        warp->path[i].frame == path->frame)
      lanes |= path->goes_by_mask ? comers(&warp->path[i]) : warp->path[i].mask;
  return lanes;
}

/* Executes the operation that the paths at `at` have met for, once for all of them, and lets them
 * go on behind it. */
static bool hold_meeting(bf_emu_warp *warp, const bf_emu_path *meeting) {
  const bf_emu_op *at = meeting->at;
  bf_emu_frame *frame = meeting->frame;
  warp->active = 0;
  for (unsigned i = 0; i < warp->paths; i++)
    if (warp->path[i].state == BF_EMU_AT_MEETING && warp->path[i].at == at &&
        warp->path[i].frame == frame)
      warp->active |= warp->path[i].mask;
  warp->frame = frame;
  warp->registers = frame->registers;
  warp->segment = at;
  warp->is_meeting = true;
  const bf_emu_op *next = at->run(warp, at);
  warp->is_meeting = false;
  if (!next)
    return false;
  bf_emu_account(warp, next);
  warp->active = 0;
  for (unsigned i = 0; i < warp->paths; i++)
    if (warp->path[i].state == BF_EMU_AT_MEETING && warp->path[i].at == at &&
        warp->path[i].frame == frame) {
      warp->path[i].at = next;
      warp->path[i].state = BF_EMU_READY;
    }
  return true;
}

/* Whether path waits by a mask. */
static bool waits_by_mask(const bf_emu_path *path) {
  return path->state == BF_EMU_AT_MEETING && path->goes_by_mask;
}

/* Whether path waits to execute together what the other does, there or elsewhere: the same
 * operation with the same qualifiers and the same mask. */
static bool waits_alike(const bf_emu_path *path, const bf_emu_path *other) {
  if (!waits_by_mask(path))
    return false;
  if (path->at == other->at && path->frame == other->frame)
    return true;
  return path->meeting == other->meeting && path->at->small[2] != BF_EMU_NOT_ALIKE &&
         memcmp(path->at->small, other->at->small, 3) == 0;
}

/* Has the lanes of path leave at warp->party what they bring to its operation. */
static void bring(bf_emu_warp *warp, const bf_emu_path *path) {
  warp->active = path->mask;
  warp->frame = path->frame;
  warp->registers = path->frame->registers;
  path->at->run(warp, path->at);
  warp->active = 0;
}

/* Holds the meeting of a path together with those at other places that execute the same. False: the
 * launch has ended. */
static bool hold_alike(bf_emu_warp *warp, const bf_emu_path *meeting) {
  const bf_emu_path first = *meeting;
  bf_emu_party party = {0};
  bool goes_on = true;
  warp->party = &party;
  for (unsigned i = 0; i < warp->paths; i++)
    if (waits_alike(&warp->path[i], &first))
      bring(warp, &warp->path[i]);
  party.is_complete = true;
  for (unsigned i = 0; i < warp->paths && goes_on; i++)
    if (waits_alike(&warp->path[i], &first))
      goes_on = hold_meeting(warp, &warp->path[i]);
  warp->party = NULL;
  return goes_on;
}

/* The lanes that wait for the meeting of path, there or elsewhere. */
static uint32_t gathered_by_mask(const bf_emu_warp *warp, const bf_emu_path *path) {
  uint32_t lanes = 0;
  for (unsigned i = 0; i < warp->paths; i++)
    if (waits_alike(&warp->path[i], path))
      lanes |= comers(&warp->path[i]);
  return lanes;
}

/* Lets lanes of a mask go on that wait for the others at a join, or beside them because of a guard:
 * ptxas makes no place to meet of a join that has such an operation before it, so that lanes that
 * pass it by may end, or come to another that they are waited for at. False: there are none. */
static bool let_go(bf_emu_warp *warp, uint32_t lanes) {
  for (unsigned i = 0; i < warp->paths; i++) {
    bf_emu_path *path = &warp->path[i];
    uint32_t beside = waits_by_mask(path) ? path->mask & ~comers(path) & lanes : 0;
    if (beside) {
      bf_emu_path made = {
          .at = path->at + 1, .mask = beside, .frame = path->frame, .join = path->join};
      path->mask &= ~beside;
      warp->path[warp->paths++] = made;
      return true;
    }
    for (bf_emu_join *join = path->join; join; join = join->outer)
      if (join->arrived & lanes) {
        release(warp, join);
        return true;
      }
  }
  return false;
}

/* The path that lane is in; NULL: it waits at a join, or has ended. */
static const bf_emu_path *path_of(const bf_emu_warp *warp, unsigned lane) {
  for (unsigned i = 0; i < warp->paths; i++)
    if (warp->path[i].mask >> lane & 1)
      return &warp->path[i];
  return NULL;
}

/* Brings lanes further that wait for others by a mask, where no meeting at one place is complete.
 * Where races are looked for, nobody is let go: what lanes pass by is told. False: there are none,
 * or nothing in the warp can bring the others. */
static bool meet_by_mask(bf_emu_warp *warp) {
  for (unsigned i = 0; i < warp->paths; i++) {
    const bf_emu_path *path = &warp->path[i];
    if (waits_by_mask(path) && (path->meeting & warp->alive & ~gathered_by_mask(warp, path)) == 0)
      return hold_alike(warp, path);
  }
  for (unsigned i = 0; i < warp->paths && !warp->worker->flight->races; i++) {
    const bf_emu_path *path = &warp->path[i];
    if (waits_by_mask(path) &&
        let_go(warp, path->meeting & warp->alive & ~gathered_by_mask(warp, path)))
      return true;
  }
  return false;
}

/* Holds a meeting whose lanes have all come; if none is complete and nobody of the warp can bring
 * more, one of those who came, which is told where it cannot be. False: there is none. */
static bool meet_somewhere(bf_emu_warp *warp) {
  const bf_emu_path *any = NULL;
  bool somebody_waits = false;
  for (unsigned i = 0; i < warp->paths; i++) {
    const bf_emu_path *path = &warp->path[i];
    somebody_waits |= path->state == BF_EMU_AT_BARRIER || path->state == BF_EMU_AT_CLUSTER;
    if (path->state != BF_EMU_AT_MEETING)
      continue;
    any = !any || any->goes_by_mask ? path : any;
    if ((path->meeting & warp->alive & ~gathered(warp, path)) == 0)
      return hold_meeting(warp, path);
  }
  if (!any)
    return false;
  if (meet_by_mask(warp))
    return true;
  if (warp->worker->flight->stop || somebody_waits)
    return false;
  if (any->goes_by_mask && !warp->worker->flight->races && bf_emu_fail_meeting(warp))
    return false;
  return hold_meeting(warp, any);
}

/* Whether every ready path has yielded. */
static bool all_yielded(const bf_emu_warp *warp) {
  for (unsigned i = 0; i < warp->paths; i++)
    if (warp->path[i].state == BF_EMU_READY && !warp->path[i].yielded)
      return false;
  return true;
}

const bf_emu_op *bf_emu_next_path(bf_emu_warp *warp) {
  for (;;) {
    int index = ready_path(warp);
    if (index >= 0 && warp->path[index].yielded && all_yielded(warp) && warp->budget == 0)
      return NULL;
    if (index >= 0)
      return resume(warp, (unsigned)index);
    if (!meet_somewhere(warp))
      return NULL;
  }
}

bool bf_emu_all_came(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes, uint32_t members) {
  uint32_t missing = members & warp->alive & ~lanes;
  if (!missing)
    return true;
  bf_emu_fail(warp, op, BF_EMU_DEADLOCK, BF_FIRST_LANE(lanes),
              "%d threads of the warp never come to this instruction, lane %u first: %s",
              __builtin_popcount(missing), BF_FIRST_LANE(missing),
              members == UINT32_MAX ? "all must execute it together"
                                    : "its mask names them as members");
  return false;
}

/* bf_emu_meet, and bf_emu_meet_by_mask where goes_by_mask. */
static bool meet(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes, uint32_t members,
                 bool goes_by_mask) {
  bf_emu_party *party = warp->party;
  if (party && !party->is_complete) {
    party->lanes |= lanes;
    return true;
  }
  uint32_t missing = members & warp->alive & ~lanes & ~(party ? party->lanes : 0);
  if (warp->is_meeting && missing && warp->worker->flight->races)
    return bf_emu_all_came(warp, op, lanes, members);
  if (warp->is_meeting || !missing) {
    warp->order++;
    return true;
  }
  bf_emu_account(warp, op);
  bf_emu_path *path = bf_emu_set_aside(warp, op);
  path->state = BF_EMU_AT_MEETING;
  path->meeting = members;
  path->goes_by_mask = goes_by_mask;
  return false;
}

bool bf_emu_meet(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes, uint32_t members) {
  return meet(warp, op, lanes, members, false);
}

bool bf_emu_meet_by_mask(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes, uint32_t members) {
  return meet(warp, op, lanes, members, true);
}

void bf_emu_put_wait(const bf_emu_warp *warp, const bf_emu_path *path, char *text, size_t room) {
  const char *file;
  uint64_t line;
  const bf_emu_code *code = path->frame->code;
  bool is_behind_it = path->state == BF_EMU_AT_BARRIER;
  uint32_t index = code->instruction[path->at - code->op - is_behind_it];
  const bf_ptx_instruction *at =
      index < code->function->instructions ? code->function->instruction[index] : NULL;
  int put = path->state == BF_EMU_AT_BARRIER
                ? snprintf(text, room, "waits at barrier %u", path->barrier)
            : path->state == BF_EMU_AT_CLUSTER
                ? snprintf(text, room, "waits at the barrier of the cluster")
            : path->state == BF_EMU_AT_MEETING
                ? snprintf(text, room, "waits for lanes of mask 0x%08x", path->meeting)
                : snprintf(text, room, "does not come");
  if (!at || put < 0 || (size_t)put >= room)
    return;
  bf_ptx_source_line(warp->worker->flight->kernel->module->ptx, at, &file, &line);
  if (line)
    snprintf(text + put, room - (size_t)put, " at %s:%llu", file ? file : "line",
             (unsigned long long)line);
  else
    snprintf(text + put, room - (size_t)put, " at PTX line %llu", (unsigned long long)at->line);
}

bool bf_emu_fail_meeting(bf_emu_warp *warp) {
  for (unsigned i = 0; i < warp->paths; i++) {
    const bf_emu_path *path = &warp->path[i];
    uint32_t missing = path->meeting & warp->alive & ~gathered(warp, path);
    const bf_emu_path *other = missing ? path_of(warp, BF_FIRST_LANE(missing)) : NULL;
    char what[160] = "";
    if (path->state != BF_EMU_AT_MEETING || !other)
      continue;
    bf_emu_put_wait(warp, other, what, sizeof what);
    warp->frame = path->frame;
    int count = __builtin_popcount(missing);
    bf_emu_fail(warp, path->at, BF_EMU_DEADLOCK, BF_FIRST_LANE(path->mask),
                "%d thread%s of the warp, which the mask 0x%08x names, never come%s to this "
                "instruction: lane %u %s",
                count, count == 1 ? "" : "s", path->meeting, count == 1 ? "s" : "",
                BF_FIRST_LANE(missing), what);
    return true;
  }
  return false;
}

/* ---- Turns ---- */

const bf_emu_op *bf_emu_yield(bf_emu_warp *warp, const bf_emu_op *at, bool is_spinning) {
  bf_emu_join *join = warp->join;
  bf_emu_path *path = bf_emu_set_aside(warp, at);
  path->yielded = true;
  path->test = is_spinning ? warp->test : NULL;
  path->test_address = warp->test_address;
  warp->test = NULL;
  warp->spins = 0;
  bool others = false;
  for (unsigned i = 0; i + 1 < warp->paths; i++)
    others |= warp->path[i].state == BF_EMU_READY && !warp->path[i].yielded;
  if (is_spinning && !others) {
    while (join && !join->arrived)
      join = join->outer;
    if (join)
      release(warp, join);
  }
  for (unsigned i = 0; i < warp->paths; i++)
    if (warp->path[i].state == BF_EMU_READY && !warp->path[i].yielded)
      return bf_emu_next_path(warp);
  warp->budget = 0;
  return NULL;
}

/* ---- Ends ---- */

/* Takes lanes that are gone out of the joins around the running path. */
static void leave_joins(bf_emu_warp *warp, uint32_t lanes) {
  for (bf_emu_join *join = warp->join, *outer; join; join = outer) {
    outer = join->outer;
    join->expected &= ~lanes;
    if (join->arrived && join->arrived == join->expected)
      release(warp, join);
    if (join->expected == 0) {
      if (warp->join == join)
        warp->join = outer;
      free_join(warp, join);
    }
  }
}

const bf_emu_op *bf_emu_end_lanes(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes) {
  bf_emu_block *block = warp->block;
  bf_emu_account(warp, op + 1);
  warp->segment = op + 1;
  warp->alive &= ~lanes;
  warp->active &= ~lanes;
  block->threads_alive -= bf_emu_count(lanes);
  leave_joins(warp, lanes);
  bf_emu_lanes_ended(warp);
  for (bf_emu_frame *frame = warp->frame; frame; frame = frame->caller)
    frame->lanes &= ~lanes;
  for (unsigned i = 0; i < BF_EMU_BARRIERS; i++)
    if (block->barrier[i].arrived)
      bf_emu_barrier_check(block, i);
  if (warp->active)
    return op + 1;
  return bf_emu_next_path(warp);
}

/* ---- Calls ---- */

bf_emu_frame *bf_emu_frame_get(bf_emu_warp *warp, const bf_emu_code *code) {
  for (bf_emu_frame *frame = warp->frames; frame; frame = frame->next)
    if (frame->is_free && frame->code == code) {
      frame->is_free = false;
      return frame;
    }
  bf_emu_frame *frame = calloc(1, sizeof *frame);
  void *registers = NULL;
  if (!frame || posix_memalign(&registers, 64, code->frame_bytes)) {
    free(frame);
    return NULL;
  }
  memcpy(registers, code->first_frame, code->frame_bytes);
  frame->registers = registers;
  frame->code = code;
  bf_emu_frame_move(frame, warp->block->rank);
  frame->next = warp->frames;
  warp->frames = frame;
  return frame;
}

/* ---- Barriers ---- */

/* Lets all go on that wait at a barrier. */
static void open_barrier(bf_emu_block *block, unsigned number) {
  bf_emu_barrier *barrier = &block->barrier[number];
  barrier->result_and = barrier->ands;
  barrier->result_or = barrier->ors;
  barrier->result_sum = barrier->sums;
  barrier->arrived = barrier->expected = 0;
  barrier->ands = 1;
  barrier->ors = barrier->sums = 0;
  for (unsigned w = 0; w < block->warps; w++) {
    bf_emu_warp *warp = &block->warp[w];
    for (unsigned i = 0; i < warp->paths; i++)
      if (warp->path[i].state == BF_EMU_AT_BARRIER && warp->path[i].barrier == number)
        warp->path[i].state = BF_EMU_READY;
  }
  block->epoch += number < BF_EMU_NAMED_BARRIERS;
  bf_proxy_all_hear(block);
}

void bf_emu_barrier_check(bf_emu_block *block, unsigned number) {
  bf_emu_barrier *barrier = &block->barrier[number];
  uint32_t expected = barrier->expected ? barrier->expected : block->threads_alive;
  if (barrier->arrived != 0 && barrier->arrived >= expected)
    open_barrier(block, number);
}

/* The lanes of a warp that wait at a barrier, and those that wait for them by a mask on another
 * side of the branch that the former are in. */
static uint32_t beside_barrier(const bf_emu_warp *warp, unsigned number) {
  uint32_t waiting = 0, beside = 0;
  for (unsigned i = 0; i < warp->paths; i++) {
    const bf_emu_path *path = &warp->path[i];
    if (path->state != BF_EMU_AT_BARRIER || path->barrier != number)
      continue;
    waiting |= path->mask;
    for (unsigned k = 0; path->join && k < warp->paths; k++)
      if (waits_by_mask(&warp->path[k]) && warp->path[k].join == path->join)
        beside |= warp->path[k].mask;
  }
  return waiting ? waiting | beside : 0;
}

bool bf_emu_barrier_by_warps(bf_emu_block *block) {
  for (unsigned number = 0; number < BF_EMU_NAMED_BARRIERS; number++) {
    bool is_complete = block->barrier[number].arrived && !block->barrier[number].expected;
    for (unsigned w = 0; w < block->warps && is_complete; w++)
      is_complete = !(block->warp[w].alive & ~beside_barrier(&block->warp[w], number));
    if (is_complete) {
      open_barrier(block, number);
      return true;
    }
  }
  return false;
}

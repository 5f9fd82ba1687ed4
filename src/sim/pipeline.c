/* The pipelines as queues and chains of stages.
 *
 * The stages of the front need not be moved one by one. Parts keep their order, each takes at least
 * front_stages cycles, and bubbles between them close up when the first part is held: so the front
 * is a queue of front_stages places whose first part can leave front_stages cycles after it came,
 * or later. Where in the front each part stands matters to watchers only, for whom places are
 * worked out (shift). */
#include "sim/pipeline.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STAGES = 32 };

/* Parts in the order in which they came. */
typedef struct queue {
  unsigned capacity, first, count;
  bf_sim_part *part;
} queue;

/* Stages in a row, each with room for one part. */
typedef struct chain {
  unsigned stages;
  uint32_t full; /* bit k: stage k holds a part */
  bf_sim_part part[MOST_STAGES];
} chain;

/* Data that waits to be written. */
typedef struct returned {
  uint32_t flight;
  uint16_t parts, written;
} returned;

struct bf_sim_pipe {
  bf_sim_pipeline kind;
  bf_sim_pipe_user user;
  queue front, premem, nonmem;
  chain memory, beside;   /* beside: the NONMEM path of split */
  bf_sim_reached reached; /* what became of the part in MEM0 */
  returned *back;
  unsigned backs, first_back, back_count;
  bf_sim_part in_writeback;
  bool writes; /* in_writeback holds a part in this cycle */
};

/* ---- Queues ---- */

static bool make_queue(queue *made, unsigned capacity) {
  made->capacity = capacity;
  made->part = calloc(capacity + 1, sizeof *made->part);
  return made->part != NULL;
}

/* Part number index from the oldest on. */
static inline bf_sim_part *at(const queue *own, unsigned index) {
  unsigned place = own->first + index;
  return &own->part[place >= own->capacity ? place - own->capacity : place];
}

static inline bool is_full(const queue *own) { return own->count == own->capacity; }

/* Adds a part at the end. */
static void push(queue *own, const bf_sim_part *part, uint64_t now) {
  bf_sim_part *place = at(own, own->count++);
  *place = *part;
  place->since = now;
  place->place = 0;
}

/* Takes the oldest part out. */
static void pop(queue *own) {
  if (++own->first == own->capacity)
    own->first = 0;
  own->count--;
}

/* Takes part number index out; those that came later close up. */
static void take_out(queue *own, unsigned index) {
  for (; index > 0; index--)
    *at(own, index) = *at(own, index - 1);
  pop(own);
}

/* ---- Chains ---- */

static inline bool holds(const chain *own, unsigned stage) { return own->full >> stage & 1; }

/* Puts a part into a stage. */
static void put(chain *own, unsigned stage, const bf_sim_part *part, uint64_t now) {
  own->part[stage] = *part;
  own->part[stage].since = now;
  own->full |= 1U << stage;
}

static void clear(chain *own, unsigned stage) { own->full &= ~(1U << stage); }

/* Moves parts from stage `first` on to the next stage where that is empty. */
static void move(chain *own, unsigned first, uint64_t now) {
  for (unsigned stage = own->stages - 1; stage-- > first;)
    if (holds(own, stage) && !holds(own, stage + 1)) {
      put(own, stage + 1, &own->part[stage], now);
      clear(own, stage);
    }
}

/* ---- Making ---- */

int bf_sim_pipe_create(const bf_sim_pipe_shape *shape, const bf_sim_pipe_user *user,
                       bf_sim_pipe **pipe, bf_diagnostic *diagnostic) {
  *pipe = NULL;
  if (shape->memory_stages > MOST_STAGES || shape->nonmem_stages > 2 * MOST_STAGES ||
      (shape->kind == BF_SIM_SPLIT && shape->nonmem_stages > MOST_STAGES))
    return bf_fail(diagnostic, BF_BAD_INPUT, "in-order pipelines have at most %d memory stages",
                   MOST_STAGES);
  bf_sim_pipe *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->kind = shape->kind;
  made->user = *user;
  made->memory.stages = shape->memory_stages;
  made->beside.stages = shape->nonmem_stages;
  made->backs = shape->returns;
  made->back = calloc(shape->returns + 1, sizeof *made->back);
  bool is_complete = make_queue(&made->front, shape->front_stages) &&
                     make_queue(&made->premem, shape->premem_queue) &&
                     make_queue(&made->nonmem, shape->nonmem_stages) && made->back;
  if (!is_complete) {
    bf_sim_pipe_free(made);
    return bf_no_memory(diagnostic);
  }
  *pipe = made;
  return BF_OK;
}

void bf_sim_pipe_free(bf_sim_pipe *pipe) {
  if (!pipe)
    return;
  free(pipe->front.part);
  free(pipe->premem.part);
  free(pipe->nonmem.part);
  free(pipe->back);
  free(pipe);
}

/* ---- Writeback ---- */

/* The part in the last stage of the front, or NULL. */
static bf_sim_part *ripe(const bf_sim_pipe *pipe, uint64_t now) {
  if (pipe->front.count == 0)
    return NULL;
  bf_sim_part *first = at(&pipe->front, 0);
  return first->since + pipe->front.capacity <= now ? first : NULL;
}

static inline bool may_write(const bf_sim_pipe *pipe, const bf_sim_part *part) {
  return !pipe->user.may_write || pipe->user.may_write(pipe->user.context, part);
}

/* Whether MEM0 has done all that its part needs. */
static bool is_served(const bf_sim_pipe *pipe, uint64_t now) {
  const bf_sim_part *part = &pipe->memory.part[0];
  return pipe->reached != BF_SIM_WAITS && part->since + part->memory_cycles <= now;
}

/* Writes a part: it is in the writeback stage in this cycle. */
static void write_part(bf_sim_pipe *pipe, const bf_sim_part *part, uint64_t now) {
  pipe->in_writeback = *part;
  pipe->in_writeback.since = now;
  pipe->writes = true;
  pipe->user.written(pipe->user.context, &pipe->in_writeback);
}

/* Writes the next part of data that has come back. */
static bool write_returned(bf_sim_pipe *pipe, uint64_t now) {
  if (pipe->back_count == 0)
    return false;
  returned *back = &pipe->back[pipe->first_back];
  bf_sim_part part = {.flight = back->flight, .index = back->written++, .is_memory = true};
  if (back->written == back->parts) {
    pipe->first_back = (pipe->first_back + 1) % pipe->backs;
    pipe->back_count--;
  }
  write_part(pipe, &part, now);
  return true;
}

/* Writes what stands at the end of a chain. */
static bool write_last(bf_sim_pipe *pipe, chain *own, uint64_t now) {
  unsigned last = own->stages - 1;
  if (!holds(own, last) || !may_write(pipe, &own->part[last]))
    return false;
  if (own == &pipe->memory && last == 0) {
    if (!is_served(pipe, now) || pipe->reached == BF_SIM_LEAVES)
      return false;
    if (own->part[0].is_memory)
      pipe->user.served(pipe->user.context, &own->part[0]);
  }
  clear(own, last);
  write_part(pipe, &own->part[last], now);
  return true;
}

/* Elastic: the oldest part of the NONMEM queue that may be written, or else one that leaves the
 * front. */
static void write_past_memory(bf_sim_pipe *pipe, uint64_t now) {
  for (unsigned i = 0; i < pipe->nonmem.count; i++)
    if (may_write(pipe, at(&pipe->nonmem, i))) {
      bf_sim_part part = *at(&pipe->nonmem, i);
      take_out(&pipe->nonmem, i);
      write_part(pipe, &part, now);
      return;
    }
  bf_sim_part *part = ripe(pipe, now);
  if (part && !part->is_memory && may_write(pipe, part)) {
    bf_sim_part written = *part;
    pop(&pipe->front);
    write_part(pipe, &written, now);
  }
}

/* What the writeback stage takes in this cycle. */
static void write_one(bf_sim_pipe *pipe, uint64_t now) {
  pipe->writes = false;
  if (write_returned(pipe, now) || write_last(pipe, &pipe->memory, now))
    return;
  if (pipe->kind == BF_SIM_SPLIT)
    write_last(pipe, &pipe->beside, now);
  if (pipe->kind == BF_SIM_ELASTIC)
    write_past_memory(pipe, now);
}

/* ---- Moving on ---- */

/* Asks what becomes of the part in MEM0; it is served from now on unless it waits. */
static void reach(bf_sim_pipe *pipe, uint64_t now) {
  bf_sim_part *part = &pipe->memory.part[0];
  pipe->reached = part->is_memory ? pipe->user.reached(pipe->user.context, part) : BF_SIM_STAYS;
  if (pipe->reached != BF_SIM_WAITS)
    part->since = now;
}

/* Moves the parts of the memory stages on. */
static void move_memory(bf_sim_pipe *pipe, uint64_t now) {
  chain *memory = &pipe->memory;
  if (memory->full == 0)
    return;
  move(memory, 1, now);
  if (!holds(memory, 0))
    return;
  if (pipe->reached == BF_SIM_WAITS) {
    reach(pipe, now);
    return;
  }
  bool leaves = pipe->reached == BF_SIM_LEAVES;
  bool has_next = memory->stages > 1 && !holds(memory, 1);
  if (!is_served(pipe, now) || !(leaves || has_next))
    return;
  if (memory->part[0].is_memory)
    pipe->user.served(pipe->user.context, &memory->part[0]);
  if (!leaves)
    put(memory, 1, &memory->part[0], now);
  clear(memory, 0);
}

/* Moves the oldest part of a queue into MEM0, which is empty. */
static void enter_memory(bf_sim_pipe *pipe, queue *from, uint64_t now) {
  put(&pipe->memory, 0, at(from, 0), now);
  pop(from);
  reach(pipe, now);
}

/* Moves the first part of the front out of it, where it is ripe and there is room. */
static void leave_front(bf_sim_pipe *pipe, uint64_t now) {
  const bf_sim_part *part = ripe(pipe, now);
  if (!part)
    return;
  bool is_beside = !part->is_memory && pipe->kind != BF_SIM_UNIFIED;
  if (is_beside && pipe->kind == BF_SIM_SPLIT) {
    if (holds(&pipe->beside, 0))
      return;
    put(&pipe->beside, 0, part, now);
    pop(&pipe->front);
  } else if (is_beside) {
    if (is_full(&pipe->nonmem))
      return;
    push(&pipe->nonmem, part, now);
    pop(&pipe->front);
  } else if (pipe->premem.count == 0 && !holds(&pipe->memory, 0))
    enter_memory(pipe, &pipe->front, now);
  else if (pipe->kind == BF_SIM_ELASTIC && !is_full(&pipe->premem)) {
    push(&pipe->premem, part, now);
    pop(&pipe->front);
  }
}

void bf_sim_pipe_advance(bf_sim_pipe *pipe, uint64_t now) {
  unsigned before = pipe->front.count;
  write_one(pipe, now);
  move_memory(pipe, now);
  if (pipe->kind == BF_SIM_SPLIT)
    move(&pipe->beside, 0, now);
  if (pipe->premem.count && !holds(&pipe->memory, 0))
    enter_memory(pipe, &pipe->premem, now);
  if (pipe->front.count == before) /* one part leaves the front in a cycle */
    leave_front(pipe, now);
}

/* ---- The front, and what comes back ---- */

bool bf_sim_pipe_has_room(const bf_sim_pipe *pipe) { return !is_full(&pipe->front); }

bf_sim_stall bf_sim_pipe_blocked(const bf_sim_pipe *pipe, uint64_t now) {
  const bf_sim_part *first = at(&pipe->front, 0), *held = &pipe->memory.part[0];
  if (!first->is_memory && pipe->kind != BF_SIM_UNIFIED)
    return BF_SIM_WRITEBACK;
  if (pipe->reached == BF_SIM_WAITS)
    return BF_SIM_OTHER;
  if (is_served(pipe, now))
    return BF_SIM_WRITEBACK;
  /* A part that takes MEM0 for one cycle is in the way only where it had to wait before. */
  return held->memory_cycles > 1 ? (bf_sim_stall)held->held_by : BF_SIM_OTHER;
}

void bf_sim_pipe_enter(bf_sim_pipe *pipe, uint64_t now, bf_sim_part part) {
  push(&pipe->front, &part, now);
}

void bf_sim_pipe_return(bf_sim_pipe *pipe, uint32_t flight, unsigned parts) {
  unsigned place = (pipe->first_back + pipe->back_count++) % pipe->backs;
  pipe->back[place] = (returned){.flight = flight, .parts = (uint16_t)parts};
}

uint64_t bf_sim_pipe_next(const bf_sim_pipe *pipe, uint64_t now) {
  if (pipe->memory.full || pipe->beside.full || pipe->premem.count || pipe->nonmem.count ||
      pipe->back_count)
    return now + 1;
  if (pipe->front.count == 0)
    return UINT64_MAX;
  uint64_t leaves = at(&pipe->front, 0)->since + pipe->front.capacity;
  return leaves > now ? leaves : now + 1;
}

/* ---- Watchers ---- */

typedef struct teller {
  void (*tell)(void *context, const bf_sim_part *part, const char *stage, bool is_stalled);
  void *context;
  uint64_t now;
} teller;

/* Names of stages and places. */
#define NAMES(name)                                                                                \
  name "0", name "1", name "2", name "3", name "4", name "5", name "6", name "7", name "8",        \
      name "9", name "10", name "11", name "12", name "13", name "14", name "15", name "16",       \
      name "17", name "18", name "19", name "20", name "21", name "22", name "23", name "24",      \
      name "25", name "26", name "27", name "28", name "29", name "30", name "31", name "32",      \
      name "33", name "34", name "35", name "36", name "37", name "38", name "39", name "40",      \
      name "41", name "42", name "43", name "44", name "45", name "46", name "47", name "48",      \
      name "49", name "50", name "51", name "52", name "53", name "54", name "55", name "56",      \
      name "57", name "58", name "59", name "60", name "61", name "62", name "63"

static const char *const memory_names[] = {NAMES("MEM")};
static const char *const nonmem_names[] = {NAMES("NONMEM")};
static const char *const premem_names[] = {NAMES("PREMEM")};
static const char *const front_names[] = {NAMES("EXE")};

/* The first stages are fetch and decode, the last one EXE; EXE2, EXE3, ... lie between. */
static const char *front_name(unsigned place, unsigned stages) {
  if (place + 1 == stages)
    return "EXE";
  return place == 0 ? "IF" : place == 1 ? "ID" : front_names[place];
}

/* Works out in which place of a queue, seen as a row of stages, a part is now: it moves on by one
 * unless the part before it is in the way. Whether it stayed where it was. */
static bool shift(bf_sim_part *part, const bf_sim_part *before, unsigned capacity, uint64_t now) {
  unsigned limit = before ? before->place - 1U : capacity - 1;
  bool stays = part->since < now && part->place >= limit;
  if (part->since < now && !stays)
    part->place++;
  return stays;
}

static void tell_queue(queue *own, const char *const *names, const teller *to) {
  const bf_sim_part *before = NULL;
  for (unsigned i = 0; i < own->count; i++) {
    bf_sim_part *part = at(own, i);
    bool stays = shift(part, before, own->capacity, to->now);
    const char *name = names ? names[part->place] : front_name(part->place, own->capacity);
    to->tell(to->context, part, name, stays);
    before = part;
  }
}

static void tell_chain(const chain *own, const char *const *names, const teller *to) {
  for (unsigned stage = own->stages; stage-- > 0;)
    if (holds(own, stage))
      to->tell(to->context, &own->part[stage], names[stage], own->part[stage].since < to->now);
}

void bf_sim_pipe_tell_written(const bf_sim_pipe *pipe,
                              void (*tell)(void *context, const bf_sim_part *part,
                                           const char *stage, bool is_stalled),
                              void *context) {
  if (pipe->writes)
    tell(context, &pipe->in_writeback, "WB", false);
}

void bf_sim_pipe_tell(bf_sim_pipe *pipe, uint64_t now,
                      void (*tell)(void *context, const bf_sim_part *part, const char *stage,
                                   bool is_stalled),
                      void *context) {
  teller to = {tell, context, now};
  tell_chain(&pipe->memory, memory_names, &to);
  tell_queue(&pipe->premem, premem_names, &to);
  tell_chain(&pipe->beside, nonmem_names, &to);
  if (pipe->kind == BF_SIM_ELASTIC)
    tell_queue(&pipe->nonmem, nonmem_names, &to);
  tell_queue(&pipe->front, NULL, &to);
}

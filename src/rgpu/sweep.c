/* The sweep: see sweep.h. */
#include "rgpu/sweep.h"

#include <stdlib.h>
#include <string.h>

/* ---- Sets that failed ---- */

/* A hash table from a set of nodes (and the distance of the next unit) to the earliest slot. */
typedef struct memo {
  uint64_t *key; /* 0: free */
  uint8_t *slot;
  uint64_t capacity, used; /* capacity is a power of two */
} memo;

enum { FIRST_CAPACITY = 1024, USED_BIT = 63, DISTANCE_SHIFT = 56 };

/* Mixes all bits of a key into all of the result. */
static uint64_t mix(uint64_t key) {
  key = (key ^ (key >> 32)) * UINT64_C(0xd6e8feb86659fd93);
  key = (key ^ (key >> 32)) * UINT64_C(0xd6e8feb86659fd93);
  return key ^ (key >> 32);
}

static uint64_t find_place(const memo *m, uint64_t key) {
  uint64_t at = mix(key) & (m->capacity - 1);
  while (m->key[at] && m->key[at] != key)
    at = (at + 1) & (m->capacity - 1);
  return at;
}

static bool make_memo(memo *m, uint64_t capacity) {
  *m = (memo){.capacity = capacity};
  m->key = calloc(capacity, sizeof *m->key);
  m->slot = malloc(capacity);
  return m->key && m->slot;
}

static void free_memo(memo *m) {
  free(m->key);
  free(m->slot);
}

static bool grow_memo(memo *m) {
  memo larger;
  if (!make_memo(&larger, m->capacity * 2)) {
    free_memo(&larger);
    return false;
  }
  for (uint64_t i = 0; i < m->capacity; i++)
    if (m->key[i]) {
      uint64_t at = find_place(&larger, m->key[i]);
      larger.key[at] = m->key[i];
      larger.slot[at] = m->slot[i];
    }
  larger.used = m->used;
  free_memo(m);
  *m = larger;
  return true;
}

/* ---- The problem ---- */

bool sweep_has_unit(const sweep_problem *p, unsigned slot) {
  return slot >= p->unit_first && (slot - p->unit_first) % p->unit_every == 0 &&
         (slot - p->unit_first) / p->unit_every < p->units;
}

unsigned sweep_units_from(const sweep_problem *p, unsigned slot) {
  unsigned count = 0;
  for (; slot < p->slots; slot++)
    count += sweep_has_unit(p, slot);
  return count;
}

unsigned sweep_lanes_at(const sweep_problem *p, uint64_t placed, uint64_t unit) {
  unsigned lanes = 0;
  for (uint64_t left = placed | unit; left; left &= left - 1) {
    unsigned node = (unsigned)__builtin_ctzll(left);
    lanes += (p->readers[node] & ~placed) != 0 || p->loops[node] != 0;
  }
  for (unsigned node = 0; node < p->nodes * p->copies; node++)
    if (p->loops[node] & ~placed && !((placed | unit) >> node & 1))
      lanes++;
  return lanes;
}

/* ---- Search ---- */

typedef struct sweep {
  const sweep_problem *problem;
  unsigned lanes, last_unit_slot;
  uint64_t all, most_states;
  unsigned units_from[SWEEP_MOST_SLOTS + 1];
  unsigned tail[SWEEP_MOST_NODES]; /* slots that a node's readers need behind its own */
  memo failed;
  bool out_of_memory;
  sweep_result *result;
} sweep;

/* What is placed at one slot: numbers of nodes, or NONE. */
typedef struct move {
  uint8_t unit, core;
  uint16_t score; /* lower is tried first */
} move;

enum { SCORE_OF_LANE = 256 };

/* One of u nodes or none on the unit and one of c or none on the core, u + c at most all nodes. */
enum { NONE = 255, MOST_MOVES = (SWEEP_MOST_NODES / 2 + 1) * (SWEEP_MOST_NODES / 2 + 1) };

static uint64_t bit_of(uint8_t node) { return node == NONE ? 0 : UINT64_C(1) << node; }
static uint64_t set_of(const move *m) { return bit_of(m->unit) | bit_of(m->core); }
static uint8_t first_of(uint64_t set) { return set ? (uint8_t)__builtin_ctzll(set) : NONE; }

/* Copies are alike: a set and the one with two copies exchanged have the same future. The set with
 * the parts of its copies in ascending order stands for all. */
static uint64_t canonical(const sweep_problem *p, uint64_t placed) {
  if (p->copies == 1)
    return placed;
  uint64_t part[SWEEP_MOST_NODES], mask = (UINT64_C(1) << p->nodes) - 1, joined = 0;
  for (unsigned i = 0; i < p->copies; i++) {
    uint64_t one = placed >> (i * p->nodes) & mask;
    unsigned at = i;
    for (; at > 0 && part[at - 1] > one; at--)
      part[at] = part[at - 1];
    part[at] = one;
  }
  for (unsigned i = 0; i < p->copies; i++)
    joined |= part[i] << (i * p->nodes);
  return joined;
}

/* What the units from slot on look like: their distance, or 15 where there are none. */
static uint64_t distance(const sweep *w, unsigned slot) {
  const sweep_problem *p = w->problem;
  if (slot > w->last_unit_slot || p->units == 0)
    return 15;
  if (slot < p->unit_first)
    return p->unit_first - slot < 14 ? p->unit_first - slot : 14;
  return (p->unit_every - (slot - p->unit_first) % p->unit_every) % p->unit_every;
}

/* Whether the set was seen at this slot or an earlier one like it; remembers it otherwise. */
static bool is_known(sweep *w, unsigned slot, uint64_t placed) {
  uint64_t key =
      canonical(w->problem, placed) | distance(w, slot) << DISTANCE_SHIFT | UINT64_C(1) << USED_BIT;
  uint64_t at = find_place(&w->failed, key);
  if (w->failed.key[at] && w->failed.slot[at] <= slot)
    return true;
  if (!w->failed.key[at])
    w->failed.used++;
  w->failed.key[at] = key;
  w->failed.slot[at] = (uint8_t)slot;
  if (w->failed.used * 2 > w->failed.capacity && !grow_memo(&w->failed))
    w->out_of_memory = true;
  return false;
}

/* Whether the slots that are left have room for the nodes that are left, lanes aside. */
static bool has_room(const sweep *w, unsigned slot, uint64_t placed) {
  const sweep_problem *p = w->problem;
  uint64_t left = w->all & ~placed;
  if ((unsigned)__builtin_popcountll(left & p->on_core) > p->slots - slot ||
      (unsigned)__builtin_popcountll(left & ~p->on_core) > w->units_from[slot])
    return false;
  for (; left; left &= left - 1)
    if (slot + w->tail[__builtin_ctzll(left)] >= p->slots)
      return false;
  return true;
}

/* The nodes among `from` whose predecessors are all in `placed`. */
static uint64_t ready(const sweep_problem *p, uint64_t from, uint64_t placed) {
  uint64_t found = 0;
  for (uint64_t left = from & ~placed; left; left &= left - 1) {
    unsigned node = (unsigned)__builtin_ctzll(left);
    if ((p->before[node] & ~placed) == 0)
      found |= UINT64_C(1) << node;
  }
  return found;
}

/* Of nodes that differ in their copy only, where the copies are in the same state, the first. */
static uint64_t drop_alike(const sweep_problem *p, uint64_t nodes, uint64_t placed) {
  uint64_t mask = (UINT64_C(1) << p->nodes) - 1, kept = nodes;
  for (unsigned i = 1; i < p->copies; i++)
    for (unsigned j = 0; j < i; j++)
      if ((placed >> (i * p->nodes) & mask) == (placed >> (j * p->nodes) & mask)) {
        kept &= ~(mask << (i * p->nodes));
        break;
      }
  return p->copies > 1 ? kept : nodes;
}

/* Few results under way first, then many nodes placed, then long chains. */
static uint16_t score(const sweep *w, const move *m, uint64_t placed) {
  unsigned tail = 0, lanes = sweep_lanes_at(w->problem, placed | set_of(m), 0);
  if (m->unit != NONE)
    tail += w->tail[m->unit] + SWEEP_MOST_SLOTS;
  if (m->core != NONE)
    tail += w->tail[m->core] + SWEEP_MOST_SLOTS;
  return (uint16_t)(lanes * SCORE_OF_LANE + SCORE_OF_LANE - 1 - tail);
}

static void insert_move(move *moves, unsigned *count, move m) {
  unsigned at = (*count)++;
  for (; at > 0 && moves[at - 1].score > m.score; at--)
    moves[at] = moves[at - 1];
  moves[at] = m;
}

/* Adds the moves that put `unit` (possibly none) at the slot, with every core or none. */
static void add_moves(const sweep *w, uint64_t placed, uint8_t unit, move *moves, unsigned *count) {
  const sweep_problem *p = w->problem;
  uint64_t with_unit = placed | bit_of(unit);
  if (sweep_lanes_at(p, placed, bit_of(unit)) > w->lanes)
    return;
  uint64_t cores = drop_alike(p, ready(p, p->on_core & w->all, with_unit), with_unit);
  for (bool last = false; !last; cores &= cores - 1) {
    move m = {.unit = unit, .core = first_of(cores)};
    last = cores == 0;
    m.score = score(w, &m, placed);
    if (m.score / SCORE_OF_LANE <= w->lanes || (placed | set_of(&m)) == w->all)
      insert_move(moves, count, m);
  }
}

/* Everything that can be placed at a slot. */
static unsigned list_moves(const sweep *w, unsigned slot, uint64_t placed, move *moves) {
  const sweep_problem *p = w->problem;
  unsigned count = 0;
  if (sweep_has_unit(p, slot)) {
    uint64_t units = drop_alike(p, ready(p, w->all & ~p->on_core, placed), placed);
    for (; units; units &= units - 1)
      add_moves(w, placed, first_of(units), moves, &count);
  }
  add_moves(w, placed, NONE, moves, &count);
  return count;
}

/* Writes down where the nodes of a move went. */
static void keep_move(sweep *w, const move *m, unsigned slot) {
  if (m->unit != NONE)
    w->result->slot[m->unit] = (uint8_t)slot;
  if (m->core != NONE)
    w->result->slot[m->core] = (uint8_t)slot;
}

/* Whether results that go round the ring fit into the slots behind the last node. */
static bool can_end(const sweep *w, unsigned slot) {
  return slot == w->problem->slots || sweep_lanes_at(w->problem, w->all, 0) <= w->lanes;
}

static sweep_answer visit(sweep *w, unsigned slot, uint64_t placed) {
  move moves[MOST_MOVES];
  if (placed == w->all && can_end(w, slot))
    return SWEEP_FITS;
  if (!has_room(w, slot, placed) || slot == w->problem->slots || is_known(w, slot, placed))
    return SWEEP_DOES_NOT_FIT;
  if (w->out_of_memory || ++w->result->states > w->most_states)
    return SWEEP_GAVE_UP;
  unsigned count = list_moves(w, slot, placed, moves);
  for (unsigned i = 0; i < count; i++) {
    sweep_answer answer = visit(w, slot + 1, placed | set_of(&moves[i]));
    if (answer == SWEEP_FITS)
      keep_move(w, &moves[i], slot);
    if (answer != SWEEP_DOES_NOT_FIT)
      return answer;
  }
  return SWEEP_DOES_NOT_FIT;
}

/* For each node the slots between it and the end of the longest chain behind it: a core writes one
 * slot further, and two units are not at one slot. */
static void measure_tails(sweep *w) {
  const sweep_problem *p = w->problem;
  unsigned nodes = p->nodes * p->copies;
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned node = 0; node < nodes; node++)
      for (uint64_t left = p->before[node]; left; left &= left - 1) {
        unsigned from = (unsigned)__builtin_ctzll(left);
        bool same_slot = !(p->on_core >> from & 1) && (p->on_core >> node & 1);
        unsigned tail = w->tail[node] + !same_slot;
        changed |= tail > w->tail[from] && tail <= p->slots;
        if (tail > w->tail[from] && tail <= p->slots)
          w->tail[from] = tail;
      }
  }
}

int sweep_search(const sweep_problem *problem, unsigned lanes, uint64_t most_states,
                 sweep_result *result) {
  unsigned nodes = problem->nodes * problem->copies;
  *result = (sweep_result){0};
  sweep w = {.problem = problem,
             .lanes = lanes,
             .all = (UINT64_C(1) << nodes) - 1,
             .most_states = most_states,
             .last_unit_slot = problem->unit_first +
                               problem->unit_every * (problem->units ? problem->units - 1 : 0),
             .result = result};
  for (unsigned slot = 0; slot <= problem->slots; slot++)
    w.units_from[slot] = sweep_units_from(problem, slot);
  if (!make_memo(&w.failed, FIRST_CAPACITY)) {
    free_memo(&w.failed);
    return BF_NO_MEMORY;
  }
  measure_tails(&w);
  result->answer = visit(&w, 0, 0);
  free_memo(&w.failed);
  return w.out_of_memory ? BF_NO_MEMORY : BF_OK;
}

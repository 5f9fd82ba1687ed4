/* Which lane carries which result. Results hold intervals of slots; giving each, from left to
 * right, the lowest lane that is free needs no more lanes than there are results at the fullest
 * slot (the left-edge method). Results that go round the end of the ring hold two intervals of one
 * lane; they get theirs first, and the others are then placed by trying. */
#include "rgpu/placing.h"

#include <stdlib.h>

enum { MOST_TRIES = 1000000 };

typedef struct colouring {
  bf_rgpu_placed *placed;
  unsigned *order; /* results by first slot, those round the ring first */
  unsigned count, lanes;
  unsigned tries;
} colouring;

static bool is_round(const bf_rgpu_placed *one) { return one->last < one->first; }

static bool holds(const bf_rgpu_placed *one, unsigned slot) {
  return is_round(one) ? slot >= one->first || slot <= one->last
                       : slot >= one->first && slot <= one->last;
}

/* Two arcs of a ring meet where one holds the start of the other. */
static bool meet(const bf_rgpu_placed *a, const bf_rgpu_placed *b) {
  return holds(a, b->first) || holds(b, a->first);
}

/* Whether none of the first `count` results of the order is in the way. */
static bool is_free(const colouring *c, unsigned count, const bf_rgpu_placed *one, int lane) {
  for (unsigned i = 0; i < count; i++) {
    const bf_rgpu_placed *other = &c->placed[c->order[i]];
    if (other->lane == lane && meet(one, other))
      return false;
  }
  return true;
}

/* Gives lanes to the results from number `at` of the order on. Without results round the ring the
 * first free lane is always right and nothing is tried twice. */
static bool colour(colouring *c, unsigned at) {
  if (at == c->count)
    return true;
  if (++c->tries > MOST_TRIES)
    return false;
  bf_rgpu_placed *one = &c->placed[c->order[at]];
  for (unsigned lane = 0; lane < c->lanes; lane++) {
    if (!is_free(c, at, one, (int)lane))
      continue;
    one->lane = (int)lane;
    if (colour(c, at + 1))
      return true;
    one->lane = -1;
  }
  return false;
}

/* Slots that the result of a node of a copy holds; false if nobody else reads it. A reader before
 * the slot that is written to is reached round the end of the ring. */
static bool set_slots(const placing *p, unsigned node, bf_rgpu_placed *copy) {
  const bf_rgpu_graph *graph = p->graph;
  bf_rgpu_placed *one = &copy[node];
  bool is_core = !bf_rgpu_is_memory(&graph->node[node]), is_read = false, is_looped = false;
  unsigned last = 0, looped = 0;
  one->lane = -1;
  one->first = (one->slot + is_core) % p->ring.cores;
  one->last = one->first;
  for (unsigned i = 0; i < graph->edges; i++) {
    if (graph->edge[i].from != node || graph->edge[i].to == node)
      continue;
    unsigned slot = copy[graph->edge[i].to].slot;
    bool loop = slot < one->slot + is_core;
    is_read = true;
    is_looped |= loop;
    looped = loop && slot > looped ? slot : looped;
    last = !loop && slot > last ? slot : last;
  }
  if (is_read)
    one->last = is_looped ? looped : last;
  return is_read;
}

/* Puts results in the order in which they get lanes. */
static void sort_results(colouring *c) {
  for (unsigned i = 1; i < c->count; i++) {
    unsigned number = c->order[i], at = i;
    const bf_rgpu_placed *one = &c->placed[number];
    for (; at > 0; at--) {
      const bf_rgpu_placed *other = &c->placed[c->order[at - 1]];
      if (is_round(other) != is_round(one) ? is_round(other) : other->first <= one->first)
        break;
      c->order[at] = c->order[at - 1];
    }
    c->order[at] = number;
  }
}

int placing_assign_lanes(const placing *p, bf_rgpu_mapping *mapping) {
  unsigned nodes = p->graph->nodes;
  colouring c = {.placed = mapping->placed};
  c.order = malloc((size_t)nodes * mapping->copies * sizeof *c.order);
  if (!c.order)
    return BF_NO_MEMORY;
  for (unsigned copy = 0; copy < mapping->copies; copy++)
    for (unsigned node = 0; node < nodes; node++)
      if (set_slots(p, node, mapping->placed + copy * nodes))
        c.order[c.count++] = copy * nodes + node;
  sort_results(&c);
  for (c.lanes = mapping->lanes; !colour(&c, 0); c.lanes++, c.tries = 0)
    mapping->lanes_proven = false;
  mapping->lanes = c.lanes;
  free(c.order);
  return BF_OK;
}

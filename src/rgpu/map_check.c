/* Is a mapping what it says? Looks at every slot and every edge, from the rules alone. */
#include "rgpu/map.h"

#include <stdlib.h>

typedef struct checker {
  const bf_rgpu_mapping *m;
  bf_diagnostic *diagnostic;
} checker;

static const char *name_of(const checker *c, unsigned i) {
  return c->m->graph->node[i % c->m->graph->nodes].name;
}

static bool is_unit(const checker *c, unsigned i) {
  return bf_rgpu_is_memory(&c->m->graph->node[i % c->m->graph->nodes]);
}

#define WRONG(c, ...) bf_fail((c)->diagnostic, BF_BAD_INPUT, __VA_ARGS__)

/* A place of its own, where there is one of its kind. */
static int check_place(const checker *c, unsigned i) {
  const bf_rgpu_ring *ring = &c->m->ring;
  unsigned slot = c->m->placed[i].slot;
  if (slot >= ring->cores)
    return WRONG(c, "'%s' is at slot %u of %u", name_of(c, i), slot, ring->cores);
  if (is_unit(c, i) && (slot < ring->unit_first || (slot - ring->unit_first) % ring->unit_every ||
                        (slot - ring->unit_first) / ring->unit_every >= ring->units))
    return WRONG(c, "'%s' is at slot %u, which has no unit", name_of(c, i), slot);
  for (unsigned j = 0; j < i; j++)
    if (is_unit(c, j) == is_unit(c, i) && c->m->placed[j].slot == slot)
      return WRONG(c, "'%s' and '%s' are both at slot %u", name_of(c, j), name_of(c, i), slot);
  return BF_OK;
}

/* Follows the result of a node from the slot it is written to; whether slot is on its way. */
static bool passes(const checker *c, unsigned i, unsigned slot) {
  const bf_rgpu_placed *one = &c->m->placed[i];
  for (unsigned at = (one->slot + !is_unit(c, i)) % c->m->ring.cores;;
       at = (at + 1) % c->m->ring.cores) {
    if (at == slot)
      return true;
    if (at == one->last)
      return false;
  }
}

static int check_edges(const checker *c, unsigned copy) {
  const bf_rgpu_graph *graph = c->m->graph;
  for (unsigned i = 0; i < graph->edges; i++) {
    unsigned from = graph->edge[i].from + copy * graph->nodes;
    unsigned to = graph->edge[i].to + copy * graph->nodes;
    if (from == to)
      continue;
    if (c->m->placed[from].lane < 0 || c->m->placed[from].lane >= (int)c->m->lanes)
      return WRONG(c, "'%s' has no lane", name_of(c, from));
    if (!passes(c, from, c->m->placed[to].slot))
      return WRONG(c, "'%s' does not come to '%s'", name_of(c, from), name_of(c, to));
  }
  return BF_OK;
}

/* No lane carries two results at a slot. */
static int check_slot(const checker *c, unsigned slot) {
  unsigned count = c->m->graph->nodes * c->m->copies;
  for (unsigned i = 0; i < count; i++)
    for (unsigned j = 0; j < i; j++)
      if (c->m->placed[i].lane >= 0 && c->m->placed[i].lane == c->m->placed[j].lane &&
          passes(c, i, slot) && passes(c, j, slot))
        return WRONG(c, "'%s' and '%s' are on one lane at slot %u", name_of(c, j), name_of(c, i),
                     slot);
  return BF_OK;
}

int bf_rgpu_mapping_check(const bf_rgpu_mapping *mapping, bf_diagnostic *diagnostic) {
  checker c = {.m = mapping, .diagnostic = diagnostic};
  if (!mapping->fits)
    return BF_OK;
  if (mapping->lanes > mapping->ring.lanes)
    return WRONG(&c, "%u lanes are used, the ring has %u", mapping->lanes, mapping->ring.lanes);
  for (unsigned i = 0; i < mapping->graph->nodes * mapping->copies; i++)
    BF_TRY(check_place(&c, i));
  for (unsigned copy = 0; copy < mapping->copies; copy++)
    BF_TRY(check_edges(&c, copy));
  for (unsigned slot = 0; slot < mapping->ring.cores; slot++)
    BF_TRY(check_slot(&c, slot));
  return BF_OK;
}

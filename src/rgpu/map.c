/* The mapper: fewest lanes for one copy, then as many copies as fit. */
#include "rgpu/placing.h"

#include <stdlib.h>
#include <string.h>

bf_rgpu_ring bf_rgpu_ring_usual(void) {
  return (bf_rgpu_ring){.cores = 32, .units = 16, .unit_first = 1, .unit_every = 2, .lanes = 6};
}

/* Keeps the text as the reason of an answer. */
static int set_reason(bf_rgpu_mapping *mapping, bf_text *text) {
  mapping->reason = text->failed ? NULL : bf_arena_copy(&mapping->arena, text->data);
  bf_text_free(text);
  return mapping->reason ? BF_OK : BF_NO_MEMORY;
}

/* ---- Why a graph does not fit ---- */

/* The longest chain of nodes that must sit one behind the other, by name. */
static void add_chain(const placing *p, bf_text *text) {
  sweep_problem problem;
  unsigned depth[SWEEP_MOST_NODES] = {0}, from[SWEEP_MOST_NODES], nodes = p->graph->nodes;
  if (!placing_problem(p, 1, p->ring.cores, 0, &problem))
    return;
  unsigned last = 0;
  for (unsigned turn = 0; turn < nodes; turn++)
    for (unsigned node = 0; node < nodes; node++)
      for (unsigned i = 0; i < nodes; i++)
        if (problem.readers[i] >> node & 1 && depth[i] + 1 > depth[node]) {
          depth[node] = depth[i] + 1;
          from[node] = i;
          last = depth[node] > depth[last] ? node : last;
        }
  bf_text_addf(text, "; the longest chain has %u nodes and ends with %s", depth[last] + 1,
               p->graph->node[last].name);
  for (unsigned i = 0, node = last; i < 5 && depth[node]; i++) {
    node = from[node];
    bf_text_addf(text, " <- %s", p->graph->node[node].name);
  }
}

/* Too many nodes for the ring, or nothing (text stays empty). */
static void explain_size(const placing *p, bf_text *text) {
  if (p->cores > p->ring.cores)
    bf_text_addf(text, "the graph needs %u cores, the ring has %u", p->cores, p->ring.cores);
  if (p->units > p->ring.units)
    bf_text_addf(text, "%s %u load/store units, the ring has %u",
                 text->size ? "; it needs" : "the graph needs", p->units, p->ring.units);
}

/* How many lanes would do, asked beyond those of the ring. */
static int explain_lanes(placing *p, bf_text *text) {
  placement found;
  unsigned most = p->graph->nodes + 1;
  BF_TRY(placing_ask(p, 1, p->ring.cores, most, &found));
  if (found.answer == SWEEP_GAVE_UP) {
    bf_text_addf(text, "no mapping was found, nor ruled out: the search gave up after %llu states",
                 (unsigned long long)p->most_states);
    return BF_OK;
  }
  if (found.answer != SWEEP_FITS) {
    bf_text_addf(text,
                 "the nodes do not fit into the %u slots of the ring in any order, however many "
                 "lanes there are",
                 p->ring.cores);
    add_chain(p, text);
    return BF_OK;
  }
  unsigned lanes = p->ring.lanes;
  bool proven = true;
  do {
    BF_TRY(placing_ask(p, 1, p->ring.cores, ++lanes, &found));
    proven &= found.answer != SWEEP_GAVE_UP;
  } while (found.answer != SWEEP_FITS && lanes < most);
  bf_text_addf(text, "the graph needs %s%u lanes, the ring has %u", proven ? "" : "at most ", lanes,
               p->ring.lanes);
  return BF_OK;
}

/* ---- Why there are not fewer lanes ---- */

static int explain_minimum(const placing *p, bf_rgpu_mapping *mapping) {
  bf_text text = {0};
  unsigned node, bound = placing_bound(p, &node);
  if (!mapping->lanes_proven) {
    bf_text_addf(&text, "fewer lanes were not ruled out within %llu states",
                 (unsigned long long)p->most_states);
  } else if (bound >= mapping->lanes) {
    const bf_rgpu_node *reader = &p->graph->node[node];
    bf_text_addf(&text, "fewer lanes do not do: the inputs%s of '%s' are at one slot",
                 bf_rgpu_is_memory(reader) && bf_rgpu_has_result(reader) ? " and the result" : "",
                 reader->name);
  } else {
    bf_text_addf(&text, "fewer lanes do not do: with %u, all %llu states are dead ends",
                 mapping->lanes - 1, (unsigned long long)mapping->refuted);
  }
  return set_reason(mapping, &text);
}

/* ---- One copy ---- */

/* The fewest lanes for one copy from `least` on; found->answer says whether there are any. */
static int find_lanes(placing *p, unsigned least, bf_rgpu_mapping *mapping, placement *found) {
  for (mapping->lanes = least; mapping->lanes <= p->ring.lanes; mapping->lanes++) {
    uint64_t before = p->states;
    BF_TRY(placing_ask(p, 1, p->ring.cores, mapping->lanes, found));
    if (found->answer == SWEEP_FITS)
      return BF_OK;
    mapping->lanes_proven &= found->answer == SWEEP_DOES_NOT_FIT;
    mapping->refuted = p->states - before;
  }
  return BF_OK;
}

/* ---- Copies ---- */

/* Copies of a placement one behind the other, each at a distance that keeps units under units. */
static bool pack_copies(const placing *p, const placement *one, unsigned copies,
                        placement *packed) {
  unsigned first, nodes = p->graph->nodes, every = p->ring.unit_every;
  unsigned span = placing_span(one->slot, nodes, &first);
  unsigned stride = (span + every - 1) / every * every;
  if (p->loop_edges || first + (copies - 1) * stride + span > p->ring.cores)
    return false;
  packed->answer = SWEEP_FITS;
  for (unsigned copy = 0; copy < copies; copy++)
    for (unsigned node = 0; node < nodes; node++) {
      unsigned slot = one->slot[node] + copy * stride;
      if (bf_rgpu_is_memory(&p->graph->node[node]) &&
          (slot - p->ring.unit_first) / every >= p->ring.units)
        return false;
      packed->slot[copy * nodes + node] = (uint8_t)slot;
    }
  return true;
}

/* So many copies with so many lanes: packed if that works, else searched together. */
static int ask_copies(placing *p, unsigned copies, unsigned lanes, placement *found) {
  placement one;
  unsigned slots;
  bool proven = true;
  BF_TRY(placing_ask(p, 1, p->ring.cores, lanes, &one));
  if (one.answer == SWEEP_FITS && copies > 1) {
    BF_TRY(placing_tighten(p, lanes, &one, &slots, &proven));
    if (pack_copies(p, &one, copies, found))
      return BF_OK;
  }
  return placing_ask(p, copies, p->ring.cores, lanes, found);
}

/* Most copies by cores and units alone. */
static unsigned most_copies(const placing *p) {
  unsigned by_cores = p->cores ? p->ring.cores / p->cores : p->ring.cores;
  unsigned by_units = p->units ? p->ring.units / p->units : by_cores;
  return by_cores < by_units ? by_cores : by_units;
}

/* Tries `copies` copies: fewest lanes for them, starting at those that one copy needs. */
static int try_copies(placing *p, unsigned copies, bf_rgpu_mapping *mapping, placement *best) {
  placement found = {.answer = SWEEP_DOES_NOT_FIT};
  bool proven = mapping->lanes_proven;
  uint64_t refuted = mapping->refuted;
  for (unsigned lanes = mapping->lanes_of_one; lanes <= p->ring.lanes; lanes++) {
    uint64_t before = p->states;
    BF_TRY(ask_copies(p, copies, lanes, &found));
    if (found.answer == SWEEP_FITS) {
      *best = found;
      mapping->copies = copies;
      mapping->lanes = lanes;
      mapping->refuted = refuted;
      mapping->lanes_proven = proven && (copies == 1 || !p->loop_edges);
      return BF_OK;
    }
    proven &= found.answer == SWEEP_DOES_NOT_FIT;
    refuted = p->states - before;
  }
  mapping->copies_proven &= found.answer == SWEEP_DOES_NOT_FIT && !p->loop_edges;
  return BF_OK;
}

/* As many copies as asked for, or as fit; best is the placement of one and becomes that of all. */
static int add_copies(placing *p, unsigned wanted, bf_rgpu_mapping *mapping, placement *best) {
  unsigned most = most_copies(p);
  mapping->copies_proven = true;
  if (wanted) {
    if (wanted > 1 && wanted <= most)
      BF_TRY(try_copies(p, wanted, mapping, best));
    mapping->fits = mapping->copies == wanted;
    return BF_OK;
  }
  for (unsigned copies = most; copies > 1 && mapping->copies == 1; copies--)
    BF_TRY(try_copies(p, copies, mapping, best));
  return BF_OK;
}

/* ---- All of it ---- */

/* Writes the placement down, moved to the start of the ring as far as units allow. */
static int keep_placement(const placing *p, const placement *found, bf_rgpu_mapping *mapping) {
  unsigned first, count = p->graph->nodes * mapping->copies, every = p->ring.unit_every;
  mapping->slots = placing_span(found->slot, count, &first);
  unsigned shift = p->loop_edges ? 0 : first / every * every;
  mapping->placed = bf_arena_alloc(&mapping->arena, count * sizeof *mapping->placed);
  if (!mapping->placed)
    return BF_NO_MEMORY;
  for (unsigned i = 0; i < count; i++)
    mapping->placed[i].slot = found->slot[i] - shift;
  return placing_assign_lanes(p, mapping);
}

/* The answer for a graph that does not fit. */
static int refuse(placing *p, unsigned wanted, bf_rgpu_mapping *mapping) {
  bf_text text = {0};
  mapping->fits = false;
  explain_size(p, &text);
  if (!text.size && wanted > 1 && mapping->lanes_of_one)
    bf_text_addf(&text, "%u copies %s into the ring; one copy uses %u cores and %u units", wanted,
                 mapping->copies_proven ? "do not fit" : "were not found to fit", p->cores,
                 p->units);
  int error = text.size ? BF_OK : explain_lanes(p, &text);
  if (error)
    bf_text_free(&text);
  return !error ? set_reason(mapping, &text) : error;
}

static int place_all(placing *p, unsigned wanted, bf_rgpu_mapping *mapping) {
  placement best = {.answer = SWEEP_DOES_NOT_FIT};
  unsigned node, slots;
  if (p->cores > p->ring.cores || p->units > p->ring.units)
    return refuse(p, wanted, mapping);
  mapping->lanes_proven = true;
  BF_TRY(find_lanes(p, placing_bound(p, &node), mapping, &best));
  if (best.answer != SWEEP_FITS || mapping->lanes > p->ring.lanes)
    return refuse(p, wanted, mapping);
  bool tight = true;
  mapping->fits = true;
  mapping->copies = 1;
  mapping->lanes_of_one = mapping->lanes;
  mapping->one_proven = mapping->lanes_proven;
  BF_TRY(placing_tighten(p, mapping->lanes, &best, &slots, &tight));
  BF_TRY(add_copies(p, wanted, mapping, &best));
  if (!mapping->fits)
    return refuse(p, wanted, mapping);
  BF_TRY(keep_placement(p, &best, mapping));
  return explain_minimum(p, mapping);
}

int placing_check_ring(const bf_rgpu_ring *ring, bf_diagnostic *diagnostic) {
  unsigned last = ring->unit_first + ring->unit_every * (ring->units ? ring->units - 1 : 0);
  if (ring->cores < 1 || ring->cores > BF_RGPU_MOST_CORES || ring->units > BF_RGPU_MOST_UNITS ||
      ring->lanes < 1 || ring->lanes > BF_RGPU_MOST_LANES)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a ring has from 1 to %d cores, up to %d units, and from 1 to %d lanes",
                   BF_RGPU_MOST_CORES, BF_RGPU_MOST_UNITS, BF_RGPU_MOST_LANES);
  if (ring->unit_every < 1 || ring->unit_every > 12 || ring->unit_first > 12 ||
      (ring->units && last >= ring->cores))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%u units do not fit beside %u cores: the last would be at slot %u", ring->units,
                   ring->cores, last);
  return BF_OK;
}

/* Graphs that no ring can take are refused before their sets would overflow. */
static int refuse_large(const bf_rgpu_graph *graph, bf_rgpu_mapping *mapping) {
  placing p = {.graph = graph, .ring = mapping->ring};
  for (unsigned i = 0; i < graph->nodes; i++)
    *(bf_rgpu_is_memory(&graph->node[i]) ? &p.units : &p.cores) += 1;
  mapping->cores = p.cores;
  mapping->units = p.units;
  return refuse(&p, 0, mapping);
}

static int map_into(const bf_rgpu_graph *graph, const bf_rgpu_map_options *options,
                    bf_rgpu_mapping *mapping, bf_diagnostic *diagnostic) {
  double start = bf_seconds();
  placing p;
  BF_TRY(placing_check_ring(&options->ring, diagnostic));
  mapping->graph = graph;
  mapping->ring = options->ring;
  int error;
  if (graph->nodes > SWEEP_MOST_NODES) {
    error = refuse_large(graph, mapping);
  } else {
    BF_TRY(placing_begin(&p, graph, options, diagnostic));
    mapping->cores = p.cores;
    mapping->units = p.units;
    error = place_all(&p, options->copies, mapping);
    mapping->states = p.states;
  }
  mapping->seconds = bf_seconds() - start;
  return error == BF_NO_MEMORY ? bf_no_memory(diagnostic) : error;
}

int bf_rgpu_map(const bf_rgpu_graph *graph, const bf_rgpu_map_options *options,
                bf_rgpu_mapping **mapping, bf_diagnostic *diagnostic) {
  *mapping = calloc(1, sizeof **mapping);
  if (!*mapping)
    return bf_no_memory(diagnostic);
  int error = map_into(graph, options, *mapping, diagnostic);
  if (error) {
    bf_rgpu_mapping_free(*mapping);
    *mapping = NULL;
  }
  return error;
}

void bf_rgpu_mapping_free(bf_rgpu_mapping *mapping) {
  if (!mapping)
    return;
  bf_arena_free(&mapping->arena);
  free(mapping);
}

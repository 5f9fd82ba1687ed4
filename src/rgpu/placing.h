/* Inside room rgpu: what the files of the mapper share. */
#ifndef BF_RGPU_PLACING_H
#define BF_RGPU_PLACING_H

#include "rgpu/map.h"
#include "rgpu/sweep.h"

/* Edges that may go round the end of the ring: those with initial values on a cycle of the graph.
 * Each subset of them is tried. */
enum { MOST_LOOP_EDGES = 8 };

/* One graph on one ring. */
typedef struct placing {
  const bf_rgpu_graph *graph;
  bf_rgpu_ring ring;
  uint64_t most_states, states;
  unsigned cores, units; /* that the graph needs */
  unsigned loop_edges, loop_edge[MOST_LOOP_EDGES];
} placing;

/* What one question gave. */
typedef struct placement {
  sweep_answer answer;
  uint8_t slot[SWEEP_MOST_NODES];
} placement;

/* Whether such a ring can be worked with. */
int placing_check_ring(const bf_rgpu_ring *ring, bf_diagnostic *diagnostic);
/* Counts nodes and finds loop edges. The graph must have at most SWEEP_MOST_NODES nodes. */
int placing_begin(placing *p, const bf_rgpu_graph *graph, const bf_rgpu_map_options *options,
                  bf_diagnostic *diagnostic);
/* The rules for some copies where the edges `round` go round the ring; false where those rules
 * contradict each other. */
bool placing_problem(const placing *p, unsigned copies, unsigned slots, unsigned round,
                     sweep_problem *problem);
/* Do so many copies fit into so many slots and lanes? */
int placing_ask(placing *p, unsigned copies, unsigned slots, unsigned lanes, placement *found);
/* The fewest slots for one copy, where it fits into all: `found` becomes that placement. *proven is
 * cleared where a search gave up. */
int placing_tighten(placing *p, unsigned lanes, placement *found, unsigned *slots, bool *proven);
/* Fewest lanes that any placement needs, from one node alone; *node is that node. */
unsigned placing_bound(const placing *p, unsigned *node);
/* From the first slot in use to the last one. */
unsigned placing_span(const uint8_t *slot, unsigned nodes, unsigned *first);

/* ---- lanes.c ---- */

/* Gives each result the slots that it holds and a lane. mapping->placed has slots, and copies and
 * lanes are set; lanes grows where results that go round the ring leave no other way. */
int placing_assign_lanes(const placing *p, bf_rgpu_mapping *mapping);

#endif

/* From a graph to questions for the sweep. */
#include "rgpu/placing.h"

#include <string.h>

static uint64_t bit(unsigned node) { return UINT64_C(1) << node; }

/* ---- Loop edges ---- */

/* reach[v]: the nodes that v's results come to, directly or through others. */
static void close_reach(const bf_rgpu_graph *graph, uint64_t reach[SWEEP_MOST_NODES]) {
  memset(reach, 0, SWEEP_MOST_NODES * sizeof *reach);
  for (unsigned i = 0; i < graph->edges; i++)
    if (graph->edge[i].from != graph->edge[i].to)
      reach[graph->edge[i].from] |= bit(graph->edge[i].to);
  for (unsigned middle = 0; middle < graph->nodes; middle++)
    for (unsigned v = 0; v < graph->nodes; v++)
      if (reach[v] & bit(middle))
        reach[v] |= reach[middle];
}

static int find_loop_edges(placing *p, bf_diagnostic *diagnostic) {
  uint64_t reach[SWEEP_MOST_NODES];
  close_reach(p->graph, reach);
  for (unsigned i = 0; i < p->graph->edges; i++) {
    const bf_rgpu_edge *edge = &p->graph->edge[i];
    if (edge->from == edge->to || !edge->initial || !(reach[edge->to] & bit(edge->from)))
      continue;
    if (p->loop_edges == MOST_LOOP_EDGES)
      return bf_fail_file(diagnostic, BF_UNSUPPORTED, p->graph->file,
                          "more than %d edges with initial values on cycles of several nodes",
                          MOST_LOOP_EDGES);
    p->loop_edge[p->loop_edges++] = i;
  }
  return BF_OK;
}

int placing_begin(placing *p, const bf_rgpu_graph *graph, const bf_rgpu_map_options *options,
                  bf_diagnostic *diagnostic) {
  *p = (placing){.graph = graph,
                 .ring = options->ring,
                 .most_states = options->most_states ? options->most_states : BF_RGPU_USUAL_STATES};
  for (unsigned i = 0; i < graph->nodes; i++)
    *(bf_rgpu_is_memory(&graph->node[i]) ? &p->units : &p->cores) += 1;
  return find_loop_edges(p, diagnostic);
}

/* ---- Rules ---- */

static bool goes_round(const placing *p, unsigned edge, unsigned round) {
  for (unsigned i = 0; i < p->loop_edges; i++)
    if (p->loop_edge[i] == edge)
      return round >> i & 1;
  return false;
}

/* Whether the nodes of one copy can be put in an order that keeps `before`. */
static bool has_order(const sweep_problem *problem) {
  uint64_t done = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned node = 0; node < problem->nodes; node++)
      if (!(done & bit(node)) && !(problem->before[node] & ~done)) {
        done |= bit(node);
        changed = true;
      }
  }
  return done == bit(problem->nodes) - 1;
}

/* Whether two nodes differ in nothing but their number. */
static bool are_twins(const sweep_problem *problem, const uint64_t *before, unsigned a,
                      unsigned b) {
  for (unsigned node = 0; node < problem->nodes; node++)
    if ((before[node] >> a & 1) != (before[node] >> b & 1))
      return false;
  return before[a] == before[b] && problem->readers[a] == problem->readers[b] &&
         problem->loops[a] == problem->loops[b] &&
         (problem->on_core >> a & 1) == (problem->on_core >> b & 1);
}

/* Of twins only the order of their numbers is tried. */
static void order_twins(sweep_problem *problem) {
  uint64_t before[SWEEP_MOST_NODES];
  memcpy(before, problem->before, sizeof before);
  for (unsigned b = 1; b < problem->nodes; b++)
    for (unsigned a = 0; a < b; a++)
      if (are_twins(problem, before, a, b))
        problem->before[b] |= bit(a);
}

static void repeat_for_copies(sweep_problem *problem) {
  for (unsigned copy = 1; copy < problem->copies; copy++)
    for (unsigned node = 0; node < problem->nodes; node++) {
      unsigned shift = copy * problem->nodes, to = node + shift;
      problem->before[to] = problem->before[node] << shift;
      problem->readers[to] = problem->readers[node] << shift;
      problem->loops[to] = problem->loops[node] << shift;
      problem->on_core |= (problem->on_core & bit(node)) << shift;
    }
}

bool placing_problem(const placing *p, unsigned copies, unsigned slots, unsigned round,
                     sweep_problem *problem) {
  *problem = (sweep_problem){.nodes = p->graph->nodes,
                             .copies = copies,
                             .slots = slots,
                             .unit_first = p->ring.unit_first,
                             .unit_every = p->ring.unit_every,
                             .units = p->ring.units};
  for (unsigned i = 0; i < p->graph->nodes; i++)
    if (!bf_rgpu_is_memory(&p->graph->node[i]))
      problem->on_core |= bit(i);
  for (unsigned i = 0; i < p->graph->edges; i++) {
    unsigned from = p->graph->edge[i].from, to = p->graph->edge[i].to;
    if (from == to)
      continue; /* a core writes its own FIFO without a lane */
    bool round_ring = goes_round(p, i, round);
    problem->before[round_ring ? from : to] |= bit(round_ring ? to : from);
    (round_ring ? problem->loops : problem->readers)[from] |= bit(to);
  }
  if (!has_order(problem))
    return false;
  order_twins(problem);
  repeat_for_copies(problem);
  return true;
}

/* ---- Questions ---- */

int placing_ask(placing *p, unsigned copies, unsigned slots, unsigned lanes, placement *found) {
  *found = (placement){.answer = SWEEP_DOES_NOT_FIT};
  for (unsigned round = 0; round < 1u << p->loop_edges; round++) {
    sweep_problem problem;
    sweep_result result;
    if (!placing_problem(p, copies, slots, round, &problem))
      continue;
    BF_TRY(sweep_search(&problem, lanes, p->most_states, &result));
    p->states += result.states;
    if (result.answer == SWEEP_GAVE_UP)
      found->answer = SWEEP_GAVE_UP;
    if (result.answer != SWEEP_FITS)
      continue;
    found->answer = SWEEP_FITS;
    memcpy(found->slot, result.slot, sizeof found->slot);
    return BF_OK;
  }
  return BF_OK;
}

unsigned placing_span(const uint8_t *slot, unsigned nodes, unsigned *first) {
  unsigned low = slot[0], high = slot[0];
  for (unsigned i = 1; i < nodes; i++) {
    low = slot[i] < low ? slot[i] : low;
    high = slot[i] > high ? slot[i] : high;
  }
  *first = low;
  return high - low + 1;
}

int placing_tighten(placing *p, unsigned lanes, placement *found, unsigned *slots, bool *proven) {
  for (*slots = 1; *slots < p->ring.cores; ++*slots) {
    placement tighter;
    BF_TRY(placing_ask(p, 1, *slots, lanes, &tighter));
    if (tighter.answer == SWEEP_GAVE_UP)
      *proven = false;
    if (tighter.answer == SWEEP_FITS) {
      *found = tighter;
      return BF_OK;
    }
  }
  return BF_OK;
}

unsigned placing_bound(const placing *p, unsigned *node) {
  unsigned best = 0;
  *node = 0;
  for (unsigned n = 0; n < p->graph->nodes; n++) {
    uint64_t inputs = 0;
    bool is_read = false;
    for (unsigned i = 0; i < p->graph->edges; i++) {
      const bf_rgpu_edge *edge = &p->graph->edge[i];
      if (edge->from == edge->to)
        continue;
      inputs |= edge->to == n ? bit(edge->from) : 0;
      is_read |= edge->from == n;
    }
    unsigned bound = (unsigned)__builtin_popcountll(inputs);
    bound += is_read && (bf_rgpu_is_memory(&p->graph->node[n]) || bound == 0);
    if (bound > best) {
      best = bound;
      *node = n;
    }
  }
  return best;
}

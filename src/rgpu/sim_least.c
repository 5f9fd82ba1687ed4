/* Which FIFO sizes a graph can run with.
 *
 * Every node takes one value from each of its FIFOs and hands one to each of its readers, so the
 * graph is a marked graph: nodes are transitions; a FIFO is a way from its writer to its reader
 * with as many marks as it holds values, and a way back with as many marks as it has room. The
 * number of marks on a circle never changes, and a marked graph runs for ever exactly where no
 * circle is without marks. A node that writes to its own FIFO takes before it adds, so it needs no
 * room. What pipelines hold comes on top, but there is nothing in them at the start: a circle
 * without marks then never gets any. */
#include "rgpu/sim_inner.h"

#include <string.h>

/* A way without marks: node `to` cannot fire before node `from` has. */
typedef struct waiting {
  unsigned edge;
  bool is_full; /* the FIFO is full; otherwise it is empty */
} waiting;

typedef struct circle_search {
  const bf_rgpu_graph *graph;
  unsigned data, address;
  uint8_t state[BF_RGPU_MOST_NODES];        /* 0: not seen, 1: on the way, 2: on no circle */
  waiting path[BF_RGPU_MOST_NODES];         /* how the nodes on the way were reached */
  unsigned way[BF_RGPU_MOST_NODES], length; /* the nodes */
} circle_search;

static unsigned capacity_of(const bf_rgpu_graph *graph, const bf_rgpu_edge *edge, unsigned data,
                            unsigned address) {
  return bf_rgpu_is_memory(&graph->node[edge->to]) && edge->position == 0 ? address : data;
}

/* Values that the FIFO of an edge holds at first. */
static unsigned initial_of(const bf_rgpu_graph *graph, const bf_rgpu_edge *edge,
                           unsigned capacity) {
  return rgpu_initial_count(&graph->node[edge->to], edge->position, capacity);
}

/* The node that `node` waits for because of a FIFO; -1: it does not. */
static int waits_for(const circle_search *search, unsigned node, unsigned edge, bool is_full) {
  const bf_rgpu_edge *at = &search->graph->edge[edge];
  unsigned capacity = capacity_of(search->graph, at, search->data, search->address);
  unsigned initial = initial_of(search->graph, at, capacity);
  if (is_full)
    return at->from == node && at->to != node && initial >= capacity ? (int)at->to : -1;
  return at->to == node && initial == 0 ? (int)at->from : -1;
}

/* Looks for a circle of nodes that wait for each other, from a node on; true: search->way has it
 * from place *first on. */
static bool find_circle(circle_search *search, unsigned node, unsigned *first) {
  search->state[node] = 1;
  search->way[search->length++] = node;
  for (unsigned i = 0; i < 2 * search->graph->edges; i++) {
    int next = waits_for(search, node, i / 2, i % 2);
    if (next < 0)
      continue;
    search->path[search->length - 1] = (waiting){.edge = i / 2, .is_full = i % 2};
    if (search->state[next] == 1) {
      for (*first = 0; search->way[*first] != (unsigned)next;)
        ++*first;
      return true;
    }
    if (search->state[next] == 0 && find_circle(search, (unsigned)next, first))
      return true;
  }
  search->state[node] = 2;
  search->length--;
  return false;
}

static void explain_circle(const circle_search *search, unsigned first, bf_text *why) {
  const bf_rgpu_graph *graph = search->graph;
  for (unsigned i = first; i < search->length; i++) {
    const bf_rgpu_edge *edge = &graph->edge[search->path[i].edge];
    bf_text_addf(why, "%s%s waits for %s, %s", i > first ? "; " : "",
                 graph->node[search->way[i]].name,
                 graph->node[search->path[i].is_full ? edge->to : edge->from].name,
                 search->path[i].is_full ? "whose FIFO is full" : "from which nothing has come");
  }
}

bool rgpu_initial_fits(const bf_rgpu_graph *graph, unsigned data, unsigned address, bf_text *why) {
  for (unsigned i = 0; i < graph->edges; i++) {
    const bf_rgpu_edge *edge = &graph->edge[i];
    unsigned capacity = capacity_of(graph, edge, data, address);
    unsigned initial = initial_of(graph, edge, capacity);
    if (initial <= capacity)
      continue;
    if (why)
      bf_text_addf(why, "a FIFO of %s has %u values at the start, but only %u entries",
                   graph->node[edge->to].name, initial, capacity);
    return false;
  }
  return true;
}

bool bf_rgpu_can_run(const bf_rgpu_graph *graph, unsigned data_fifo, unsigned address_fifo,
                     bf_text *why) {
  circle_search search = {.graph = graph, .data = data_fifo, .address = address_fifo};
  unsigned first;
  if (!rgpu_initial_fits(graph, data_fifo, address_fifo, why))
    return false;
  for (unsigned i = 0; i < graph->nodes; i++)
    if (search.state[i] == 0 && find_circle(&search, i, &first)) {
      if (why)
        explain_circle(&search, first, why);
      return false;
    }
  return true;
}

unsigned bf_rgpu_least_data_fifo(const bf_rgpu_graph *graph, unsigned address_fifo, unsigned most) {
  for (unsigned size = 1; size <= most; size++)
    if (bf_rgpu_can_run(graph, size, address_fifo, NULL))
      return size;
  return 0;
}

unsigned bf_rgpu_least_address_fifo(const bf_rgpu_graph *graph, unsigned data_fifo, unsigned most) {
  for (unsigned size = 1; size <= most; size++)
    if (bf_rgpu_can_run(graph, data_fifo, size, NULL))
      return size;
  return 0;
}

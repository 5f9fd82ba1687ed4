/* Lanes against cores. A core that only passes a result on saves no lane: the result holds one at
 * every slot all the same. What saves lanes is not to send a result so far: a node that needs no
 * inputs, such as an increment, is computed a second time beside its other readers. And the other
 * way round: more lanes let the nodes move together, so that more copies fit. */
#include "rgpu/placing.h"
#include "rgpu/split.h"

#include <stdlib.h>
#include <string.h>

/* Ways to split that are looked at. */
enum { MOST_WAYS = 400, MOST_READERS = 6 };

typedef struct trader {
  const bf_rgpu_map_options *options;
  bf_rgpu_trade best[BF_RGPU_MOST_CORES + 1]; /* by extra cores; lanes 0: none yet */
  unsigned nodes;                             /* of the graph that is not split */
  unsigned ways;
  bool all_ways;
  bool only_fits;   /* only asks whether a graph fits, and keeps the smallest that does in: */
  bf_text smallest; /* its text */
  unsigned smallest_nodes;
  bf_diagnostic *diagnostic;
} trader;

/* Copies of so many slots that fit one behind the other. */
static unsigned copies_of(const placing *p, unsigned slots) {
  unsigned every = p->ring.unit_every, stride = (slots + every - 1) / every * every;
  unsigned copies = (p->ring.cores - slots) / stride + 1;
  unsigned by_units = p->units ? p->ring.units / p->units : copies;
  return copies < by_units ? copies : by_units;
}

/* The row for one graph with exactly so many lanes, if it fits. */
static int make_row(placing *p, unsigned lanes, unsigned extra, bf_rgpu_trade *row) {
  placement found;
  bool proven = true;
  unsigned slots = 0;
  BF_TRY(placing_ask(p, 1, p->ring.cores, lanes, &found));
  *row = (bf_rgpu_trade){.extra_cores = extra, .proven = found.answer != SWEEP_GAVE_UP};
  if (found.answer != SWEEP_FITS)
    return BF_OK;
  BF_TRY(placing_tighten(p, lanes, &found, &slots, &proven));
  *row = (bf_rgpu_trade){.extra_cores = extra,
                         .lanes = lanes,
                         .slots = slots,
                         .copies = copies_of(p, slots),
                         .proven = proven};
  return BF_OK;
}

/* Looks at one way to split: fewer lanes than known with so many cores, or the same in fewer slots?
 */
static int look_at(trader *t, const bf_rgpu_graph *graph) {
  placing p;
  unsigned extra = graph->nodes - t->nodes, node;
  bool proven = true;
  BF_TRY(placing_begin(&p, graph, t->options, t->diagnostic));
  if (p.cores > p.ring.cores)
    return BF_OK;
  bf_rgpu_trade *best = &t->best[extra], row;
  unsigned most = best->lanes ? best->lanes : p.ring.lanes;
  for (unsigned lanes = placing_bound(&p, &node); lanes <= most; lanes++) {
    BF_TRY(make_row(&p, lanes, extra, &row));
    proven &= row.proven;
    if (!row.lanes)
      continue;
    if (!best->lanes || row.lanes < best->lanes || row.slots < best->slots)
      *best = row;
    break;
  }
  best->proven &= proven;
  return BF_OK;
}

/* Keeps the text of a graph that fits and has fewer nodes than the one kept. */
static int keep_smaller(trader *t, const bf_rgpu_graph *graph) {
  placing p;
  placement found;
  if (t->smallest_nodes && graph->nodes >= t->smallest_nodes)
    return BF_OK;
  BF_TRY(placing_begin(&p, graph, t->options, t->diagnostic));
  if (p.cores > p.ring.cores || p.units > p.ring.units)
    return BF_OK;
  BF_TRY(placing_ask(&p, 1, p.ring.cores, p.ring.lanes, &found));
  if (found.answer != SWEEP_FITS)
    return BF_OK;
  bf_text_free(&t->smallest);
  t->smallest = (bf_text){0};
  t->smallest_nodes = graph->nodes;
  bf_rgpu_print(graph, &t->smallest);
  return t->smallest.failed ? BF_NO_MEMORY : BF_OK;
}

/* ---- All ways to split ---- */

static int split_from(trader *t, const bf_rgpu_graph *graph, unsigned source);

/* Splits one source every way: reader number `at` joins a group that is there or opens one. */
static int split_source(trader *t, const bf_rgpu_graph *graph, unsigned source, unsigned readers,
                        unsigned *group, unsigned at, unsigned groups) {
  if (at == readers) {
    bf_rgpu_graph *split;
    if (groups == 1)
      return split_from(t, graph, source + 1);
    BF_TRY(rgpu_split(graph, source, group, &split));
    int error = split_from(t, split, source + 1);
    bf_rgpu_free(split);
    return error;
  }
  for (group[at] = 0; group[at] <= groups && group[at] < readers; group[at]++) {
    unsigned chosen = group[at];
    BF_TRY(split_source(t, graph, source, readers, group, at + 1,
                        chosen == groups ? groups + 1 : groups));
    group[at] = chosen;
  }
  return BF_OK;
}

/* Splits sources from number `source` on, and looks at the graph when all are done. */
static int split_from(trader *t, const bf_rgpu_graph *graph, unsigned source) {
  unsigned readers[BF_RGPU_MOST_NODES], group[MOST_READERS] = {0};
  for (; source < t->nodes; source++) {
    unsigned count = rgpu_readers(graph, source, readers);
    if (!rgpu_is_source(graph, source) || count < 2)
      continue;
    if (count <= MOST_READERS)
      return split_source(t, graph, source, count, group, 0, 0);
    t->all_ways = false;
  }
  if (graph->nodes > SWEEP_MOST_NODES)
    return BF_OK;
  if (++t->ways > MOST_WAYS) {
    t->all_ways = false;
    return BF_OK;
  }
  return t->only_fits ? keep_smaller(t, graph) : look_at(t, graph);
}

/* ---- Rows ---- */

static void add_row(bf_rgpu_trade trades[BF_RGPU_MOST_TRADES], unsigned *count,
                    const bf_rgpu_trade *row) {
  if (*count < BF_RGPU_MOST_TRADES)
    trades[(*count)++] = *row;
}

/* Rows of the graph as it is, from many lanes to few, where each needs more slots than the last. */
static int list_lanes(trader *t, const bf_rgpu_graph *graph, bf_rgpu_trade *trades,
                      unsigned *count) {
  placing p;
  bf_rgpu_trade rows[BF_RGPU_MOST_LANES + 1] = {{0}};
  unsigned node;
  BF_TRY(placing_begin(&p, graph, t->options, t->diagnostic));
  unsigned least = placing_bound(&p, &node);
  for (unsigned lanes = least; lanes <= p.ring.lanes; lanes++)
    BF_TRY(make_row(&p, lanes, 0, &rows[lanes]));
  for (unsigned lanes = p.ring.lanes; lanes > 0; lanes--) {
    bool is_last = lanes == 1 || !rows[lanes - 1].lanes;
    rows[lanes].proven &= !is_last || lanes <= least || rows[lanes - 1].proven;
    if (rows[lanes].lanes && (is_last || rows[lanes - 1].slots > rows[lanes].slots))
      add_row(trades, count, &rows[lanes]);
  }
  return BF_OK;
}

int bf_rgpu_map_trades(const bf_rgpu_graph *graph, const bf_rgpu_map_options *options,
                       bf_rgpu_trade trades[BF_RGPU_MOST_TRADES], unsigned *count,
                       bf_diagnostic *diagnostic) {
  trader t = {
      .options = options, .nodes = graph->nodes, .all_ways = true, .diagnostic = diagnostic};
  *count = 0;
  BF_TRY(placing_check_ring(&options->ring, diagnostic));
  if (graph->nodes > SWEEP_MOST_NODES)
    return BF_OK;
  for (unsigned i = 0; i <= BF_RGPU_MOST_CORES; i++)
    t.best[i].proven = true;
  int error = list_lanes(&t, graph, trades, count);
  if (!error)
    error = split_from(&t, graph, 0);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  unsigned fewest = *count ? trades[*count - 1].lanes : options->ring.lanes + 1;
  for (unsigned extra = 1; extra <= BF_RGPU_MOST_CORES && !error; extra++)
    if (t.best[extra].lanes && t.best[extra].lanes < fewest) {
      fewest = t.best[extra].lanes;
      t.best[extra].proven &= t.all_ways;
      add_row(trades, count, &t.best[extra]);
    }
  return error;
}

int bf_rgpu_recompute(const bf_rgpu_graph *graph, const bf_rgpu_map_options *options,
                      bf_rgpu_graph **changed, bf_diagnostic *diagnostic) {
  trader t = {
      .options = options, .nodes = graph->nodes, .only_fits = true, .diagnostic = diagnostic};
  *changed = NULL;
  BF_TRY(placing_check_ring(&options->ring, diagnostic));
  int error = graph->nodes > SWEEP_MOST_NODES ? BF_OK : split_from(&t, graph, 0);
  if (error == BF_NO_MEMORY)
    error = bf_no_memory(diagnostic);
  if (!error && t.smallest_nodes)
    error = bf_rgpu_parse(graph->file, t.smallest.data, changed, diagnostic);
  bf_text_free(&t.smallest);
  return error;
}

/* rgpu: which core or load/store unit executes which node, and which lane carries which result.
 * sweep.h has the rules of the ring and says why an answer is a proof. */
#ifndef BF_RGPU_MAP_H
#define BF_RGPU_MAP_H

#include "rgpu/graph.h"

/* An SM: one core per slot, units at slots unit_first + unit_every * i. */
typedef struct bf_rgpu_ring {
  unsigned cores, units, unit_first, unit_every, lanes;
} bf_rgpu_ring;

/* 32 cores, 16 units at the odd slots, 6 lanes (braak15, Fig. 7.2), which has half as many
 * units as cores and lets core N feed unit N + 1; that the first unit is at slot 1 is our reading,
 * by which all 16 can be fed by a core before them. */
bf_rgpu_ring bf_rgpu_ring_usual(void);
/* Most cores and units that can be asked for. */
enum { BF_RGPU_MOST_CORES = 40, BF_RGPU_MOST_UNITS = 16, BF_RGPU_MOST_LANES = 26 };

typedef struct bf_rgpu_map_options {
  bf_rgpu_ring ring;
  unsigned copies;      /* 0: as many as fit */
  uint64_t most_states; /* of one search; 0: BF_RGPU_USUAL_STATES */
} bf_rgpu_map_options;

#define BF_RGPU_USUAL_STATES UINT64_C(4000000)

/* Where a node of a copy is. Its result holds `lane` from slot `first` to slot `last`; last <
 * first: round the end of the ring. lane is -1 where no other node reads it. */
typedef struct bf_rgpu_placed {
  unsigned slot, first, last;
  int lane;
} bf_rgpu_placed;

typedef struct bf_rgpu_mapping {
  bf_arena arena;
  const bf_rgpu_graph *graph; /* borrowed */
  bf_rgpu_ring ring;
  bool fits;
  const char *reason;     /* why not, or why there are not fewer lanes; in words */
  unsigned copies, lanes; /* lanes that these copies need */
  unsigned lanes_of_one;  /* that one copy alone needs */
  bool one_proven;        /* fewer do not do for it */
  bool lanes_proven;      /* fewer lanes do not do for so many copies */
  bool copies_proven;     /* more copies do not fit into the ring */
  unsigned slots;         /* from the first to the last one in use, both included */
  unsigned cores, units;  /* that one copy uses */
  uint64_t states;        /* looked at, all searches together */
  uint64_t refuted;       /* of these, to rule out one lane less */
  double seconds;
  bf_rgpu_placed *placed; /* of node n in copy c: placed[n + graph->nodes * c] */
} bf_rgpu_mapping;

/* Finds the fewest lanes and the most copies. That a graph does not fit is an answer, no error. */
int bf_rgpu_map(const bf_rgpu_graph *graph, const bf_rgpu_map_options *options,
                bf_rgpu_mapping **mapping, bf_diagnostic *diagnostic);
void bf_rgpu_mapping_free(bf_rgpu_mapping *mapping);

/* Checks a mapping against the rules of the ring, sharing nothing with the search. */
int bf_rgpu_mapping_check(const bf_rgpu_mapping *mapping, bf_diagnostic *diagnostic);

/* ---- Lanes against cores ---- */

/* One way to pay for lanes with cores: increments computed anew beside their readers. */
typedef struct bf_rgpu_trade {
  unsigned extra_cores; /* besides those of the graph */
  unsigned lanes;       /* fewest with so many */
  unsigned slots;       /* that one copy then needs, fewest */
  unsigned copies;      /* that fit one behind the other */
  bool proven;
} bf_rgpu_trade;

enum { BF_RGPU_MOST_TRADES = 16 };

/* Fills rows with fewer and fewer lanes, and before the first those that take more lanes to need
 * fewer slots. *count is how many. */
int bf_rgpu_map_trades(const bf_rgpu_graph *graph, const bf_rgpu_map_options *options,
                       bf_rgpu_trade trades[BF_RGPU_MOST_TRADES], unsigned *count,
                       bf_diagnostic *diagnostic);

/* A graph that does the same with the fewest more cores so that one copy fits into the lanes of the
 * ring: the graph itself where that fits, and NULL where there is none. It borrows nothing. */
int bf_rgpu_recompute(const bf_rgpu_graph *graph, const bf_rgpu_map_options *options,
                      bf_rgpu_graph **changed, bf_diagnostic *diagnostic);

#endif

/* Inside room rgpu: is there a placement of nodes on the ring that needs no more than so many
 * lanes?
 *
 * Slots 0, 1, ... lie along the ring. The core of slot s reads slot s and writes slot s + 1; the
 * load/store unit of slot s reads and writes slot s. The result of a node holds a lane from the
 * slot that it is written to up to the slot of its last reader, both included. A node sits behind
 * those that it reads; a loop edge goes the other way: its reader sits before the writer, and the
 * result travels on to the end of the ring and from its start to the reader.
 *
 * The sweep fills slots from left to right. What matters for the slots from s on is only the set of
 * nodes placed before s: it says which results are under way and which nodes may come next. A set
 * that failed at a slot fails at any later slot that has units at the same distances, since waiting
 * there is possible earlier too; so it is remembered with the earliest slot it failed at. When
 * every possibility is used up, there is no placement: that is the proof. */
#ifndef BF_RGPU_SWEEP_H
#define BF_RGPU_SWEEP_H

#include "base/base.h"

/* Nodes of all copies together; sets of nodes are bits of 64-bit numbers, and the memory of failed
 * sets keeps four bits for something else. */
enum { SWEEP_MOST_NODES = 56, SWEEP_MOST_SLOTS = 56 };

typedef struct sweep_problem {
  unsigned nodes;  /* of one copy */
  unsigned copies; /* numbered node + nodes * copy */
  unsigned slots;
  unsigned unit_first, unit_every; /* units are at slots unit_first + unit_every * i */
  unsigned units;
  uint64_t on_core;                   /* the others are on units */
  uint64_t before[SWEEP_MOST_NODES];  /* who must be placed before it */
  uint64_t readers[SWEEP_MOST_NODES]; /* behind it */
  uint64_t loops[SWEEP_MOST_NODES];   /* readers before it */
} sweep_problem;

typedef enum sweep_answer { SWEEP_FITS, SWEEP_DOES_NOT_FIT, SWEEP_GAVE_UP } sweep_answer;

typedef struct sweep_result {
  sweep_answer answer;
  uint64_t states; /* sets looked at */
  uint8_t slot[SWEEP_MOST_NODES];
} sweep_result;

/* Whether a load/store unit is at a slot, and how many are from there on. */
bool sweep_has_unit(const sweep_problem *problem, unsigned slot);
unsigned sweep_units_from(const sweep_problem *problem, unsigned slot);

/* Gives up after `most_states` sets. Fails for lack of memory only. */
int sweep_search(const sweep_problem *problem, unsigned lanes, uint64_t most_states,
                 sweep_result *result);

/* Results that hold a lane at a slot before which `placed` were placed, and at which `unit` (a set
 * of at most one node) is. */
unsigned sweep_lanes_at(const sweep_problem *problem, uint64_t placed, uint64_t unit);

#endif

/* Inside room sim: what will happen when, below the multiprocessors. One list per cycle for the
 * next BF_SIM_CALENDAR_CYCLES cycles, in a ring; what is due later stands in the list that is
 * farthest away and is put back when that comes up. Adding and taking cost the same however much
 * waits. Lists are arrays of numbers of nodes, so that whoever works through one can ask the host's
 * memory for the nodes behind it early. */
#ifndef BF_SIM_CALENDAR_H
#define BF_SIM_CALENDAR_H

#include "sim/hierarchy.h"

#include <stdlib.h>

enum { BF_SIM_CALENDAR_CYCLES = 4096 }; /* 64 words of 64 bits tell which lists are empty */
#define BF_SIM_NO_NODE UINT32_MAX

/* A request on its way, in at most one list at a time: a line of the host's cache. */
typedef struct bf_sim_node {
  bf_sim_request request;
  uint64_t due;    /* cycle at which its next step happens */
  uint64_t served; /* cycle at which its slice is done with it */
  uint32_t order;  /* of requests that were added */
  uint32_t next;   /* of a channel: its place in the list of its cycle */
  uint8_t stage;
  uint8_t fetched; /* sectors that it reads from DRAM */
} bf_sim_node;

typedef struct bf_sim_calendar_list {
  uint32_t *node;
  uint32_t count, room;
} bf_sim_calendar_list;

typedef struct bf_sim_calendar {
  uint64_t now;         /* no list before this cycle has nodes */
  uint64_t word_filled; /* bit w: filled[w] is not 0 */
  bool failed;          /* out of memory: a node was lost */
  uint64_t filled[BF_SIM_CALENDAR_CYCLES / 64];
  bf_sim_calendar_list list[BF_SIM_CALENDAR_CYCLES];
} bf_sim_calendar;

/* Room for another node in a list; false: there is no memory. */
static inline bool bf_sim_calendar_grow(bf_sim_calendar_list *list) {
  enum { FIRST_ROOM = 16 };
  uint32_t room = list->room ? 2 * list->room : FIRST_ROOM;
  uint32_t *made = (uint32_t *)realloc(list->node, room * sizeof *made);
  if (!made)
    return false;
  list->node = made;
  list->room = room;
  return true;
}

/* Puts a node that is due at `due`, which is not before now, at the end of its list; returns its
 * place there. */
static inline uint32_t bf_sim_calendar_add(bf_sim_calendar *calendar, uint32_t index,
                                           uint64_t due) {
  uint64_t last = calendar->now + BF_SIM_CALENDAR_CYCLES - 1;
  uint32_t at = (uint32_t)((due < last ? due : last) % BF_SIM_CALENDAR_CYCLES);
  bf_sim_calendar_list *list = &calendar->list[at];
  if (list->count == list->room && !bf_sim_calendar_grow(list)) {
    calendar->failed = true;
    return 0;
  }
  calendar->filled[at / 64] |= UINT64_C(1) << at % 64;
  calendar->word_filled |= UINT64_C(1) << at / 64;
  list->node[list->count] = index;
  return list->count++;
}

/* The cycle of the first list that is not empty; UINT64_MAX: all are. */
static inline uint64_t bf_sim_calendar_next(const bf_sim_calendar *calendar) {
  if (!calendar->word_filled)
    return UINT64_MAX;
  uint32_t start = (uint32_t)(calendar->now % BF_SIM_CALENDAR_CYCLES), word = start / 64;
  uint64_t rest = calendar->filled[word] >> start % 64;
  if (rest)
    return calendar->now + (unsigned)__builtin_ctzll(rest);
  /* The words behind it, then those before; itself last, where the ring has come round. */
  uint64_t behind = word == 63 ? 0 : calendar->word_filled >> (word + 1) << (word + 1);
  word = (uint32_t)__builtin_ctzll(behind ? behind : calendar->word_filled);
  uint32_t at = word * 64 + (uint32_t)__builtin_ctzll(calendar->filled[word]);
  return calendar->now + (at - start) % BF_SIM_CALENDAR_CYCLES;
}

/* The list of cycle `now`. What is added for this cycle while it is worked through stands at its
 * end. */
static inline bf_sim_calendar_list *bf_sim_calendar_today(bf_sim_calendar *calendar) {
  return &calendar->list[calendar->now % BF_SIM_CALENDAR_CYCLES];
}

/* Empties the list of cycle `now`. */
static inline void bf_sim_calendar_clear(bf_sim_calendar *calendar) {
  uint32_t at = (uint32_t)(calendar->now % BF_SIM_CALENDAR_CYCLES);
  calendar->list[at].count = 0;
  calendar->filled[at / 64] &= ~(UINT64_C(1) << at % 64);
  if (!calendar->filled[at / 64])
    calendar->word_filled &= ~(UINT64_C(1) << at / 64);
}

static inline void bf_sim_calendar_free(bf_sim_calendar *calendar) {
  for (unsigned i = 0; i < BF_SIM_CALENDAR_CYCLES; i++)
    free(calendar->list[i].node);
}

#endif

/* Inside room sim: what will happen when, below the multiprocessors. One list per cycle for the
 * next BF_SIM_CALENDAR_CYCLES cycles, in a ring; what is due later stands in the list that is
 * farthest away and is put back when that comes up. Adding and taking cost the same however much
 * waits. */
#ifndef BF_SIM_CALENDAR_H
#define BF_SIM_CALENDAR_H

#include "sim/hierarchy.h"

enum { BF_SIM_CALENDAR_CYCLES = 4096 }; /* 64 words of 64 bits tell which lists are empty */
#define BF_SIM_NO_NODE UINT32_MAX

/* A request on its way, in at most one list at a time. Lists link nodes by their index. */
typedef struct bf_sim_node {
  bf_sim_request request;
  uint64_t due;    /* cycle at which its next step happens */
  uint64_t served; /* cycle at which its slice is done with it */
  uint32_t order;  /* of requests that were added */
  uint32_t next, previous;
  uint8_t stage;
  uint8_t fetched; /* sectors that it reads from DRAM */
} bf_sim_node;

typedef struct bf_sim_calendar {
  uint64_t now;         /* no list before this cycle has nodes */
  uint64_t word_filled; /* bit w: filled[w] is not 0 */
  uint64_t filled[BF_SIM_CALENDAR_CYCLES / 64];
  struct {
    uint32_t first, last;
  } list[BF_SIM_CALENDAR_CYCLES];
} bf_sim_calendar;

/* Marks list `at` of the ring as filled or empty. */
static inline void bf_sim_calendar_mark(bf_sim_calendar *calendar, uint32_t at, bool is_filled) {
  uint64_t *word = &calendar->filled[at / 64], bit = UINT64_C(1) << at % 64;
  *word = is_filled ? *word | bit : *word & ~bit;
  bit = UINT64_C(1) << at / 64;
  calendar->word_filled = *word ? calendar->word_filled | bit : calendar->word_filled & ~bit;
}

/* The place in the ring of the list in which a node that is due at `due` stands. */
static inline uint32_t bf_sim_calendar_place(const bf_sim_calendar *calendar, uint64_t due) {
  uint64_t last = calendar->now + BF_SIM_CALENDAR_CYCLES - 1;
  return (uint32_t)((due < last ? due : last) % BF_SIM_CALENDAR_CYCLES);
}

/* Puts a node, whose due is not before now, at the end of its list. */
static inline void bf_sim_calendar_add(bf_sim_calendar *calendar, bf_sim_node *nodes,
                                       uint32_t index) {
  bf_sim_node *node = &nodes[index];
  uint32_t at = bf_sim_calendar_place(calendar, node->due);
  node->next = BF_SIM_NO_NODE;
  if (calendar->filled[at / 64] >> at % 64 & 1) {
    node->previous = calendar->list[at].last;
    nodes[node->previous].next = index;
  } else {
    node->previous = BF_SIM_NO_NODE;
    calendar->list[at].first = index;
    bf_sim_calendar_mark(calendar, at, true);
  }
  calendar->list[at].last = index;
}

/* Takes a node, which was due within the ring when it was added, out of its list. */
static inline void bf_sim_calendar_remove(bf_sim_calendar *calendar, bf_sim_node *nodes,
                                          uint32_t index) {
  bf_sim_node *node = &nodes[index];
  uint32_t at = (uint32_t)(node->due % BF_SIM_CALENDAR_CYCLES);
  if (node->next == BF_SIM_NO_NODE)
    calendar->list[at].last = node->previous;
  else
    nodes[node->next].previous = node->previous;
  if (node->previous != BF_SIM_NO_NODE)
    nodes[node->previous].next = node->next;
  else if (node->next != BF_SIM_NO_NODE)
    calendar->list[at].first = node->next;
  else
    bf_sim_calendar_mark(calendar, at, false);
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

/* Takes all nodes of the list of cycle `now` out of it, linked by next; returns the first. */
static inline uint32_t bf_sim_calendar_take(bf_sim_calendar *calendar) {
  uint32_t at = (uint32_t)(calendar->now % BF_SIM_CALENDAR_CYCLES);
  if (!(calendar->filled[at / 64] >> at % 64 & 1))
    return BF_SIM_NO_NODE;
  bf_sim_calendar_mark(calendar, at, false);
  return calendar->list[at].first;
}

#endif

/* Inside room sim: what will happen when, below the multiprocessors. One list per cycle for the
 * next BF_SIM_CALENDAR_CYCLES cycles, in a ring. Adding and taking cost the same however much
 * waits. Lists are arrays of what happens, which is read one behind the other; the array of a list
 * that was worked through goes to the next one that is begun, so that few are in use and stay in
 * the host's cache. */
#ifndef BF_SIM_CALENDAR_H
#define BF_SIM_CALENDAR_H

#include "sim/hierarchy.h"

#include <stdlib.h>

enum { BF_SIM_CALENDAR_CYCLES = 4096 }; /* 64 words of 64 bits tell which lists are empty */

typedef struct bf_sim_calendar_list {
  void *item; /* NULL: the list is empty */
  uint32_t count, room;
} bf_sim_calendar_list;

typedef struct bf_sim_calendar {
  uint64_t now;         /* no list before this cycle has items */
  uint64_t word_filled; /* bit w: filled[w] is not 0 */
  bool failed;          /* out of memory: an item was lost */
  uint32_t spares;
  uint64_t filled[BF_SIM_CALENDAR_CYCLES / 64];
  bf_sim_calendar_list list[BF_SIM_CALENDAR_CYCLES];
  bf_sim_calendar_list spare[BF_SIM_CALENDAR_CYCLES]; /* arrays without a list, a stack */
} bf_sim_calendar;

/* Room for another item of so many bytes in a list that is full; false: there is no memory. */
static inline bool bf_sim_calendar_grow(bf_sim_calendar *calendar, bf_sim_calendar_list *list,
                                        size_t item_bytes) {
  enum { FIRST_ROOM = 32 };
  if (!list->item && calendar->spares) {
    *list = calendar->spare[--calendar->spares];
    return true;
  }
  uint32_t room = list->room ? 2 * list->room : FIRST_ROOM;
  void *made = realloc(list->item, room * item_bytes);
  if (!made)
    return false;
  list->item = made;
  list->room = room;
  return true;
}

/* The place for an item of a cycle, which is not before now and less than BF_SIM_CALENDAR_CYCLES
 * behind it: at the end of its list; *place is its number there, if place is not NULL. NULL: out of
 * memory. */
static inline void *bf_sim_calendar_add(bf_sim_calendar *calendar, uint64_t cycle,
                                        size_t item_bytes, uint32_t *place) {
  uint32_t at = (uint32_t)(cycle % BF_SIM_CALENDAR_CYCLES);
  bf_sim_calendar_list *list = &calendar->list[at];
  if (list->count == list->room && !bf_sim_calendar_grow(calendar, list, item_bytes)) {
    calendar->failed = true;
    return NULL;
  }
  if (list->count == 0) {
    calendar->filled[at / 64] |= UINT64_C(1) << at % 64;
    calendar->word_filled |= UINT64_C(1) << at / 64;
  }
  if (place)
    *place = list->count;
  return (char *)list->item + list->count++ * item_bytes;
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
 * end, and may move its array. */
static inline bf_sim_calendar_list *bf_sim_calendar_today(bf_sim_calendar *calendar) {
  return &calendar->list[calendar->now % BF_SIM_CALENDAR_CYCLES];
}

/* Empties the list of cycle `now`. */
static inline void bf_sim_calendar_clear(bf_sim_calendar *calendar) {
  uint32_t at = (uint32_t)(calendar->now % BF_SIM_CALENDAR_CYCLES);
  bf_sim_calendar_list *list = &calendar->list[at];
  list->count = 0;
  if (list->item)
    calendar->spare[calendar->spares++] = *list;
  *list = (bf_sim_calendar_list){0};
  calendar->filled[at / 64] &= ~(UINT64_C(1) << at % 64);
  if (!calendar->filled[at / 64])
    calendar->word_filled &= ~(UINT64_C(1) << at / 64);
}

/* Asks the host's memory for the beginning of the list of a cycle; where it is longer the rest is
 * read ahead by itself. */
static inline void bf_sim_calendar_prefetch(const bf_sim_calendar *calendar, uint64_t cycle,
                                            size_t item_bytes) {
  enum { MOST_BYTES = 1024, HOST_LINE_BYTES = 64 };
  const bf_sim_calendar_list *list = &calendar->list[cycle % BF_SIM_CALENDAR_CYCLES];
  size_t bytes = list->count * item_bytes;
  bytes = bytes < MOST_BYTES ? bytes : MOST_BYTES;
  for (size_t i = 0; i < bytes; i += HOST_LINE_BYTES)
    __builtin_prefetch((const char *)list->item + i);
}

static inline void bf_sim_calendar_free(bf_sim_calendar *calendar) {
  for (unsigned i = 0; i < BF_SIM_CALENDAR_CYCLES; i++)
    free(calendar->list[i].item);
  for (unsigned i = 0; i < calendar->spares; i++)
    free(calendar->spare[i].item);
}

#endif

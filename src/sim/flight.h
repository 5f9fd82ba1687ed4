/* Inside room sim: lines of which sectors are on their way to a cache, and who waits for them. */
#ifndef BF_SIM_FLIGHT_H
#define BF_SIM_FLIGHT_H

#include "sim/sim.h"

#include <assert.h>

#define BF_SIM_NO_FLIGHT UINT32_MAX

/* A line. Most have one waiter, which is here; the others are in a list. */
typedef struct bf_sim_flight {
  uint64_t line;
  uint32_t next;        /* in its bucket, or free */
  uint32_t token;       /* of the waiter that came first */
  uint32_t first, last; /* of the others; first BF_SIM_NO_FLIGHT: there are none */
  uint32_t note;        /* the owner's, of a line whose first waiter it has set down */
  uint8_t sectors;      /* that are on their way: the union of what its waiters wait for */
  uint8_t own_sectors;  /* of the first waiter, that have not come yet; 0: it waits no more */
} bf_sim_flight;

struct bf_sim_waiter;

/* Zeroed: empty, without room. */
typedef struct bf_sim_flights {
  bf_sim_flight *flight; /* one per line, found through bucket */
  struct bf_sim_waiter *waiter;
  uint32_t *bucket; /* a power of two of them, at least twice as many as flights */
  uint32_t bucket_mask, free_flight, free_waiter;
  uint32_t most_lines, most_waiters; /* there is room for */
  uint32_t lines, waiters;           /* in use */
} bf_sim_flights;

/* Makes room for that many lines and waiters in all. What is there stays. 0 or BF_NO_MEMORY. */
int bf_sim_flights_reserve(bf_sim_flights *flights, uint32_t lines, uint32_t waiters);
void bf_sim_flights_free(bf_sim_flights *flights);
/* Asks the host's memory for all entries and buckets. */
void bf_sim_flights_prefetch_all(const bf_sim_flights *flights);
/* The sectors of a line that are on their way. */
uint8_t bf_sim_flights_find(const bf_sim_flights *flights, uint64_t line);
/* token waits for sectors (not 0) of a line, which are on their way from now on. Returns the
 * sectors that were before. There must be room for a waiter, and for a line where there were none.
 */
uint8_t bf_sim_flights_wait(bf_sim_flights *flights, uint64_t line, uint8_t sectors,
                            uint32_t token);
/* Sectors have come: done is called once for every token that has all of its sectors now, in the
 * order in which they began to wait. */
void bf_sim_flights_land(bf_sim_flights *flights, uint64_t line, uint8_t sectors,
                         void (*done)(void *context, uint32_t token), void *context);

/* The first of the chain in which the line would be. */
static inline uint32_t *bf_sim_flights_bucket(const bf_sim_flights *flights, uint64_t line) {
  return &flights->bucket[line * UINT64_C(0x9e3779b97f4a7c15) >> 32 & flights->bucket_mask];
}

/* Asks the host's memory for where the entry of a line is written; some time after that, for the
 * entry. */
static inline void bf_sim_flights_prefetch(const bf_sim_flights *flights, uint64_t line) {
  __builtin_prefetch(bf_sim_flights_bucket(flights, line));
}

static inline void bf_sim_flights_prefetch_entry(const bf_sim_flights *flights, uint64_t line) {
  uint32_t first = *bf_sim_flights_bucket(flights, line);
  if (first != BF_SIM_NO_FLIGHT)
    __builtin_prefetch(&flights->flight[first], 1);
}

/* Where the number of the line's entry is written, or BF_SIM_NO_FLIGHT at the end of its chain. It
 * stays there until a line begins to be, or is no more, on its way. */
static inline uint32_t *bf_sim_flights_link(const bf_sim_flights *flights, uint64_t line) {
  uint32_t *link = bf_sim_flights_bucket(flights, line);
  while (*link != BF_SIM_NO_FLIGHT && flights->flight[*link].line != line)
    link = &flights->flight[*link].next;
  return link;
}

/* bf_sim_flights_wait for a line of which nothing is on its way; link: its link, or its bucket. */
static inline void bf_sim_flights_wait_first(bf_sim_flights *flights, uint32_t *link, uint64_t line,
                                             uint8_t sectors, uint32_t token, uint32_t note) {
  uint32_t place = flights->free_flight;
  assert(sectors && place != BF_SIM_NO_FLIGHT && flights->waiters < flights->most_waiters);
  bf_sim_flight *made = &flights->flight[place];
  flights->free_flight = made->next;
  if (made->next != BF_SIM_NO_FLIGHT)
    __builtin_prefetch(&flights->flight[made->next], 1);
  made->line = line;
  made->next = *link;
  made->token = token;
  made->first = made->last = BF_SIM_NO_FLIGHT;
  made->note = note;
  made->sectors = made->own_sectors = sectors;
  *link = place;
  flights->lines++;
  flights->waiters++;
}

/* Takes the entry of a line, whose number is *link, out of its chain. */
static inline void bf_sim_flights_remove(bf_sim_flights *flights, uint32_t *link) {
  uint32_t at = *link;
  *link = flights->flight[at].next;
  flights->flight[at].next = flights->free_flight;
  flights->free_flight = at;
  flights->lines--;
}

#endif

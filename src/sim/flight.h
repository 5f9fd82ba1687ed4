/* Inside room sim: lines of which sectors are on their way to a cache, and who waits for them. */
#ifndef BF_SIM_FLIGHT_H
#define BF_SIM_FLIGHT_H

#include "sim/sim.h"

struct bf_sim_flight;
struct bf_sim_waiter;

/* Zeroed: empty, without room. */
typedef struct bf_sim_flights {
  struct bf_sim_flight *flight; /* one per line, found through bucket */
  struct bf_sim_waiter *waiter;
  uint32_t *bucket; /* a power of two of them, at least as many as flights */
  uint32_t bucket_mask, free_flight, free_waiter;
  uint32_t most_lines, most_waiters; /* there is room for */
  uint32_t lines, waiters;           /* in use */
} bf_sim_flights;

/* Makes room for that many lines and waiters in all. What is there stays. 0 or BF_NO_MEMORY. */
int bf_sim_flights_reserve(bf_sim_flights *flights, uint32_t lines, uint32_t waiters);
void bf_sim_flights_free(bf_sim_flights *flights);
/* Asks the host's memory for where the entry of a line is written; some time after that, for the
 * entry. */
void bf_sim_flights_prefetch(const bf_sim_flights *flights, uint64_t line);
void bf_sim_flights_prefetch_entry(const bf_sim_flights *flights, uint64_t line);
/* The same for all entries and buckets. */
void bf_sim_flights_prefetch_all(const bf_sim_flights *flights);
/* The sectors of a line that are on their way. */
uint8_t bf_sim_flights_find(const bf_sim_flights *flights, uint64_t line);
/* token waits for sectors (not 0) of a line, which are on their way from now on. Returns the
 * sectors that were before. There must be room for a waiter, and for a line where there were none.
 */
uint8_t bf_sim_flights_wait(bf_sim_flights *flights, uint64_t line, uint8_t sectors,
                            uint32_t token);
/* The same for a line of which nothing is on its way. */
void bf_sim_flights_wait_first(bf_sim_flights *flights, uint64_t line, uint8_t sectors,
                               uint32_t token);
/* Sectors have come: done is called once for every token that has all of its sectors now, in the
 * order in which they began to wait. */
void bf_sim_flights_land(bf_sim_flights *flights, uint64_t line, uint8_t sectors,
                         void (*done)(void *context, uint32_t token), void *context);

#endif

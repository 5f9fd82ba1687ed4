/* Inside room sim: what is asked of a first-level cache for every line that a load touches and for
 * every answer, so that a multiprocessor has it without a call. l1.c has the rest. */
#ifndef BF_SIM_L1_H
#define BF_SIM_L1_H

#include "sim/cache.h"
#include "sim/flight.h"

#define BF_SIM_NO_LINE UINT64_MAX

struct bf_sim_l1 {
  bf_sim_cache *cache; /* NULL: none */
  bf_sim_flights flights;
  unsigned most_lines, most_waiters;
  unsigned requests; /* in flight, without a cache */
  uint64_t refused; /* a line that is neither there nor on its way; BF_SIM_NO_LINE: none is known */
  uint32_t refused_note; /* what is noted when it is */
  uint64_t hits, misses; /* sectors of loads */
};

/* Makes room for more loads that wait, up to the lines of all that a multiprocessor can have in
 * flight; false: there are as many. */
bool bf_sim_l1_grow(bf_sim_l1 *l1);
/* bf_sim_l1_load where there is no cache. */
bf_sim_l1_outcome bf_sim_l1_ask_uncached(bf_sim_l1 *l1, uint64_t line, uint8_t sectors,
                                         uint32_t token, bf_sim_request *request);
/* bf_sim_l1_land of what bf_sim_l1_take_usual does not take. */
void bf_sim_l1_take_unusual(bf_sim_l1 *l1, uint64_t line, uint8_t sectors, uint32_t token,
                            void (*done)(void *context, uint32_t token), void *context);

/* Fills the request for sectors that are missing. */
static inline bf_sim_l1_outcome bf_sim_l1_miss(uint64_t line, uint8_t sectors, uint32_t token,
                                               bf_sim_request *request) {
  request->line = line;
  request->sectors = sectors;
  request->token = token;
  request->kind = BF_SIM_LOAD;
  return BF_SIM_L1_MISS;
}

/* Whether another load can wait, for a line that is new or is not. */
static inline bool bf_sim_l1_has_room(bf_sim_l1 *l1, bool is_new_line) {
  const bf_sim_flights *flights = &l1->flights;
  if (is_new_line && flights->lines == l1->most_lines)
    return false;
  return flights->waiters < flights->most_waiters || bf_sim_l1_grow(l1);
}

/* What is noted with a line on its way that the cache has nothing of: 1 + the number of the first
 * way of its set; 0: it may have some, or there are too many to say. */
static inline uint32_t bf_sim_l1_absent_from(const bf_sim_l1 *l1, const uint64_t *set) {
  uint64_t first = (uint64_t)(set - l1->cache->way);
  return first < UINT32_MAX ? (uint32_t)first + 1 : 0;
}

/* A load of the line for which there was no room before and which, as nothing of it was asked for
 * since, is still neither there nor on its way. */
static inline bf_sim_l1_outcome bf_sim_l1_load_refused(bf_sim_l1 *l1, uint64_t line,
                                                       uint8_t sectors, uint32_t token,
                                                       bf_sim_request *request) {
  if (!bf_sim_l1_has_room(l1, true))
    return BF_SIM_L1_FULL;
  l1->refused = BF_SIM_NO_LINE;
  l1->misses += bf_sim_sectors(sectors);
  bf_sim_flights_wait_first(&l1->flights, bf_sim_flights_bucket(&l1->flights, line), line, sectors,
                            token, l1->refused_note);
  return bf_sim_l1_miss(line, sectors, token, request);
}

/* A load of sectors of a line: bf_sim_l1_load. */
static inline bf_sim_l1_outcome bf_sim_l1_ask(bf_sim_l1 *l1, uint64_t line, uint8_t sectors,
                                              uint32_t token, bf_sim_request *request) {
  if (line == l1->refused)
    return bf_sim_l1_load_refused(l1, line, sectors, token, request);
  if (!l1->cache)
    return bf_sim_l1_ask_uncached(l1, line, sectors, token, request);
  uint64_t *set = bf_sim_set_of(l1->cache, line);
  uint8_t there = bf_sim_set_look(l1->cache, set, line);
  uint8_t present = sectors & there, missing = sectors & (uint8_t)~there;
  uint32_t *link = missing ? bf_sim_flights_link(&l1->flights, line) : NULL;
  bool is_new = link && *link == BF_SIM_NO_FLIGHT;
  if (link && !bf_sim_l1_has_room(l1, is_new)) {
    if (is_new && !there) {
      l1->refused = line;
      l1->refused_note = bf_sim_l1_absent_from(l1, set);
    }
    return BF_SIM_L1_FULL;
  }
  l1->hits += bf_sim_sectors(present);
  l1->misses += bf_sim_sectors(missing);
  if (!missing)
    return BF_SIM_L1_HIT;
  if (is_new) {
    uint32_t note = there ? 0 : bf_sim_l1_absent_from(l1, set);
    bf_sim_flights_wait_first(&l1->flights, link, line, missing, token, note);
    return bf_sim_l1_miss(line, missing, token, request);
  }
  missing &= (uint8_t)~bf_sim_flights_wait(&l1->flights, line, missing, token);
  return missing ? bf_sim_l1_miss(line, missing, token, request) : BF_SIM_L1_JOINED;
}

/* Takes an answer in the usual case: one load waits for the line, of which the cache had nothing,
 * and waits for nothing more. Whether it is that. */
static inline bool bf_sim_l1_take_usual(bf_sim_l1 *l1, uint64_t line, uint8_t sectors,
                                        void (*done)(void *context, uint32_t token),
                                        void *context) {
  bf_sim_flights *flights = &l1->flights;
  uint32_t *link = bf_sim_flights_link(flights, line);
  if (*link == BF_SIM_NO_FLIGHT)
    return false;
  bf_sim_flight *flight = &flights->flight[*link];
  uint32_t note = flight->note, token = flight->token;
  flight->note = 0; /* from now on the cache may have some of it */
  if (!note || flight->first != BF_SIM_NO_FLIGHT || flight->own_sectors & (uint8_t)~sectors)
    return false;
  bf_sim_set_insert(l1->cache, l1->cache->way + (note - 1), line, sectors);
  bf_sim_flights_remove(flights, link);
  flights->waiters--;
  done(context, token);
  return true;
}

/* The answer to a load has come: bf_sim_l1_fill. */
static inline void bf_sim_l1_land(bf_sim_l1 *l1, uint64_t line, uint8_t sectors, uint32_t token,
                                  void (*done)(void *context, uint32_t token), void *context) {
  if (line == l1->refused)
    l1->refused = BF_SIM_NO_LINE;
  if (!l1->cache || !bf_sim_l1_take_usual(l1, line, sectors, done, context))
    bf_sim_l1_take_unusual(l1, line, sectors, token, done, context);
}

#endif

/* The first-level cache of a multiprocessor: a cache, and the lines that are on their way to it.
 * Without a cache nothing is joined: every load is a request of its own. */
#include "sim/cache.h"
#include "sim/flight.h"

#include <assert.h>
#include <stdlib.h>

#define NO_LINE UINT64_MAX

struct bf_sim_l1 {
  bf_sim_cache *cache; /* NULL: none */
  bf_sim_flights flights;
  unsigned most_lines, most_waiters;
  unsigned requests;     /* in flight, without a cache */
  uint64_t refused;      /* a line that is neither there nor on its way; NO_LINE: none is known */
  uint32_t refused_note; /* what is noted when it is */
  uint64_t hits, misses; /* sectors of loads */
};

/* The cache, if there is one, and the table of lines on their way to it. */
static int create_cache(const bf_sim_gpu *gpu, bf_sim_l1 *l1, bf_diagnostic *diagnostic) {
  uint64_t lines = gpu->l1_bytes / BF_SIM_LINE_BYTES / gpu->l1_ways * gpu->l1_ways;
  if (gpu->l1_bytes == 0)
    return BF_OK;
  if (lines == 0)
    return bf_fail(
        diagnostic, BF_BAD_INPUT, "l1_bytes=%llu does not hold l1_ways=%llu lines of %d bytes",
        (unsigned long long)gpu->l1_bytes, (unsigned long long)gpu->l1_ways, BF_SIM_LINE_BYTES);
  BF_TRY(bf_sim_cache_create(lines, (unsigned)gpu->l1_ways, &l1->cache, diagnostic));
  if (bf_sim_flights_reserve(&l1->flights, l1->most_lines, l1->most_lines) != BF_OK)
    return bf_no_memory(diagnostic);
  return BF_OK;
}

int bf_sim_l1_create(const bf_sim_gpu *gpu, bf_sim_l1 **l1, bf_diagnostic *diagnostic) {
  bf_sim_l1 *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->refused = NO_LINE;
  made->most_lines = (unsigned)gpu->l1_misses;
  made->most_waiters = (unsigned)gpu->global_queue * 2 * BF_EMU_LANES;
  int error = create_cache(gpu, made, diagnostic);
  if (error) {
    bf_sim_l1_free(made);
    return error;
  }
  *l1 = made;
  return BF_OK;
}

void bf_sim_l1_free(bf_sim_l1 *l1) {
  if (!l1)
    return;
  bf_sim_cache_free(l1->cache);
  bf_sim_flights_free(&l1->flights);
  free(l1);
}

/* Fills the request for sectors that are missing. */
static bf_sim_l1_outcome miss(uint64_t line, uint8_t sectors, uint32_t token,
                              bf_sim_request *request) {
  request->line = line;
  request->sectors = sectors;
  request->token = token;
  request->kind = BF_SIM_LOAD;
  return BF_SIM_L1_MISS;
}

/* A load where there is no cache. */
static bf_sim_l1_outcome load_uncached(bf_sim_l1 *l1, uint64_t line, uint8_t sectors,
                                       uint32_t token, bf_sim_request *request) {
  if (l1->requests == l1->most_lines)
    return BF_SIM_L1_FULL;
  l1->requests++;
  l1->misses += bf_sim_sectors(sectors);
  return miss(line, sectors, token, request);
}

/* Whether another load can wait, for a line that is new or is not. The table of those that wait
 * grows up to the lines of all loads that a multiprocessor can have in flight. */
static bool has_room(bf_sim_l1 *l1, bool is_new_line) {
  bf_sim_flights *flights = &l1->flights;
  if (is_new_line && flights->lines == l1->most_lines)
    return false;
  if (flights->waiters == l1->most_waiters)
    return false;
  if (flights->waiters < flights->most_waiters)
    return true;
  uint32_t doubled = 2 * flights->most_waiters;
  return bf_sim_flights_reserve(flights, l1->most_lines,
                                doubled < l1->most_waiters ? doubled : l1->most_waiters) == BF_OK;
}

/* What is noted with a line on its way that the cache has nothing of: 1 + the number of the first
 * way of its set; 0: it may have some, or there are too many to say. */
static uint32_t absent_from(const bf_sim_l1 *l1, const uint64_t *set) {
  uint64_t first = (uint64_t)(set - l1->cache->way);
  return first < UINT32_MAX ? (uint32_t)first + 1 : 0;
}

/* A load of the line for which there was no room before and which, as nothing of it was asked for
 * since, is still neither there nor on its way. */
static bf_sim_l1_outcome load_refused(bf_sim_l1 *l1, uint64_t line, uint8_t sectors, uint32_t token,
                                      bf_sim_request *request) {
  if (!has_room(l1, true))
    return BF_SIM_L1_FULL;
  l1->refused = NO_LINE;
  l1->misses += bf_sim_sectors(sectors);
  bf_sim_flights_wait_first(&l1->flights, bf_sim_flights_bucket(&l1->flights, line), line, sectors,
                            token, l1->refused_note);
  return miss(line, sectors, token, request);
}

bf_sim_l1_outcome bf_sim_l1_load(bf_sim_l1 *l1, uint64_t line, uint8_t sectors, uint32_t token,
                                 bf_sim_request *request) {
  if (!l1->cache)
    return load_uncached(l1, line, sectors, token, request);
  if (line == l1->refused)
    return load_refused(l1, line, sectors, token, request);
  uint64_t *set = bf_sim_set_of(l1->cache, line);
  uint8_t there = bf_sim_set_look(l1->cache, set, line);
  uint8_t present = sectors & there, missing = sectors & (uint8_t)~there;
  uint32_t *link = missing ? bf_sim_flights_link(&l1->flights, line) : NULL;
  bool is_new = link && *link == BF_SIM_NO_FLIGHT;
  if (link && !has_room(l1, is_new)) {
    if (is_new && !there) {
      l1->refused = line;
      l1->refused_note = absent_from(l1, set);
    }
    return BF_SIM_L1_FULL;
  }
  l1->hits += bf_sim_sectors(present);
  l1->misses += bf_sim_sectors(missing);
  if (!missing)
    return BF_SIM_L1_HIT;
  if (is_new) {
    uint32_t note = there ? 0 : absent_from(l1, set);
    bf_sim_flights_wait_first(&l1->flights, link, line, missing, token, note);
    return miss(line, missing, token, request);
  }
  missing &= (uint8_t)~bf_sim_flights_wait(&l1->flights, line, missing, token);
  return missing ? miss(line, missing, token, request) : BF_SIM_L1_JOINED;
}

void bf_sim_l1_store(bf_sim_l1 *l1, uint64_t line, uint8_t sectors) {
  if (l1->cache)
    bf_sim_cache_look(l1->cache, line, sectors);
}

/* Takes an answer in the usual case: one load waits for the line, of which the cache had nothing,
 * and waits for nothing more. Whether it is that. */
static bool take_usual(bf_sim_l1 *l1, uint64_t line, uint8_t sectors,
                       void (*done)(void *context, uint32_t token), void *context) {
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

void bf_sim_l1_take(bf_sim_l1 *l1, uint64_t line, uint8_t sectors, uint32_t token,
                    void (*done)(void *context, uint32_t token), void *context) {
  uint64_t evicted;
  if (!l1->cache) {
    assert(l1->requests > 0);
    l1->requests--;
    done(context, token);
    return;
  }
  if (line == l1->refused)
    l1->refused = NO_LINE;
  if (take_usual(l1, line, sectors, done, context))
    return;
  if (sectors)
    bf_sim_set_fill(l1->cache, bf_sim_set_of(l1->cache, line), line, sectors, false, &evicted);
  bf_sim_flights_land(&l1->flights, line, sectors, done, context);
}

void bf_sim_l1_fill(bf_sim_l1 *l1, const bf_sim_request *request,
                    void (*done)(void *context, uint32_t token), void *context) {
  if (request->kind == BF_SIM_LOAD)
    bf_sim_l1_take(l1, request->line, request->sectors, request->token, done, context);
  else /* an atomic: it went past this cache */
    done(context, request->token);
}

void bf_sim_l1_prefetch(const bf_sim_l1 *l1) {
  if (!l1->cache)
    return;
  bf_sim_cache_prefetch(l1->cache);
  bf_sim_flights_prefetch_all(&l1->flights);
}

unsigned bf_sim_l1_waiting(const bf_sim_l1 *l1) {
  return l1->cache ? l1->flights.lines : l1->requests;
}

void bf_sim_l1_count(const bf_sim_l1 *l1, bf_sim_result *result) {
  result->l1_hits += l1->hits;
  result->l1_misses += l1->misses;
}

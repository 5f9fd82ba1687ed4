/* The first-level cache of a multiprocessor: a cache, and the lines that are on their way to it.
 * Without a cache nothing is joined: every load is a request of its own. */
#include "sim/l1.h"

#include <assert.h>
#include <stdlib.h>

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
  unsigned waiters = l1->most_lines < l1->most_waiters ? l1->most_lines : l1->most_waiters;
  if (bf_sim_flights_reserve(&l1->flights, l1->most_lines, waiters) != BF_OK)
    return bf_no_memory(diagnostic);
  return BF_OK;
}

int bf_sim_l1_create(const bf_sim_gpu *gpu, bf_sim_l1 **l1, bf_diagnostic *diagnostic) {
  bf_sim_l1 *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->refused = BF_SIM_NO_LINE;
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

bool bf_sim_l1_grow(bf_sim_l1 *l1) {
  bf_sim_flights *flights = &l1->flights;
  if (flights->waiters == l1->most_waiters)
    return false;
  uint32_t doubled = 2 * flights->most_waiters;
  return bf_sim_flights_reserve(flights, l1->most_lines,
                                doubled < l1->most_waiters ? doubled : l1->most_waiters) == BF_OK;
}

bf_sim_l1_outcome bf_sim_l1_ask_uncached(bf_sim_l1 *l1, uint64_t line, uint8_t sectors,
                                         uint32_t token, bf_sim_request *request) {
  if (l1->requests == l1->most_lines)
    return BF_SIM_L1_FULL;
  l1->requests++;
  l1->misses += bf_sim_sectors(sectors);
  return bf_sim_l1_miss(line, sectors, token, request);
}

bf_sim_l1_outcome bf_sim_l1_load(bf_sim_l1 *l1, uint64_t line, uint8_t sectors, uint32_t token,
                                 bf_sim_request *request) {
  return bf_sim_l1_ask(l1, line, sectors, token, request);
}

void bf_sim_l1_store(bf_sim_l1 *l1, uint64_t line, uint8_t sectors) {
  if (l1->cache)
    bf_sim_cache_look(l1->cache, line, sectors);
}

void bf_sim_l1_take_unusual(bf_sim_l1 *l1, uint64_t line, uint8_t sectors, uint32_t token,
                            void (*done)(void *context, uint32_t token), void *context) {
  uint64_t evicted;
  if (!l1->cache) {
    assert(l1->requests > 0);
    l1->requests--;
    done(context, token);
    return;
  }
  if (sectors)
    bf_sim_set_fill(l1->cache, bf_sim_set_of(l1->cache, line), line, sectors, false, &evicted);
  bf_sim_flights_land(&l1->flights, line, sectors, done, context);
}

void bf_sim_l1_fill(bf_sim_l1 *l1, const bf_sim_request *request,
                    void (*done)(void *context, uint32_t token), void *context) {
  if (request->kind == BF_SIM_LOAD)
    bf_sim_l1_land(l1, request->line, request->sectors, request->token, done, context);
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

/* Lines in flight: a hash table with chains, and a list of waiters for each line. Most lines have
 * one waiter, which is in the entry of the line; the others are in a list. Entries that are not in
 * use are linked from free_flight and free_waiter. */
#include "sim/flight.h"

#include <assert.h>
#include <stdlib.h>

#define NONE BF_SIM_NO_FLIGHT

typedef struct bf_sim_waiter {
  uint32_t next; /* of the same line, or free */
  uint32_t token;
  uint8_t sectors; /* that have not come yet */
} bf_sim_waiter;

/* Replaces the buckets by `count` and puts all lines in flight there. */
static int rebuild(bf_sim_flights *flights, uint32_t count) {
  uint32_t *old = flights->bucket, old_mask = flights->bucket_mask;
  uint32_t *made = malloc(count * sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  flights->bucket = made;
  flights->bucket_mask = count - 1;
  for (uint32_t i = 0; i < count; i++)
    made[i] = NONE;
  for (uint32_t i = 0; old && i <= old_mask; i++)
    for (uint32_t at = old[i], next; at != NONE; at = next) {
      uint32_t *head = bf_sim_flights_bucket(flights, flights->flight[at].line);
      next = flights->flight[at].next;
      flights->flight[at].next = *head;
      *head = at;
    }
  free(old);
  return BF_OK;
}

/* Room for lines: the entries first, then the buckets. */
static int reserve_lines(bf_sim_flights *flights, uint32_t lines) {
  bf_sim_flight *made = realloc(flights->flight, lines * sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  flights->flight = made;
  uint32_t buckets = 1;
  while (buckets / 2 < lines)
    buckets *= 2;
  BF_TRY(rebuild(flights, buckets));
  if (flights->most_lines == 0)
    flights->free_flight = NONE;
  for (uint32_t i = lines; i-- > flights->most_lines;) {
    made[i].next = flights->free_flight;
    flights->free_flight = i;
  }
  flights->most_lines = lines;
  return BF_OK;
}

/* Room for waiters. */
static int reserve_waiters(bf_sim_flights *flights, uint32_t waiters) {
  bf_sim_waiter *made = realloc(flights->waiter, waiters * sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  flights->waiter = made;
  if (flights->most_waiters == 0)
    flights->free_waiter = NONE;
  for (uint32_t i = waiters; i-- > flights->most_waiters;) {
    made[i].next = flights->free_waiter;
    flights->free_waiter = i;
  }
  flights->most_waiters = waiters;
  return BF_OK;
}

int bf_sim_flights_reserve(bf_sim_flights *flights, uint32_t lines, uint32_t waiters) {
  if (lines > flights->most_lines)
    BF_TRY(reserve_lines(flights, lines));
  if (waiters > flights->most_waiters)
    BF_TRY(reserve_waiters(flights, waiters));
  return BF_OK;
}

void bf_sim_flights_free(bf_sim_flights *flights) {
  free(flights->flight);
  free(flights->waiter);
  free(flights->bucket);
  *flights = (bf_sim_flights){0};
}

void bf_sim_flights_prefetch_all(const bf_sim_flights *flights) {
  enum { HOST_LINE_BYTES = 64 };
  size_t bytes = flights->most_lines * sizeof *flights->flight;
  for (size_t i = 0; i < bytes; i += HOST_LINE_BYTES)
    __builtin_prefetch((const char *)flights->flight + i, 1);
  bytes = (flights->bucket_mask + 1) * sizeof *flights->bucket;
  for (size_t i = 0; i < bytes; i += HOST_LINE_BYTES)
    __builtin_prefetch((const char *)flights->bucket + i, 1);
}

uint8_t bf_sim_flights_find(const bf_sim_flights *flights, uint64_t line) {
  uint32_t at = *bf_sim_flights_link(flights, line);
  return at == NONE ? 0 : flights->flight[at].sectors;
}

/* A further waiter of a line. */
static void add_waiter(bf_sim_flights *flights, bf_sim_flight *flight, uint8_t sectors,
                       uint32_t token) {
  uint32_t place = flights->free_waiter;
  assert(place != NONE);
  flights->free_waiter = flights->waiter[place].next;
  flights->waiter[place] = (bf_sim_waiter){.next = NONE, .token = token, .sectors = sectors};
  if (flight->first == NONE)
    flight->first = place;
  else
    flights->waiter[flight->last].next = place;
  flight->last = place;
}

uint8_t bf_sim_flights_wait(bf_sim_flights *flights, uint64_t line, uint8_t sectors,
                            uint32_t token) {
  uint32_t *link = bf_sim_flights_link(flights, line), at = *link;
  if (at == NONE) {
    bf_sim_flights_wait_first(flights, link, line, sectors, token, 0);
    return 0;
  }
  assert(sectors && flights->waiters < flights->most_waiters);
  bf_sim_flight *flight = &flights->flight[at];
  add_waiter(flights, flight, sectors, token);
  flights->waiters++;
  uint8_t before = flight->sectors;
  flight->sectors |= sectors;
  return before;
}

/* Takes the waiters in the list of a line that miss nothing any more out of it; returns the first
 * of them, linked in their order. */
static uint32_t take_complete(bf_sim_flights *flights, bf_sim_flight *flight, uint8_t sectors) {
  uint32_t complete = NONE, *complete_end = &complete, *link = &flight->first;
  flight->last = NONE;
  for (uint32_t at = flight->first, next; at != NONE; at = next) {
    bf_sim_waiter *waiter = &flights->waiter[at];
    next = waiter->next;
    waiter->sectors &= (uint8_t)~sectors;
    if (waiter->sectors) {
      *link = flight->last = at;
      link = &waiter->next;
    } else {
      *complete_end = at;
      complete_end = &waiter->next;
    }
  }
  *link = *complete_end = NONE;
  return complete;
}

/* The same as bf_sim_flights_land for a line with other waiters than the first. */
static void land_for_several(bf_sim_flights *flights, uint32_t *link, uint8_t sectors,
                             void (*done)(void *context, uint32_t token), void *context) {
  bf_sim_flight *flight = &flights->flight[*link];
  uint32_t complete = take_complete(flights, flight, sectors), token = flight->token;
  bool is_done = flight->own_sectors && !(flight->own_sectors & (uint8_t)~sectors);
  flight->own_sectors &= (uint8_t)~sectors;
  flight->sectors &= (uint8_t)~sectors;
  if (flight->first == NONE && !flight->own_sectors)
    bf_sim_flights_remove(flights, link);
  if (is_done) { /* done may begin to wait anew */
    flights->waiters--;
    done(context, token);
  }
  while (complete != NONE) {
    bf_sim_waiter *waiter = &flights->waiter[complete];
    uint32_t next = waiter->next;
    token = waiter->token;
    waiter->next = flights->free_waiter;
    flights->free_waiter = complete;
    flights->waiters--;
    complete = next;
    done(context, token);
  }
}

void bf_sim_flights_land(bf_sim_flights *flights, uint64_t line, uint8_t sectors,
                         void (*done)(void *context, uint32_t token), void *context) {
  uint32_t *link = bf_sim_flights_link(flights, line);
  if (*link == NONE)
    return;
  bf_sim_flight *flight = &flights->flight[*link];
  if (flight->first != NONE) {
    land_for_several(flights, link, sectors, done, context);
    return;
  }
  flight->own_sectors &= (uint8_t)~sectors;
  flight->sectors &= (uint8_t)~sectors;
  if (flight->own_sectors)
    return;
  uint32_t token = flight->token;
  bf_sim_flights_remove(flights, link);
  flights->waiters--;
  done(context, token);
}

/* Inside room search: the tasks of a branch and bound, dealt out to workers in rounds.
 *
 * A round goes through all tasks with a limit: costs from there on are not looked for. The first
 * limit is the best cost; a round that ends has proven it. Where that will not end in time, rounds
 * with lower limits, targets, come before: one a tenth below the best cost where that may end in
 * time, one halfway from what is known to the best cost, then one halfway to that, and so on. The
 * last target that was reached is a bound.
 *
 * What a round still takes is judged by processor time, so that a moment in which others use the
 * machine does not decide; where they use it all the while, the clock does. */
#ifndef BF_SEARCH_ROUNDS_H
#define BF_SEARCH_ROUNDS_H

#include "search/exact.h"

typedef struct bf_round_task {
  uint64_t bound; /* no hash of the task costs less */
  double work;    /* share of all work, in any unit */
  atomic_bool done;
} bf_round_task;

struct bf_together;

typedef struct bf_rounds {
  bf_exact *exact;
  struct bf_together *together; /* tasks are shared with other processes; NULL: they are not */
  bf_round_task *task;          /* lowest bound first */
  uint32_t tasks;
  double work;   /* of all tasks */
  uint32_t step; /* between tasks that are dealt out one after the other; 0: 1 */
  atomic_uint next, finished;
  _Atomic double finished_work, spent_seconds; /* of this round; seconds of processors */
  pthread_mutex_t lock;                        /* of the change of targets */
  atomic_uint_fast64_t target;                 /* UINT64_MAX: the best cost itself */
  atomic_uint_fast64_t reached;                /* the highest target that is proven */
  atomic_uint round;
  atomic_bool again;     /* the round takes too long */
  atomic_bool abandoned; /* another search is faster */
  double started;        /* when the round began */
  bool is_high;          /* its target is a tenth below the best cost */
  double left_seconds;   /* what the first round would have taken, once it was given up */
  unsigned stage;
  atomic_uint workers, waiting;
} bf_rounds;

/* Room for that many tasks. */
int bf_rounds_start(bf_rounds *rounds, bf_exact *exact, size_t most, bf_diagnostic *diagnostic);
/* One task more, with a bound not below those before. */
void bf_rounds_add(bf_rounds *rounds, uint64_t bound, double work);
/* Deals tasks out spread over all of them, so that those done tell how long all take. */
void bf_rounds_spread(bf_rounds *rounds);
void bf_rounds_free(bf_rounds *rounds);

/* Costs from here on are not looked for. */
static inline uint64_t bf_rounds_limit(const bf_rounds *rounds) {
  uint64_t best = atomic_load_explicit(&rounds->exact->best, memory_order_relaxed);
  uint64_t target = atomic_load_explicit(&rounds->target, memory_order_relaxed);
  return best < target ? best : target;
}

/* The search must end, or start again with another target. */
bool bf_rounds_halted(const bf_rounds *rounds);
/* First to prove that nothing costs less than target; by itself it does so where time is short. */
void bf_rounds_aim(bf_rounds *rounds, uint64_t target);
/* Takes one task after another until all is proven, stopped or abandoned. */
void bf_rounds_work(bf_rounds *rounds, void (*take)(void *worker, uint32_t number), void *worker);
/* What is proven of the cost so far. */
uint64_t bf_rounds_lower(const bf_rounds *rounds);
/* Seconds that the first round still takes, if it goes on as until now with all threads of the
 * search and a processor for each. */
#define BF_ROUNDS_UNKNOWN 1e30
double bf_rounds_left_seconds(const bf_rounds *rounds);

#endif

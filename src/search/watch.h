/* search/watch: when a search must end, and how far its steps are that know their end before:
 * padding, bit vectors and the heuristics. The exact search tells its bounds (bf_progress) instead.
 */
#ifndef BF_SEARCH_WATCH_H
#define BF_SEARCH_WATCH_H

#include "memory/memory.h"

typedef struct bf_search_watch {
  /* Called now and then from the calling thread with the share of the step that is done; false
   * stops it. NULL: nobody listens. */
  bool (*tell)(void *context, const char *step, double share);
  void *context;
  const char *step; /* what runs */
  double until;     /* bf_seconds() at which it ends; 0: no limit */
  double *share;    /* where not NULL: the share of the accesses that conflicts were counted of */
} bf_search_watch;

/* Whether the time of the watch is over. Any thread; watch may be NULL. */
bool bf_search_is_late(const bf_search_watch *watch);
/* Tells the share done of all; whether to go on. watch may be NULL. */
bool bf_search_goes_on(const bf_search_watch *watch, uint64_t done, uint64_t all);

/* bf_solve, watched. A step that was stopped gives the best that it has or, where that is nothing,
 * BF_UNSUPPORTED. */
int bf_solve_watched(const bf_machine *machine, const bf_workload *workload,
                     const bf_solve_options *options, const bf_search_watch *watch,
                     bf_solution *solution, bf_diagnostic *diagnostic);

#endif

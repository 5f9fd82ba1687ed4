/* search/arrays: a hash for each array of a workload.
 *
 * Arrays lie one behind the other in shared memory, and each may have a hash of its own, of the
 * offset from where it begins: moving an array moves the banks of all its words by as much. No
 * access touches two arrays, so that the best hash of each is the best of all together. */
#ifndef BF_SEARCH_ARRAYS_H
#define BF_SEARCH_ARRAYS_H

#include "search/watch.h"

enum { BF_ARRAYS_MOST = 64 };

struct bf_arrays {
  bf_array_solution item[BF_ARRAYS_MOST]; /* those that are accessed */
  unsigned count;
  uint64_t conflicts_before, conflicts_after, lower_bound;
  bool proven;
  double counted; /* the least share of an array's accesses that conflicts were counted of */
  double seconds;
};

/* bf_solve_arrays, watched. */
int bf_solve_arrays_watched(const bf_machine *machine, const bf_workload *workload,
                            const uint64_t *begin, size_t count, const bf_solve_options *options,
                            const bf_search_watch *watch, bf_arrays *arrays,
                            bf_diagnostic *diagnostic);
void bf_arrays_clear(bf_arrays *arrays);

#endif

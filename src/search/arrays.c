/* A hash for each array. */
#include "search/arrays.h"

#include "search/cases.h"
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

/* What adding an access to those of its array takes, and how many of an array are added at least.
 */
static const double seconds_an_access = 3e-7;
enum { FEW = 4096 };

typedef struct sorting {
  const bf_machine *machine;
  uint64_t begin[BF_ARRAYS_MOST];
  unsigned count;
  size_t step; /* accesses of an array of which one is searched, where there are many */
  bf_workload *own[BF_ARRAYS_MOST];
  uint64_t accesses[BF_ARRAYS_MOST], all; /* executions */
  uint64_t searched[BF_ARRAYS_MOST];      /* of those that are added */
  size_t different[BF_ARRAYS_MOST], passed[BF_ARRAYS_MOST], taken[BF_ARRAYS_MOST];
} sorting;

/* Takes over where arrays begin, with one at 0. */
static int take_begins(sorting *s, const uint64_t *begin, size_t count, bf_diagnostic *diagnostic) {
  uint64_t step = bf_machine_geometry(s->machine).word_bytes;
  if (s->machine->serve == BF_SERVE_ROW_PAIRS)
    step = 2 * step << bf_machine_geometry(s->machine).bank_bits;
  if (count == 0 || begin[0])
    s->begin[s->count++] = 0;
  for (size_t i = 0; i < count; i++) {
    unsigned long long own = begin[i];
    if (i && own <= begin[i - 1])
      return bf_fail(diagnostic, BF_BAD_INPUT, "the array at %llu is not behind the one before",
                     own);
    if (own % step)
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "an array begins at a multiple of %llu bytes, not %llu",
                     (unsigned long long)step, own);
    if (s->count == BF_ARRAYS_MOST)
      return bf_fail(diagnostic, BF_BAD_INPUT, "more than %d arrays", BF_ARRAYS_MOST);
    s->begin[s->count++] = own;
  }
  return BF_OK;
}

/* The array that holds a byte. */
static unsigned array_of(const sorting *s, uint64_t byte) {
  unsigned at = s->count - 1;
  while (s->begin[at] > byte)
    at--;
  return at;
}

/* An access that arrays cannot be had of. */
static int refuse(const bf_access *access, const char *why, uint64_t begin,
                  bf_diagnostic *diagnostic) {
  int error =
      bf_fail(diagnostic, BF_BAD_INPUT, "the array at %llu %s", (unsigned long long)begin, why);
  if (diagnostic)
    diagnostic->line = access->line;
  return error;
}

/* The array of an access. */
static int find_array(const sorting *s, const bf_access *access, unsigned *found,
                      bf_diagnostic *diagnostic) {
  unsigned array = *found = array_of(s, access->address[__builtin_ctzll(access->mask)]);
  uint64_t begin = s->begin[array], end = array + 1 < s->count ? s->begin[array + 1] : UINT64_MAX;
  bool is_inside = true;
  if (s->begin[array] % access->width_bytes)
    return refuse(access, "begins between elements of an access", s->begin[array], diagnostic);
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint64_t byte = access->address[__builtin_ctzll(left)];
    is_inside &= byte >= begin && byte + access->width_bytes <= end;
  }
  return is_inside ? BF_OK
                   : refuse(access, "and another one are touched by one access", begin, diagnostic);
}

/* Counts an access, which must be of one array. */
static int weigh_access(sorting *s, const bf_access *access, bf_diagnostic *diagnostic) {
  unsigned array;
  BF_TRY(find_array(s, access, &array, diagnostic));
  s->accesses[array] += access->count;
  s->all += access->count;
  s->different[array]++;
  return BF_OK;
}

/* Adds an access to those of its array, with offsets in place of addresses, where there is time for
 * it. */
static int sort_access(sorting *s, const bf_access *access, bf_diagnostic *diagnostic) {
  unsigned array = array_of(s, access->address[__builtin_ctzll(access->mask)]);
  size_t most = s->different[array] / FEW, step = s->step < most ? s->step : most;
  if (step > 1 && s->passed[array]++ % step)
    return BF_OK;
  bf_access own = *access;
  for (uint64_t left = access->mask; left; left &= left - 1)
    own.address[__builtin_ctzll(left)] -= (uint32_t)s->begin[array];
  if (!s->own[array] && bf_workload_create(&s->own[array]) != BF_OK)
    return bf_no_memory(diagnostic);
  s->searched[array] += access->count;
  s->taken[array]++;
  return bf_workload_add(s->own[array], &own) == BF_OK ? BF_OK : bf_no_memory(diagnostic);
}

/* Sorts all accesses, or a part of each array's where a third of the limit is too short. */
static int sort_all(sorting *s, const bf_cases *cases, double limit, bf_diagnostic *diagnostic) {
  size_t accesses = bf_cases_size(cases), which;
  double seconds = (double)accesses * seconds_an_access;
  s->step = limit > 0 && seconds > limit / 3 ? (size_t)(seconds / (limit / 3)) + 1 : 1;
  for (size_t i = 0; i < accesses; i++) {
    int error = weigh_access(s, bf_cases_get(cases, i, &which), diagnostic);
    if (error && cases->count > 1 && diagnostic)
      diagnostic->line = 0; /* of which trace is not known */
    BF_TRY(error);
  }
  for (size_t i = 0; i < accesses; i++)
    BF_TRY(sort_access(s, bf_cases_get(cases, i, &which), diagnostic));
  return BF_OK;
}

/* What a part of an array's accesses costs, for all of them by how often they are made. */
static uint64_t scaled(const sorting *s, unsigned array, uint64_t conflicts) {
  if (s->searched[array] == s->accesses[array])
    return conflicts;
  return (uint64_t)((double)conflicts * (double)s->accesses[array] / (double)s->searched[array]);
}

/* Takes what was found by a part of an array's accesses for all of them. */
static void take_for_all(const sorting *s, unsigned array, bf_solution *solution) {
  if (s->searched[array] == s->accesses[array])
    return;
  solution->conflicts_before = scaled(s, array, solution->conflicts_before);
  solution->conflicts_after = scaled(s, array, solution->conflicts_after);
  solution->proven = false;
}

/* Searches for one array, in its share of the time that is left to it and those behind it. */
static int search(const sorting *s, unsigned array, const bf_solve_options *given, double until,
                  uint64_t left, const bf_search_watch *watch, bf_arrays *arrays,
                  bf_diagnostic *diagnostic) {
  bf_solve_options options = *given;
  bf_array_solution *own = &arrays->item[arrays->count];
  if (given->time_limit_seconds > 0) {
    double seconds = (until - bf_seconds()) * (double)s->accesses[array] / (double)left;
    options.time_limit_seconds = seconds > 1e-3 ? seconds : 1e-3;
  }
  double share = 1;
  bf_search_watch own_watch = watch ? *watch : (bf_search_watch){.step = NULL};
  own_watch.share = &share;
  *own = (bf_array_solution){.begin_bytes = s->begin[array], .accesses = s->accesses[array]};
  BF_TRY(bf_solve_watched(s->machine, s->own[array], &options, &own_watch, &own->solution,
                          diagnostic));
  share *= (double)s->taken[array] / (double)s->different[array];
  arrays->counted = share < arrays->counted ? share : arrays->counted;
  take_for_all(s, array, &own->solution);
  arrays->count++;
  arrays->conflicts_before += own->solution.conflicts_before;
  arrays->conflicts_after += own->solution.conflicts_after;
  arrays->lower_bound += own->solution.lower_bound;
  arrays->proven = arrays->proven && own->solution.proven;
  return BF_OK;
}

/* Searches for all arrays of the accesses that were sorted. */
static int search_all(const sorting *s, const bf_solve_options *options, double until,
                      const bf_search_watch *watch, bf_arrays *arrays, bf_diagnostic *diagnostic) {
  uint64_t left = s->all;
  for (unsigned array = 0; array < s->count; array++) {
    if (s->own[array])
      BF_TRY(search(s, array, options, until, left, watch, arrays, diagnostic));
    left -= s->accesses[array];
  }
  return BF_OK;
}

int bf_solve_arrays_watched(const bf_machine *machine, const bf_workload *workload,
                            const uint64_t *begin, size_t count, const bf_solve_options *options,
                            const bf_search_watch *watch, bf_arrays *arrays,
                            bf_diagnostic *diagnostic) {
  double started = bf_seconds(), limit = options->time_limit_seconds;
  sorting s = {.machine = machine};
  bf_solve_options own = *options;
  bf_gathered all;
  memset(arrays, 0, sizeof *arrays);
  arrays->proven = true;
  arrays->counted = 1;
  if (options->method != BF_METHOD_EXACT || options->shared_file)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a hash for each array goes with an exact search that is not shared");
  BF_TRY(bf_cases_gather(machine, workload, options, &all, diagnostic));
  own.also_count = 0;
  int error = take_begins(&s, begin, count, diagnostic);
  if (!error)
    error = sort_all(&s, &all.cases, limit, diagnostic);
  free(all.item);
  if (!error)
    error = search_all(&s, &own, started + options->time_limit_seconds, watch, arrays, diagnostic);
  for (unsigned array = 0; array < s.count; array++)
    bf_workload_free(s.own[array]);
  arrays->seconds = bf_seconds() - started;
  if (error)
    bf_arrays_clear(arrays);
  return error;
}

void bf_arrays_clear(bf_arrays *arrays) {
  for (unsigned i = 0; i < arrays->count; i++)
    bf_solution_clear(&arrays->item[i].solution);
  memset(arrays, 0, sizeof *arrays);
}

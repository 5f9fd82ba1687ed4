/* A hash for each array. */
#include "search/arrays.h"

#include "search/cases.h"
#include "search/search.h"

#include <string.h>

typedef struct sorting {
  const bf_machine *machine;
  uint64_t begin[BF_ARRAYS_MOST];
  unsigned count;
  bf_workload *own[BF_ARRAYS_MOST];
  uint64_t accesses[BF_ARRAYS_MOST], all;
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

/* Adds an access to those of its array, with offsets in place of addresses. */
static int sort_access(sorting *s, const bf_access *access, bf_diagnostic *diagnostic) {
  bf_access own = *access;
  unsigned array = array_of(s, access->address[__builtin_ctzll(access->mask)]);
  if (s->begin[array] % access->width_bytes)
    return refuse(access, "begins between elements of an access", s->begin[array], diagnostic);
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    uint64_t last = (uint64_t)access->address[lane] + access->width_bytes - 1;
    if (array_of(s, access->address[lane]) != array || array_of(s, last) != array)
      return refuse(access, "and another one are touched by one access", s->begin[array],
                    diagnostic);
    own.address[lane] -= (uint32_t)s->begin[array];
  }
  if (!s->own[array] && bf_workload_create(&s->own[array]) != BF_OK)
    return bf_no_memory(diagnostic);
  s->accesses[array] += access->count;
  s->all += access->count;
  return bf_workload_add(s->own[array], &own) == BF_OK ? BF_OK : bf_no_memory(diagnostic);
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
  arrays->counted = share < arrays->counted ? share : arrays->counted;
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
  double started = bf_seconds();
  sorting s = {.machine = machine};
  bf_solve_options own = *options;
  bf_workload *merged = NULL;
  memset(arrays, 0, sizeof *arrays);
  arrays->proven = true;
  arrays->counted = 1;
  if (options->method != BF_METHOD_EXACT || options->shared_file)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a hash for each array goes with an exact search that is not shared");
  BF_TRY(bf_cases_merge(machine, workload, options, &merged, diagnostic));
  own.also_count = 0;
  const bf_workload *all = merged ? merged : workload;
  int error = take_begins(&s, begin, count, diagnostic);
  for (size_t i = 0; !error && i < bf_workload_size(all); i++)
    error = sort_access(&s, bf_workload_get(all, i), diagnostic);
  if (error && merged && diagnostic)
    diagnostic->line = 0; /* of which trace is not known */
  if (!error)
    error = search_all(&s, &own, started + options->time_limit_seconds, watch, arrays, diagnostic);
  for (unsigned array = 0; array < s.count; array++)
    bf_workload_free(s.own[array]);
  bf_workload_free(merged);
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

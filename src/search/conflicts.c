/* Conflicts under a hash of all that it is to serve, by all cores: what every answer of a search is
 * judged by. */
#include "search/problem.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Accesses that a thread counts before it asks for more, and after which it looks at the clock. */
enum { PART = 1024 };

/* ---- Cases ---- */

size_t bf_cases_size(const bf_cases *cases) {
  size_t size = 0;
  for (size_t i = 0; i < cases->count; i++)
    size += bf_workload_size(cases->item[i].workload);
  return size;
}

const bf_access *bf_cases_get(const bf_cases *cases, size_t index, size_t *which) {
  for (*which = 0; *which < cases->count; ++*which) {
    size_t size = bf_workload_size(cases->item[*which].workload);
    if (index < size)
      return bf_workload_get(cases->item[*which].workload, index);
    index -= size;
  }
  return NULL;
}

/* ---- Counting ---- */

/* A counter for each case; NULL where accesses are counted one by one. */
typedef struct counters {
  const bf_cases *cases;
  const bf_hash *hash;
  bf_counter **of;
} counters;

static void free_counters(counters *all) {
  for (size_t i = 0; all->of && i < all->cases->count; i++)
    bf_counter_free(all->of[i]);
  free(all->of);
}

/* Counters pay where many accesses are counted. */
static int make_counters(const bf_cases *cases, const bf_hash *hash, size_t accesses, counters *all,
                         bf_diagnostic *diagnostic) {
  *all = (counters){.cases = cases, .hash = hash};
  if (accesses < PART)
    return BF_OK;
  all->of = calloc(cases->count, sizeof *all->of);
  int error = all->of ? BF_OK : bf_no_memory(diagnostic);
  for (size_t i = 0; i < cases->count && !error; i++)
    error = bf_counter_create(cases->item[i].machine, hash, &all->of[i], diagnostic);
  if (error)
    free_counters(all);
  return error;
}

typedef struct sums {
  uint64_t conflicts, wavefronts;
} sums;

/* Adds the access of that number. */
static int count_one(const counters *all, size_t index, sums *sum, bf_diagnostic *diagnostic) {
  bf_count count = {0};
  size_t which;
  const bf_access *access = bf_cases_get(all->cases, index, &which);
  int error = all->of ? bf_counter_count(all->of[which], access, &count, diagnostic)
                      : bf_memory_count(all->cases->item[which].machine, all->hash, access, &count,
                                        diagnostic);
  sum->conflicts += access->count * count.conflicts;
  sum->wavefronts += access->count * bf_count_wavefronts(&count);
  return error;
}

typedef struct counting {
  const bf_cases *cases;
  const bf_hash *hash;
  atomic_size_t next;
  atomic_uint_fast64_t conflicts, wavefronts;
  atomic_flag failed; /* whoever sets it fills the diagnostic */
  atomic_int error;
  bf_diagnostic *diagnostic;
} counting;

static void fail(counting *all, int error, const bf_diagnostic *diagnostic) {
  if (atomic_flag_test_and_set(&all->failed))
    return;
  if (all->diagnostic)
    *all->diagnostic = *diagnostic;
  atomic_store(&all->error, error);
}

static void work(void *context, unsigned index) {
  counting *all = context;
  size_t accesses = bf_cases_size(all->cases);
  counters own;
  bf_diagnostic diagnostic = {.caret = -1};
  (void)index;
  int error = make_counters(all->cases, all->hash, accesses, &own, &diagnostic);
  if (error) {
    fail(all, error, &diagnostic);
    return;
  }
  sums sum = {0};
  for (size_t from; !error && (from = atomic_fetch_add(&all->next, PART)) < accesses;)
    for (size_t i = from; i < accesses && i < from + PART && !error; i++)
      error = count_one(&own, i, &sum, &diagnostic);
  if (error)
    fail(all, error, &diagnostic);
  atomic_fetch_add(&all->conflicts, sum.conflicts);
  atomic_fetch_add(&all->wavefronts, sum.wavefronts);
  free_counters(&own);
}

int bf_cases_conflicts(const bf_cases *cases, const bf_hash *hash, uint64_t *conflicts,
                       uint64_t *wavefronts, bf_diagnostic *diagnostic) {
  counting all = {
      .cases = cases, .hash = hash, .failed = ATOMIC_FLAG_INIT, .diagnostic = diagnostic};
  bf_run_threads(bf_cases_size(cases) > 4 * PART ? bf_cores() : 1, work, &all);
  *conflicts = atomic_load(&all.conflicts);
  if (wavefronts)
    *wavefronts = atomic_load(&all.wavefronts);
  return atomic_load(&all.error);
}

int bf_problem_conflicts(const bf_machine *machine, const bf_workload *workload,
                         const bf_hash *hash, uint64_t *conflicts, bf_diagnostic *diagnostic) {
  const bf_solve_case own = {machine, workload};
  const bf_cases cases = {&own, 1};
  return bf_cases_conflicts(&cases, hash, conflicts, NULL, diagnostic);
}

uint64_t bf_cases_conflicts_part(const bf_cases *cases, const bf_hash *hash, size_t step,
                                 uint64_t most, const bf_search_watch *watch) {
  sums sum = {0};
  size_t done = 0, accesses = bf_cases_size(cases);
  counters own;
  if (make_counters(cases, hash, accesses / step, &own, NULL) != BF_OK)
    return UINT64_MAX;
  for (size_t i = 0; i < accesses && sum.conflicts <= most; i += step) {
    if ((++done % PART == 0 && bf_search_is_late(watch)) ||
        count_one(&own, i, &sum, NULL) != BF_OK) {
      sum.conflicts = UINT64_MAX;
      break;
    }
  }
  free_counters(&own);
  return sum.conflicts <= most ? sum.conflicts : UINT64_MAX;
}

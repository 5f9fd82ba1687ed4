/* Conflicts of a workload under a hash, by all cores: what every answer of a search is judged by.
 */
#include "search/problem.h"

#include <stdatomic.h>

/* Accesses that a thread counts before it asks for more, and after which it looks at the clock. */
enum { PART = 1024 };

typedef struct counting {
  const bf_machine *machine;
  const bf_workload *workload;
  const bf_hash *hash;
  atomic_size_t next;
  atomic_uint_fast64_t conflicts;
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

/* A counter pays where many accesses are counted; NULL: count one by one. */
static int make_counter(const bf_machine *machine, const bf_hash *hash, size_t accesses,
                        bf_counter **counter, bf_diagnostic *diagnostic) {
  *counter = NULL;
  return accesses < PART ? BF_OK : bf_counter_create(machine, hash, counter, diagnostic);
}

static int count_one(const bf_machine *machine, const bf_hash *hash, bf_counter *counter,
                     const bf_access *access, uint64_t *sum, bf_diagnostic *diagnostic) {
  bf_count count = {0};
  int error = counter ? bf_counter_count(counter, access, &count, diagnostic)
                      : bf_memory_count(machine, hash, access, &count, diagnostic);
  *sum += access->count * count.conflicts;
  return error;
}

static void work(void *context, unsigned index) {
  counting *all = context;
  size_t accesses = bf_workload_size(all->workload);
  bf_counter *counter;
  bf_diagnostic diagnostic = {.caret = -1};
  (void)index;
  int error = make_counter(all->machine, all->hash, accesses, &counter, &diagnostic);
  if (error) {
    fail(all, error, &diagnostic);
    return;
  }
  uint64_t sum = 0;
  for (size_t from; !error && (from = atomic_fetch_add(&all->next, PART)) < accesses;)
    for (size_t i = from; i < accesses && i < from + PART && !error; i++)
      error = count_one(all->machine, all->hash, counter, bf_workload_get(all->workload, i), &sum,
                        &diagnostic);
  if (error)
    fail(all, error, &diagnostic);
  atomic_fetch_add(&all->conflicts, sum);
  bf_counter_free(counter);
}

int bf_problem_conflicts(const bf_machine *machine, const bf_workload *workload,
                         const bf_hash *hash, uint64_t *conflicts, bf_diagnostic *diagnostic) {
  counting all = {.machine = machine,
                  .workload = workload,
                  .hash = hash,
                  .failed = ATOMIC_FLAG_INIT,
                  .diagnostic = diagnostic};
  bf_run_threads(bf_workload_size(workload) > 4 * PART ? bf_cores() : 1, work, &all);
  *conflicts = atomic_load(&all.conflicts);
  return atomic_load(&all.error);
}

uint64_t bf_problem_conflicts_part(const bf_machine *machine, const bf_workload *workload,
                                   const bf_hash *hash, size_t first, size_t step, uint64_t most,
                                   const bf_search_watch *watch) {
  uint64_t sum = 0;
  size_t done = 0;
  bf_counter *counter;
  if (make_counter(machine, hash, bf_workload_size(workload) / step, &counter, NULL) != BF_OK)
    return UINT64_MAX;
  for (size_t i = first; i < bf_workload_size(workload) && sum <= most; i += step) {
    if ((++done % PART == 0 && bf_search_is_late(watch)) ||
        count_one(machine, hash, counter, bf_workload_get(workload, i), &sum, NULL) != BF_OK) {
      sum = UINT64_MAX;
      break;
    }
  }
  bf_counter_free(counter);
  return sum <= most ? sum : UINT64_MAX;
}

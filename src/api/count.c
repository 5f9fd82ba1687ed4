/* Counting whole workloads. */
#include "api/api.h"

/* Adds what an access costs, as often as it happens. */
static void add(bf_workload_totals *totals, const bf_count *count, uint64_t times) {
  totals->accesses += times;
  totals->wavefronts_load += times * count->wavefronts_load;
  totals->wavefronts_store += times * count->wavefronts_store;
  totals->wavefronts_atomic += times * count->wavefronts_atomic;
  totals->wavefronts += times * bf_count_wavefronts(count);
  totals->ideal += times * count->ideal;
  totals->conflicts += times * count->conflicts;
  totals->estimated |= count->estimated;
}

int bf_memory_count_workload(const bf_machine *machine, const bf_hash *hash,
                             const bf_workload *workload, bf_workload_totals *totals,
                             bf_diagnostic *diagnostic) {
  bf_counter *counter;
  bf_workload_totals sum = {0};
  *totals = sum;
  BF_TRY(bf_counter_create(machine, hash, &counter, diagnostic));
  int error = BF_OK;
  for (size_t i = 0; i < bf_workload_size(workload) && !error; i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bf_count count;
    error = bf_counter_count(counter, access, &count, diagnostic);
    if (!error)
      add(&sum, &count, access->count);
    else if (diagnostic)
      diagnostic->line = access->line;
  }
  bf_counter_free(counter);
  if (!error)
    *totals = sum;
  return error;
}

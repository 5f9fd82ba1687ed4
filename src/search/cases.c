/* Cases of a search from files. */
#include "search/cases.h"

#include <stdlib.h>
#include <string.h>

static int load_machine(const bf_cases_query *query, size_t i, unsigned address_bits,
                        bf_loaded_cases *loaded, bf_diagnostic *diagnostic) {
  bf_overrides overrides = query->overrides;
  if (address_bits)
    overrides.address_bits = address_bits;
  bf_machine_free(loaded->machine[i]);
  return bf_machine_load(query->machine[i], &overrides, &loaded->machine[i], diagnostic);
}

static int load_machines(const bf_cases_query *query, bf_loaded_cases *loaded,
                         bf_diagnostic *diagnostic) {
  unsigned most = 0;
  for (size_t i = 0; i < loaded->machines; i++) {
    BF_TRY(load_machine(query, i, 0, loaded, diagnostic));
    unsigned own = bf_machine_geometry(loaded->machine[i]).address_bits;
    most = own > most ? own : most;
  }
  for (size_t i = 0; i < loaded->machines; i++)
    if (bf_machine_geometry(loaded->machine[i]).address_bits < most)
      BF_TRY(load_machine(query, i, most, loaded, diagnostic));
  return BF_OK;
}

int bf_cases_load(const bf_cases_query *query, bf_loaded_cases *loaded, bf_diagnostic *diagnostic) {
  *loaded = (bf_loaded_cases){
      .machines = query->machines, .workloads = query->paths, .kept = 1, .read = 1, .counted = 1};
  loaded->machine = calloc(query->machines, sizeof *loaded->machine);
  loaded->workload = calloc(query->paths, sizeof *loaded->workload);
  loaded->item = calloc(query->machines * query->paths, sizeof *loaded->item);
  loaded->result = calloc(query->machines * query->paths, sizeof *loaded->result);
  if (!loaded->machine || !loaded->workload || !loaded->item || !loaded->result)
    return bf_no_memory(diagnostic);
  BF_TRY(load_machines(query, loaded, diagnostic));
  double started = bf_seconds(), share = query->seconds / (double)query->paths;
  for (size_t i = 0; i < query->paths; i++) {
    bf_reading_limits limits = {
        .most = query->most_accesses, .tell = query->tell, .context = query->context};
    limits.until = query->seconds > 0 ? started + share * (double)(i + 1) : 0;
    BF_TRY(bf_workload_read_sample(query->path[i], query->form, &limits, loaded->machine[0],
                                   &loaded->workload[i], diagnostic));
    loaded->read = limits.read < loaded->read ? limits.read : loaded->read;
    double kept = bf_workload_kept(loaded->workload[i]);
    loaded->kept = kept < loaded->kept ? kept : loaded->kept;
  }
  for (size_t m = 0; m < query->machines; m++)
    for (size_t i = 0; i < query->paths; i++) {
      loaded->result[loaded->count] =
          (bf_case_result){.file = query->path[i], .machine = bf_machine_name(loaded->machine[m])};
      loaded->item[loaded->count++] = (bf_solve_case){loaded->machine[m], loaded->workload[i]};
    }
  return BF_OK;
}

void bf_cases_unload(bf_loaded_cases *loaded) {
  for (size_t i = 0; loaded->machine && i < loaded->machines; i++)
    bf_machine_free(loaded->machine[i]);
  for (size_t i = 0; loaded->workload && i < loaded->workloads; i++)
    bf_workload_free(loaded->workload[i]);
  free(loaded->machine);
  free(loaded->workload);
  free(loaded->item);
  free(loaded->result);
  memset(loaded, 0, sizeof *loaded);
}

double bf_cases_judge_seconds(const bf_loaded_cases *loaded) {
  const double seconds_an_access = 2e-7;
  double accesses = 0;
  for (size_t i = 0; i < loaded->count && loaded->count > 1; i++)
    accesses += 2 * (double)bf_workload_size(loaded->item[i].workload);
  return accesses * seconds_an_access;
}

/* Counts a case, for data that are moved so, in its part of the time, which so many more counts
 * share. */
static int count_case(bf_loaded_cases *loaded, size_t i, const bf_hash *hash, const bf_joint *joint,
                      double until, size_t more, uint64_t *conflicts, bf_diagnostic *diagnostic) {
  const bf_solve_case *own = &loaded->item[i];
  const bf_cases one = {own, 1};
  double now = bf_seconds(), share = until > 0 ? now + (until - now) / (double)(more + 1) : 0;
  bf_estimate found;
  BF_TRY(bf_cases_estimate(&one, hash, joint, share, &found, diagnostic));
  *conflicts = found.conflicts;
  loaded->counted = found.share < loaded->counted ? found.share : loaded->counted;
  return BF_OK;
}

/* Counts a case without the hash, and with it for data that are moved so. */
static int judge_case(bf_loaded_cases *loaded, size_t i, const bf_hash *hash, const bf_joint *joint,
                      double until, bf_diagnostic *diagnostic) {
  bf_case_result *result = &loaded->result[i];
  size_t more = 2 * (loaded->count - i) - 1;
  BF_TRY(count_case(loaded, i, NULL, NULL, until, more, &result->before, diagnostic));
  return count_case(loaded, i, hash, joint, until, more - 1, &result->after, diagnostic);
}

int bf_cases_judge(bf_loaded_cases *loaded, const char *text, const bf_joint *joint, double until,
                   bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(loaded->machine[0]);
  bf_hash *hash;
  BF_TRY(bf_hash_parse_banks(text, &geometry, &hash, diagnostic));
  int error = BF_OK;
  for (size_t i = 0; i < loaded->count && !error; i++)
    error = judge_case(loaded, i, hash, joint, until, diagnostic);
  bf_hash_free(hash);
  return error;
}

int bf_cases_gather(const bf_machine *machine, const bf_workload *workload,
                    const bf_solve_options *options, bf_gathered *all, bf_diagnostic *diagnostic) {
  *all = (bf_gathered){.cases.count = options->also_count + 1};
  for (size_t i = 0; i < options->also_count; i++)
    if (options->also[i].machine != machine)
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "padding, base and hashes of arrays are for one machine");
  all->item = calloc(all->cases.count, sizeof *all->item);
  if (!all->item)
    return bf_no_memory(diagnostic);
  all->cases.item = all->item;
  all->item[0] = (bf_solve_case){machine, workload};
  for (size_t i = 1; i < all->cases.count; i++)
    all->item[i] = options->also[i - 1];
  all->extent = bf_cases_extent(&all->cases);
  if (all->extent.executions <= BF_EXECUTIONS_MAX)
    return BF_OK;
  free(all->item);
  return bf_fail(diagnostic, BF_BAD_INPUT, "the traces have too many accesses together");
}

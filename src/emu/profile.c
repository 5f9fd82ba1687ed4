/* The conflict profile: wavefronts per site, counted while a kernel runs. Every worker of the
 * launch has sums of its own; they are added up when asked for. */
#include "emu/inner.h"
#include "emu/kept.h"

#include <stdlib.h>

struct bf_profile {
  bf_counter **counter; /* per worker */
  unsigned workers, sites;
  bf_profile_row *sum; /* [worker][site] */
  bf_kept *kept;       /* the accesses themselves, or NULL */
};

int bf_profile_create(const bf_machine *machine, const bf_hash *hash, const bf_emu_kernel *kernel,
                      unsigned workers, bf_profile **profile, bf_diagnostic *diagnostic) {
  bf_profile *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->workers = workers ? workers : bf_cores();
  made->sites = bf_emu_kernel_sites(kernel);
  made->sum = calloc((size_t)made->workers * (made->sites ? made->sites : 1), sizeof *made->sum);
  made->counter = calloc(made->workers, sizeof *made->counter);
  int error = made->sum && made->counter ? BF_OK : bf_no_memory(diagnostic);
  for (unsigned i = 0; i < made->workers && !error; i++)
    error = bf_counter_create(machine, hash, &made->counter[i], diagnostic);
  if (error)
    bf_profile_free(made);
  else
    *profile = made;
  return error;
}

void bf_profile_free(bf_profile *profile) {
  if (!profile)
    return;
  for (unsigned i = 0; profile->counter && i < profile->workers; i++)
    bf_counter_free(profile->counter[i]);
  bf_kept_free(profile->kept);
  free(profile->counter);
  free(profile->sum);
  free(profile);
}

int bf_profile_keep(bf_profile *profile, size_t *budget, bf_diagnostic *diagnostic) {
  profile->kept = bf_kept_create(profile->workers, budget);
  return profile->kept ? BF_OK : bf_no_memory(diagnostic);
}

const bf_workload *bf_profile_accesses(const bf_profile *profile) {
  return profile->kept ? bf_kept_get(profile->kept) : NULL;
}

/* Keeps an access as the worst so far. */
static void keep_worst(bf_profile_row *row, const bf_emu_event *event, uint32_t wavefronts) {
  row->worst = wavefronts;
  row->op = event->op;
  row->width_bytes = event->width_bytes;
  row->worst_access = (bf_access){
      .op = event->op, .width_bytes = event->width_bytes, .mask = event->mask, .count = 1};
  memcpy(row->worst_access.address, event->shared_address,
         BF_EMU_LANES * sizeof *event->shared_address);
}

/* Adds one access to the sums of its worker. */
static void count_access(void *context, const bf_emu_event *event) {
  bf_profile *profile = context;
  if (event->space != BF_PTX_SPACE_SHARED || event->worker >= profile->workers)
    return;
  bf_profile_row *row = &profile->sum[(size_t)event->worker * profile->sites + event->site];
  bf_count count;
  if (bf_counter_count_lanes(profile->counter[event->worker], event->op, event->width_bytes,
                             event->mask, event->shared_address, &count, NULL) != BF_OK) {
    row->failed++;
    return;
  }
  row->executions++;
  row->wavefronts_load += count.wavefronts_load;
  row->wavefronts_store += count.wavefronts_store;
  row->wavefronts_atomic += count.wavefronts_atomic;
  row->ideal += count.ideal;
  row->conflicts += count.conflicts;
  row->estimated |= count.estimated;
  uint32_t wavefronts = (uint32_t)bf_count_wavefronts(&count);
  if (wavefronts > row->worst)
    keep_worst(row, event, wavefronts);
  if (profile->kept)
    bf_kept_add(profile->kept, event, bf_counter_last(profile->counter[event->worker]));
}

bf_emu_observer bf_profile_observer(bf_profile *profile) {
  return (bf_emu_observer){.access = count_access, .context = profile, .as_merged = true};
}

bf_profile_row bf_profile_get(const bf_profile *profile, unsigned site) {
  bf_profile_row total = {0};
  for (unsigned i = 0; i < profile->workers; i++) {
    const bf_profile_row *row = &profile->sum[(size_t)i * profile->sites + site];
    total.executions += row->executions;
    total.failed += row->failed;
    total.wavefronts_load += row->wavefronts_load;
    total.wavefronts_store += row->wavefronts_store;
    total.wavefronts_atomic += row->wavefronts_atomic;
    total.ideal += row->ideal;
    total.conflicts += row->conflicts;
    total.estimated |= row->estimated;
    if (row->worst > total.worst) {
      total.worst = row->worst;
      total.op = row->op;
      total.width_bytes = row->width_bytes;
      total.worst_access = row->worst_access;
    }
  }
  total.wavefronts = total.wavefronts_load + total.wavefronts_store + total.wavefronts_atomic;
  return total;
}

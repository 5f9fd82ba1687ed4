/* exchange/live: what the launches of a kernel have done so far, in memory that outlives the
 * process: from the drop-in CUDA runtime (runtime/) to bankfold exec, for programs that end without
 * telling (signals, _exit, exec of another program). For each kernel and hash there are two files
 * in the folder of the run: STEM.sites, text, and STEM.sums, which the process maps and counts in.
 * A process that ends as it should removes them, and leaves a record instead (exchange/record.h).
 */
#ifndef BF_EXCHANGE_LIVE_H
#define BF_EXCHANGE_LIVE_H

#include "emu/costs.h"

/* Counts of a kernel that are not those of a site. */
typedef struct bf_live_sums {
  uint64_t begun, launches, warp_instructions, thread_instructions, faults, cycles, work_cycles;
  double seconds, simulated_seconds, joules, conflict_joules;
  uint64_t blocks, counted_blocks; /* where not all are counted */
} bf_live_sums;

typedef struct bf_live bf_live;

/* Makes the files of a kernel whose profile has not counted yet: it counts in the file from now on.
 * folder is borrowed. BF_UNSUPPORTED where that would take much room. */
int bf_live_create(const char *folder, const bf_emu_kernel *kernel, const char *hash,
                   const char *lock_hash, bf_profile *profile, bf_live **live,
                   bf_diagnostic *diagnostic);
/* Where the other counts belong. */
bf_live_sums *bf_live_get(bf_live *live);
/* Removes the files; memory stays mapped. */
void bf_live_remove(bf_live *live);

/* Adds what processes have left that did not remove their files. */
int bf_live_read(const char *folder, const bf_machine *machine, bf_costs *costs,
                 bf_diagnostic *diagnostic);

#endif

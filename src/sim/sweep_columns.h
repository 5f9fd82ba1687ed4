/* sim/sweep_columns: what a row of a sweep holds about simulated launches. */
#ifndef BF_SIM_SWEEP_COLUMNS_H
#define BF_SIM_SWEEP_COLUMNS_H

#include "sim/ledger.h"
#include "sim/sweep.h"

/* The names of all columns, ending with NULL; NULL: memory is exhausted. None is that of a
 * parameter, which may be an axis, and none differs from run to run, as the time on the host does.
 */
const char *const *bf_sim_columns(bf_arena *arena);
/* Adds results in the order of the columns. */
void bf_sim_columns_fill(const bf_sim_gpu *gpu, const bf_sim_launched *total, bf_sim_row *row);

#endif

/* Inside room emu: all different accesses of launches, with how often each was made, in bounded
 * memory. */
#ifndef BF_EMU_KEPT_H
#define BF_EMU_KEPT_H

#include "emu/emu.h"

typedef struct bf_kept bf_kept;
/* Where an access of a worker was kept last. */
typedef struct bf_kept_access bf_kept_access;

/* budget (NULL: none) is how many different accesses may be kept yet by all that share it. NULL
 * where memory is exhausted. */
bf_kept *bf_kept_create(unsigned workers, size_t *budget);
void bf_kept_free(bf_kept *kept);
/* Keeps an access that the worker's counter knows by a pattern, as so many. Gives where it is kept,
 * or NULL; that is where to look first, as `last`, when the worker makes the same access again. */
bf_kept_access *bf_kept_add(bf_kept *kept, const bf_emu_event *event, bf_counter_pattern pattern,
                            uint64_t times, bf_kept_access *last);
/* All accesses so far, while no launch runs; NULL where there were too many different ones. */
const bf_workload *bf_kept_get(bf_kept *kept);
/* Brings the count of an access up, by its place in bf_kept_get's. */
void bf_kept_count(bf_kept *kept, size_t index, uint64_t more);

#endif

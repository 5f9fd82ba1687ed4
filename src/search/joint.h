/* search/joint: a hash, padding and the base address of the data together.
 *
 * Data that begin at another place of a row, or with unused words after every row, are other
 * accesses to a hash: sums are not XORs. Every padding and base of a short list is tried, each with
 * an exact search of its own: no padding and the eight that leave fewest conflicts by themselves,
 * at bases of 0 and 1, 2, 4, ... granules below a row of banks. With the method modulo each is
 * tried with every number of banks. */
#ifndef BF_SEARCH_JOINT_H
#define BF_SEARCH_JOINT_H

#include "search/problem.h"
#include "search/watch.h"

enum { BF_JOINT_PADDINGS = 9, BF_JOINT_BASES = 8 };

/* bf_solve_joint, watched. */
int bf_solve_joint_watched(const bf_machine *machine, const bf_workload *workload,
                           const bf_solve_options *options, const bf_search_watch *watch,
                           bf_joint *joint, bf_diagnostic *diagnostic);

/* An access with data that begin base_bytes later, and with pad_words after every row_words. */
void bf_joint_move(const bf_machine *machine, const bf_joint *how, bf_access *access);

#endif

/* sim/worth: what a change is worth, with an interval that 80 of 100 measured gains lie in. */
#ifndef BF_SIM_WORTH_H
#define BF_SIM_WORTH_H

#include "sim/ledger.h"

typedef struct bf_sim_worth {
  double gain;      /* cycles before over cycles after */
  double low, high; /* the interval; gain itself where the share is 0 */
} bf_sim_worth;

/* share: worth_share of a GPU for kernels whose banks are hashed or whose conflicts are gone,
 * rewrite_share for kernels that are rewritten. */
bf_sim_worth bf_sim_worth_find(double share, double before, double after);
/* How far a measured gain is off, in shares: it lies in the interval of a share that is no less. */
double bf_sim_worth_score(double measured, double simulated);
/* A table of the launches of two runs of one program, the second with a hash. Of launches of one
 * kernel that follow each other, only the first has a line. */
void bf_sim_worth_write(const bf_sim_ledger *before, const bf_sim_ledger *after, const char *change,
                        bf_text *text);

#endif

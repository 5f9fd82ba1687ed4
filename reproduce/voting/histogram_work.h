/* Inside reproduce/voting: results of histograms, and what is claimed of them. */
#ifndef BF_VOTING_HISTOGRAM_WORK_H
#define BF_VOTING_HISTOGRAM_WORK_H

#include "reproduce/voting/histogram.h"
#include "reproduce/voting/tables.h"

enum { SWEEPS = BF_VOTING_GPUS * BF_VOTING_METHODS * BF_VOTING_LAYOUTS };

typedef struct histogram_work {
  bool is_quick;
  uint16_t *pixels;
  uint32_t rows;
  bf_voting_sweep sweep[SWEEPS];
  bf_voting_ours ours[BF_VOTING_METHODS][BF_VOTING_GPUS];
  double held[BF_VOTING_GPUS]; /* SHARED, where the loop of an atomic holds the memory */
  /* What the model assumes, halved and doubled: estimated milliseconds of the best configuration,
   * and beside them those as usual. */
  double changed[BF_VOTING_SHARED][BF_VOTING_GPUS][3];
  double one_value, random; /* GLOBAL with one copy on the 8800 GT, of such pictures */
} histogram_work;

extern const char *const bf_voting_method_titles[BF_VOTING_METHODS];
/* Whether a GPU has what a way needs. */
bool bf_voting_can_count(unsigned gpu, bf_voting_method method);
/* The sweeps of a way in all layouts. */
const bf_voting_sweep *bf_voting_count_sweeps(const histogram_work *work, unsigned gpu,
                                              bf_voting_method method);

/* Claims of Table 3.7, which quick runs have too, and all others (histogram_claims.c). */
void bf_voting_claim_ways(bf_reproduce_run *run, const histogram_work *work);
void bf_voting_claim_histograms(bf_reproduce_run *run, const histogram_work *work);
/* What is said of configurations other than the best (histogram_sweeps.c). */
void bf_voting_claim_sweeps(bf_reproduce_run *run, const histogram_work *work);

#endif

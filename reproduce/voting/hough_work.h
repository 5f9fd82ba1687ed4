/* Inside reproduce/voting: results of Hough transforms, and what is claimed of them. */
#ifndef BF_VOTING_HOUGH_WORK_H
#define BF_VOTING_HOUGH_WORK_H

#include "reproduce/voting/hough.h"
#include "reproduce/voting/listing.h"
#include "reproduce/voting/tables.h"

enum { GLOBAL, TWO_STEP, WAYS, RHO_STEP = 3, SWEEPS = BF_VOTING_GPUS * WAYS * BF_VOTING_LAYOUTS };

/* Rows in the middle of the picture that vote or are listed, and one of how many angles on the
 * whole GPU. */
typedef struct hough_rows {
  uint32_t global, global_sweep, lines, list;
  unsigned angle_step;
} hough_rows;
typedef struct hough_work {
  bool is_quick;
  const hough_rows *rows;
  uint8_t *edges;
  uint32_t points; /* edges that are set */
  bf_voting_sweep sweep[SWEEPS];
  bf_voting_ours ours[WAYS][BF_VOTING_GPUS];
  double collect_ms[BF_VOTING_GPUS];
  bf_voting_listed listed[BF_VOTING_GPUS]; /* of the list as the document describes it */
  /* Times of the best configuration, that as usual being 1: by global atomics with what a slice
   * takes for one halved and doubled; in two steps, without the list, with the memory held through
   * the loop of an atomic. */
  double halved[BF_VOTING_GPUS], doubled[BF_VOTING_GPUS], held[BF_VOTING_GPUS];
  /* What copies gain in two steps with the memory held so, and with points side by side. */
  double held_gain[BF_VOTING_GPUS], adjacent_gain[BF_VOTING_GPUS];
} hough_work;

/* Whether a GPU has what a way needs. */
bool bf_voting_can_vote(unsigned gpu, unsigned way);
/* The sweeps of a way in all layouts. */
const bf_voting_sweep *bf_voting_vote_sweeps(const hough_work *work, unsigned gpu, unsigned way);

/* Claims of section 4.5, and of Table 4.3, which quick runs have too, and all others
 * (hough_claims.c). */
void bf_voting_claim_constant(bf_reproduce_run *run);
void bf_voting_claim_steps(bf_reproduce_run *run, const hough_work *work);
void bf_voting_claim_houghs(bf_reproduce_run *run, const hough_work *work);

#endif

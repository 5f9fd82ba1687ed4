/* The ladder of fixes: from doing nothing to the provably best hash, each with what it costs, and
 * which of them to take. */
#ifndef BF_SEARCH_LADDER_H
#define BF_SEARCH_LADDER_H

#include "search/watch.h"

#include "search/search.h"

/* What an instruction costs, in wavefronts: a multiprocessor issues four instructions in the cycle
 * of one wavefront. */
#define BF_INSTRUCTION_WAVEFRONTS 0.25
/* What accesses cost, with the instructions that compute their addresses. */
static inline double bf_cost_in_wavefronts(double wavefronts, double instructions) {
  return wavefronts + BF_INSTRUCTION_WAVEFRONTS * instructions;
}

/* Of the ladder 6; of a front, before those are dropped that others beat in everything, 9 and one
 * for each number of gates below that of the best hash. */
enum { BF_LADDER_STEPS = 32 };

struct bf_ladder {
  bf_ladder_step step[BF_LADDER_STEPS]; /* from doing nothing on */
  unsigned count;
  unsigned recommended; /* index into step; 0 is "nothing" */
  char reason[512];
  uint64_t conflicts_before;
  uint64_t wavefronts_before, accesses;
  unsigned granule_bytes; /* bytes that every step keeps together */
  uint64_t lower_bound;   /* of the exact step */
  double seconds;
  double instruction_wavefronts; /* what an instruction costs; 0: BF_INSTRUCTION_WAVEFRONTS,
                                    negative: nothing */
};

/* Runs every step. options gives granule, time limit, threads and progress; without a granule, the
 * widest access stays whole, since software cannot load a vector from several places. */
int bf_solve_ladder_watched(const bf_machine *machine, const bf_workload *workload,
                            const bf_solve_options *options, const bf_search_watch *watch,
                            bf_ladder *ladder, bf_diagnostic *diagnostic);
/* The same, with nobody to be told how far it is. */
int bf_solve_ladder(const bf_machine *machine, const bf_workload *workload,
                    const bf_solve_options *options, bf_ladder *ladder, bf_diagnostic *diagnostic);

/* Chooses the step again and gives the reason, where counts of the ladder were changed; bytes_used
 * is where its accesses end. */
void bf_ladder_recommend(bf_ladder *ladder, uint64_t bytes_used);

/* Drops every step of which another leaves no more conflicts for no more bytes, instructions and
 * gates, and puts the rest in the order of their conflicts; doing nothing stays first. */
void bf_ladder_keep_front(bf_ladder *ladder);

#endif

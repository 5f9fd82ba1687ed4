/* tune/judge: is it worth to rewrite a kernel with a hash? This is the one rule, for rewrite, exec,
 * tune and the programs in gpu/, whatever they know of the kernel with the hash and without it. The
 * best that is known of both decides:
 *
 *  times    on a GPU: it takes less time by more than a hundredth, and by more than the noise of
 *           either;
 *  cycles   on the simulator: it takes so much fewer that the interval in which 80 of 100 measured
 *           gains lie is above 1 (BF_JUDGE_SIMULATED_GAIN); or fewer, and it saves work that is at
 *           least BF_JUDGE_MARGIN_PERCENT of its time - the simulator knows what overlaps, but can
 *           err;
 *  predicted  from the PTX (predict.h): two estimates must agree. It takes fewer cycles by more
 * than the error of the prediction, and it leaves less work, as counts have it, by so much that it
 * would be told from another candidate; counts   of the emulator, or predicted: the wavefronts that
 * are saved are more than those that the added instructions are worth (bf_cost_in_wavefronts). */
#ifndef BF_TUNE_JUDGE_H
#define BF_TUNE_JUDGE_H

#include "base/base.h"

/* What all launches of a kernel took in a run, as far as it is known. */
typedef struct bf_evidence {
  uint64_t wavefronts;
  int64_t instructions; /* of warps; where they are predicted, only those that a hash adds */
  uint64_t cycles;      /* simulated; 0: not known */
  uint64_t work_cycles; /* with cycles: bf_work_cycles of all launches, on the same GPU */
  double ns;            /* measured; 0: not known */
  double noise;         /* with ns: the span between the fastest and the slowest run, as a share */
  double predicted_cycles; /* from the PTX; 0: not known */
  double error;            /* with predicted_cycles: of the share that is left, as a share of it */
  uint64_t least_blocks; /* with predicted_cycles: of a grid for which the hash is worth it; or 0 */
  /* With predicted_cycles, after: the shares of time and of work that are left in the launch that
   * is most likely, where cycles are those of another; or 0. */
  double likely_share, likely_work;
} bf_evidence;

/* A kernel without a hash, and with one. */
typedef struct bf_comparison {
  bf_evidence before, after;
} bf_comparison;

enum { BF_JUDGE_MARGIN_PERCENT = 4 };

/* Simulated gains of rewritten kernels above this have an interval above 1: rewrite_share of
 * h200.gpu (bench/results/2026-11-18-sim-worth.md, sim/worth.h). */
#define BF_JUDGE_SIMULATED_GAIN 1.287

/* What a kernel must gain at least on a GPU, and the least difference between two candidates, as a
 * share of the time. */
#define BF_JUDGE_LEAST_GAIN 0.01
/* Two candidates of one kernel of which the predicted times differ by no more than this are not
 * told apart: half of all such differences of half A of the corpus are off by as much (4.3%).
 * Neither are two whose work (bf_judge_gain) differs by no more than the other
 * (tests/check/check_predict.c says how both were found). */
#define BF_JUDGE_LEAST_PREDICTED 0.04
#define BF_JUDGE_LEAST_WORK 0.05

/* The cycles in which a multiprocessor issues its instructions and carries out its wavefronts, if
 * neither overlapped, in a launch of that many blocks. */
uint64_t bf_work_cycles(uint64_t wavefronts, uint64_t warp_instructions, uint64_t blocks,
                        unsigned multiprocessors, unsigned schedulers);

/* The wavefronts that are saved, less those that added instructions are worth. */
double bf_judge_gain(const bf_comparison *comparison);
/* The share of the time, of the cycles or of the cost in wavefronts that is left with the hash. */
double bf_judge_share(const bf_comparison *comparison);
/* The same, of the launch that is most likely: what two candidates are compared by. */
double bf_judge_likely_share(const bf_comparison *comparison);
/* The share of the work, wavefronts and what added instructions are worth, that is left there. */
double bf_judge_likely_work(const bf_comparison *comparison);
/* The larger noise of both sides. */
double bf_judge_noise(const bf_comparison *comparison);
/* The rule. */
bool bf_judge_is_worth(const bf_comparison *comparison);
/* Whether a prediction leaves it open that the hash is worth it: for whoever measures it then. */
bool bf_judge_may_be_worth(const bf_comparison *comparison);
/* Whether a hash is better than another one of the same kernel: worth it, or else a smaller share
 * of what decides. */
bool bf_judge_is_better(const bf_comparison *one, const bf_comparison *other);
/* Whether one prediction leaves no larger share of the wavefronts than another, and adds at most a
 * third of the instructions: such a candidate is taken before one of a kind that was measured more.
 * bench/results/2026-11-19-decisions.md says how that was found. */
bool bf_judge_is_clearly_cheaper(const bf_comparison *one, const bf_comparison *other);
/* Of the candidates of a kernel that were tried, the one to take; -1: none was tried. It is the
 * best; of those that a prediction does not tell from it, the one with least work, as units overlap
 * less than is predicted as often as more; and of those with as little work the one that adds
 * fewest instructions, which cost registers too: longer rows add none. Candidates that are not
 * worth it are among these where they leave no more work and add fewer instructions than the best,
 * which is: *is_worth says whether what is taken is worth it by itself or by that. */
int bf_judge_choose(const bf_comparison *tried, const bool *was_tried, unsigned count,
                    bool *is_worth);
/* Why a hash is not worth it, in words. */
void bf_judge_explain(const bf_comparison *comparison, bf_text *text);

#endif

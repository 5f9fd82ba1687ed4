/* braak15, sections 3.3 and 3.7: what is said of configurations other than the best. */
#include "reproduce/voting/histogram_work.h"

#include <math.h>

enum { OLD, FERMI, KEPLER, MAXWELL }; /* 8800 GT, GTX 470, GTX Titan, GTX 750 Ti */

/* The slowest configuration with so many copies (0: any) over the fastest. */
static double apart(const bf_voting_sweep *sweeps, unsigned count, unsigned copies) {
  double most = 0;
  for (unsigned i = 0; i < count; i++)
    for (unsigned k = 0; k < sweeps[i].count; k++)
      if (!copies || sweeps[i].tried[k].choice.copies == copies)
        most = fmax(most, sweeps[i].tried[k].milliseconds);
  return most / bf_voting_fastest(sweeps, count, copies)->milliseconds;
}

static double best_of(const bf_voting_sweep *sweeps, bf_voting_layout layout, unsigned copies) {
  return bf_voting_fastest(&sweeps[layout], 1, copies)->milliseconds;
}

/* The 8800 GT: what more copies than lanes do, by layout. */
static void claim_more_copies(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_sweep *sweeps = bf_voting_count_sweeps(work, OLD, BF_VOTING_GLOBAL);
  double ratio[BF_VOTING_LAYOUTS];
  for (unsigned layout = 0; layout < BF_VOTING_LAYOUTS; layout++)
    ratio[layout] = best_of(sweeps, layout, 512) / best_of(sweeps, layout, 32);
  char why[200];
  snprintf(why, sizeof why,
           "copies gain little in the model, of which a picture of a single value shows the most: "
           "%.1f ms with one copy, where one of random values takes %.1f ms.",
           work->one_value, work->random);
  bf_reproduce_fact(run, "8800 GT, global atomics, 512 copies against 32 (3.3)",
                    "bin-major takes longer, copy-major and padded take less",
                    ratio[BF_VOTING_BIN_MAJOR] > 1 && ratio[BF_VOTING_COPY_MAJOR] < 1 &&
                        ratio[BF_VOTING_PADDED] < 1,
                    false, why, "%.2f, %.2f and %.2f times the time", ratio[BF_VOTING_BIN_MAJOR],
                    ratio[BF_VOTING_COPY_MAJOR], ratio[BF_VOTING_PADDED]);
}

/* The GTX 470: how far configurations with the same number of copies are apart. */
static void claim_same_copies(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_sweep *sweeps = bf_voting_count_sweeps(work, FERMI, BF_VOTING_GLOBAL);
  double one = apart(&sweeps[BF_VOTING_BIN_MAJOR], 1, 1),
         four = apart(sweeps, BF_VOTING_LAYOUTS, 4);
  double eight = apart(&sweeps[BF_VOTING_COPY_MAJOR], 1, 8);
  char why[200];
  snprintf(why, sizeof why,
           "the slowest has one warp on a multiprocessor, which the model does not keep busy: with "
           "eight copies the fastest layout takes %.3f ms, copy-major %.3f ms.",
           bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 8)->milliseconds,
           best_of(sweeps, BF_VOTING_COPY_MAJOR, 8));
  bf_reproduce_fact(run, "GTX 470, global atomics, configurations with 1 and 4 copies (3.3)",
                    "similar (within 15%)", one <= 1.15 && four <= 1.15, false, why,
                    "slowest over fastest %.2f and %.2f", one, four);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "GTX 470, global atomics, 8 copies, copy-major: slowest "
                                         "over fastest (3.3)",
                                 .rule = BF_CLAIM_GAIN,
                                 .published = 1.21,
                                 .ours = eight,
                                 .why = why});
}

/* The GTX Titan: nearly all configurations are fast, and layouts alike. */
static void claim_titan(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_sweep *sweeps = bf_voting_count_sweeps(work, KEPLER, BF_VOTING_GLOBAL);
  unsigned all = 0, below = 0;
  for (unsigned i = 0; i < BF_VOTING_LAYOUTS; i++)
    for (unsigned k = 0; k < sweeps[i].count; k++) {
      all++;
      below += sweeps[i].tried[k].milliseconds < 1;
    }
  bf_reproduce_fact(run, "GTX Titan, global atomics, configurations below 1 ms (3.3)",
                    "almost all (85% or more)", below >= 0.85 * all, false,
                    "those with few warps take longer.", "%u of %u", below, all);
  double bin = best_of(sweeps, BF_VOTING_BIN_MAJOR, 0),
         copy = best_of(sweeps, BF_VOTING_COPY_MAJOR, 0),
         padded = best_of(sweeps, BF_VOTING_PADDED, 0);
  char why[160];
  snprintf(why, sizeof why, "with 16 copies they take %.3f, %.3f and %.3f ms.",
           best_of(sweeps, BF_VOTING_BIN_MAJOR, 16), best_of(sweeps, BF_VOTING_COPY_MAJOR, 16),
           best_of(sweeps, BF_VOTING_PADDED, 16));
  bf_reproduce_fact(run, "GTX Titan, global atomics, layouts (3.3)",
                    "similar (within 15%), bin-major has a small advantage",
                    bin < copy && bin < padded && fmax(copy, padded) <= 1.15 * bin, false, why,
                    "bin-major %.3f ms, copy-major %.3f, padded %.3f", bin, copy, padded);
  double few[2];
  for (unsigned i = 0; i < 2; i++)
    few[i] =
        apart(bf_voting_count_sweeps(work, KEPLER + i, BF_VOTING_GLOBAL), BF_VOTING_LAYOUTS, 0);
  bf_reproduce_fact(run, "global atomics, slowest over fastest, GTX 750 Ti and Titan (3.3)",
                    "much smaller on the 750 Ti (by 15% or more)", few[1] <= 0.85 * few[0], false,
                    "the slowest of both have one warp on a multiprocessor.", "%.2f and %.2f",
                    few[1], few[0]);
}

/* The configuration of a sweep with these threads and blocks, and as many copies; or NULL. */
static const bf_voting_best *find(const bf_voting_sweep *sweep, const bf_voting_choice *like,
                                  unsigned threads, unsigned blocks) {
  for (unsigned k = 0; k < sweep->count; k++) {
    const bf_voting_choice *choice = &sweep->tried[k].choice;
    if (choice->copies == like->copies && choice->threads == threads &&
        choice->blocks_per_sm == blocks)
      return &sweep->tried[k];
  }
  return NULL;
}

/* Section 3.7: two blocks against one of as many threads together. */
static void claim_two_blocks(bf_reproduce_run *run, const histogram_work *work) {
  unsigned pairs = 0, faster = 0, within = 0;
  for (unsigned i = 0; i < SWEEPS; i++)
    for (unsigned k = 0; k < work->sweep[i].count; k++) {
      const bf_voting_best *one = &work->sweep[i].tried[k];
      const bf_voting_best *two =
          one->choice.blocks_per_sm == 1
              ? find(&work->sweep[i], &one->choice, one->choice.threads / 2, 2)
              : NULL;
      if (!two)
        continue;
      pairs++;
      faster += two->milliseconds < one->milliseconds;
      within += fabs(two->milliseconds / one->milliseconds - 1) <= 0.05;
    }
  char why[160];
  snprintf(why, sizeof why, "%u of the pairs are within 5%% of each other.", within);
  bf_reproduce_fact(run, "two blocks against one with as many threads (3.7)",
                    "usually faster (more than half)", 2 * faster > pairs, false, why,
                    "in %u of %u pairs", faster, pairs);
}

void bf_voting_claim_sweeps(bf_reproduce_run *run, const histogram_work *work) {
  claim_more_copies(run, work);
  claim_same_copies(run, work);
  claim_titan(run, work);
  claim_two_blocks(run, work);
}

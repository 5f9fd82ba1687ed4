/* tune/choose: which hash to rewrite a kernel with, from what its warps do to shared memory.
 *
 * ptxas merges neighbouring scalar accesses into wider ones (docs/merging.md). A hash whose granule
 * is that of the scalars takes their addresses apart and breaks the merging: there are more
 * accesses then, each with its own hash. A hash whose granule is that of the merged accesses keeps
 * them, but has fewer places to put things. Both are tried, and each is worth the wavefronts it
 * saves less what its instructions cost. */
#ifndef BF_TUNE_CHOOSE_H
#define BF_TUNE_CHOOSE_H

#include "memory/memory.h"

typedef struct bf_choose_options {
  const bf_machine *machine; /* 32 banks of 4 bytes */
  /* The accesses of all launches of the kernel; addresses count from the start of the block's
   * shared memory. */
  const bf_workload *written; /* as the PTX has them */
  const bf_workload *merged;  /* as ptxas merges them; NULL: not known, counted as written */
  unsigned granule_bytes;     /* the widest access of the PTX (bf_rewrite_kernel); 0: as written */
  double time_limit_seconds;  /* of each search; 0: none */
  unsigned threads;           /* 0: one per core */
  bf_progress progress;       /* or NULL */
  void *progress_context;
} bf_choose_options;

/* What a hash does to the kernel. */
typedef struct bf_prediction {
  uint64_t wavefronts_before, wavefronts_after;
  int64_t added_instructions; /* executed, per warp, in all launches; fewer where negative */
  uint64_t cycles_before, cycles_after; /* on a simulated GPU; 0: not simulated */
  uint64_t work_before, work_after;     /* bf_work_cycles of all launches, on the same GPU */
} bf_prediction;

/* The cycles in which a multiprocessor issues its instructions and carries out its wavefronts, if
 * neither overlapped, in a launch of that many blocks. */
uint64_t bf_work_cycles(uint64_t wavefronts, uint64_t warp_instructions, uint64_t blocks,
                        unsigned multiprocessors, unsigned schedulers);

/* The wavefronts that are saved less those that the instructions are worth. */
double bf_prediction_gain(const bf_prediction *prediction);
/* Whether a hash is better than another: worth it, or fewer cycles or, where they are not known,
 * more gain. */
bool bf_prediction_is_better(const bf_prediction *one, const bf_prediction *other);
/* Whether it is worth to rewrite the kernel. Two estimates must agree: it takes fewer cycles on the
 * simulator, which knows what overlaps but can err, and saves work that is at least
 * BF_CHOOSE_MARGIN_PERCENT of its time. Where cycles are not known, it gains something. */
enum { BF_CHOOSE_MARGIN_PERCENT = 4 };
bool bf_prediction_is_worth(const bf_prediction *prediction);

typedef struct bf_candidate {
  bf_hash *hash; /* row-preserving, not none */
  unsigned granule_bytes;
  bool keeps_merging; /* its granule is that of the merged accesses */
  bool is_proven;     /* no row-preserving hash of that granule has fewer conflicts */
  bf_prediction prediction;
} bf_candidate;

/* Three classes of hashes for two granules. */
enum { BF_CHOOSE_MOST = 6 };

typedef struct bf_choice {
  unsigned candidates; /* that save wavefronts; the one that gains most first */
  bf_candidate candidate[BF_CHOOSE_MOST];
  uint64_t wavefronts_before, conflicts_before; /* merged */
  char reason[200]; /* why there is no candidate, or why the first is not worth it; or empty */
} bf_choice;

/* The instructions of a candidate are predicted as if every access computed its own hash; code that
 * shares them can gain where the prediction does not. */
int bf_choose(const bf_choose_options *options, bf_choice *choice, bf_diagnostic *diagnostic);
/* The same for one array of the kernel: from those accesses whose site is its name. */
int bf_choose_array(const bf_choose_options *options, const char *array, bf_choice *choice,
                    bf_diagnostic *diagnostic);
void bf_choice_clear(bf_choice *choice);

#endif

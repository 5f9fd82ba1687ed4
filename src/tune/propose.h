/* tune/propose: hashes that a kernel could be rewritten with, from what its warps do to shared
 * memory.
 *
 * ptxas merges neighbouring scalar accesses into wider ones (docs/merging.md). A hash whose granule
 * is that of the scalars takes their addresses apart and breaks the merging: there are more
 * accesses then, each with its own hash. A hash whose granule is that of the merged accesses keeps
 * them, but has fewer places to put things. Both are tried, and each is worth the wavefronts it
 * saves less what its instructions cost. */
#ifndef BF_TUNE_PROPOSE_H
#define BF_TUNE_PROPOSE_H

#include "memory/memory.h"
#include "tune/judge.h"

typedef struct bf_propose_options {
  const bf_machine *machine; /* 32 banks of 4 bytes */
  /* The accesses of all launches of the kernel; addresses count from the start of the block's
   * shared memory. */
  const bf_workload *written; /* as the PTX has them */
  const bf_workload *merged;  /* as ptxas merges them; NULL: not known, counted as written */
  unsigned granule_bytes;     /* the widest access of the PTX (bf_rewrite_kernel); 0: as written */
  double time_limit_seconds;  /* of each search; 0: none */
  double deadline;            /* of all of them, as bf_seconds has it; 0: none */
  unsigned threads;           /* 0: one per core */
  bool only_terms; /* only hashes of one and two terms, of which all are tried: what is found does
                      not depend on time */
  bf_progress progress; /* or NULL */
  void *progress_context;
} bf_propose_options;

typedef struct bf_candidate {
  bf_hash *hash; /* row-preserving, not none */
  unsigned granule_bytes;
  bool keeps_merging; /* its granule is that of the merged accesses */
  bool is_proven;     /* no row-preserving hash of that granule has fewer conflicts */
  bf_comparison predicted;
} bf_candidate;

/* Three classes of hashes for two granules. */
enum { BF_PROPOSE_MOST = 6 };

typedef struct bf_proposal {
  unsigned candidates; /* that save wavefronts; the one that gains most first */
  bf_candidate candidate[BF_PROPOSE_MOST];
  uint64_t wavefronts_before, conflicts_before; /* merged */
  char reason[200]; /* why there is no candidate, or why the first is not worth it; or empty */
} bf_proposal;

/* The instructions of a candidate are predicted as if every access computed its own hash; code that
 * shares them can gain where the prediction does not. */
int bf_propose(const bf_propose_options *options, bf_proposal *proposal, bf_diagnostic *diagnostic);
/* The same for one array of the kernel: from those accesses whose site is its name. */
int bf_propose_array(const bf_propose_options *options, const char *array, bf_proposal *proposal,
                     bf_diagnostic *diagnostic);
void bf_proposal_clear(bf_proposal *proposal);

#endif

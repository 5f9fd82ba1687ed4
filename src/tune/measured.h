/* tune/measured: which hash makes each kernel of a program faster on a GPU, by runs with one
 * candidate each.
 *
 * The time of a kernel in a run is the sum over its sizes of grid and blocks that all runs compared
 * have: how often the program as it is launches that size, times the median of a launch. The time
 * of a candidate is the median over its runs; its noise is the span between its fastest and slowest
 * run, as a share of the time. What is faster is the judge's matter (tune/judge.h). Of candidates
 * whose times differ by less than a hundredth the first is taken: they are listed from simple to
 * complicated. What was taken is measured once more, all kernels together, and what is not
 * confirmed is left alone. */
#ifndef BF_TUNE_MEASURED_H
#define BF_TUNE_MEASURED_H

#include "exchange/times.h"
#include "tune/judge.h"

/* What a run is with: the first candidate is the program as it is. */
typedef enum bf_measured_kind {
  BF_MEASURED_PLAIN,
  BF_MEASURED_HASH,  /* text is a hash, of all kernels */
  BF_MEASURED_FILE,  /* text is the path of a file of hashes */
  BF_MEASURED_LINES, /* text is the content of such a file */
} bf_measured_kind;

typedef struct bf_measured_candidate {
  bf_measured_kind kind;
  const char *text;
  unsigned runs;     /* that were good */
  char dropped[200]; /* why there were no more, or empty */
} bf_measured_candidate;

/* What is tried where nothing else is asked for, from simple to complicated: hashes that keep 4, 8
 * and 16 bytes together, which XOR one and two groups of row bits into the bank. NULL ends it. */
extern const char *const bf_measured_hashes[];

/* Who runs the program. */
typedef struct bf_measured_runner {
  /* Runs it with a candidate and reads its times. how stays empty, or says how the run differs from
   * the first one, as in "the program prints something else". is_first: it is the one that others
   * are compared with. */
  int (*run)(void *context, const bf_measured_candidate *candidate, bool is_first, bf_times *times,
             char how[160], bf_diagnostic *diagnostic);
  /* Told that a candidate is given up for how it ended. */
  void (*drop)(void *context, const bf_measured_candidate *candidate);
  void *context;
} bf_measured_runner;

/* A candidate that a kernel could be rewritten with. */
typedef struct bf_measured_hash {
  unsigned candidate;
  const char *hash; /* that the kernel was rewritten with */
  bf_comparison times;
  uint64_t launches; /* of a run, as far as they are compared */
} bf_measured_hash;

/* What is decided about a kernel. */
typedef struct bf_measured_kernel {
  const char *name;  /* as in the PTX */
  uint64_t launches; /* of a run, as far as they are compared */
  bf_comparison
      times; /* with the hash that was chosen, as it was confirmed; without, before only */
  unsigned tried;
  bf_measured_hash *list; /* of those tried, the fastest first */
  const char *hash;       /* chosen; NULL: left alone */
  char reason[300];       /* why it was left alone, or empty */
} bf_measured_kernel;

typedef struct bf_measured_runs {
  struct bf_measured_run *run;
  size_t count, capacity;
} bf_measured_runs;

typedef struct bf_measured {
  bf_arena arena;
  bf_measured_candidate *candidate; /* borrowed */
  unsigned candidates;
  unsigned runs_done, runs_expected; /* of the program */
  bf_measured_kernel *kernel;        /* those that take longest first */
  size_t kernels;
  bf_measured_runs runs, confirming;
} bf_measured;

/* Runs the program as it is and repeats times with every candidate, of which the first is plain,
 * and decides about its kernels. *measured tells how far it has come meanwhile. Free also after an
 * error. */
int bf_measure(bf_measured_candidate *candidate, unsigned candidates, unsigned repeats,
               const bf_measured_runner *runner, bf_measured *measured, bf_diagnostic *diagnostic);
void bf_measured_free(bf_measured *measured);
/* A line for each kernel with a hash, and one for all others. */
void bf_measured_write(const bf_measured *measured, bf_text *text);

#endif

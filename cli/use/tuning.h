/* Which hash makes each kernel of a program faster, from the times of runs with one candidate each.
 *
 * The time of a kernel in a run is the sum over its sizes of grid and blocks that all runs compared
 * have: how often the program as it is launches that size, times the median of a launch. The time
 * of a candidate is the median over its runs; its noise is the span between its fastest and slowest
 * run, as a share of the time. A candidate is faster where it takes less time than the original by
 * more than a hundredth and more than the noise of both. Of candidates whose times differ by less
 * than a hundredth the first is taken: they are listed from simple to complicated. */
#ifndef BF_CLI_TUNING_H
#define BF_CLI_TUNING_H

#include "exchange/times.h"

/* What a run was with: the first candidate is the program as it is. */
typedef struct cli_candidate {
  const char *text;  /* a hash, or the path of a file of hashes */
  bool is_file;      /* each kernel has its own hash */
  unsigned runs;     /* that were good */
  char dropped[200]; /* why there were no more, or empty */
} cli_candidate;

/* A run that ended as the program as it is does. */
typedef struct cli_tuning_run {
  unsigned candidate;
  bf_times times;
} cli_tuning_run;

typedef struct cli_tuning_runs {
  cli_tuning_run *run;
  size_t count, capacity;
} cli_tuning_runs;

/* Adds a run, whose times move there. */
int cli_tuning_add(cli_tuning_runs *runs, unsigned candidate, bf_times *times,
                   bf_diagnostic *diagnostic);
void cli_tuning_runs_free(cli_tuning_runs *runs);

typedef struct cli_time {
  double ns; /* of all launches of a run */
  double noise;
} cli_time;

/* What a candidate does to a kernel. */
typedef struct cli_comparison {
  unsigned candidate;
  const char *hash; /* that the kernel was rewritten with */
  cli_time before, after;
  uint64_t launches; /* of a run */
} cli_comparison;

/* Compares a candidate with the program as it is; false where the runs do not say: it was not
 * rewritten, or not launched in the same way. */
bool cli_tuning_compare(const cli_tuning_runs *runs, unsigned candidate, const char *kernel,
                        cli_comparison *comparison);
/* Whether that is faster, beyond noise. */
bool cli_comparison_is_faster(const cli_comparison *comparison);

/* What is decided about a kernel. */
typedef struct cli_tuned {
  const char *name;  /* as in the PTX */
  uint64_t launches; /* of a run, as far as they are compared */
  cli_time before;
  unsigned tried;       /* candidates that it could be rewritten with */
  cli_comparison *list; /* of them, the fastest first */
  const char *hash;     /* chosen; NULL: left alone */
  cli_time after;       /* with it, as the confirming runs found it, as `before` then is */
  char reason[300];     /* why it was left alone, or empty */
} cli_tuned;

typedef struct cli_tuning {
  bf_arena arena;
  cli_tuned *kernel; /* those that take longest first */
  size_t kernels;
} cli_tuning;

/* Chooses for every kernel that the runs of the program as it is have. The result leans on the
 * runs. Free also after an error. */
int cli_tuning_choose(const cli_tuning_runs *runs, unsigned candidates, cli_tuning *tuning,
                      bf_diagnostic *diagnostic);
/* Leaves alone those kernels whose choice the runs do not confirm, in which candidate 1 is all that
 * was chosen. */
void cli_tuning_confirm(const cli_tuning_runs *runs, cli_tuning *tuning);
void cli_tuning_free(cli_tuning *tuning);
/* Whether any kernel has a hash. */
bool cli_tuning_has_choice(const cli_tuning *tuning);

#endif

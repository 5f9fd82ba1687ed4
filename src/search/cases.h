/* Cases of a search from files: every trace on every machine, for one hash. */
#ifndef BF_SEARCH_CASES_H
#define BF_SEARCH_CASES_H

#include "search/joint.h"
#include "search/problem.h"

typedef struct bf_cases_query {
  const char *const *path; /* of traces */
  size_t paths;
  bf_trace_form form;
  const char *const *machine; /* names or files */
  size_t machines;
  bf_overrides overrides; /* of all machines */
  size_t most_accesses;   /* different ones of a trace; of longer traces a part is kept */
  double seconds;         /* that reading all files may take; 0: any */
  /* as in bf_reading_limits */
  bool (*tell)(void *context, uint64_t bytes, uint64_t size);
  void *context;
} bf_cases_query;

/* What a case costs without and with a hash. */
typedef struct bf_case_result {
  const char *file, *machine;
  uint64_t before, after;
} bf_case_result;

typedef struct bf_loaded_cases {
  bf_machine **machine;
  size_t machines;
  bf_workload **workload;
  size_t workloads;
  bf_solve_case *item; /* the first is the first trace on the first machine */
  bf_case_result *result;
  size_t count;
  double kept; /* the least share of a trace's different accesses that is kept */
  double read; /* the least share of a file that was read */
  double
      counted; /* the share of the accesses that conflicts were counted of; the rest is estimated */
} bf_loaded_cases;

/* Loads all. Machines that differ only in how much they hold get the address bits of the largest.
 * bf_cases_unload frees what was loaded, after an error too. */
int bf_cases_load(const bf_cases_query *query, bf_loaded_cases *loaded, bf_diagnostic *diagnostic);
void bf_cases_unload(bf_loaded_cases *loaded);
/* Seconds that bf_cases_judge may take. */
double bf_cases_judge_seconds(const bf_loaded_cases *loaded);
/* Fills result: the conflicts of each case, without a hash and with this one, for data that are
 * moved as joint says (NULL: not at all). After `until` (bf_seconds, 0: never) they are estimated,
 * which counted then says. */
int bf_cases_judge(bf_loaded_cases *loaded, const char *hash, const bf_joint *joint, double until,
                   bf_diagnostic *diagnostic);

/* A workload with the further cases of options, which must be on the same machine. */
typedef struct bf_gathered {
  bf_solve_case *item; /* free it */
  bf_cases cases;
  bf_extent extent;
} bf_gathered;
int bf_cases_gather(const bf_machine *machine, const bf_workload *workload,
                    const bf_solve_options *options, bf_gathered *all, bf_diagnostic *diagnostic);

#endif

/* tune/plans: which hash each kernel of a module is rewritten with: as asked for, or the best of
 * those that are proposed and tried. */
#ifndef BF_TUNE_PLANS_H
#define BF_TUNE_PLANS_H

#include "base/table.h"
#include "rewrite/rewrite.h"
#include "tune/observe.h"
#include "tune/propose.h"

/* The candidate by array comes after those for the kernel as a whole, and then longer rows. */
enum { BF_PLAN_BY_ARRAY = BF_PROPOSE_MOST, BF_PLAN_PADDED, BF_PLAN_CANDIDATES };

typedef struct bf_plan {
  const char *name;           /* of the kernel, as in the PTX */
  bool is_asked;              /* a hash may be given to it */
  const bf_hash *hash;        /* NULL: leave it alone, or: */
  bool is_by_array;           /* arrays have hashes of their own */
  const bf_hash **array_hash; /* per array of the kernel as examined; NULL: leave it alone */
  bf_proposal proposal;
  bf_proposal *array_proposal; /* the same for single arrays, in the order of arrays; or NULL */
  bf_hash **array_padding; /* longer rows for single arrays, which the verifier accepts; or NULL */
  bool is_unusual;         /* places in some of these are computed at accesses, or rows are short */
  unsigned taken;          /* the candidate that it has; BF_PLAN_CANDIDATES or more: none */
  bool is_doubtful;        /* it has a hash only because both versions will be measured */
  bool was_tried[BF_PLAN_CANDIDATES];
  bf_comparison tried[BF_PLAN_CANDIDATES];
  char reason[200];  /* why none was chosen, or empty */
  bool needs_values; /* more would be known of it with values of its parameters */
  bool has_comparison;
  bf_comparison comparison; /* with the hash that it has, or of the best that was not taken */
} bf_plan;

typedef struct bf_plans {
  const bf_ptx_module *module;
  bf_rewrite_result examined; /* what stands in the way of each kernel, in the order of plan */
  bf_plan *plan;
  unsigned count;
  bf_table by_name; /* plans, by the names of their kernels */
  bool padding_has_room, blocks_are_checked, resizes_dynamic; /* as in bf_rewrite_options */
  bf_hash *hash;                                              /* of bf_plans_set_hash */
  bf_hash_list *hashes; /* of bf_plans_set_file or _set_text */
} bf_plans;

/* Examines a module and makes a plan without a hash for each kernel. kernel (NULL: all) is the name
 * of the only one that is asked for, as in the PTX or readable; file is for diagnostics. Free also
 * after an error. */
int bf_plans_make(const bf_ptx_module *module, const char *file, const char *kernel,
                  bf_plans *plans, bf_diagnostic *diagnostic);
void bf_plans_free(bf_plans *plans);
/* What was found about the kernel of a plan. */
const bf_rewrite_kernel *bf_plan_examined(const bf_plans *plans, const bf_plan *plan);

/* ---- Hashes as asked for ---- */

/* Gives every kernel asked for the hash, or those of a list; one that the list does not name keeps
 * the hash it was given before. */
int bf_plans_set_hash(bf_plans *plans, const char *hash, const bf_geometry *geometry,
                      bf_diagnostic *diagnostic);
int bf_plans_set_file(bf_plans *plans, const char *path, const bf_geometry *geometry,
                      bf_diagnostic *diagnostic);
/* The same for the text of such a file, whose name is for diagnostics. */
int bf_plans_set_text(bf_plans *plans, const char *name, const char *text,
                      const bf_geometry *geometry, bf_diagnostic *diagnostic);

/* ---- Propose ---- */

/* How hashes are searched. */
typedef struct bf_plans_search {
  const bf_machine *machine;
  double time_limit_seconds; /* of each search; 0: none */
  double deadline;           /* of all searches of a kernel, as bf_seconds has it; 0: none */
  unsigned threads;
  bool only_terms; /* as in bf_propose_options */
} bf_plans_search;

/* Whether there is something to propose for the kernel: it is asked for, makes accesses, and
 * nothing stands in the way. */
bool bf_plan_is_open(const bf_plans *plans, const bf_plan *plan);
/* Proposes candidates for an open kernel from the accesses of its launches (NULL: it was not
 * launched) and takes the best that is worth it; where every access is known to be to one of
 * several arrays, there are candidates for single arrays too. */
int bf_plan_propose(const bf_plans *plans, bf_plan *plan, const bf_plans_search *search,
                    const bf_observed *accesses, bf_diagnostic *diagnostic);
/* The same for all kernels from a trace, whose sites say which kernel an access belongs to; where
 * the module has one kernel, all are its own. */
int bf_plans_propose_trace(bf_plans *plans, const bf_plans_search *search, const char *path,
                           bf_diagnostic *diagnostic);

/* Gives an open kernel longer rows where the accesses of a trace gain more by them than by the hash
 * that it has (traced.c). */
int bf_padding_propose_traced(bf_plans *plans, bf_plan *plan, const bf_machine *machine,
                              const bf_workload *accesses, bf_diagnostic *diagnostic);

/* ---- Try and judge ---- */

/* Whether the kernel has a candidate of that number. */
bool bf_plan_has_candidate(const bf_plans *plans, const bf_plan *plan, unsigned number);
/* Gives the kernel its candidate of that number; false, and no hash, where there is none. */
bool bf_plan_take(const bf_plans *plans, bf_plan *plan, unsigned number);
/* Takes its candidates and its hash from a kernel, and, unless that is kept, the reason. */
void bf_plan_forget(const bf_plans *plans, bf_plan *plan, bool keeps_reason);
/* Whether the kernel or an array of it has a hash. */
bool bf_plan_has_hash(const bf_plans *plans, const bf_plan *plan);

/* Who runs kernels with the hashes that their plans have. */
typedef struct bf_plans_runner {
  /* Runs them all; *is_good is false where the run cannot be compared with the original one. */
  int (*run)(void *context, bool *is_good, bf_diagnostic *diagnostic);
  /* What a kernel took without a hash and in the last run; false where it was not launched. */
  bool (*compare)(void *context, const char *kernel, bf_comparison *comparison);
  void *context;
} bf_plans_runner;

/* Tries the candidates of all plans of all modules, those of one number in one run, and gives each
 * kernel the one that the judge takes (tune/judge.h), or none and the reason. */
int bf_plans_try(bf_plans *const *list, size_t count, const bf_plans_runner *runner,
                 bf_diagnostic *diagnostic);

/* ---- Rewrite ---- */

/* The hash of a kernel (array NULL), or of an array of it, by its plan; NULL: it has none. */
const bf_hash *bf_plans_hash(const bf_plans *plans, const char *kernel,
                             const bf_ptx_variable *array);

/* Rewrites the module with the hashes of the plans (rewrite/rewrite.h). joins_logic: for counting
 * only. */
int bf_plans_rewrite(const bf_plans *plans, bool joins_logic, bf_rewrite_result *result,
                     bf_diagnostic *diagnostic);
/* Why a kernel was not rewritten, from its plan and what the rewriter found. */
void bf_plan_explain(const bf_plan *plan, const bf_rewrite_kernel *found, bf_text *text);
/* The lines of a plan with a hash in a list of hashes. */
void bf_plan_write(const bf_plans *plans, const bf_plan *plan, bf_text *text);

#endif

/* Which hash each kernel of a module is rewritten with, and what is predicted of it. */
#ifndef BF_CLI_PLANS_H
#define BF_CLI_PLANS_H

#include "cli/cli.h"
#include "rewrite/rewrite.h"
#include "tune/trial.h"

typedef struct cli_plan {
  const char *name;           /* of the kernel, as in the PTX */
  bool is_asked;              /* a hash may be given to it */
  const bf_hash *hash;        /* NULL: leave it alone, or: */
  bool is_by_array;           /* arrays have hashes of their own */
  const bf_hash **array_hash; /* per array of the kernel as examined; NULL: leave it alone */
  bf_choice choice;           /* of --hash auto */
  bf_choice *array_choice;    /* the same for single arrays, in the order of arrays; or NULL */
  char reason[200];           /* why none was chosen, or empty */
  bool has_prediction;
  bf_prediction prediction;
} cli_plan;

typedef struct cli_plans {
  const bf_ptx_module *module;
  bf_rewrite_result examined; /* what stands in the way of each kernel, in the order of plan */
  cli_plan *plan;
  unsigned count;
  bool dynamic_is_rounded; /* launches round dynamic shared memory up to rows */
  bool joins_logic;        /* rewrites for counting only (bf_rewrite_options) */
  bf_hash *hash;           /* of --hash */
  bf_hash_list *hashes;    /* of --hash-file */
} cli_plans;

/* Examines a module and makes a plan without a hash for each kernel. kernel (NULL: all) is the name
 * of the only one that is asked for, as in the PTX or readable; file is for diagnostics. Free also
 * after an error. */
int cli_plans_make(const bf_ptx_module *module, const char *file, const char *kernel,
                   cli_plans *plans, bf_diagnostic *diagnostic);
void cli_plans_free(cli_plans *plans);

/* Gives every kernel asked for the hash, or those of a file. */
int cli_plans_set_hash(cli_plans *plans, const char *hash, const bf_machine *machine,
                       bf_diagnostic *diagnostic);
int cli_plans_set_file(cli_plans *plans, const char *path, const bf_machine *machine,
                       bf_diagnostic *diagnostic);

/* How hashes are searched. */
typedef struct cli_plans_search {
  const bf_machine *machine;
  double time_limit_seconds;
  unsigned threads;
} cli_plans_search;

/* Chooses candidates for every kernel asked for that can be rewritten, from the accesses of two
 * trials of the original, and takes the best that is worth it; where every access is known to be to
 * one of several arrays, candidates for single arrays too. */
int cli_plans_choose(cli_plans *plans, const cli_plans_search *search, const bf_trial *merged,
                     const bf_trial *written, bf_diagnostic *diagnostic);
/* The same from a trace, whose sites say which kernel an access belongs to; where the module has
 * one kernel, all are its own. */
int cli_plans_choose_trace(cli_plans *plans, const cli_plans_search *search, const char *path,
                           bf_diagnostic *diagnostic);

/* Whether the kernel or an array of it has a hash. */
bool cli_plan_has_hash(const cli_plans *plans, const cli_plan *plan);
/* Takes the candidate of that number of the kernel, or with BF_CHOOSE_MOST those of its arrays;
 * false, and no hash, where there is none. */
bool cli_plan_take(const cli_plans *plans, cli_plan *plan, unsigned number);

/* Rewrites the module with the hashes of the plans, and checks the result with the verifier: what
 * it rejects is an error. *rewritten is the module of the result. */
int cli_plans_rewrite(const cli_plans *plans, bf_rewrite_result *result, bf_ptx_module **rewritten,
                      bf_diagnostic *diagnostic);

/* The lines of a kernel in a file of hashes, for a hash as bf_rewrite_kernel has it: of the kernel,
 * or of its arrays; NULL: none. */
void cli_hash_lines(const char *kernel, const char *hash, bf_text *text);

/* Why a kernel was not rewritten, from its plan and what the rewriter found. */
void cli_plans_explain(const cli_plan *plan, const bf_rewrite_kernel *found, bf_text *text);

/* What trials of the original and of a rewritten module say about a kernel; false where it was not
 * launched. */
bool cli_plans_measure(const cli_plan *plan, const bf_trial *original, const bf_trial *rewritten,
                       bf_prediction *prediction);

#endif

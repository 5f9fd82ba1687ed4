/* Inside room tune: what a block of threads does, counted from the PTX without running it.
 *
 * The analysis of a kernel says how often its basic blocks are executed and which addresses its
 * accesses have. It holds for the kernel as it is and for rewritten versions of it: these have the
 * same basic blocks and the same memory instructions in the same order, with other instructions
 * between them. What a version executes is counted from its own instructions, its wavefronts from
 * the addresses of the original and the hash. */
#ifndef BF_TUNE_WORK_H
#define BF_TUNE_WORK_H

#include "analyze/analyze.h"
#include "ptx/flow.h"
#include "ptx/merge.h"
#include "rewrite/rewrite.h"

/* A version of a kernel: as it is, or rewritten. */
typedef struct bf_work_version {
  const bf_ptx_function *function;
  bf_ptx_flow *flow;
  bf_ptx_merges *merges;
  uint32_t memories;
  uint32_t *memory; /* instructions with an address, in order */
  bf_arena arena;
  bf_analyze_variable *variable; /* in shared memory */
  unsigned variables;
  uint64_t shared_bytes; /* static */
  unsigned registers;    /* of a thread, estimated */
  const bool *is_needed; /* per register; NULL: all are. Longer rows leave instructions that nobody
                            needs any more */
} bf_work_version;

/* Free also after an error. */
int bf_work_version_make(const bf_ptx_module *module, const bf_ptx_function *function,
                         bf_work_version *version, bf_diagnostic *diagnostic);
void bf_work_version_free(bf_work_version *version);
/* Whether both have the same basic blocks and memory instructions. */
bool bf_work_is_version_of(const bf_work_version *rewritten, const bf_work_version *original);

/* The hash that accesses of an array go through; array NULL: those that are not known to be to one.
 * NULL: none. */
typedef struct bf_work_hashes {
  const bf_hash *(*hash_of)(const void *context, const char *array);
  const void *context;
} bf_work_hashes;

/* What one block does. Cycles are those of a multiprocessor that does nothing else. */
typedef struct bf_work {
  double instructions; /* of warps */
  double lonely;       /* of these, where so few warps go together that schedulers are idle */
  double integer;      /* of these on integers */
  double accesses;     /* to shared memory, as ptxas merges them */
  double wavefronts;
  double conflicts; /* of these, more than any placement of data would need */
  double unknown;   /* accesses to shared memory whose addresses are not known, loops without an end
                       gone through once */
  double barriers;  /* that the block waits at */
  double global_bytes;
  double issue_cycles, integer_cycles, other_cycles, shared_cycles; /* of its units, all of them */
  double latency_cycles; /* until a block is done that is alone on a multiprocessor */
} bf_work;

/* Counters of wavefronts, which take long to make, by hash: that of no hash, and the latest others.
 * Hashes must outlive it. */
enum { BF_WORK_COUNTERS = 8 };
typedef struct bf_work_counters {
  const bf_hash *hash[BF_WORK_COUNTERS];
  bf_counter *counter[BF_WORK_COUNTERS]; /* the first is that of no hash */
  unsigned next;
} bf_work_counters;

void bf_work_counters_free(bf_work_counters *counters);

/* Who counts: a kernel in blocks of one shape. */
typedef struct bf_work_options {
  const bf_machine *machine;
  bf_work_counters *counters;
  const bf_analysis *analysis; /* of original */
  const bf_rewrite_kernel *examined;
  const bf_work_version *original;
} bf_work_options;

/* Counts what a version does, for each of some numbers of trips through loops whose end is not
 * known; hashes NULL: nothing is hashed. */
int bf_work_count(const bf_work_options *options, const bf_work_version *version,
                  const bf_work_hashes *hashes, const double *trips, unsigned count, bf_work *work,
                  bf_diagnostic *diagnostic);

/* ---- Accesses ---- */

/* The array that a site accesses, as the PTX calls it; NULL: not known. */
const char *bf_work_array(const bf_work_options *options, const bf_analyze_site *site);
/* By how many bytes a version has the array of an access elsewhere. */
int64_t bf_work_moved(const bf_work_options *options, const bf_work_version *version,
                      const bf_analyze_site *site, const bf_analyze_access *access);
/* Samples of an unknown offset: that many, and each in bytes. */
unsigned bf_work_offsets(const bf_analyze_site *site);
uint32_t bf_work_offset(const bf_analyze_site *site, unsigned number);
/* Adds the accesses that are known to a workload, as written or as ptxas merges them, with the
 * names of their arrays as sites; those with an unknown offset at some offsets. */
int bf_work_accesses(const bf_work_options *options, bool as_merged, double trips, bf_workload *to,
                     bf_diagnostic *diagnostic);
/* What the accesses to an array that are known cost, with longer rows or, padding NULL, as it is,
 * as ptxas merges them: longer rows may keep it from that. Of kernels with many accesses these are
 * some, as written, the same for all paddings. */
typedef struct bf_work_array_cost {
  double accesses, wavefronts, conflicts;
} bf_work_array_cost;
int bf_work_count_array(const bf_work_options *options, const char *array, const bf_hash *padding,
                        bf_work_array_cost *cost, bf_diagnostic *diagnostic);
/* Whether some address of a site is not known. */
bool bf_work_is_unknown(const bf_analyze_site *site);

#endif

/* verify: judges PTX that claims to be the rewritten form of other PTX. It shares no code
 * with the rewriter. docs/verifier.md says more.
 *
 * For every kernel that differs, in it and in the functions it calls: nothing is added but plain
 * arithmetic that writes new registers, and nothing else differs but the addresses of accesses to
 * shared memory, sizes and alignments of shared arrays, and calls that lead to clones. The address
 * of every access is a new register that holds, on every path there, the hash of the original
 * address as it is there: it may be computed blocks before, as long as neither of the two is
 * written since; computed under a guard it counts in the same block under the same guard. Generic
 * accesses ask isspacep; accesses without a state space that name a shared variable are none of
 * those, and gain .shared. No access crosses a granule.
 *
 * Exempt, and left as they were, are accesses
 *  - whose address the hash provably leaves where it is, by bits that are known to be 0;
 *  - to barrier objects, in variables that nothing else touches;
 *  - through generic addresses, in kernels that cannot make any of shared memory.
 *
 * Hashes are bijections of rows, and arrays that are hashed are whole rows. Where hashes differ
 * between the arrays of a kernel, every access is to one array, proven by what went into its
 * address: one symbol, and whatever is no address of shared memory. All dynamic shared memory is
 * one array. Arrays left alone may keep their sizes.
 *
 * An array whose hash is pad:ROW+P has longer rows: each access to it goes to the place that its
 * old address has there, proven by what both addresses are made of (pad.c).
 *
 * A clone is a function called NAME__bankfold_NUMBER that stands for the function NAME of the
 * original under the hashes of the kernels that reach it; it has no linkage, and some kernel does
 * reach it. Functions that others than these kernels may execute are as they were. */
#ifndef BF_VERIFY_H
#define BF_VERIFY_H

#include "hash/hash.h"
#include "ptx/ptx.h"

typedef struct bf_verify_finding {
  uint64_t line;      /* in the rewritten PTX; 0: as a whole */
  const char *kernel; /* or NULL */
  const char *text;
} bf_verify_finding;

typedef struct bf_verify_result {
  bf_arena arena;
  bool is_accepted;
  unsigned kernels_hashed, kernels_unchanged, accesses_hashed, accesses_exempt;
  unsigned findings;
  bf_verify_finding *finding;
} bf_verify_result;

/* hash_of as in rewrite.h: what each kernel was to be rewritten with; NULL: must be unchanged. A
 * kernel that is unchanged although it has a hash is fine: it was refused. */
int bf_verify(const bf_ptx_module *original, const bf_ptx_module *rewritten, void *context,
              const bf_hash *(*hash_of)(void *context, const bf_ptx_function *kernel,
                                        const bf_ptx_variable *array),
              bf_verify_result *result, bf_diagnostic *diagnostic);
/* Judges a module that claims to be another one with copies of kernels beside them (doubled.c says
 * what that means): nothing else differs, and a copy does what its original does. The first finding
 * is the only one. */
int bf_verify_doubled(const bf_ptx_module *original, const bf_ptx_module *doubled,
                      bf_verify_result *result, bf_diagnostic *diagnostic);
void bf_verify_free(bf_verify_result *result);

#endif

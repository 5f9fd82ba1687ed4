/* apply/verify: judges PTX that claims to be the rewritten form of other PTX. It shares no code
 * with the rewriter.
 *
 * For every kernel that differs: every access to shared memory, in it and in the functions it
 * calls, uses an address register that was computed just before by the hash from the address of the
 * original access, or is exempt: a constant address that the hash leaves where it is, a barrier
 * object in a variable of its own. Generic accesses ask isspacep, unless no generic address of
 * shared memory can exist. Nothing else differs but new registers, and sizes and alignments of
 * shared arrays, which are whole rows; the map is a bijection on every row; no access crosses a
 * granule. */
#ifndef BF_APPLY_VERIFY_H
#define BF_APPLY_VERIFY_H

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
void bf_verify_free(bf_verify_result *result);

#endif

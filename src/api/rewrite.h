/* Inside room api: rewriting, as it is done for hashes that were asked for and for those that were
 * found. */
#ifndef BF_API_REWRITE_H
#define BF_API_REWRITE_H

#include "api/api.h"
#include "tune/plans.h"

struct bf_rewriting {
  bf_rewrite_result result;
  bf_rewritten_kernel *kernel; /* in the arena of result */
  bf_text hashes;
};

/* Plans without hashes for the kernels of a module, or for the only one of that name (NULL: all).
 * Free also after an error. */
int bf_api_plans(const bf_module *module, const char *kernel, bool padding_has_room,
                 bf_plans *plans, bf_diagnostic *diagnostic);
/* Rewrites with the hashes of plans, into what is empty. Clear also after an error. */
int bf_api_rewrite(const bf_plans *plans, bf_rewriting *rewriting, bf_diagnostic *diagnostic);
void bf_api_rewriting_clear(bf_rewriting *rewriting);

#endif

/* ptx/rewritten: code whose accesses to shared memory go through a hash already
 * (rewrite/rewrite.h). It is known by the registers that rewriting adds, and owns whole rows of
 * shared memory. */
#ifndef BF_PTX_REWRITTEN_H
#define BF_PTX_REWRITTEN_H

#include "ptx/ptx.h"

/* A row of banks, and the unit in which GPUs give shared memory to blocks, or half of it: the PTX
 * ISA has 128 or 256 bytes at %total_smem_size. */
enum { BF_PTX_ROW_BYTES = 128 };

bool bf_ptx_is_rewritten(const bf_ptx_function *function);
/* Whether some function of the module is. */
bool bf_ptx_has_rewritten(const bf_ptx_module *module);

#endif

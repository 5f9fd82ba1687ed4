/* ptx/block: how many threads a kernel says that its blocks have. */
#ifndef BF_PTX_BLOCK_H
#define BF_PTX_BLOCK_H

#include "ptx/tree.h"

/* The threads that blocks of a kernel must have (.reqntid); false, and zeros, where it does not
 * say.
 */
bool bf_ptx_required_block(const bf_ptx_function *kernel, uint32_t block[3]);

#endif

/* ptx/access_kind: what accesses to shared memory are called in traces. */
#ifndef BF_PTX_ACCESS_KIND_H
#define BF_PTX_ACCESS_KIND_H

#include "ptx/tree.h"

/* The operation of traces that an instruction is when it goes to shared memory, and the bytes that
 * are accessed for each lane: from the lane's address on, rounded down to a multiple of them. An
 * atomic whose result nobody uses becomes a reduction. False: no access, or none that a trace can
 * hold. */
bool bf_ptx_access_kind(const bf_ptx_instruction *instruction, bool is_result_used, bf_op *op,
                        unsigned *width_bytes);

#endif

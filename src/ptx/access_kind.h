/* ptx/access_kind: which memory an instruction accesses, and what accesses to shared memory are
 * called in traces. */
#ifndef BF_PTX_ACCESS_KIND_H
#define BF_PTX_ACCESS_KIND_H

#include "ptx/tree.h"

/* The operation of traces that an instruction is when it goes to shared memory, and the bytes that
 * are accessed for each lane: from the lane's address on, rounded down to a multiple of them. An
 * atomic whose result nobody uses becomes a reduction. False: no access, or none that a trace can
 * hold. */
bool bf_ptx_access_kind(const bf_ptx_instruction *instruction, bool is_result_used, bf_op *op,
                        unsigned *width_bytes);

/* The space that an instruction accesses by one of its operands, an address: the first space that
 * it names; where it names none and the address is that of a variable by its name, the variable's;
 * else BF_PTX_SPACE_NONE, a generic address. */
bf_ptx_space bf_ptx_address_space(const bf_ptx_instruction *instruction,
                                  const bf_ptx_operand *address);
/* The same for the first address among its operands. */
bf_ptx_space bf_ptx_access_space(const bf_ptx_instruction *instruction);
/* Whether an instruction that names no space has the name of a shared variable for its address: to
 * ptxas the same as .shared. */
bool bf_ptx_is_shared_by_name(const bf_ptx_instruction *instruction);

#endif

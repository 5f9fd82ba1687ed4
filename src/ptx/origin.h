/* ptx/origin: which shared variables an access can address. */
#ifndef BF_PTX_ORIGIN_H
#define BF_PTX_ORIGIN_H

#include "ptx/tree.h"

/* An instruction on shared memory, and the variables from whose addresses its own is computed: bit
 * i stands for variable[i] of bf_ptx_origins; 0 where that cannot be proven. */
typedef struct bf_ptx_origin {
  uint32_t instruction;
  uint64_t variables;
} bf_ptx_origin;

typedef struct bf_ptx_origins {
  bf_arena arena;
  uint32_t accesses;
  bf_ptx_origin *access; /* in the order of instructions */
  unsigned variables;
  const bf_ptx_variable **variable;
  /* Per instruction: the same for the first address among its operands, whatever its space, where
   * 0 means that no shared variable is behind it; BF_PTX_ORIGIN_UNKNOWN: anything may be. Of a bulk
   * copy it is the address of its shared memory. */
  uint64_t *of_address;
  uint64_t loaded; /* what a value that was loaded may be computed from */
} bf_ptx_origins;

#define BF_PTX_ORIGIN_UNKNOWN ((uint64_t)1 << 63)

/* The operand of a bulk copy between global memory and the block's own shared memory that is the
 * address of the latter; the number of operands: it is none. */
unsigned bf_ptx_copied_operand(const bf_ptx_instruction *instruction);

/* The shared accesses of a function and what they can address; origin.c says how it is known. */
int bf_ptx_origins_create(const bf_ptx_module *module, const bf_ptx_function *function,
                          bf_ptx_origins **origins, bf_diagnostic *diagnostic);
void bf_ptx_origins_free(bf_ptx_origins *origins);

#endif

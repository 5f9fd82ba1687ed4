/* What the files of the rewriter (rewrite.h) tell each other: which instructions touch shared
 * memory, what a kernel reaches, and the code that replaces an access. */
#ifndef BF_APPLY_REWRITE_INNER_H
#define BF_APPLY_REWRITE_INNER_H

#include "apply/rewrite.h"

enum {
  BF_REWRITE_WORD_BYTES = 4,
  BF_REWRITE_BANK_BITS = 5,
  BF_REWRITE_ROW_BITS = 7,
  BF_REWRITE_MOST_WIDTH_BYTES = 16,
  /* What ptxas lets a kernel declare. Published: CUDA C++ Programming Guide, technical
   * specifications per compute capability. */
  BF_REWRITE_MOST_STATIC_BYTES = 48 * 1024,
};

/* ---- Instructions (rewrite_touch.c) ---- */

typedef enum bf_touch_kind {
  BF_TOUCH_NONE,
  BF_TOUCH_SHARED,  /* by a shared address */
  BF_TOUCH_GENERIC, /* by a generic address, which may be one of shared memory */
  BF_TOUCH_BARRIER, /* an mbarrier object, which stays where it is */
} bf_touch_kind;

typedef struct bf_touch {
  bf_touch_kind kind;
  unsigned operand; /* the address */
  unsigned width_bytes;
} bf_touch;

bf_touch bf_rewrite_touch(const bf_ptx_instruction *instruction);
/* Why no kernel that executes the instruction can be rewritten, or NULL. reaches_generic: generic
 * addresses can lead to shared memory. */
const char *bf_rewrite_refusal(const bf_ptx_instruction *instruction, bool reaches_generic);
/* Whether the instruction makes a generic address of a shared one. */
bool bf_rewrite_makes_generic(const bf_ptx_instruction *instruction);

/* ---- What a module holds and a kernel reaches (rewrite_reach.c) ---- */

typedef struct bf_rewrite_function {
  const bf_ptx_function *function;
  bf_touch *touch;     /* per instruction */
  bool makes_generic;  /* some instruction does */
  bool is_pointed_to;  /* its address is taken: anyone may call it */
  bool guards_generic; /* some kernel that reaches it makes generic addresses */
  const bf_hash *hash; /* what its accesses go through, or NULL */
  struct bf_rewrite_code *code;
} bf_rewrite_function;

typedef struct bf_rewrite_kernel_plan {
  unsigned index; /* of its function */
  bool *reaches;  /* per function */
  bool reaches_generic;
  const bf_hash *hash; /* asked for, or NULL */
  bool wanted, refused;
  unsigned capacity; /* of the list of obstacles */
} bf_rewrite_kernel_plan;

typedef struct bf_rewrite_plan {
  const bf_ptx_module *module;
  bf_arena *arena;
  unsigned functions; /* with a body */
  bf_rewrite_function *function;
  unsigned kernels;
  bf_rewrite_kernel_plan *kernel;
  unsigned variables; /* in shared memory, in the order of the module */
  const bf_ptx_variable **variable;
  int *owner; /* per variable: the function that declares it, or -1 */
} bf_rewrite_plan;

/* Fills all but hashes and code; false when memory is exhausted. */
bool bf_rewrite_plan_make(const bf_ptx_module *module, bf_arena *arena, bf_rewrite_plan *plan);
/* The function with a body called name, or -1. */
int bf_rewrite_find(const bf_rewrite_plan *plan, const char *name);
/* Whether the kernel can reach the variable. */
bool bf_rewrite_uses(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                     unsigned variable);
/* What is called: a symbol or a register; NULL for other instructions. */
const bf_ptx_operand *bf_rewrite_callee(const bf_ptx_instruction *instruction);
/* Whether hashed accesses may be among those of the function. */
bool bf_rewrite_has_accesses(const bf_rewrite_function *function);
/* Whether an instruction goes through the hash of its function. */
bool bf_rewrite_is_hashed(const bf_rewrite_function *function, uint32_t instruction);

/* ---- Obstacles (obstacles.c) ---- */

/* Adds what stands in the way of a kernel to *out; false when memory is exhausted. */
bool bf_rewrite_find_obstacles(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                               bf_rewrite_kernel *out);
/* Adds one, unless the same text stands there. */
bool bf_rewrite_add_obstacle(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                             bf_rewrite_kernel *out, uint64_t line, const char *format, ...)
    BF_PRINTF(5, 6);

/* Whether the mbarrier objects of a kernel have variables that nothing else touches, so that they
 * can stay where they are; false when memory is exhausted. (rewrite_barriers.c) */
bool bf_rewrite_knows_barriers(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                               bool *knows);

/* ---- Variables (rewrite_layout.c) ---- */

/* The variable as a hashed kernel declares it: whole rows that start with one. */
bf_ptx_variable bf_rewrite_padded(const bf_ptx_variable *variable);
unsigned bf_rewrite_alignment(const bf_ptx_variable *variable);
/* Where shared memory ends when the variable follows what ends there. */
uint64_t bf_rewrite_append(uint64_t end_bytes, const bf_ptx_variable *variable);

/* ---- Code (rewrite_access.c) ---- */

typedef struct bf_rewrite_code {
  const char *declarations;               /* lines at the start of the body */
  const char **before;                    /* per instruction: lines before it, or NULL */
  const bf_ptx_instruction **instruction; /* what stands in its place */
  unsigned added_instructions;
} bf_rewrite_code;

/* Writes the code of a function that has a hash. */
int bf_rewrite_code_make(const bf_rewrite_plan *plan, bf_rewrite_function *function,
                         bf_diagnostic *diagnostic);

/* Per register of the function: low bits known to be 0 in a hashed kernel, at most 31. NULL when
 * memory is exhausted. (rewrite_alignment.c) */
uint8_t *bf_rewrite_zeros(const bf_ptx_function *function, bf_arena *arena);

#endif

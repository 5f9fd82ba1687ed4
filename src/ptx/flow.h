/* ptx/flow: how control goes through a function: basic blocks, which of them must be passed before
 * and behind which, and registers that matter. */
#ifndef BF_PTX_FLOW_H
#define BF_PTX_FLOW_H

#include "ptx/tree.h"

/* ---- Basic blocks ---- */

/* Instructions first to end-1; control enters at first and leaves behind end-1. */
typedef struct bf_ptx_block {
  uint32_t first, end;
  uint32_t successors;
  const uint32_t *successor; /* blocks, without repetition; the number of blocks stands for exit */
  uint32_t post_dominator;   /* the nearest block that every way to the exit passes, or exit */
  bool is_reachable;         /* from the first block */
} bf_ptx_block;

typedef struct bf_ptx_flow {
  bf_arena arena;
  uint32_t blocks; /* also stands for the exit */
  bf_ptx_block *block;
  const uint32_t *block_of; /* per instruction */
} bf_ptx_flow;

/* Blocks that cannot reach the exit (endless loops) are treated as if they could leave from their
 * last block. */
int bf_ptx_flow_create(const bf_ptx_function *function, bf_ptx_flow **flow,
                       bf_diagnostic *diagnostic);
void bf_ptx_flow_free(bf_ptx_flow *flow);

/* ---- Dominators ---- */

/* Block a dominates block b when every way from the start to b passes a. */
typedef struct bf_ptx_tree {
  uint32_t ordered;            /* blocks that can be reached: */
  uint32_t *order;             /* before their successors, loops aside */
  uint32_t *position;          /* per block: its place in order; UINT32_MAX where unreachable */
  uint32_t *dominator;         /* per block: the nearest that dominates it; the first: itself */
  uint32_t *first_predecessor; /* per block and one more: its place in */
  uint32_t *predecessor;
} bf_ptx_tree;

/* Filled from the arena; false when memory is exhausted. */
bool bf_ptx_tree_fill(const bf_ptx_flow *flow, bf_arena *arena, bf_ptx_tree *tree);
bool bf_ptx_dominates(const bf_ptx_tree *tree, uint32_t a, uint32_t b);

/* ---- Registers that matter ---- */

/* Per register of the function: whether its value can reach memory, a branch or anything else that
 * has an effect. NULL when memory is exhausted. */
bool *bf_ptx_live_registers(const bf_ptx_function *function, bf_arena *arena);

/* Whether an instruction only computes registers from registers, so that it can be left out when
 * nobody reads them. */
bool bf_ptx_is_pure(const bf_ptx_instruction *instruction);

#endif

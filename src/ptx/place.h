/* What is known about shared accesses without running anything: where they go relative to each
 * other, and between which of them shared memory may have been written. For merge.c. */
#ifndef BF_PTX_PLACE_H
#define BF_PTX_PLACE_H

#include "ptx/ptx.h"

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

/* ---- Places ---- */

enum { BF_PTX_MOST_ALIGNMENT = 16 };

/* Where an instruction on shared memory goes: base + offset_bytes. Two accesses with the same base
 * number have the same base whenever the first dominates the second. */
typedef struct bf_ptx_place {
  uint32_t base;
  unsigned alignment_bytes; /* of the base: 1 to BF_PTX_MOST_ALIGNMENT */
  int64_t offset_bytes;
  /* Equal numbers: shared memory was not written between, where the first dominates the second. */
  uint32_t memory;
  uint32_t writer; /* the store that made memory what it is, or UINT32_MAX: another or several */
} bf_ptx_place;

/* One entry per instruction, from the arena; those without a shared address are empty. */
int bf_ptx_places_fill(const bf_ptx_module *module, const bf_ptx_function *function,
                       const bf_ptx_flow *flow, const bf_ptx_tree *tree, unsigned architecture,
                       bf_arena *arena, bf_ptx_place **places, bf_diagnostic *diagnostic);

/* The address operand of an instruction, or NULL. */
const bf_ptx_operand *bf_ptx_address_of(const bf_ptx_instruction *instruction);
/* Whether shared memory, or the order of accesses to it, may change here. */
bool bf_ptx_clobbers_shared(const bf_ptx_instruction *instruction);
/* A load or store (ld, st) that names shared memory. */
bool bf_ptx_is_shared_load(const bf_ptx_instruction *instruction);
bool bf_ptx_is_shared_store(const bf_ptx_instruction *instruction);

#endif

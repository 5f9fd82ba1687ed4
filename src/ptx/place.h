/* Inside room ptx: what is known about shared accesses without running anything: where they go
 * relative to each other, and between which of them shared memory may have been written. For
 * merge.c. */
#ifndef BF_PTX_PLACE_H
#define BF_PTX_PLACE_H

#include "ptx/flow.h"

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

/* ptx/merge: what ptxas makes of neighbouring shared accesses. */
#ifndef BF_PTX_MERGE_H
#define BF_PTX_MERGE_H

#include "ptx/tree.h"

/* What becomes of a shared load or store when ptxas merges neighbours into wider accesses and drops
 * what is redundant (docs/merging.md). Elsewhere all is 0 and leader the instruction itself. */
typedef struct bf_ptx_merged {
  uint32_t leader;      /* the instruction at which the access happens; itself where it stays */
  bool dropped;         /* redundant: no access at all */
  int64_t offset_bytes; /* leader: start of the merged access relative to its own address */
  unsigned width_bytes; /* leader: bytes per lane of the merged access; others: their own */
  unsigned times;       /* leader: accesses of this width; more than 1 where a vector falls apart */
} bf_ptx_merged;

typedef struct bf_ptx_merges {
  bf_arena arena;
  uint32_t instructions;
  bf_ptx_merged *instruction;
} bf_ptx_merges;

/* architecture is that of the binary, 90 for sm_90; 0 leaves every access as written. */
int bf_ptx_merges_create(const bf_ptx_module *module, const bf_ptx_function *function,
                         unsigned architecture, bf_ptx_merges **merges, bf_diagnostic *diagnostic);
void bf_ptx_merges_free(bf_ptx_merges *merges);

#endif

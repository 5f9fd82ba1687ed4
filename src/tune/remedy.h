/* tune/remedy: what would remove the conflicts of a kernel that was run: the advice of the ladder
 * of fixes (search/ladder.h) for all its accesses, counted again under it. Where copies of the
 * hardware move a tile, or wgmma reads it, that is for the arrays beside it, and the tile can have
 * a swizzle: the one of both that leaves fewer conflicts. */
#ifndef BF_TUNE_REMEDY_H
#define BF_TUNE_REMEDY_H

#include "emu/costs.h"

typedef struct bf_remedy {
  bool exists; /* a step of the ladder is worth taking, or a swizzle of tensor copies */
  char name[32];
  char hash[sizeof(((bf_ladder_step *)0)->hash)]; /* canonical text */
  char code[224];         /* the same as what to write in CUDA source, or empty */
  char reason[512];       /* without a step: why; empty where there are no conflicts */
  uint64_t before, after; /* conflicts of the kernel, as it was run and with the hash instead */
} bf_remedy;

/* hash and lock_hash are those that the kernel was run with. The search ends after limit_seconds;
 * 0: a quarter of a second. */
int bf_remedy_find(const bf_machine *machine, const char *hash, bf_lock_hash lock_hash,
                   const bf_costs_kernel *kernel, double limit_seconds, bf_remedy *remedy,
                   bf_diagnostic *diagnostic);

#endif

/* tune/remedy: what would remove the conflicts of a kernel that was run: the advice of the ladder
 * of fixes (search/ladder.h) for the worst access of each of its lines, weighted by how often the
 * line accesses memory. */
#ifndef BF_TUNE_REMEDY_H
#define BF_TUNE_REMEDY_H

#include "emu/costs.h"

typedef struct bf_remedy {
  bool exists; /* a step of the ladder is worth taking */
  char name[32];
  char hash[sizeof(((bf_ladder_step *)0)->hash)]; /* canonical text */
  char reason[512];       /* without a step: why; empty where there are no conflicts */
  uint64_t before, after; /* conflicts */
} bf_remedy;

int bf_remedy_find(const bf_machine *machine, const bf_costs_kernel *kernel, bf_remedy *remedy,
                   bf_diagnostic *diagnostic);

#endif

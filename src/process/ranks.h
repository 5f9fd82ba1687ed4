/* process/ranks: processes that mpirun or srun started together. They need no messages where they
 * share a file: they only have to know who prints, and how many of them share a host. */
#ifndef BF_PROCESS_RANKS_H
#define BF_PROCESS_RANKS_H

#include "base/base.h"

typedef struct bf_ranks {
  unsigned own, all, on_this_host;
} bf_ranks;

/* What mpirun of Open MPI or MPICH, or Slurm's srun, told this process; otherwise it is the only
 * one. */
bf_ranks bf_ranks_find(void);
/* Threads for this rank: its part of the host's cores, of those it may use. */
unsigned bf_ranks_workers(const bf_ranks *ranks);
/* Whether there are other hosts, and a file is on a disk of this one, or would be: ext4, xfs,
 * btrfs, tmpfs, overlay. */
bool bf_ranks_have_own_disk(const bf_ranks *ranks, const char *path);

#endif

/* Processes that mpirun or srun started together. */
#include "process/ranks.h"

#include <libgen.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Variables of the environment by which programs tell the processes they start who they are: the
 * number of a process, how many there are, and how many of them are on its host. */
static const struct {
  const char *own, *all, *on_this_host;
} starters[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}, /* Open MPI */
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},                                    /* MPICH */
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"},          /* srun */
};

/* The number that a variable begins with: srun lists hosts, "4(x2),1", of which the first has no
 * fewer processes than others. 0: there is none. */
static bool from_environment(const char *name, unsigned *number) {
  const char *text = getenv(name);
  uint64_t found;
  *number = 0;
  if (!text || !bf_parse_number(&text, &found) || (*text && *text != '(' && *text != ',') ||
      found > UINT32_MAX)
    return false;
  *number = (unsigned)found;
  return true;
}

bf_ranks bf_ranks_find(void) {
  for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
    bf_ranks found;
    if (!from_environment(starters[i].own, &found.own) ||
        !from_environment(starters[i].all, &found.all) || found.own >= found.all)
      continue;
    if (!from_environment(starters[i].on_this_host, &found.on_this_host) || !found.on_this_host)
      found.on_this_host = 1;
    return found;
  }
  return (bf_ranks){.own = 0, .all = 1, .on_this_host = 1};
}

unsigned bf_ranks_workers(const bf_ranks *ranks) {
  long host = sysconf(_SC_NPROCESSORS_ONLN);
  unsigned own = bf_cores(), part = host > 0 ? (unsigned)host / ranks->on_this_host : 1;
  return part < 1 ? 1 : part < own ? part : own;
}

bool bf_ranks_have_own_disk(const bf_ranks *ranks, const char *path) {
  static const long local[] = {0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630};
  struct statfs status;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s", path);
  if (ranks->all <= ranks->on_this_host)
    return false;
  if (statfs(path, &status) != 0 && statfs(dirname(folder), &status) != 0)
    return false;
  for (size_t i = 0; i < sizeof local / sizeof *local; i++)
    if ((long)status.f_type == local[i])
      return true;
  return false;
}

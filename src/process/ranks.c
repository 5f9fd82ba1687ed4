/* Processes that mpirun started together. */
#include "process/ranks.h"

#include <libgen.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A number that Open MPI's mpirun gives to the processes it starts. */
static unsigned from_environment(const char *name, unsigned otherwise) {
  const char *text = getenv(name);
  uint64_t number;
  if (!text || !bf_parse_number(&text, &number) || *text || number > UINT32_MAX)
    return otherwise;
  return (unsigned)number;
}

bf_ranks bf_ranks_find(void) {
  bf_ranks found = {.own = from_environment("OMPI_COMM_WORLD_RANK", 0),
                    .all = from_environment("OMPI_COMM_WORLD_SIZE", 1),
                    .on_this_host = from_environment("OMPI_COMM_WORLD_LOCAL_SIZE", 1)};
  if (found.on_this_host == 0)
    found.on_this_host = 1;
  return found;
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

/* tune/resources: what kernels need of a multiprocessor, as ptxas -v says: a rewritten kernel must
 * be able to be launched as the original is, and not lose by registers what it wins by fewer
 * conflicts. */
#ifndef BF_TUNE_RESOURCES_H
#define BF_TUNE_RESOURCES_H

#include "ptx/ptx.h"

/* Of one kernel. */
typedef struct bf_resource {
  char *kernel;
  unsigned registers;    /* of a thread */
  uint64_t spill_bytes;  /* stored and loaded */
  uint64_t shared_bytes; /* static, with what CUDA reserves */
} bf_resource;

typedef struct bf_resources {
  bf_resource *item;
  size_t count;
} bf_resources;

/* Reads what ptxas -v prints. Free also after an error. */
int bf_resources_read(const char *said, bf_resources *resources, bf_diagnostic *diagnostic);
void bf_resources_free(bf_resources *resources);

/* Writes to reason why a kernel is to stay as it is, if it is: it could not be launched with as
 * many threads any more; or, where share says what time it is predicted to take at most (0: the
 * hash was asked for), it spills more, or loses as much of its occupancy. */
void bf_resources_compare(const bf_resources *before, const bf_resources *after,
                          const bf_ptx_function *kernel, double share, char *reason, size_t size);

#endif

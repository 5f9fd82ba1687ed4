/* What kernels need of a multiprocessor, as ptxas -v says: a rewritten kernel must be able to be
 * launched as the original is, and not lose by registers what it wins by fewer conflicts. */
#ifndef BF_CLI_RESOURCES_H
#define BF_CLI_RESOURCES_H

#include "ptx/ptx.h"

/* Of one kernel. */
typedef struct cli_resource {
  char *kernel;
  unsigned registers;    /* of a thread */
  uint64_t spill_bytes;  /* stored and loaded */
  uint64_t shared_bytes; /* static, with what CUDA reserves */
} cli_resource;

typedef struct cli_resources {
  cli_resource *item;
  size_t count;
} cli_resources;

/* Asks ptxas about the kernels of PTX, for an architecture as in sm_90. Where it does not say, the
 * list is empty. Free also after an error. */
int cli_resources_get(const char *ptxas, const char *arch, const bf_text *ptx,
                      cli_resources *resources, bf_diagnostic *diagnostic);
/* Reads what ptxas -v prints. */
int cli_resources_read(const char *said, cli_resources *resources, bf_diagnostic *diagnostic);
void cli_resources_free(cli_resources *resources);

/* Writes to reason why a kernel is to stay as it is, if it is: it could not be launched with as
 * many threads any more; or, where share says what time it is predicted to take at most (0: the
 * hash was asked for), it spills more, or loses as much of its occupancy. */
void cli_resources_compare(const cli_resources *before, const cli_resources *after,
                           const bf_ptx_function *kernel, double share, char *reason, size_t size);

#endif

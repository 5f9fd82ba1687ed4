/* Tasks of a reproduction that do not depend on each other, spread over the threads of the host. */
#ifndef BF_REPRODUCE_TASKS_H
#define BF_REPRODUCE_TASKS_H

#include "reproduce/reproduce.h"

/* Calls task(context, index) once for each index below count, with progress named after what. The
 * first error ends all. */
int bf_tasks_run(bf_reproduce_run *run, const char *what, unsigned count,
                 int (*task)(void *context, unsigned index, bf_diagnostic *diagnostic),
                 void *context, bf_diagnostic *diagnostic);

#endif

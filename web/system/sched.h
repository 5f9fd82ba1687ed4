/* One core, unless there are workers for threads. */
#ifndef BF_WEB_SCHED_H
#define BF_WEB_SCHED_H

#include <stddef.h>

typedef int cpu_set_t;
int bf_threads_cores(void);
#define CPU_COUNT(set) (*(set))

static inline int sched_getaffinity(int process, size_t size, cpu_set_t *set) {
  (void)process, (void)size;
#ifdef BF_WEB_THREADS
  *set = bf_threads_cores();
#else
  *set = 1;
#endif
  return 0;
}

static inline int sched_yield(void) { return 0; }

#endif

/* Threads and time. */
#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

double bf_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

unsigned bf_cores(void) {
#ifdef CPU_COUNT
  cpu_set_t set;
  long count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
#else
  long count = sysconf(_SC_NPROCESSORS_ONLN);
#endif
  return count > 0 ? (unsigned)count : 1;
}

typedef struct job {
  void (*work)(void *context, unsigned index);
  void *context;
  unsigned index;
  pthread_t thread;
  bool started;
} job;

static void *run_job(void *argument) {
  job *self = argument;
  self->work(self->context, self->index);
  return NULL;
}

void bf_run_threads(unsigned threads, void (*work)(void *context, unsigned index), void *context) {
  job *jobs = calloc(threads, sizeof *jobs);
  for (unsigned i = 1; jobs && i < threads; i++) {
    jobs[i] = (job){.work = work, .context = context, .index = i};
    jobs[i].started = pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]) == 0;
  }
  for (unsigned i = 1; i < threads; i++)
    if (!jobs || !jobs[i].started)
      work(context, i);
  if (threads)
    work(context, 0);
  for (unsigned i = 1; jobs && i < threads; i++)
    if (jobs[i].started)
      pthread_join(jobs[i].thread, NULL);
  free(jobs);
}

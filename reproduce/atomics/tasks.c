/* Threads take the next index until none is left; the calling thread also reports progress. */
#include "reproduce/atomics/tasks.h"

#include <pthread.h>

typedef struct task_pool {
  bf_reproduce_run *run;
  const char *what;
  unsigned count, next; /* next: of the tasks, taken with atomics */
  int (*task)(void *context, unsigned index, bf_diagnostic *diagnostic);
  void *context;
  pthread_mutex_t lock; /* of what follows */
  int error;
  bf_diagnostic *diagnostic;
} task_pool;

/* Keeps the first error and lets no further task begin. */
static void fail(task_pool *pool, int error, const bf_diagnostic *diagnostic) {
  pthread_mutex_lock(&pool->lock);
  if (pool->error == BF_OK) {
    pool->error = error;
    *pool->diagnostic = *diagnostic;
  }
  pthread_mutex_unlock(&pool->lock);
  __atomic_store_n(&pool->next, pool->count, __ATOMIC_RELAXED);
}

static void work(void *context, unsigned thread) {
  task_pool *pool = context;
  for (;;) {
    bf_diagnostic diagnostic = {0};
    unsigned index = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
    if (index >= pool->count)
      return;
    int error = BF_OK;
    if (thread == 0)
      error = bf_reproduce_step(pool->run, index, pool->count, pool->what, &diagnostic);
    if (error == BF_OK)
      error = pool->task(pool->context, index, &diagnostic);
    if (error != BF_OK) {
      fail(pool, error, &diagnostic);
      return;
    }
  }
}

int bf_tasks_run(bf_reproduce_run *run, const char *what, unsigned count,
                 int (*task)(void *context, unsigned index, bf_diagnostic *diagnostic),
                 void *context, bf_diagnostic *diagnostic) {
  task_pool pool = {.run = run,
                    .what = what,
                    .count = count,
                    .task = task,
                    .context = context,
                    .diagnostic = diagnostic};
  unsigned threads = bf_reproduce_workers(run);
  pthread_mutex_init(&pool.lock, NULL);
  bf_run_threads(threads < count ? threads : count, work, &pool);
  pthread_mutex_destroy(&pool.lock);
  return pool.error;
}

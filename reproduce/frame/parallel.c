/* Many pieces of work on all workers. */
#include "reproduce/frame/frame.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct pieces {
  bf_reproduce_run *run;
  unsigned count;
  const char *what;
  int (*work)(void *context, unsigned index, bf_diagnostic *diagnostic);
  void *context;
  atomic_uint next, done;
  atomic_bool stopped;
  pthread_mutex_t lock; /* of what follows */
  int error;
  bf_diagnostic diagnostic;
} pieces;

/* Keeps the first error and lets all workers stop. */
static void note_error(pieces *all, int error, const bf_diagnostic *diagnostic) {
  pthread_mutex_lock(&all->lock);
  if (!all->error) {
    all->error = error;
    all->diagnostic = *diagnostic;
  }
  pthread_mutex_unlock(&all->lock);
  atomic_store(&all->stopped, true);
}

/* One worker: takes pieces until there are no more. The calling thread tells of the progress. */
static void work_through(void *context, unsigned worker) {
  pieces *all = context;
  while (!atomic_load(&all->stopped)) {
    unsigned index = atomic_fetch_add(&all->next, 1);
    if (index >= all->count)
      return;
    bf_diagnostic diagnostic = {.caret = -1};
    int error = BF_OK;
    if (worker == 0)
      error =
          bf_reproduce_step(all->run, atomic_load(&all->done), all->count, all->what, &diagnostic);
    if (!error)
      error = all->work(all->context, index, &diagnostic);
    if (error)
      note_error(all, error, &diagnostic);
    atomic_fetch_add(&all->done, 1);
  }
}

int bf_reproduce_parallel(bf_reproduce_run *run, unsigned count, const char *what,
                          int (*work)(void *context, unsigned index, bf_diagnostic *diagnostic),
                          void *context, bf_diagnostic *diagnostic) {
  pieces all = {.run = run, .count = count, .what = what, .work = work, .context = context};
  unsigned workers = bf_reproduce_workers(run);
  pthread_mutex_init(&all.lock, NULL);
  bf_run_threads(workers < count ? workers : count ? count : 1, work_through, &all);
  pthread_mutex_destroy(&all.lock);
  if (all.error && diagnostic)
    *diagnostic = all.diagnostic;
  return all.error;
}

/* A crew: threads that wait between jobs. */
#include "base/base.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct bf_crew {
  pthread_mutex_t lock;         /* of all that follows */
  pthread_cond_t called, ended; /* there is work or the end; the last thread has done its work */
  pthread_t *thread;
  unsigned threads;
  pid_t process; /* that the threads belong to: a child of fork has none of them */
  void (*work)(void *context, unsigned index);
  void *context;
  unsigned next, most; /* index that begins next; the last one that may */
  unsigned working;
  bool is_busy, is_over;
};

static void reset(bf_crew *crew) {
  *crew = (bf_crew){.process = getpid()};
  pthread_mutex_init(&crew->lock, NULL);
  pthread_cond_init(&crew->called, NULL);
  pthread_cond_init(&crew->ended, NULL);
}

bf_crew *bf_crew_create(void) {
  bf_crew *crew = malloc(sizeof *crew);
  if (crew)
    reset(crew);
  return crew;
}

/* A thread of the crew: waits to be called, works, and so on. */
static void *serve(void *given) {
  bf_crew *crew = given;
  pthread_mutex_lock(&crew->lock);
  for (;;) {
    while (!crew->is_over && crew->next > crew->most)
      pthread_cond_wait(&crew->called, &crew->lock);
    if (crew->is_over)
      break;
    unsigned index = crew->next++;
    crew->working++;
    pthread_mutex_unlock(&crew->lock);
    crew->work(crew->context, index);
    pthread_mutex_lock(&crew->lock);
    if (--crew->working == 0)
      pthread_cond_signal(&crew->ended);
  }
  pthread_mutex_unlock(&crew->lock);
  return NULL;
}

/* Starts threads until there are as many, or no more can be. Signals are for other threads, but for
 * those that a thread raises itself and those of profilers. */
static void grow(bf_crew *crew, unsigned threads) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF};
  sigset_t others, before;
  pthread_t *grown = realloc(crew->thread, threads * sizeof *grown);
  if (!grown)
    return;
  crew->thread = grown;
  sigfillset(&others);
  for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
    sigdelset(&others, own[i]);
  pthread_sigmask(SIG_BLOCK, &others, &before);
  while (crew->threads < threads &&
         pthread_create(&crew->thread[crew->threads], NULL, serve, crew) == 0)
    crew->threads++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool bf_crew_begin(bf_crew *crew, unsigned most, void (*work)(void *context, unsigned index),
                   void *context) {
  if (crew->process != getpid())
    reset(crew);
  pthread_mutex_lock(&crew->lock);
  bool is_free = !crew->is_busy;
  if (is_free) {
    crew->is_busy = true;
    crew->work = work;
    crew->context = context;
    crew->next = 1;
    crew->most = most;
    if (crew->threads < most)
      grow(crew, most);
    pthread_cond_broadcast(&crew->called);
  }
  pthread_mutex_unlock(&crew->lock);
  return is_free;
}

void bf_crew_end(bf_crew *crew) {
  pthread_mutex_lock(&crew->lock);
  crew->most = 0;
  crew->next = 1;
  while (crew->working)
    pthread_cond_wait(&crew->ended, &crew->lock);
  crew->is_busy = false;
  pthread_mutex_unlock(&crew->lock);
}

void bf_crew_free(bf_crew *crew) {
  if (!crew)
    return;
  bool is_own = crew->process == getpid();
  if (is_own) {
    pthread_mutex_lock(&crew->lock);
    crew->is_over = true;
    pthread_cond_broadcast(&crew->called);
    pthread_mutex_unlock(&crew->lock);
  }
  for (unsigned i = 0; is_own && i < crew->threads; i++)
    pthread_join(crew->thread[i], NULL);
  if (is_own) {
    pthread_cond_destroy(&crew->called);
    pthread_cond_destroy(&crew->ended);
    pthread_mutex_destroy(&crew->lock);
  }
  free(crew->thread);
  free(crew);
}

/* The lock over what the process keeps. */
#include "lock.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void inject_lock(void) { pthread_mutex_lock(&mutex); }

void inject_unlock(void) { pthread_mutex_unlock(&mutex); }

/* Whoever forks holds the lock meanwhile, so that the child does not inherit it from another
 * thread. */
__attribute__((constructor)) static void watch_fork(void) {
  pthread_atfork(inject_lock, inject_unlock, inject_unlock);
}

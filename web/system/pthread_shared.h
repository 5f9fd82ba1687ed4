/* POSIX threads over memory that WebAssembly's workers share (web/threads.c): locks are numbers
 * that are waited on. Included by pthread.h where there are threads. */
#ifndef BF_WEB_PTHREAD_SHARED_H
#define BF_WEB_PTHREAD_SHARED_H

#include <errno.h>
#include <stdbool.h>
#include <time.h>

typedef int pthread_t, pthread_attr_t, pthread_mutex_t, pthread_cond_t, pthread_rwlock_t,
    pthread_once_t;
#define PTHREAD_MUTEX_INITIALIZER 0
#define PTHREAD_COND_INITIALIZER 0
#define PTHREAD_ONCE_INIT 0

/* Waits while *at is value, for some time at most; traps where another thread has trapped. */
void bf_threads_wait(int *at, int value);
void bf_threads_wake(int *at, unsigned most);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *),
                   void *context);
int pthread_join(pthread_t thread, void **result);

/* ---- Mutexes: 0 free, 1 held, 2 held and waited for ---- */

static inline int pthread_mutex_trylock(pthread_mutex_t *lock) {
  int is_free = 0;
  return __atomic_compare_exchange_n(lock, &is_free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
             ? 0
             : EBUSY;
}

static inline int pthread_mutex_lock(pthread_mutex_t *lock) {
  if (pthread_mutex_trylock(lock) == 0)
    return 0;
  while (__atomic_exchange_n(lock, 2, __ATOMIC_SEQ_CST) != 0)
    bf_threads_wait(lock, 2);
  return 0;
}

static inline int pthread_mutex_unlock(pthread_mutex_t *lock) {
  if (__atomic_exchange_n(lock, 0, __ATOMIC_SEQ_CST) == 2)
    bf_threads_wake(lock, 1);
  return 0;
}

/* ---- Conditions: a number that grows whenever someone is to wake ---- */

static inline int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock) {
  int seen = __atomic_load_n(condition, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(lock);
  bf_threads_wait(condition, seen);
  pthread_mutex_lock(lock);
  return 0;
}

static inline int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                         const struct timespec *until) {
  struct timespec now;
  pthread_cond_wait(condition, lock); /* which ends soon, whatever comes */
  clock_gettime(CLOCK_REALTIME, &now);
  bool is_late =
      now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
  return is_late ? ETIMEDOUT : 0;
}

static inline int pthread_cond_broadcast(pthread_cond_t *condition) {
  __atomic_add_fetch(condition, 1, __ATOMIC_SEQ_CST);
  bf_threads_wake(condition, ~0u);
  return 0;
}

static inline int pthread_cond_signal(pthread_cond_t *condition) {
  __atomic_add_fetch(condition, 1, __ATOMIC_SEQ_CST);
  bf_threads_wake(condition, 1);
  return 0;
}

/* ---- Locks of readers and writers: how many read, or -1 for one who writes ---- */

static inline int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
  for (;;) {
    int readers = __atomic_load_n(lock, __ATOMIC_SEQ_CST);
    if (readers < 0)
      bf_threads_wait(lock, readers);
    else if (__atomic_compare_exchange_n(lock, &readers, readers + 1, false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST))
      return 0;
  }
}

static inline int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
  for (;;) {
    int readers = 0;
    if (__atomic_compare_exchange_n(lock, &readers, -1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return 0;
    bf_threads_wait(lock, readers);
  }
}

static inline int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
  int left = __atomic_load_n(lock, __ATOMIC_SEQ_CST) < 0
                 ? (__atomic_store_n(lock, 0, __ATOMIC_SEQ_CST), 0)
                 : __atomic_sub_fetch(lock, 1, __ATOMIC_SEQ_CST);
  if (left == 0)
    bf_threads_wake(lock, ~0u);
  return 0;
}

/* ---- Making and ending them ---- */

#define PLAIN_LOCK(type)                                                                           \
  static inline int pthread_##type##_init(pthread_##type##_t *lock, const void *attributes) {      \
    (void)attributes;                                                                              \
    *lock = 0;                                                                                     \
    return 0;                                                                                      \
  }                                                                                                \
  static inline int pthread_##type##_destroy(pthread_##type##_t *lock) {                           \
    (void)lock;                                                                                    \
    return 0;                                                                                      \
  }
PLAIN_LOCK(mutex)
PLAIN_LOCK(rwlock)
PLAIN_LOCK(cond)
#undef PLAIN_LOCK

/* 0 to be done, 1 being done, 2 done. */
static inline int pthread_once(pthread_once_t *once, void (*work)(void)) {
  int state = 0;
  if (__atomic_compare_exchange_n(once, &state, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    work();
    __atomic_store_n(once, 2, __ATOMIC_SEQ_CST);
    bf_threads_wake(once, ~0u);
  }
  while ((state = __atomic_load_n(once, __ATOMIC_SEQ_CST)) != 2)
    bf_threads_wait(once, state);
  return 0;
}

#endif

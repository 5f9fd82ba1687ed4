/* POSIX threads where there are none: locks are free, and no thread can be made, so that all work
 * is done by the thread that asks for it. */
#ifndef BF_WEB_PTHREAD_H
#define BF_WEB_PTHREAD_H

#ifdef BF_WEB_THREADS
#include <pthread_shared.h>
#else

#include <errno.h>
#include <time.h>

typedef int pthread_t, pthread_attr_t, pthread_mutex_t, pthread_cond_t, pthread_rwlock_t,
    pthread_once_t;
#define PTHREAD_MUTEX_INITIALIZER 0
#define PTHREAD_COND_INITIALIZER 0
#define PTHREAD_ONCE_INIT 0

#define FREE_LOCK(type, verb)                                                                      \
  static inline int pthread_##type##_##verb(pthread_##type##_t *lock) {                            \
    (void)lock;                                                                                    \
    return 0;                                                                                      \
  }
FREE_LOCK(mutex, lock)
FREE_LOCK(mutex, trylock)
FREE_LOCK(mutex, unlock)
FREE_LOCK(mutex, destroy)
FREE_LOCK(rwlock, rdlock)
FREE_LOCK(rwlock, wrlock)
FREE_LOCK(rwlock, unlock)
FREE_LOCK(rwlock, destroy)
FREE_LOCK(cond, signal)
FREE_LOCK(cond, broadcast)
FREE_LOCK(cond, destroy)
#undef FREE_LOCK

#define MADE_LOCK(type)                                                                            \
  static inline int pthread_##type##_init(pthread_##type##_t *lock, const void *attributes) {      \
    (void)attributes;                                                                              \
    *lock = 0;                                                                                     \
    return 0;                                                                                      \
  }
MADE_LOCK(mutex)
MADE_LOCK(rwlock)
MADE_LOCK(cond)
#undef MADE_LOCK

static inline int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                 void *(*work)(void *), void *context) {
  (void)thread, (void)attributes, (void)work, (void)context;
  return EAGAIN;
}

static inline int pthread_join(pthread_t thread, void **result) {
  (void)thread, (void)result;
  return EINVAL;
}

/* Nobody else could wake a thread that waits; so nobody waits. */
static inline int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock) {
  (void)condition, (void)lock;
  __builtin_trap();
}

static inline int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                         const struct timespec *until) {
  (void)condition, (void)lock, (void)until;
  return ETIMEDOUT;
}

static inline int pthread_once(pthread_once_t *once, void (*work)(void)) {
  if (!*once)
    work();
  *once = 1;
  return 0;
}

#endif
#endif

/* Threads in a browser that shares memory between workers (web/worker.js): workers wait in
 * bf_thread_serve until a thread is made. Built for that program alone; the other one has none. */
#ifdef BF_WEB_THREADS
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 32, STACK_BYTES = 1 << 20 };
enum { FREE, CALLED, ENDED, OVER };

typedef struct slot {
  int state; /* FREE, CALLED to work, ENDED with it; OVER: the program ends */
  void *(*work)(void *);
  void *context;
} slot;

static slot slots[MOST_THREADS];
static int count;       /* of workers that serve */
static int has_trapped; /* one of them, so that nobody waits for it */
static _Alignas(16) char stacks[MOST_THREADS][STACK_BYTES];

/* ---- What worker.js calls ---- */

__attribute__((export_name("bf_threads_begin"))) int bf_threads_begin(int workers) {
  return count = workers < MOST_THREADS ? workers : MOST_THREADS;
}

/* Where the stack of a worker begins; it grows down. */
__attribute__((export_name("bf_thread_stack"))) void *bf_thread_stack(int index) {
  return stacks[index] + STACK_BYTES;
}

/* Does the work of threads until the program is over. */
__attribute__((export_name("bf_thread_serve"))) void bf_thread_serve(int index) {
  slot *own = &slots[index];
  for (;;) {
    int state = __atomic_load_n(&own->state, __ATOMIC_SEQ_CST);
    if (state == OVER)
      return;
    if (state != CALLED) {
      __builtin_wasm_memory_atomic_wait32(&own->state, state, -1);
      continue;
    }
    own->work(own->context);
    __atomic_store_n(&own->state, ENDED, __ATOMIC_SEQ_CST);
    bf_threads_wake(&own->state, ~0u);
  }
}

__attribute__((export_name("bf_threads_end"))) void bf_threads_end(void) {
  for (int i = 0; i < count; i++) {
    __atomic_store_n(&slots[i].state, OVER, __ATOMIC_SEQ_CST);
    bf_threads_wake(&slots[i].state, ~0u);
  }
}

__attribute__((export_name("bf_thread_trapped"))) void bf_thread_trapped(void) {
  __atomic_store_n(&has_trapped, 1, __ATOMIC_SEQ_CST);
}

/* ---- What pthread.h calls ---- */

void bf_threads_wait(int *at, int value) {
  const long long most_nanoseconds = 50000000;
  __builtin_wasm_memory_atomic_wait32(at, value, most_nanoseconds);
  if (__atomic_load_n(&has_trapped, __ATOMIC_RELAXED))
    __builtin_trap();
}

void bf_threads_wake(int *at, unsigned most) { __builtin_wasm_memory_atomic_notify(at, most); }

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *),
                   void *context) {
  static pthread_mutex_t lock;
  int error = EAGAIN;
  (void)attributes;
  pthread_mutex_lock(&lock);
  for (int i = 0; error && i < count; i++)
    if (__atomic_load_n(&slots[i].state, __ATOMIC_SEQ_CST) == FREE) {
      slots[i].work = work;
      slots[i].context = context;
      __atomic_store_n(&slots[i].state, CALLED, __ATOMIC_SEQ_CST);
      bf_threads_wake(&slots[i].state, ~0u);
      *thread = i;
      error = 0;
    }
  pthread_mutex_unlock(&lock);
  return error;
}

int pthread_join(pthread_t thread, void **result) {
  slot *own = &slots[thread];
  int state;
  while ((state = __atomic_load_n(&own->state, __ATOMIC_SEQ_CST)) == CALLED)
    bf_threads_wait(&own->state, state);
  __atomic_store_n(&own->state, FREE, __ATOMIC_SEQ_CST);
  if (result)
    *result = NULL;
  return 0;
}

/* Half of the workers may be at work for those that wait for the other half. */
int bf_threads_cores(void) { return count / 2 + 1; }

/* ---- Memory: wasi-libc's functions know of no threads ---- */

static pthread_mutex_t memory_lock;

#define GUARDED(type, name, declared, given)                                                       \
  type __real_##name declared;                                                                     \
  type __wrap_##name declared;                                                                     \
  type __wrap_##name declared {                                                                    \
    pthread_mutex_lock(&memory_lock);                                                              \
    type made = __real_##name given;                                                               \
    pthread_mutex_unlock(&memory_lock);                                                            \
    return made;                                                                                   \
  }
GUARDED(void *, malloc, (size_t size), (size))
GUARDED(void *, calloc, (size_t items, size_t size), (items, size))
GUARDED(void *, realloc, (void *memory, size_t size), (memory, size))
GUARDED(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
GUARDED(int, posix_memalign, (void **memory, size_t alignment, size_t size),
        (memory, alignment, size))

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
  pthread_mutex_lock(&memory_lock);
  __real_free(memory);
  pthread_mutex_unlock(&memory_lock);
}
#endif

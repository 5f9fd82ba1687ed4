/* Handles of the driver that come from rewritten images. Launches ask for theirs: without a lock
 * and by one bucket. So nodes are never taken out: one whose handle is forgotten waits for the
 * driver to give the handle out again; and pairs live as long as the process. */
#include "inject.h"

#include "lock.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 4096 };

typedef struct node {
  struct node *next;
  const void *handle;
  _Atomic(const inject_image *) image; /* NULL: forgotten */
  _Atomic(inject_pair *) pair;
} node;

/* A pair, and those that were made before: a launch may hold any of them. */
typedef struct kept_pair {
  struct kept_pair *next;
  inject_pair pair;
} kept_pair;

static _Atomic(node *) buckets[BUCKETS];
static kept_pair *pairs; /* under the lock */
static atomic_bool has_nodes;
static atomic_uint contexts_ended;

static _Atomic(node *) *bucket_of(const void *handle) {
  uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u;
  return &buckets[mixed >> 52];
}

/* The node of a handle; NULL: none. */
static node *find(const void *handle) {
  if (!atomic_load_explicit(&has_nodes, memory_order_relaxed))
    return NULL;
  node *at = atomic_load_explicit(bucket_of(handle), memory_order_acquire);
  while (at && at->handle != handle)
    at = at->next;
  return at;
}

/* Makes the node of a handle, under the lock; false where memory is exhausted. */
static bool add(const void *handle, const inject_image *image, inject_pair *pair) {
  _Atomic(node *) *bucket = bucket_of(handle);
  node *made = malloc(sizeof *made);
  if (!made)
    return false;
  *made = (node){.next = atomic_load(bucket), .handle = handle};
  atomic_init(&made->image, image);
  atomic_init(&made->pair, pair);
  atomic_store_explicit(bucket, made, memory_order_release);
  atomic_store(&has_nodes, true);
  return true;
}

/* Sets what a handle is, under the lock; false where memory is exhausted. */
static bool set(const void *handle, const inject_image *image, inject_pair *pair) {
  node *found = find(handle);
  if (!found)
    return !image || add(handle, image, pair);
  atomic_store(&found->pair, pair);
  atomic_store(&found->image, image);
  return true;
}

/* Whether that is what a handle is known as: runtimes ask for one kernel again and again. */
static bool is_known_as(const void *handle, const inject_image *image) {
  const node *found = find(handle);
  return found ? atomic_load(&found->image) == image && !atomic_load(&found->pair) : !image;
}

bool inject_handle_set(const void *handle, const inject_image *image) {
  if (is_known_as(handle, image))
    return true;
  inject_lock();
  bool done = set(handle, image, NULL);
  inject_unlock();
  return done;
}

const inject_image *inject_handle_image(const void *handle) {
  const node *found = find(handle);
  return found ? atomic_load(&found->image) : NULL;
}

inject_pair *inject_handle_pair(const void *handle) {
  const node *found = find(handle);
  return found ? atomic_load_explicit(&found->pair, memory_order_acquire) : NULL;
}

/* The pair that is known under the first handle of this one, and of the same kernel; NULL: none. */
static inject_pair *find_same(const inject_pair *pair) {
  inject_pair *known = inject_handle_pair(pair->own);
  return known && known->own == pair->own && known->kernel == pair->kernel &&
                 known->is_of_library == pair->is_of_library
             ? known
             : NULL;
}

bool inject_handle_set_pair(const inject_pair *pair) {
  kept_pair *made = NULL;
  inject_pair *known = find_same(pair);
  unsigned ended = atomic_load(&contexts_ended);
  if (known && !pair->beside && __atomic_load_n(&known->ended, __ATOMIC_ACQUIRE) == ended)
    return true;
  inject_lock();
  known = find_same(pair);
  bool done = known;
  /* Where it is loaded apart, the handle may be that of another context by now. */
  if (done && !pair->beside) {
    __atomic_store_n(&known->beside, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&known->ended, ended, __ATOMIC_RELEASE);
  } else if (done) {
    done = known->beside == pair->beside;
  }
  if (!done && (made = malloc(sizeof *made))) {
    *made = (kept_pair){pairs, *pair};
    made->pair.ended = ended;
    pairs = made;
    done = set(pair->own, pair->image, &made->pair) &&
           (!pair->beside || set(pair->beside, pair->image, &made->pair));
  }
  inject_unlock();
  return done;
}

void inject_handles_end_context(void) { atomic_fetch_add(&contexts_ended, 1); }

bool inject_handle_complete(inject_pair *pair, void *beside) {
  inject_lock();
  bool done = set(beside, pair->image, pair);
  if (done)
    __atomic_store_n(&pair->beside, beside, __ATOMIC_RELEASE);
  inject_unlock();
  return done;
}

/* Handles of the driver that come from rewritten images. Launches ask for theirs: without a lock,
 * by one bucket, and only for sizes that are no whole rows. So nodes are never taken out: one whose
 * handle is forgotten waits for the driver to give the handle out again. */
#include "inject.h"

#include "lock.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 4096, ROUNDS = 1 };

typedef struct node {
  struct node *next;
  const void *handle;
  atomic_uintptr_t value;      /* address of the image, plus ROUNDS; 0: forgotten */
  _Atomic(struct node *) same; /* another handle for the same kernel, which knows: */
  atomic_int added;            /* bytes that its limit of dynamic shared memory was rounded up by */
} node;

static _Atomic(node *) buckets[BUCKETS];
static atomic_bool has_nodes;

static _Atomic(node *) *bucket_of(const void *handle) {
  uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u;
  return &buckets[mixed >> 52];
}

/* The node of a handle; NULL: none. */
static node *find(const void *handle) {
  node *at = atomic_load_explicit(bucket_of(handle), memory_order_acquire);
  while (at && at->handle != handle)
    at = at->next;
  return at;
}

/* Makes the node of a handle, under the lock; false where memory is exhausted. */
static bool add(const void *handle, uintptr_t value) {
  _Atomic(node *) *bucket = bucket_of(handle);
  node *made = malloc(sizeof *made);
  if (!made)
    return false;
  *made = (node){.next = atomic_load(bucket), .handle = handle};
  atomic_init(&made->value, value);
  atomic_init(&made->same, NULL);
  atomic_init(&made->added, 0);
  atomic_store_explicit(bucket, made, memory_order_release);
  atomic_store(&has_nodes, true);
  return true;
}

bool inject_handle_set(const void *handle, const inject_image *image, bool rounds) {
  uintptr_t value = image ? (uintptr_t)image + (rounds ? ROUNDS : 0) : 0;
  bool done = true;
  if (!image && !atomic_load(&has_nodes))
    return true;
  inject_lock();
  node *found = find(handle);
  if (found) {
    atomic_store(&found->value, value);
    atomic_store(&found->same, NULL);
    atomic_store(&found->added, 0);
  } else if (image)
    done = add(handle, value);
  inject_unlock();
  return done;
}

const inject_image *inject_handle_image(const void *handle, bool *rounds) {
  const node *found = atomic_load(&has_nodes) ? find(handle) : NULL;
  uintptr_t value = found ? atomic_load(&found->value) : 0;
  *rounds = value & ROUNDS;
  return (const inject_image *)(value & ~(uintptr_t)ROUNDS);
}

/* The node that knows about the kernel of a handle; NULL: none. */
static node *find_known(const void *handle) {
  node *found = atomic_load(&has_nodes) ? find(handle) : NULL;
  node *same = found ? atomic_load(&found->same) : NULL;
  return same ? same : found;
}

void inject_handle_join(const void *handle, const void *from) {
  node *made = atomic_load(&has_nodes) ? find(handle) : NULL, *known = find_known(from);
  if (made && known && made != known)
    atomic_store(&made->same, known);
}

void inject_handle_set_added(const void *handle, int bytes) {
  node *known = find_known(handle);
  if (known)
    atomic_store(&known->added, bytes);
}

int inject_handle_added(const void *handle) {
  node *known = find_known(handle);
  return known ? atomic_load(&known->added) : 0;
}

uint64_t inject_handle_round(const void *handle, uint64_t bytes) {
  bool rounds;
  if (bytes % INJECT_ROW_BYTES == 0)
    return bytes;
  inject_handle_image(handle, &rounds);
  return rounds ? (bytes / INJECT_ROW_BYTES + 1) * INJECT_ROW_BYTES : bytes;
}

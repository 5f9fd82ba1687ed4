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
  atomic_uintptr_t value; /* address of the image, plus ROUNDS; 0: forgotten */
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
  if (found)
    atomic_store(&found->value, value);
  else if (image)
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

uint64_t inject_handle_round(const void *handle, uint64_t bytes) {
  bool rounds;
  if (bytes % INJECT_ROW_BYTES == 0)
    return bytes;
  inject_handle_image(handle, &rounds);
  return rounds ? (bytes / INJECT_ROW_BYTES + 1) * INJECT_ROW_BYTES : bytes;
}

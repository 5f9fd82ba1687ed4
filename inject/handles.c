/* Handles of the driver that come from rewritten images. Launches ask for theirs, so looking up is
 * short: nothing where nothing was rewritten, else one lock and one bucket. */
#include "inject.h"

#include "lock.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 4096, ROW_BYTES = 128 };

typedef struct node {
  struct node *next;
  const void *handle;
  const inject_image *image;
  bool rounds;
} node;

static node *buckets[BUCKETS];
static atomic_uint nodes;

/* Where the node of handle is linked, or would be. */
static node **find(const void *handle) {
  uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u;
  node **at = &buckets[mixed >> 52];
  while (*at && (*at)->handle != handle)
    at = &(*at)->next;
  return at;
}

/* Unlinks a handle's node. */
static void forget(const void *handle) {
  node **at = find(handle), *found = *at;
  if (found) {
    *at = found->next;
    free(found);
    atomic_fetch_sub(&nodes, 1);
  }
}

/* Links or changes a handle's node; false where memory is exhausted. */
static bool put(const void *handle, const inject_image *image, bool rounds) {
  node **at = find(handle);
  if (!*at) {
    *at = calloc(1, sizeof **at);
    if (!*at)
      return false;
    (*at)->handle = handle;
    atomic_fetch_add(&nodes, 1);
  }
  (*at)->image = image;
  (*at)->rounds = rounds;
  return true;
}

bool inject_handle_set(const void *handle, const inject_image *image, bool rounds) {
  bool done = true;
  if (!image && atomic_load(&nodes) == 0)
    return true;
  inject_lock();
  if (image)
    done = put(handle, image, rounds);
  else
    forget(handle);
  inject_unlock();
  return done;
}

const inject_image *inject_handle_image(const void *handle, bool *rounds) {
  *rounds = false;
  if (atomic_load(&nodes) == 0)
    return NULL;
  inject_lock();
  const node *found = *find(handle);
  const inject_image *image = found ? found->image : NULL;
  *rounds = found && found->rounds;
  inject_unlock();
  return image;
}

uint64_t inject_handle_round(const void *handle, uint64_t bytes) {
  bool rounds;
  inject_handle_image(handle, &rounds);
  return rounds ? (bytes + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES : bytes;
}

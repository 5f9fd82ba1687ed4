/* Memory pools. Memory of a pool is device memory like any other; what came from it is counted, so
 * that programs read what they would on a GPU, and bounds hold. */
#include "context.h"

#include <stdlib.h>
#include <string.h>

/* What a pool gets from the device at once: the unit in which what it keeps is counted. */
#define CHUNK_BYTES ((uint64_t)32 << 20)

/* Attributes: 1 to 3 are flags of 32 bits that say what may be used again, the others numbers of
 * 64. */
enum {
  FIRST_FLAG = 1,
  LAST_FLAG = 3,
  THRESHOLD = 4,
  RESERVED = 5,
  MOST_RESERVED = 6,
  USED = 7,
  MOST_USED = 8,
};

struct rt_pool {
  int flags[LAST_FLAG + 1];
  uint64_t most_bytes; /* that may come from it; 0: any number */
  uint64_t threshold;  /* bytes that it keeps where they are not used */
  uint64_t used, most_used, reserved, most_reserved;
  uint64_t allocations; /* that have not been freed */
  bool is_gone;         /* the program has destroyed it */
};

/* What cudaMemPoolCreate is given; from CUDA 12.2 on it has a bound, which is 0 in older ones. */
typedef struct properties {
  int type, handles;
  rt_location location;
  void *security;
  size_t most_bytes;
} properties;

/* ---- What comes from a pool ---- */

static uint64_t whole_chunks(uint64_t bytes) {
  return (bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
}

static void raise_to(uint64_t *most, uint64_t value) {
  if (value > *most)
    *most = value;
}

/* Gives back what is not used, but for so many bytes in all. */
static void trim(rt_pool *pool, uint64_t keep_bytes) {
  uint64_t needed = whole_chunks(pool->used > keep_bytes ? pool->used : keep_bytes);
  if (pool->reserved > needed)
    pool->reserved = needed;
}

bool rt_pool_take(rt_pool *pool, uint64_t bytes) {
  if (pool->most_bytes && bytes > pool->most_bytes - pool->used)
    return false;
  pool->used += bytes;
  pool->allocations++;
  raise_to(&pool->reserved, whole_chunks(pool->used));
  raise_to(&pool->most_used, pool->used);
  raise_to(&pool->most_reserved, pool->reserved);
  return true;
}

void rt_pool_give(rt_pool *pool, uint64_t bytes) {
  pool->used -= bytes;
  pool->allocations--;
  trim(pool,
       pool->threshold > UINT64_MAX - CHUNK_BYTES ? UINT64_MAX - CHUNK_BYTES : pool->threshold);
  if (pool->is_gone && !pool->allocations)
    free(pool);
}

void rt_pool_free(rt_pool *pool) {
  if (!pool)
    return;
  pool->is_gone = true;
  if (!pool->allocations)
    free(pool);
}

/* ---- Pools ---- */

/* A new pool that nothing is known of but a bound; a cudaError. */
static int make_pool(rt_context *context, uint64_t most_bytes, void **handle) {
  rt_pool *pool = calloc(1, sizeof *pool);
  if (!pool)
    return cudaErrorMemoryAllocation;
  int error = rt_make_object(context, RT_POOL, 0, 0, handle);
  if (error != cudaSuccess) {
    free(pool);
    return error;
  }
  for (int i = FIRST_FLAG; i <= LAST_FLAG; i++)
    pool->flags[i] = 1;
  pool->most_bytes = most_bytes;
  ((rt_object *)*handle)->pool = pool;
  return cudaSuccess;
}

rt_pool *rt_pool_of(const rt_context *context, const void *handle) {
  const rt_object *object = rt_find_object(context, handle, RT_POOL);
  return object ? object->pool : NULL;
}

/* Makes the device's pool where it was not asked for yet; a cudaError. */
static int make_default(rt_context *context) {
  void *made = NULL;
  if (context->default_pool)
    return cudaSuccess;
  int error = make_pool(context, 0, &made);
  context->default_pool = made;
  return error;
}

rt_pool *rt_pool_current(rt_context *context) {
  if (context->current_pool)
    return context->current_pool->pool;
  return make_default(context) == cudaSuccess ? context->default_pool->pool : NULL;
}

API(cudaMemPoolCreate, void **pool, const void *given) {
  RT_ENTER_DEVICE(context);
  properties own;
  if (!given)
    return rt_leave(context, cudaErrorInvalidValue);
  memcpy(&own, given, sizeof own);
  return rt_leave(context, make_pool(context, own.most_bytes, pool));
}

API(cudaMemPoolDestroy, void *pool) {
  RT_ENTER_DEVICE(context);
  if (pool && pool == context->default_pool)
    return rt_leave(context, cudaErrorInvalidValue);
  if (pool == context->current_pool) /* and the default one takes its place */
    context->current_pool = NULL;
  return rt_leave(context, rt_destroy_object(context, pool, RT_POOL));
}

API(cudaDeviceGetDefaultMemPool, void **pool, int device) {
  RT_ENTER_DEVICE(context);
  if (!pool || device != 0)
    return rt_leave(context, pool ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  int error = make_default(context);
  if (error == cudaSuccess)
    *pool = context->default_pool;
  return rt_leave(context, error);
}

API(cudaDeviceGetMemPool, void **pool, int device) {
  int error = cudaDeviceGetDefaultMemPool(pool, device);
  if (error != cudaSuccess)
    return error;
  RT_ENTER_DEVICE(context);
  if (context->current_pool)
    *pool = context->current_pool;
  return rt_leave(context, cudaSuccess);
}

API(cudaDeviceSetMemPool, int device, void *pool) {
  RT_ENTER_DEVICE(context);
  rt_object *known = rt_find_object(context, pool, RT_POOL);
  if (device == 0 && known)
    context->current_pool = known;
  return rt_leave(context, device != 0 ? cudaErrorInvalidDevice
                           : known     ? cudaSuccess
                                       : cudaErrorInvalidValue);
}

#if CUDART_MAJOR >= 13
/* Pools of a location: those of the device (type 1 of locations), pinned memory (allocation type
 * 1). */
API(cudaMemGetDefaultMemPool, void **pool, const rt_location *location, int type) {
  if (!location || location->type != 1 || type != 1)
    return rt_refuse("cudaMemGetDefaultMemPool of memory that is not the device's");
  return cudaDeviceGetDefaultMemPool(pool, location->number);
}

API(cudaMemGetMemPool, void **pool, const rt_location *location, int type) {
  int error = cudaMemGetDefaultMemPool(pool, location, type);
  return error == cudaSuccess ? cudaDeviceGetMemPool(pool, location->number) : error;
}

API(cudaMemSetMemPool, const rt_location *location, int type, void *pool) {
  if (!location || location->type != 1 || type != 1)
    return rt_refuse("cudaMemSetMemPool of memory that is not the device's");
  return cudaDeviceSetMemPool(location->number, pool);
}
#endif

API(cudaMemPoolTrimTo, void *pool, size_t bytes) {
  RT_ENTER_DEVICE(context);
  rt_pool *own = rt_pool_of(context, pool);
  if (own)
    trim(own, bytes);
  return rt_leave(context, own ? cudaSuccess : cudaErrorInvalidValue);
}

/* A mark of the most there was can be set to 0, and begins anew. */
API(cudaMemPoolSetAttribute, void *pool, int attribute, void *value) {
  RT_ENTER_DEVICE(context);
  rt_pool *own = rt_pool_of(context, pool);
  if (!own || !value || attribute < FIRST_FLAG)
    return rt_leave(context, cudaErrorInvalidValue);
  if (attribute <= LAST_FLAG)
    own->flags[attribute] = *(const int *)value;
  else if (attribute == THRESHOLD)
    own->threshold = *(const uint64_t *)value;
  else if (attribute == MOST_RESERVED && *(const uint64_t *)value == 0)
    own->most_reserved = own->reserved;
  else if (attribute == MOST_USED && *(const uint64_t *)value == 0)
    own->most_used = own->used;
  else
    return rt_leave(context, cudaErrorInvalidValue);
  return rt_leave(context, cudaSuccess);
}

API(cudaMemPoolGetAttribute, void *pool, int attribute, void *value) {
  RT_ENTER_DEVICE(context);
  const rt_pool *own = rt_pool_of(context, pool);
  if (!own || !value || attribute < FIRST_FLAG || attribute > MOST_USED)
    return rt_leave(context, cudaErrorInvalidValue);
  const uint64_t numbers[] = {[THRESHOLD] = own->threshold,
                              [RESERVED] = own->reserved,
                              [MOST_RESERVED] = own->most_reserved,
                              [USED] = own->used,
                              [MOST_USED] = own->most_used};
  if (attribute <= LAST_FLAG)
    *(int *)value = own->flags[attribute];
  else
    *(uint64_t *)value = numbers[attribute];
  return rt_leave(context, cudaSuccess);
}

API(cudaMemPoolSetAccess, void *pool, const void *access, size_t count) {
  RT_ENTER_DEVICE(context);
  bool fine = rt_pool_of(context, pool) && (access || count == 0);
  return rt_leave(context, fine ? cudaSuccess : cudaErrorInvalidValue);
}

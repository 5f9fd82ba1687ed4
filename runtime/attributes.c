/* Attributes of streams and access to memory pools: kept, and without effect. */
#include "context.h"

#include <stdlib.h>
#include <string.h>

/* ---- Streams ---- */

/* Attributes: how a cache keeps memory, how a thread waits, priority, and domains of memory. */
enum { CACHE_WINDOW = 1, WAITING = 3, PRIORITY = 8, DOMAINS, DOMAIN, VALUES, VALUE_BYTES = 64 };

/* cudaSuccess for a stream and an attribute that streams have. */
static int check(const rt_context *context, const void *stream, int attribute, const void *value) {
  bool is_known = attribute == CACHE_WINDOW || attribute == WAITING ||
                  (attribute >= PRIORITY && attribute <= DOMAIN);
  return !rt_is_stream(context, stream) ? cudaErrorInvalidResourceHandle
         : value && is_known            ? cudaSuccess
                                        : cudaErrorInvalidValue;
}

/* Where the values of a stream's attributes are; NULL where none was set. The default streams share
 * theirs. */
static uint8_t **values_of(rt_context *context, const void *stream) {
  rt_object *object = rt_find_object(context, stream, RT_STREAM);
  return object ? &object->attributes : &context->default_attributes;
}

API(cudaStreamSetAttribute, void *stream, int attribute, const void *value) {
  RT_ENTER_DEVICE(context);
  int error = check(context, stream, attribute, value);
  if (error != cudaSuccess)
    return rt_leave(context, error);
  rt_object *object = rt_find_object(context, stream, RT_STREAM);
  uint8_t **values = values_of(context, stream);
  if (!*values)
    *values = calloc(VALUES, VALUE_BYTES);
  if (!*values)
    return rt_leave(context, cudaErrorMemoryAllocation);
  memcpy(*values + attribute * VALUE_BYTES, value, VALUE_BYTES);
  if (attribute == PRIORITY && object)
    object->priority = *(const int *)value;
  return rt_leave(context, cudaSuccess);
}
PER_THREAD(cudaStreamSetAttribute, ptsz);

/* What was set, or 0; the priority is that of the stream. */
API(cudaStreamGetAttribute, void *stream, int attribute, void *value) {
  RT_ENTER_DEVICE(context);
  int error = check(context, stream, attribute, value);
  if (error != cudaSuccess)
    return rt_leave(context, error);
  const rt_object *object = rt_find_object(context, stream, RT_STREAM);
  const uint8_t *values = *values_of(context, stream);
  if (values)
    memcpy(value, values + attribute * VALUE_BYTES, VALUE_BYTES);
  else
    memset(value, 0, VALUE_BYTES);
  if (attribute == PRIORITY && object)
    *(int *)value = object->priority;
  return rt_leave(context, error);
}
PER_THREAD(cudaStreamGetAttribute, ptsz);

API(cudaStreamCopyAttributes, void *to, void *from) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, to) || !rt_is_stream(context, from))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  uint8_t **target = values_of(context, to);
  const uint8_t *source = *values_of(context, from);
  if (source == *target)
    return rt_leave(context, cudaSuccess);
  free(*target);
  *target = source ? calloc(VALUES, VALUE_BYTES) : NULL;
  if (source && !*target)
    return rt_leave(context, cudaErrorMemoryAllocation);
  if (source)
    memcpy(*target, source, (size_t)VALUES * VALUE_BYTES);
  return rt_leave(context, cudaSuccess);
}
PER_THREAD(cudaStreamCopyAttributes, ptsz);

/* ---- Pools ---- */

/* The device may read and write (3) what comes from a pool; there is no other. */
API(cudaMemPoolGetAccess, int *flags, void *pool, const rt_location *location) {
  RT_ENTER_DEVICE(context);
  const rt_object *object = rt_map_get(&context->objects, pool);
  if (!flags || !location || !object || object->kind != RT_POOL || location->number != 0)
    return rt_leave(context, cudaErrorInvalidValue);
  *flags = 3;
  return rt_leave(context, cudaSuccess);
}

/* Attributes of streams and access to memory pools: accepted, and without effect. */
#include "context.h"

#include <string.h>

/* ---- Streams ---- */

/* Attributes: how a cache keeps memory, how a thread waits, priority, and domains of memory. */
enum { CACHE_WINDOW = 1, WAITING = 3, PRIORITY = 8, DOMAINS, DOMAIN, VALUE_BYTES = 64 };

/* cudaSuccess for a stream and an attribute that streams have. */
static int check(const rt_context *context, const void *stream, int attribute, const void *value) {
  bool is_known = attribute == CACHE_WINDOW || attribute == WAITING ||
                  (attribute >= PRIORITY && attribute <= DOMAIN);
  return !rt_is_stream(context, stream) ? cudaErrorInvalidResourceHandle
         : value && is_known            ? cudaSuccess
                                        : cudaErrorInvalidValue;
}

API(cudaStreamSetAttribute, void *stream, int attribute, const void *value) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, check(context, stream, attribute, value));
}
PER_THREAD(cudaStreamSetAttribute, ptsz);

/* All are 0, but for the priority. */
API(cudaStreamGetAttribute, void *stream, int attribute, void *value) {
  RT_ENTER_DEVICE(context);
  int error = check(context, stream, attribute, value);
  const rt_object *object = rt_map_get(&context->objects, stream);
  if (error == cudaSuccess)
    memset(value, 0, VALUE_BYTES);
  if (error == cudaSuccess && attribute == PRIORITY && object)
    *(int *)value = object->priority;
  return rt_leave(context, error);
}
PER_THREAD(cudaStreamGetAttribute, ptsz);

API(cudaStreamCopyAttributes, void *to, void *from) {
  RT_ENTER_DEVICE(context);
  bool are_streams = rt_is_stream(context, to) && rt_is_stream(context, from);
  return rt_leave(context, are_streams ? cudaSuccess : cudaErrorInvalidResourceHandle);
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

/* Streams and events, and the objects behind handles. Work is done when the call that asks for it
 * returns, so every stream is idle and every recorded event has happened; events hold the clock of
 * rt_seconds. */
#include "graph.h"
#include "order.h"

#include <stdlib.h>

/* ---- Objects ---- */

int rt_make_object(rt_context *context, int kind, unsigned flags, int priority, void **handle) {
  rt_object *object = handle ? calloc(1, sizeof *object) : NULL;
  if (!handle)
    return cudaErrorInvalidValue;
  if (!object || !rt_map_put(&context->objects, object, object)) {
    free(object);
    return cudaErrorMemoryAllocation;
  }
  *object = (rt_object){
      .kind = kind, .flags = flags, .priority = priority, .number = 2 + ++context->objects_made};
  *handle = object;
  return cudaSuccess;
}

rt_object *rt_find_object(const rt_context *context, const void *handle, int kind) {
  rt_object *object = rt_map_get(&context->objects, handle);
  return object && (int)object->kind == kind ? object : NULL;
}

bool rt_is_event(const rt_context *context, const void *handle) {
  return rt_find_object(context, handle, RT_EVENT) != NULL;
}

int rt_destroy_object(rt_context *context, void *handle, int kind) {
  rt_object *object = rt_find_object(context, handle, kind);
  if (!object)
    return cudaErrorInvalidResourceHandle;
  rt_map_remove(&context->objects, handle);
  free(object->attributes);
  free(object->clock);
  rt_pool_free(object->pool);
  free(object);
  return cudaSuccess;
}

void rt_destroy_objects(rt_context *context) {
  size_t cursor = 0;
  for (rt_object *object; (object = rt_map_next(&context->objects, &cursor));) {
    rt_map_remove(&context->objects, object);
    free(object->attributes);
    free(object->clock);
    rt_pool_free(object->pool);
    free(object);
  }
  free(context->default_attributes);
  context->default_attributes = NULL;
  context->default_pool = context->current_pool = NULL;
}

/* ---- Streams ---- */

/* Handles of the default stream are 0, 1 (the legacy one) and 2 (the thread's own). */
enum { THREADS_OWN = 2 };
enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

bool rt_is_stream(const rt_context *context, const void *handle) {
  return (uintptr_t)handle <= THREADS_OWN || rt_find_object(context, handle, RT_STREAM);
}

unsigned rt_stream_flags(const rt_context *context, const void *handle) {
  const rt_object *object = rt_find_object(context, handle, RT_STREAM);
  return object ? object->flags : 0;
}

/* cudaSuccess for a stream. */
static int check_stream(const rt_context *context, const void *handle) {
  return rt_is_stream(context, handle) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

API(cudaStreamCreateWithPriority, void **stream, unsigned flags, int priority) {
  RT_ENTER_DEVICE(context);
  if (flags > 1)
    return rt_leave(context, cudaErrorInvalidValue);
  if (priority > LEAST_PRIORITY)
    priority = LEAST_PRIORITY;
  if (priority < GREATEST_PRIORITY)
    priority = GREATEST_PRIORITY;
  return rt_leave(context, rt_make_object(context, RT_STREAM, flags, priority, stream));
}

API(cudaStreamCreateWithFlags, void **stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, LEAST_PRIORITY);
}

API(cudaStreamCreate, void **stream) {
  return cudaStreamCreateWithPriority(stream, 0, LEAST_PRIORITY);
}

API(cudaStreamDestroy, void *stream) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, rt_destroy_object(context, stream, RT_STREAM));
}

API(cudaStreamSynchronize, void *stream) {
  RT_SYNCHRONISE_WITH(context, stream);
  if (rt_is_capturing(context, stream))
    return rt_leave(context, rt_capture_break(context, stream));
  return rt_leave(context, check_stream(context, stream));
}
PER_THREAD(cudaStreamSynchronize, ptsz);

API(cudaStreamQuery, void *stream) {
  rt_context *context = rt_enter();
  if (rt_is_put_off(context, stream))
    return rt_leave(context, cudaErrorNotReady);
  rt_leave(context, cudaSuccess);
  return cudaStreamSynchronize(stream);
}
PER_THREAD(cudaStreamQuery, ptsz);

API(cudaStreamWaitEvent, void *stream, void *event, unsigned flags) {
  RT_ENTER_DEVICE(context);
  if (flags > 1)
    return rt_leave(context, cudaErrorInvalidValue);
  const rt_object *awaited = rt_find_object(context, event, RT_EVENT);
  if (!awaited)
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  int error = check_stream(context, stream), captured;
  if (error == cudaSuccess && rt_capture_wait(context, stream, event, flags & 1, &captured))
    error = captured;
  else if (error == cudaSuccess && (awaited->is_awaited || rt_is_put_off(context, stream)))
    error = rt_put_off(context, stream, &(rt_node){.kind = RT_NODE_WAIT, .event = event});
  else if (error == cudaSuccess)
    rt_order_wait(context, stream, awaited);
  return rt_leave(context, error);
}
PER_THREAD(cudaStreamWaitEvent, ptsz);

API(cudaStreamGetPriority, void *stream, int *priority) {
  RT_ENTER_DEVICE(context);
  const rt_object *object = rt_find_object(context, stream, RT_STREAM);
  int error = priority ? check_stream(context, stream) : cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *priority = object ? object->priority : 0;
  return rt_leave(context, error);
}
PER_THREAD(cudaStreamGetPriority, ptsz);

API(cudaStreamGetFlags, void *stream, unsigned *flags) {
  RT_ENTER_DEVICE(context);
  const rt_object *object = rt_find_object(context, stream, RT_STREAM);
  int error = flags ? check_stream(context, stream) : cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *flags = object ? object->flags : 0;
  return rt_leave(context, error);
}
PER_THREAD(cudaStreamGetFlags, ptsz);

API(cudaStreamGetId, void *stream, unsigned long long *number) {
  RT_ENTER_DEVICE(context);
  const rt_object *object = rt_find_object(context, stream, RT_STREAM);
  int error = number ? check_stream(context, stream) : cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *number = object ? object->number : (unsigned long long)(uintptr_t)stream;
  return rt_leave(context, error);
}
PER_THREAD(cudaStreamGetId, ptsz);

API(cudaStreamGetDevice, void *stream, int *device) {
  RT_ENTER_DEVICE(context);
  int error = device ? check_stream(context, stream) : cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *device = 0;
  return rt_leave(context, error);
}
PER_THREAD(cudaStreamGetDevice, ptsz);

/* ---- Functions of the program in a stream ---- */

/* Records a function in a capture, or for later. */
static int record_function(void *stream, void (*function)(void *), void *data) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, function ? rt_capture_function(context, stream, function, data)
                                    : cudaErrorInvalidValue);
}

static bool is_recorded(const void *stream) {
  rt_context *context = rt_enter();
  bool captured = rt_is_recorded(context, stream);
  rt_leave(context, cudaSuccess);
  return captured;
}

/* Checks a stream at a synchronisation; the lock is given back, so that the function may call. */
static int before_function(void *stream, const void *function) {
  RT_SYNCHRONISE_WITH(context, stream);
  if (rt_is_capturing(context, stream))
    return rt_leave(context, rt_capture_break(context, stream));
  return rt_leave(context, function ? check_stream(context, stream) : cudaErrorInvalidValue);
}

API(cudaLaunchHostFunc, void *stream, void (*function)(void *), void *data) {
  if (is_recorded(stream))
    return record_function(stream, function, data);
  int error = before_function(stream, (const void *)(uintptr_t)function);
  if (error == cudaSuccess)
    function(data);
  return error;
}
PER_THREAD(cudaLaunchHostFunc, ptsz);

/* A callback that is put off. */
typedef struct callback {
  void (*function)(void *stream, int status, void *data);
  void *stream, *data;
} callback;

static void call_back(void *given) {
  callback own = *(callback *)given;
  free(given);
  own.function(own.stream, cudaSuccess, own.data);
}

/* Puts a callback off, where that must be; a cudaError. */
static int put_off_callback(const callback *given, bool *is_put_off) {
  RT_ENTER_DEVICE(context);
  *is_put_off = given->function && rt_is_stream(context, given->stream) &&
                !rt_is_capturing(context, given->stream) && rt_is_put_off(context, given->stream);
  callback *own = *is_put_off ? malloc(sizeof *own) : NULL;
  if (!own)
    return rt_leave(context, *is_put_off ? cudaErrorMemoryAllocation : cudaSuccess);
  *own = *given;
  rt_node work = {.kind = RT_NODE_HOST, .host = {call_back, own}};
  return rt_leave(context, rt_put_off(context, given->stream, &work));
}

API(cudaStreamAddCallback, void *stream, void (*function)(void *stream, int status, void *data),
    void *data, unsigned flags) {
  bool is_put_off;
  int unready = put_off_callback(&(callback){function, stream, data}, &is_put_off);
  if (unready != cudaSuccess || is_put_off)
    return unready;
  int error = before_function(stream, (const void *)(uintptr_t)function);
  (void)flags;
  if (error == cudaSuccess)
    function(stream, cudaSuccess, data);
  return error;
}
PER_THREAD(cudaStreamAddCallback, ptsz);

/* ---- Events ---- */

enum { NO_TIMING = 2, EVENT_FLAGS = 7 };

API(cudaEventCreateWithFlags, void **event, unsigned flags) {
  RT_ENTER_DEVICE(context);
  if (flags & ~(unsigned)EVENT_FLAGS)
    return rt_leave(context, cudaErrorInvalidValue);
  return rt_leave(context, rt_make_object(context, RT_EVENT, flags, 0, event));
}

API(cudaEventCreate, void **event) { return cudaEventCreateWithFlags(event, 0); }

API(cudaEventDestroy, void *event) {
  RT_ENTER_DEVICE(context);
  rt_forget_captured(context, event);
  return rt_leave(context, rt_destroy_object(context, event, RT_EVENT));
}

int rt_record_event(rt_context *context, void *event) {
  rt_object *object = rt_find_object(context, event, RT_EVENT);
  if (!object)
    return cudaErrorInvalidResourceHandle;
  object->is_recorded = true;
  object->is_awaited = false;
  object->seconds = rt_seconds(context);
  return cudaSuccess;
}

API(cudaEventRecordWithFlags, void *event, void *stream, unsigned flags) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_event(context, event) || !rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (flags > 1)
    return rt_leave(context, cudaErrorInvalidValue);
  if (rt_is_capturing(context, stream))
    return rt_leave(context, rt_capture_record(context, stream, event, flags & 1));
  rt_forget_captured(context, event);
  if (rt_is_put_off(context, stream)) {
    rt_object *object = rt_find_object(context, event, RT_EVENT);
    object->is_recorded = object->is_awaited = true;
    rt_node work = {.kind = RT_NODE_RECORD, .event = event};
    return rt_leave(context, rt_put_off(context, stream, &work));
  }
  if (!context->is_busy) /* else the launch uses the order */
    rt_order_record(context, rt_find_object(context, event, RT_EVENT), stream);
  return rt_leave(context, rt_record_event(context, event));
}
PER_THREAD(cudaEventRecordWithFlags, ptsz);

API(cudaEventRecord, void *event, void *stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
PER_THREAD(cudaEventRecord, ptsz);

API(cudaEventSynchronize, void *event) {
  RT_ENTER_DEVICE(context);
  rt_await_event(context, event);
  rt_settle(context);
  if (context->sticky != cudaSuccess)
    return rt_leave(context, context->sticky);
  if (rt_map_get(&context->captured_events, event))
    return rt_leave(context, cudaErrorCapturedEvent);
  bool known = rt_find_object(context, event, RT_EVENT) != NULL;
  return rt_leave(context, known ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

API(cudaEventQuery, void *event) {
  rt_context *context = rt_enter();
  const rt_object *object = rt_find_object(context, event, RT_EVENT);
  bool is_awaited = object && object->is_awaited;
  rt_leave(context, cudaSuccess);
  return is_awaited ? cudaErrorNotReady : cudaEventSynchronize(event);
}

API(cudaEventElapsedTime, float *milliseconds, void *from, void *to) {
  RT_ENTER_DEVICE(context);
  rt_settle(context);
  if (context->sticky != cudaSuccess)
    return rt_leave(context, context->sticky);
  const rt_object *a = rt_find_object(context, from, RT_EVENT),
                  *b = rt_find_object(context, to, RT_EVENT);
  if (!milliseconds)
    return rt_leave(context, cudaErrorInvalidValue);
  if (!a || !b || ((a->flags | b->flags) & NO_TIMING) || !a->is_recorded || !b->is_recorded)
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (a->is_awaited || b->is_awaited)
    return rt_leave(context, cudaErrorNotReady);
  *milliseconds = (float)((b->seconds - a->seconds) * 1e3);
  return rt_leave(context, cudaSuccess);
}

#if CUDART_MAJOR < 13
extern __typeof__(cudaEventElapsedTime) cudaEventElapsedTime_v2
    __attribute__((alias("cudaEventElapsedTime")));
#endif

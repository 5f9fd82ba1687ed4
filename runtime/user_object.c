/* User objects: what a program hands to graphs that use it. Each is counted; when nobody refers to
 * it any more, the function that the program gave ends it. */
#include "graph.h"

#include <limits.h>
#include <stdlib.h>

struct rt_user_object {
  rt_thing thing;
  unsigned count;
  void (*end)(void *data);
  void *data;
};

/* Flags. */
enum { NO_DESTRUCTOR_SYNC = 1, MOVE = 1 };

static void release(rt_context *context, rt_user_object *object, unsigned count) {
  object->count -= count;
  if (object->count > 0)
    return;
  rt_map_remove(&context->graphs, object);
  object->end(object->data); /* which may not call CUDA */
  free(object);
}

/* Adds references of a graph; false where memory is exhausted. */
static bool refer(rt_graph *graph, rt_user_object *object, unsigned count) {
  rt_user_reference *reference = graph->references;
  while (reference && reference->object != object)
    reference = reference->next;
  if (!reference) {
    reference = calloc(1, sizeof *reference);
    if (!reference)
      return false;
    *reference = (rt_user_reference){graph->references, object, 0};
    graph->references = reference;
  }
  reference->count += count;
  return true;
}

void rt_graph_release_all(rt_context *context, rt_graph *graph) {
  for (rt_user_reference *at = graph->references, *next; at; at = next) {
    next = at->next;
    release(context, at->object, at->count);
    free(at);
  }
  graph->references = NULL;
}

bool rt_graph_retain_all(const rt_graph *from, rt_graph *to) {
  for (const rt_user_reference *at = from->references; at; at = at->next) {
    if (!refer(to, at->object, at->count))
      return false;
    at->object->count += at->count;
  }
  return true;
}

API(cudaUserObjectCreate, void **object, void *data, void (*end)(void *), unsigned count,
    unsigned flags) {
  RT_ENTER_DEVICE(context);
  if (!object || !end || count == 0 || count > INT_MAX || flags != NO_DESTRUCTOR_SYNC)
    return rt_leave(context, cudaErrorInvalidValue);
  rt_user_object *made = malloc(sizeof *made);
  if (!made || !rt_map_put(&context->graphs, made, made)) {
    free(made);
    return rt_leave(context, cudaErrorMemoryAllocation);
  }
  *made = (rt_user_object){RT_USER_OBJECT, count, end, data};
  *object = made;
  return rt_leave(context, cudaSuccess);
}

API(cudaUserObjectRetain, void *handle, unsigned count) {
  RT_ENTER_DEVICE(context);
  rt_user_object *object = rt_graph_find(context, handle, RT_USER_OBJECT);
  if (!object || count == 0 || count > INT_MAX - object->count)
    return rt_leave(context, cudaErrorInvalidValue);
  object->count += count;
  return rt_leave(context, cudaSuccess);
}

API(cudaUserObjectRelease, void *handle, unsigned count) {
  RT_ENTER_DEVICE(context);
  rt_user_object *object = rt_graph_find(context, handle, RT_USER_OBJECT);
  if (!object || count == 0 || count > object->count)
    return rt_leave(context, cudaErrorInvalidValue);
  release(context, object, count);
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphRetainUserObject, void *graph_handle, void *handle, unsigned count, unsigned flags) {
  RT_ENTER_DEVICE(context);
  rt_user_object *object = rt_graph_find(context, handle, RT_USER_OBJECT);
  rt_graph *graph = rt_graph_find(context, graph_handle, RT_GRAPH);
  if (!object || !graph || count == 0 || count > INT_MAX - object->count || flags > MOVE ||
      (flags == MOVE && count > object->count))
    return rt_leave(context, cudaErrorInvalidValue);
  if (!refer(graph, object, count))
    return rt_leave(context, cudaErrorMemoryAllocation);
  if (flags != MOVE)
    object->count += count;
  return rt_leave(context, cudaSuccess);
}

API(cudaGraphReleaseUserObject, void *graph_handle, void *handle, unsigned count) {
  RT_ENTER_DEVICE(context);
  rt_user_object *object = rt_graph_find(context, handle, RT_USER_OBJECT);
  rt_graph *graph = rt_graph_find(context, graph_handle, RT_GRAPH);
  rt_user_reference **link = graph ? &graph->references : NULL;
  while (link && *link && (*link)->object != object)
    link = &(*link)->next;
  if (!object || !link || !*link || count == 0 || count > (*link)->count)
    return rt_leave(context, cudaErrorInvalidValue);
  (*link)->count -= count;
  if ((*link)->count == 0) {
    rt_user_reference *unused = *link;
    *link = unused->next;
    free(unused);
  }
  release(context, object, count);
  return rt_leave(context, cudaSuccess);
}

/* Capturing: what a program does in a stream is recorded as nodes of a graph instead of being done.
 * A capture begins in one stream; others join it when they wait for an event that was recorded in
 * it, and must have been waited for when it ends. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct capture {
  rt_graph *graph;
  void *origin; /* the stream in which it began */
  uint64_t number;
  bool is_broken, owns_graph;
  int mode;
  pthread_t thread;
} capture;

/* A place in a capture: the nodes that what follows depends on. Streams and events have one. */
typedef struct place {
  const void *key; /* the stream or event */
  capture *capture;
  rt_node **node;
  size_t count;
} place;

enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED };

static place *place_of(const rt_context *context, const void *stream) {
  return rt_map_get(&context->capturing, stream);
}

bool rt_is_capturing(const rt_context *context, const void *stream) {
  return place_of(context, stream) != NULL;
}

/* ---- Places ---- */

static bool set_nodes(place *at, rt_node *const *node, size_t count) {
  rt_node **made = malloc((count + 1) * sizeof(rt_node *));
  if (!made)
    return false;
  if (count)
    memcpy(made, node, count * sizeof(rt_node *));
  free(at->node);
  at->node = made;
  at->count = count;
  return true;
}

/* Adds nodes that are not there yet. */
static bool add_nodes(place *at, rt_node *const *node, size_t count) {
  rt_node **grown = realloc(at->node, (at->count + count + 1) * sizeof(rt_node *));
  if (!grown)
    return false;
  at->node = grown;
  for (size_t i = 0; i < count; i++) {
    bool known = false;
    for (size_t k = 0; k < at->count; k++)
      known |= at->node[k] == node[i];
    if (!known)
      at->node[at->count++] = node[i];
  }
  return true;
}

/* A new place in a map; NULL where memory is exhausted. */
static place *make_place(rt_map *map, const void *key, capture *of, rt_node *const *node,
                         size_t count) {
  place *made = calloc(1, sizeof *made);
  if (!made || !set_nodes(made, node, count) || !rt_map_put(map, key, made)) {
    free(made ? made->node : NULL);
    free(made);
    return NULL;
  }
  made->key = key;
  made->capture = of;
  return made;
}

static void free_place(rt_map *map, const void *key) {
  place *at = rt_map_get(map, key);
  if (!at)
    return;
  rt_map_remove(map, key);
  free(at->node);
  free(at);
}

/* Frees the places of a capture in a map. */
static void free_places(rt_map *map, const capture *of) {
  size_t cursor = 0;
  for (place *at; (at = rt_map_next(map, &cursor));)
    if (at->capture == of) {
      rt_map_remove(map, at->key);
      free(at->node);
      free(at);
    }
}

void rt_forget_captured(rt_context *context, const void *event) {
  free_place(&context->captured_events, event);
}

int rt_capture_break(rt_context *context, const void *stream) {
  place *at = place_of(context, stream);
  if (at)
    at->capture->is_broken = true;
  return cudaErrorStreamCaptureUnsupported;
}

/* ---- Nodes ---- */

/* Adds a node behind the place of a stream; its work is freed where that fails. A stream that has
 * none does not capture: the work is for later. */
static int record(rt_context *context, void *stream, rt_node *work) {
  place *at = place_of(context, stream);
  rt_node *node;
  if (!at)
    return rt_put_off(context, stream, work);
  int error = at->capture->is_broken ? (int)cudaErrorStreamCaptureInvalidated
                                     : rt_graph_add(context, at->capture->graph, work, at->node,
                                                    NULL, at->count, &node);
  if (error == cudaSuccess && !set_nodes(at, &node, 1))
    error = cudaErrorMemoryAllocation;
  else if (error != cudaSuccess)
    rt_work_free(context, work);
  if (error != cudaSuccess)
    at->capture->is_broken = true;
  return error;
}

int rt_capture_launch(rt_context *context, const void *host, const rt_configuration *how,
                      void **arguments, bool cooperative) {
  rt_node work;
  int error = rt_work_kernel(context, host, how->grid, how->block,
                             (unsigned)how->dynamic_shared_bytes, arguments, cooperative, &work);
  work.kernel.cluster = how->cluster;
  return error == cudaSuccess ? record(context, how->stream, &work) : error;
}

int rt_capture_copy(rt_context *context, void *stream, const rt_copy_3d *how) {
  if (!how)
    return cudaErrorInvalidValue;
  rt_node work = {.kind = RT_NODE_COPY, .copy = *how};
  return record(context, stream, &work);
}

int rt_capture_row(rt_context *context, void *stream, void *to, const void *from, size_t bytes,
                   int direction) {
  rt_copy_3d row = rt_work_row(to, from, bytes, direction);
  return rt_capture_copy(context, stream, &row);
}

int rt_capture_fill(rt_context *context, void *stream, rt_side to, int value, rt_extent box) {
  int error = cudaSuccess;
  for (size_t z = 0; z < box.depth && error == cudaSuccess; z++) {
    rt_node work = {.kind = RT_NODE_FILL,
                    .fill = {to.address + z * to.slice_bytes, to.pitch_bytes, (unsigned char)value,
                             1, box.width, box.height}};
    error = record(context, stream, &work);
  }
  return error;
}

int rt_capture_function(rt_context *context, void *stream, void (*function)(void *), void *data) {
  rt_node work = {.kind = RT_NODE_HOST, .host = {function, data}};
  return record(context, stream, &work);
}

int rt_capture_allocate(rt_context *context, void *stream, void **address, size_t bytes) {
  rt_node work;
  if (!address)
    return cudaErrorInvalidValue;
  int error = rt_work_memory(context, bytes, &work);
  if (error != cudaSuccess)
    return error;
  *address = (void *)(uintptr_t)work.memory->address;
  return record(context, stream, &work);
}

int rt_capture_free(rt_context *context, void *stream, void *address) {
  rt_node work = {.kind = RT_NODE_FREE, .freed = address};
  return record(context, stream, &work);
}

/* ---- Events ---- */

int rt_capture_record(rt_context *context, void *stream, void *event, bool is_node) {
  place *at = place_of(context, stream);
  rt_node work = {.kind = RT_NODE_RECORD, .event = event};
  if (at->capture->is_broken)
    return cudaErrorStreamCaptureInvalidated;
  if (is_node)
    return record(context, stream, &work);
  rt_forget_captured(context, event);
  return make_place(&context->captured_events, event, at->capture, at->node, at->count)
             ? cudaSuccess
             : cudaErrorMemoryAllocation;
}

bool rt_capture_wait(rt_context *context, void *stream, void *event, bool is_node, int *error) {
  place *at = place_of(context, stream), *from = rt_map_get(&context->captured_events, event);
  rt_node work = {.kind = RT_NODE_WAIT, .event = event};
  *error = cudaSuccess;
  if (!at && !from)
    return false;
  if (at && is_node) {
    *error = record(context, stream, &work);
  } else if (at && !from) {
    at->capture->is_broken = true;
    *error = cudaErrorStreamCaptureIsolation;
  } else if (from->capture->is_broken) {
    *error = cudaErrorStreamCaptureInvalidated;
  } else if (at && at->capture != from->capture) {
    *error = cudaErrorStreamCaptureMerge;
  } else if ((uintptr_t)stream < 2) {
    from->capture->is_broken = true;
    *error = cudaErrorStreamCaptureImplicit;
  } else if (!(at ? add_nodes(at, from->node, from->count)
                  : make_place(&context->capturing, stream, from->capture, from->node,
                               from->count) != NULL)) {
    *error = cudaErrorMemoryAllocation;
  }
  return true;
}

/* ---- Beginning and ending ---- */

static int begin(rt_context *context, void *stream, rt_graph *graph, rt_node *const *from,
                 size_t count, int mode) {
  if (!rt_is_stream(context, stream))
    return cudaErrorInvalidResourceHandle;
  if (mode < MODE_GLOBAL || mode > MODE_RELAXED)
    return cudaErrorInvalidValue;
  if ((uintptr_t)stream < 2)
    return cudaErrorStreamCaptureUnsupported;
  if (place_of(context, stream))
    return cudaErrorIllegalState;
  capture *made = calloc(1, sizeof *made);
  if (!made)
    return cudaErrorMemoryAllocation;
  *made = (capture){.graph = graph ? graph : rt_graph_create(context),
                    .origin = stream,
                    .number = ++context->captures_made,
                    .owns_graph = !graph,
                    .mode = mode,
                    .thread = pthread_self()};
  if (made->graph && make_place(&context->capturing, stream, made, from, count))
    return cudaSuccess;
  if (made->owns_graph)
    rt_graph_destroy(context, made->graph);
  free(made);
  return cudaErrorMemoryAllocation;
}

API(cudaStreamBeginCapture, void *stream, int mode) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, begin(context, stream, NULL, NULL, 0, mode));
}
PER_THREAD(cudaStreamBeginCapture, ptsz);

API(cudaStreamBeginCaptureToGraph, void *stream, void *graph, rt_node *const *from,
    const rt_edge_data *data, size_t count, int mode) {
  RT_ENTER_DEVICE(context);
  rt_graph *to = rt_graph_find(context, graph, RT_GRAPH);
  (void)data;
  bool fine = to && (from || count == 0);
  for (size_t i = 0; fine && i < count; i++) {
    const rt_node *node = rt_graph_find(context, from[i], RT_NODE);
    fine = node && node->graph == to;
  }
  return rt_leave(context, fine ? begin(context, stream, to, from, count, mode)
                                : (int)cudaErrorInvalidValue);
}
PER_THREAD(cudaStreamBeginCaptureToGraph, ptsz);

/* Marks a node and all that it depends on. */
static void mark(rt_node *node) {
  if (node->is_placed)
    return;
  node->is_placed = true;
  for (unsigned i = 0; i < node->edges; i++)
    mark(node->edge[i].from);
}

/* Whether the work of all streams of a capture comes before where its first stream is. */
static bool is_joined(const rt_context *context, const capture *of) {
  for (rt_node *node = of->graph->first; node; node = node->next)
    node->is_placed = false;
  const place *origin = place_of(context, of->origin);
  for (size_t i = 0; i < origin->count; i++)
    mark(origin->node[i]);
  size_t cursor = 0;
  for (place *at; (at = rt_map_next(&context->capturing, &cursor));)
    for (size_t i = 0; at->capture == of && i < at->count; i++)
      if (!at->node[i]->is_placed)
        return false;
  return true;
}

/* Ends a capture; its graph, or NULL with an error. */
static int end(rt_context *context, void *stream, rt_graph **graph) {
  const place *at = place_of(context, stream);
  *graph = NULL;
  if (!at)
    return cudaErrorIllegalState;
  capture *of = at->capture;
  if (of->origin != stream) {
    of->is_broken = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  if (of->mode != MODE_RELAXED && !pthread_equal(of->thread, pthread_self()))
    return cudaErrorStreamCaptureWrongThread;
  int error = of->is_broken            ? (int)cudaErrorStreamCaptureInvalidated
              : is_joined(context, of) ? (int)cudaSuccess
                                       : (int)cudaErrorStreamCaptureUnjoined;
  free_places(&context->capturing, of);
  free_places(&context->captured_events, of);
  if (error == cudaSuccess)
    *graph = of->graph;
  else if (of->owns_graph)
    rt_graph_destroy(context, of->graph);
  free(of);
  return error;
}

/* Where the program gave the graph, it need not ask for it again. */
API(cudaStreamEndCapture, void *stream, rt_graph **graph) {
  RT_ENTER_DEVICE(context);
  rt_graph *known;
  const place *at = place_of(context, stream);
  if (!graph && (!at || at->capture->owns_graph))
    return rt_leave(context, cudaErrorInvalidValue);
  return rt_leave(context, end(context, stream, graph ? graph : &known));
}
PER_THREAD(cudaStreamEndCapture, ptsz);

/* ---- Questions ---- */

/* 0: no, 1: yes, 2: yes, but something has broken it. */
static int status_of(const place *at) { return !at ? 0 : at->capture->is_broken ? 2 : 1; }

API(cudaStreamIsCapturing, void *stream, int *status) {
  RT_ENTER_DEVICE(context);
  if (!status || !rt_is_stream(context, stream))
    return rt_leave(context, status ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  *status = status_of(place_of(context, stream));
  return rt_leave(context, cudaSuccess);
}
PER_THREAD(cudaStreamIsCapturing, ptsz);

API(cudaThreadExchangeStreamCaptureMode, int *mode) {
  RT_ENTER(context);
  if (!mode || *mode < MODE_GLOBAL || *mode > MODE_RELAXED)
    return rt_leave(context, cudaErrorInvalidValue);
  int *own = rt_capture_mode(), old = *own;
  *own = *mode;
  *mode = old;
  return rt_leave(context, cudaSuccess);
}

/* What is known of the capture of a stream; all but status may be NULL. */
static int info(void *stream, int *status, unsigned long long *number, rt_graph **graph,
                rt_node *const **node, const rt_edge_data **data, size_t *count) {
  static const rt_edge_data no_data[1];
  RT_ENTER_DEVICE(context);
  if (!status || !rt_is_stream(context, stream))
    return rt_leave(context, status ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  const place *at = place_of(context, stream);
  *status = status_of(at);
  if (number)
    *number = at ? at->capture->number : 0;
  if (graph)
    *graph = at ? at->capture->graph : NULL;
  if (node)
    *node = at ? at->node : NULL;
  if (data)
    *data = at && at->count <= 1 ? no_data : NULL;
  if (count)
    *count = at ? at->count : 0;
  return rt_leave(context, cudaSuccess);
}

/* Sets (flags 1) or adds to what the next work of a capturing stream depends on. */
static int update_dependencies(void *stream, rt_node *const *node, size_t count, unsigned flags) {
  RT_ENTER_DEVICE(context);
  place *at = place_of(context, stream);
  if (!at)
    return rt_leave(context, cudaErrorIllegalState);
  bool fine = flags <= 1 && (node || count == 0);
  for (size_t i = 0; fine && i < count; i++) {
    const rt_node *found = rt_graph_find(context, node[i], RT_NODE);
    fine = found && found->graph == at->capture->graph;
  }
  if (!fine)
    return rt_leave(context, cudaErrorInvalidValue);
  fine = flags == 1 ? set_nodes(at, node, count) : add_nodes(at, node, count);
  return rt_leave(context, fine ? cudaSuccess : cudaErrorMemoryAllocation);
}

#if CUDART_MAJOR >= 13
API(cudaStreamGetCaptureInfo, void *stream, int *status, unsigned long long *number,
    rt_graph **graph, rt_node *const **node, const rt_edge_data **data, size_t *count) {
  return info(stream, status, number, graph, node, data, count);
}
API(cudaStreamUpdateCaptureDependencies, void *stream, rt_node *const *node,
    const rt_edge_data *data, size_t count, unsigned flags) {
  (void)data;
  return update_dependencies(stream, node, count, flags);
}
#else
API(cudaStreamGetCaptureInfo, void *stream, int *status, unsigned long long *number) {
  return info(stream, status, number, NULL, NULL, NULL, NULL);
}
API(cudaStreamGetCaptureInfo_v2, void *stream, int *status, unsigned long long *number,
    rt_graph **graph, rt_node *const **node, size_t *count) {
  return info(stream, status, number, graph, node, NULL, count);
}
PER_THREAD(cudaStreamGetCaptureInfo_v2, ptsz);
API(cudaStreamGetCaptureInfo_v3, void *stream, int *status, unsigned long long *number,
    rt_graph **graph, rt_node *const **node, const rt_edge_data **data, size_t *count) {
  return info(stream, status, number, graph, node, data, count);
}
PER_THREAD(cudaStreamGetCaptureInfo_v3, ptsz);
API(cudaStreamUpdateCaptureDependencies, void *stream, rt_node *const *node, size_t count,
    unsigned flags) {
  return update_dependencies(stream, node, count, flags);
}
API(cudaStreamUpdateCaptureDependencies_v2, void *stream, rt_node *const *node,
    const rt_edge_data *data, size_t count, unsigned flags) {
  (void)data;
  return update_dependencies(stream, node, count, flags);
}
PER_THREAD(cudaStreamUpdateCaptureDependencies_v2, ptsz);
#endif
PER_THREAD(cudaStreamGetCaptureInfo, ptsz);
PER_THREAD(cudaStreamUpdateCaptureDependencies, ptsz);

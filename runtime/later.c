/* Work behind a launch that goes on though its call has returned (beside.c): as on a GPU, what a
 * program asks for meanwhile is kept, in the order of the calls, and done when the launch has
 * ended, by the thread that ran it. Only what is asked for in streams that neither the launch nor
 * anything that is kept comes before is done at once, so that it may be what the kernel waits for:
 * copies, fills and launches of other kernels. */
#include "graph.h"
#include "order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* When a line says what is waited for, and when a launch is given up, as parts of --hint-after. */
enum { SAID_PART = 6, GIVEN_UP_PART = 2, GIVEN_UP_SECONDS = 30 };
enum { LEGACY = 1, NON_BLOCKING = 1 }; /* handles up to LEGACY stand for the default stream */

/* ---- Who waits for whom ---- */

/* Whether work in two streams is in no order by itself. */
static bool are_apart(const rt_context *context, const void *a, const void *b) {
  if (a == RT_ALL_STREAMS || a == b)
    return false;
  if ((uintptr_t)a <= LEGACY)
    return (rt_stream_flags(context, b) & NON_BLOCKING) != 0;
  return (uintptr_t)b > LEGACY || (rt_stream_flags(context, a) & NON_BLOCKING) != 0;
}

/* Whether the calling thread is the one that does what was put off. */
static bool is_own(const rt_context *context) {
  return pthread_equal(context->busy_thread, pthread_self()) != 0;
}

bool rt_is_put_off(const rt_context *context, const void *stream) {
  if (!context->is_busy || is_own(context))
    return false;
  bool is_apart = are_apart(context, stream, context->busy_stream);
  for (const rt_node *node = context->later; node && is_apart; node = node->next)
    is_apart = are_apart(context, stream, node->stream);
  return !is_apart;
}

/* Whether the kernels of a module may launch others, for which there is one place. */
static bool has_launches(const rt_module *module) {
  const bf_ptx_module *ptx = module->ptx;
  for (const bf_ptx_item *item = ptx ? ptx->first : NULL; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && strstr(item->function->name, "cudaLaunchDevice"))
      return true;
  return false;
}

/* Whether a kernel may run beside another: traces, kept accesses, the order of launches and the
 * clock of a simulated GPU are made for one launch after the other. */
static bool may_run_beside(const rt_context *context, const rt_function *function) {
  const bf_run_settings *settings = &context->settings;
  return function && !function->is_running && !context->gpu && !settings->trace &&
         !settings->accesses && !has_launches(function->module);
}

bool rt_is_launch_put_off(const rt_context *context, const void *stream, const void *host) {
  return context->is_busy && !is_own(context) &&
         (rt_is_put_off(context, stream) ||
          !may_run_beside(context, rt_find_function(context, host)));
}

bool rt_is_recorded(const rt_context *context, const void *stream) {
  rt_order_other(context);
  return rt_is_capturing(context, stream) || rt_is_put_off(context, stream);
}

/* ---- Waiting ---- */

/* Waits for news of the launch, a second at most. */
static void wait_a_second(rt_context *context) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  pthread_cond_timedwait(&context->idle, &context->lock, &until);
}

/* Says something of the kernel that runs, and of seconds. */
static void say_kernel(const rt_context *context, const char *before, double seconds,
                       const char *between, const char *after) {
  bf_text name = {0};
  bf_ptx_readable_name(context->busy_kernel, &name);
  rt_say(context, "the program has %s %.0f s %s kernel %s%s", before, seconds, between,
         name.data ? name.data : context->busy_kernel, after);
  bf_text_free(&name);
}

/* Says once that the program waits for a kernel that may wait for the program. */
static void say_waiting(rt_context *context, double seconds) {
  double hint = (double)context->settings.hint_seconds;
  if (context->is_awaited_said || hint <= 0 || seconds < hint / SAID_PART)
    return;
  context->is_awaited_said = true;
  say_kernel(context, "waited", seconds, "for",
             ", which looks at memory again and again: if it waits for what the program does only "
             "later, or for another kernel, it never ends; interrupted (Ctrl-C, timeout), exec "
             "gives the table so far");
}

void rt_await(rt_context *context, const void *stream) {
  for (double begun = bf_seconds(); rt_is_put_off(context, stream);) {
    wait_a_second(context);
    say_waiting(context, bf_seconds() - begun);
  }
}

void rt_await_event(rt_context *context, const void *event) {
  double begun = bf_seconds();
  for (const rt_object *object;
       (object = rt_map_get(&context->objects, event)) && object->is_awaited && !is_own(context);) {
    wait_a_second(context);
    say_waiting(context, bf_seconds() - begun);
  }
}

void rt_await_end(rt_context *context) {
  double begun = bf_seconds();
  uint64_t done = context->blocks_done;
  double limit = context->settings.hint_seconds
                     ? (double)context->settings.hint_seconds / GIVEN_UP_PART
                     : GIVEN_UP_SECONDS;
  while (rt_is_put_off(context, RT_ALL_STREAMS)) {
    wait_a_second(context);
    if (done != context->blocks_done)
      begun = bf_seconds();
    done = context->blocks_done;
    if (bf_seconds() - begun < limit || context->is_given_up)
      continue;
    say_kernel(context, "ended, and for", limit, "no block of",
               " has: it is given up, as if it waited for the program");
    __atomic_store_n(&context->is_given_up, true, __ATOMIC_RELAXED);
  }
}

/* ---- Putting off ---- */

/* Whether a side of a copy is memory that the program may change or read behind the call, because
 * CUDA does not know it. */
static bool is_pageable(const rt_context *context, const void *array, const rt_pitched *memory) {
  bf_emu_range range;
  return !array && !bf_emu_find(context->emu, (uint64_t)(uintptr_t)memory->pointer, &range);
}

/* Copies what a copy of pageable memory of the host reads; *kept is to be freed behind it. */
static bool keep_source(rt_copy_3d *how, void **kept) {
  size_t slice = how->source.pitch * how->source.height, bytes;
  const rt_position *at = &how->source_position;
  if (!how->extent.height || !how->extent.depth)
    return true;
  bytes = (at->z + how->extent.depth - 1) * slice +
          (at->y + how->extent.height - 1) * how->source.pitch + at->x + how->extent.width;
  if (!(*kept = malloc(bytes ? bytes : 1)))
    return false;
  memcpy(*kept, how->source.pointer, bytes);
  how->source.pointer = *kept;
  return true;
}

int rt_put_off(rt_context *context, const void *stream, const rt_node *work) {
  bool is_copy = work->kind == RT_NODE_COPY;
  if (is_copy && is_pageable(context, work->copy.target_array, &work->copy.target)) {
    rt_await(context, stream); /* such copies are done when their call returns, as on a GPU */
    return rt_copy(context, &work->copy);
  }
  rt_node *node = malloc(sizeof *node);
  if (!node)
    return cudaErrorMemoryAllocation;
  *node = *work;
  node->stream = stream;
  node->kept = NULL;
  node->next = NULL;
  if (is_copy && is_pageable(context, node->copy.source_array, &node->copy.source) &&
      !keep_source(&node->copy, &node->kept)) {
    free(node);
    return cudaErrorMemoryAllocation;
  }
  if (!context->later)
    context->last = &context->later;
  *context->last = node;
  context->last = &node->next;
  return cudaSuccess;
}

/* ---- Doing ---- */

static void *run(void *given) {
  rt_context *context = given;
  pthread_mutex_lock(&context->lock);
  rt_do_later(context);
  pthread_mutex_unlock(&context->lock);
  return NULL;
}

int rt_wait_beside(rt_context *context, const void *stream, const rt_node *work) {
  int error = rt_put_off(context, stream, work);
  if (error != cudaSuccess || context->is_busy)
    return error;
  context->busy_stream = stream;
  context->busy_kernel = "that waits for a value";
  if (pthread_create(&context->busy_thread, NULL, run, context) != 0)
    return cudaErrorMemoryAllocation;
  pthread_detach(context->busy_thread);
  __atomic_store_n(&context->is_busy, true, __ATOMIC_RELEASE);
  return cudaSuccess;
}

void rt_do_later(rt_context *context) {
  for (rt_node *node; (node = context->later);) {
    context->later = node->next;
    context->busy_stream = node->stream;
    int error = node->kind == RT_NODE_RECORD && !rt_is_event(context, node->event)
                    ? cudaSuccess /* destroyed meanwhile */
                    : rt_node_run(context, node);
    if (error != cudaSuccess && context->pending == cudaSuccess)
      context->pending = error;
    free(node->kept);
    rt_work_free(context, node);
    free(node);
    pthread_cond_broadcast(&context->idle);
  }
  while (context->besides)
    wait_a_second(context);
  __atomic_store_n(&context->is_busy, false, __ATOMIC_RELEASE);
  pthread_cond_broadcast(&context->idle);
}

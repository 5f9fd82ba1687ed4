/* Kernels that wait for the host: a launch runs inside the call that asks for it, but one whose
 * kernel may poll memory runs in a thread of its own. Where it has not ended after a second, its
 * call returns, so that the program can write what the kernel waits for. From then on calls of the
 * runtime wait for the end of the launch, but for copies in other streams and questions whether a
 * stream is idle. */
#include "context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_SECONDS = 1 };

/* A launch in its own thread. Whoever of the two threads comes last frees it. */
typedef struct beside {
  rt_work work;
  pthread_mutex_t lock;
  pthread_cond_t ended;
  bool is_ended, is_left; /* the launch has ended; its call has returned before */
  int error;
} beside;

/* Whether an instruction loads what others may change meanwhile. */
static bool is_look(const bf_ptx_instruction *load) {
  if (load->opcode != BF_PTX_OP_LD || load->space == BF_PTX_SPACE_SHARED ||
      load->space == BF_PTX_SPACE_LOCAL)
    return false;
  return bf_ptx_has(load, "volatile") || bf_ptx_has(load, "acquire") ||
         bf_ptx_has(load, "relaxed") || bf_ptx_has(load, "mmio");
}

/* Whether a function has such a load between a label and a branch back to it; where others call it,
 * they may have the branch. */
static bool is_watching(const bf_ptx_function *function) {
  uint32_t look = 0, looks = 0; /* the last of them, and how many */
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *one = function->instruction[i];
    if (is_look(one)) {
      look = i;
      looks++;
    }
    bool goes_back = one->opcode == BF_PTX_OP_BRA && one->operand[0].kind == BF_PTX_SYMBOL &&
                     one->operand[0].symbol->instruction <= look;
    if (looks && (goes_back || !function->is_entry))
      return true;
  }
  return false;
}

/* The kernel itself, or a function that it may call. */
bool rt_may_wait(rt_function *function) {
  enum { UNKNOWN, NO, YES };
  if (function->may_wait != UNKNOWN)
    return function->may_wait == YES;
  function->may_wait = NO;
  const bf_ptx_module *ptx = function->module->ptx;
  for (const bf_ptx_item *item = ptx ? ptx->first : NULL; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && is_watching(item->function) &&
        (!item->function->is_entry || strcmp(item->function->name, function->name) == 0))
      function->may_wait = YES;
  return function->may_wait == YES;
}

bool rt_is_beside(const rt_context *context, const void *stream) {
  enum { NAMED = 2 }; /* handles up to here stand for default streams */
  return context->is_busy && (uintptr_t)stream > NAMED && (uintptr_t)context->busy_stream > NAMED &&
         stream != context->busy_stream;
}

static void close_beside(beside *own) {
  pthread_mutex_destroy(&own->lock);
  pthread_cond_destroy(&own->ended);
  free(own->work.parameters);
  free(own);
}

/* Calls of the process may go on, and events that were recorded behind the launch have happened. */
static void end_busy(rt_context *context) {
  size_t cursor = 0;
  pthread_mutex_lock(&context->lock);
  context->is_busy = false;
  for (rt_object *object; (object = rt_map_next(&context->objects, &cursor));)
    if (object->is_awaited) {
      object->is_awaited = false;
      object->seconds = rt_seconds(context);
    }
  pthread_cond_broadcast(&context->idle);
  pthread_mutex_unlock(&context->lock);
}

/* The thread: nobody else uses the context while it runs. */
static void *run(void *given) {
  beside *own = given;
  const rt_work *work = &own->work;
  rt_context *context = work->context;
  own->error =
      rt_start(context, work->function, &work->how, work->parameters, work->cooperative, 0);
  pthread_mutex_lock(&own->lock);
  own->is_ended = true;
  pthread_cond_signal(&own->ended);
  bool is_left = own->is_left;
  pthread_mutex_unlock(&own->lock);
  if (is_left) {
    /* An error that no call can return is one of the next synchronisation. */
    if (own->error != cudaSuccess && context->pending == cudaSuccess)
      context->pending = own->error;
    end_busy(context);
    close_beside(own);
  }
  return NULL;
}

/* Waits for the end, but not for long; then the launch is left. Returns its error. */
static int wait_a_while(beside *own) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE_SECONDS;
  pthread_mutex_lock(&own->lock);
  while (!own->is_ended && !own->is_left)
    own->is_left =
        pthread_cond_timedwait(&own->ended, &own->lock, &until) == ETIMEDOUT && !own->is_ended;
  bool is_left = own->is_left;
  int error = is_left ? cudaSuccess : own->error;
  if (is_left) {
    __atomic_store_n(&own->work.context->is_meddled, false, __ATOMIC_RELAXED);
    __atomic_store_n(&own->work.context->is_busy, true, __ATOMIC_RELEASE);
    own->work.context->busy_stream = own->work.how.stream;
  }
  pthread_mutex_unlock(&own->lock);
  return error;
}

int rt_run_beside(const rt_work *work) {
  beside *own = calloc(1, sizeof *own);
  pthread_t thread;
  if (own)
    *own = (beside){
        .work = *work, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
  if (!own || pthread_create(&thread, NULL, run, own) != 0) {
    int error =
        rt_start(work->context, work->function, &work->how, work->parameters, work->cooperative, 0);
    free(work->parameters);
    free(own);
    return error;
  }
  int error = wait_a_while(own);
  /* is_busy is true where it was left, and cannot end before this call gives the lock back. */
  if (work->context->is_busy) {
    pthread_detach(thread);
    return error;
  }
  pthread_join(thread, NULL);
  close_beside(own);
  return error;
}

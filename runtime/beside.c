/* Kernels that wait for the host: a launch runs inside the call that asks for it, but one whose
 * kernel may poll memory runs in a thread of its own. Where it has not ended after a second, its
 * call returns, so that the program can write what the kernel waits for. What calls ask for from
 * then on comes behind the launch (later.c), but for copies in other streams. */
#include "context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long a call waits for its launch: the first of a kernel, and those that follow one whose call
 * has returned before. */
enum { PATIENCE_NS = 999999999, PATIENCE_AGAIN_NS = 2000000 };

/* A launch in its own thread. Whoever of the two threads comes last frees it. */
typedef struct beside {
  rt_work work;
  pthread_mutex_t lock;
  pthread_cond_t ended;
  bool is_ended, is_left; /* the launch has ended; its call has returned before */
  int error;
} beside;

/* Whether an instruction looks at what others may change meanwhile: a load, an atomic operation, or
 * what is put behind a plain load in a loop that waits, a sleep or a fence of the system. */
static bool is_look(const bf_ptx_instruction *one) {
  if (one->opcode == BF_PTX_OP_NANOSLEEP)
    return true;
  if (one->opcode == BF_PTX_OP_MEMBAR || one->opcode == BF_PTX_OP_FENCE)
    return bf_ptx_has(one, "sys");
  if (one->space == BF_PTX_SPACE_SHARED || one->space == BF_PTX_SPACE_LOCAL)
    return false;
  if (one->opcode == BF_PTX_OP_ATOM) /* one that sums up waits for nobody */
    return bf_ptx_has(one, "sys") || bf_ptx_has(one, "cas") || bf_ptx_has(one, "exch");
  return one->opcode == BF_PTX_OP_LD &&
         (bf_ptx_has(one, "volatile") || bf_ptx_has(one, "acquire") || bf_ptx_has(one, "relaxed") ||
          bf_ptx_has(one, "mmio") || bf_ptx_has(one, "cv"));
}

/* Whether a function has such an instruction between a label and a branch back to it; where others
 * call it, they may have the branch. */
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

static void close_beside(beside *own) {
  pthread_mutex_destroy(&own->lock);
  pthread_cond_destroy(&own->ended);
  free(own->work.parameters);
  free(own);
}

/* The thread: nobody else launches anything while it runs. */
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
    pthread_mutex_lock(&context->lock);
    work->function->is_running = false;
    rt_do_later(context);
    pthread_mutex_unlock(&context->lock);
    close_beside(own);
  }
  return NULL;
}

/* From now on the launch goes on without its call. */
static void leave(const beside *own, pthread_t thread) {
  rt_context *context = own->work.context;
  own->work.function->has_waited = true;
  own->work.function->is_running = true;
  context->busy_stream = own->work.how.stream;
  context->busy_thread = thread;
  context->busy_kernel = own->work.function->name;
  __atomic_store_n(&context->is_meddled, false, __ATOMIC_RELAXED);
  __atomic_store_n(&context->is_busy, true, __ATOMIC_RELEASE);
}

/* Waits for the end, but not for long; then the launch is left. Returns its error. */
static int wait_a_while(beside *own, pthread_t thread) {
  enum { SECOND_NS = 1000000000 };
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += own->work.function->has_waited ? PATIENCE_AGAIN_NS : PATIENCE_NS;
  until.tv_sec += until.tv_nsec / SECOND_NS;
  until.tv_nsec %= SECOND_NS;
  pthread_mutex_lock(&own->lock);
  while (!own->is_ended && !own->is_left)
    own->is_left =
        pthread_cond_timedwait(&own->ended, &own->lock, &until) == ETIMEDOUT && !own->is_ended;
  bool is_left = own->is_left;
  int error = is_left ? cudaSuccess : own->error;
  if (is_left)
    leave(own, thread);
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
  int error = wait_a_while(own, thread);
  /* is_busy is true where it was left, and cannot end before this call gives the lock back. */
  if (work->context->is_busy) {
    pthread_detach(thread);
    return error;
  }
  pthread_join(thread, NULL);
  close_beside(own);
  return error;
}

/* Second versions in libraries of their own, one for each kernel. The program's image stays what it
 * is, its machine code included, and nothing is compiled but second versions that a launch may get.
 *
 * The driver compiles PTX when it loads it, which takes from 10 milliseconds to several seconds
 * where its cache has not got the code yet. That is done by a thread, one kernel after the other,
 * and a launch that is expected to gain by it waits: the waits of a process take MOST_WAIT_NS in
 * all, after which launches get the program's own kernel until the other is there. A launch that
 * only learns does not wait; what predictions about a kernel need that has its second version only
 * to be measured is read by the thread, too. The driver lets other threads launch meanwhile
 * (measured on an H200: cuLibraryLoadData does not hold what cuModuleLoadData does). What it must
 * not see is the end of the process, or of a context, while it compiles: both wait for the kernel
 * that is being compiled. */
#include "driver.h"

#include "ptx/extract.h"
#include "ptx/ptx.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_WAIT_NS = 1000000000 };

/* The second version of a kernel. */
typedef struct inject_apart {
  struct inject_apart *next; /* that is to be compiled */
  const inject_image *image;
  const inject_kernel *kernel;
  void *context;    /* of the launch that needs it */
  void *made;       /* a kernel of a library */
  bool is_prepared; /* for predictions */
  bool is_wanted;   /* it is to be compiled, not only to be prepared */
  int state;        /* inject_apart_state */
} inject_apart;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* Under the mutex: */
static inject_apart *first, **last = &first; /* to be compiled */
static bool is_working;                      /* the thread is there */
static bool is_compiling;                    /* it is in the driver */
static bool is_over;                         /* the process ends: nothing is begun any more */
static uint64_t waited_ns;

struct inject_apart *inject_aparts_create(const inject_image *image) {
  inject_apart *made = calloc((size_t)image->kernels + 1, sizeof *made);
  for (unsigned i = 0; made && i < image->kernels; i++)
    made[i] = (inject_apart){.image = image, .kernel = &image->kernel[i]};
  return made;
}

/* That of a kernel of the image. */
static inject_apart *apart_of(const inject_pair *pair) {
  return &pair->image->apart[pair->kernel - pair->image->kernel];
}

/* ---- Compiling ---- */

/* Has the driver compile and load a second version: *made. */
static int compile(const inject_apart *apart, const char *text, void **made) {
  void *library = NULL, *function = NULL;
  int result = REAL(cuLibraryLoadData, &library, text, NULL, NULL, 0, NULL, NULL, 0);
  if (result == CUDA_SUCCESS)
    result = REAL(cuLibraryGetKernel, made, library, apart->kernel->beside);
  /* Now, and not at its first launch. */
  if (result == CUDA_SUCCESS && apart->context)
    REAL(cuKernelGetFunction, &function, *made);
  return result;
}

/* The PTX of a second version; false where there is none. */
static bool extract(const inject_apart *apart, bf_text *text) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_ptx_module *module = NULL;
  bool is_alone = false;
  int error = inject_image_parse(apart->image, apart->kernel->beside, NULL, &module, &diagnostic);
  if (!error)
    error = bf_ptx_extract(module, apart->kernel->beside, text, &is_alone, &diagnostic);
  bf_ptx_free(module);
  if (error)
    inject_log("%s: %s", apart->kernel->name, diagnostic.message);
  return !error && is_alone;
}

/* Makes a second version; NULL where the driver refuses it. */
static void *make(const inject_apart *apart) {
  int (*set_context)(void *) = inject_driver("cuCtxSetCurrent");
  int (*exchange_mode)(int *) = inject_driver("cuThreadExchangeStreamCaptureMode");
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  void *made = NULL;
  bf_text text = {0};
  if (!extract(apart, &text)) {
    bf_text_free(&text);
    return NULL;
  }
  if (set_context && apart->context)
    set_context(apart->context);
  if (exchange_mode)
    exchange_mode(&mode);
  int result = compile(apart, text.data, &made);
  if (set_context && apart->context)
    set_context(NULL);
  bf_text_free(&text);
  if (result != CUDA_SUCCESS)
    inject_log("%s: the driver refuses the second version (error %d)", apart->kernel->name, result);
  return result == CUDA_SUCCESS ? made : NULL;
}

/* ---- The thread ---- */

/* Takes the next kernel, under the mutex; NULL: there is none. */
static inject_apart *take_next(void) {
  inject_apart *taken = is_over ? NULL : first;
  if (taken) {
    first = taken->next;
    last = first ? last : &first;
  }
  is_working = is_compiling = taken;
  return taken;
}

/* Does what is asked for; the state that it has then. */
static inject_apart_state serve(inject_apart *at) {
  if (at->is_wanted) {
    at->made = make(at);
    return at->made ? INJECT_APART_READY : INJECT_APART_REFUSED;
  }
  inject_foresee_prepare(at->image, at->kernel);
  return INJECT_APART_IDLE;
}

static void *work(void *unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  for (inject_apart *at; (at = take_next());) {
    pthread_mutex_unlock(&mutex);
    inject_apart_state state = serve(at);
    pthread_mutex_lock(&mutex);
    __atomic_store_n(&at->state, state, __ATOMIC_RELEASE);
    is_compiling = false;
    pthread_cond_broadcast(&changed);
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* Waits until nothing is being compiled, and lets nothing begin. */
static void end_work(void) {
  pthread_mutex_lock(&mutex);
  is_over = true;
  while (is_compiling)
    pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

void inject_apart_wait(void) {
  pthread_mutex_lock(&mutex);
  for (; first; first = first->next)
    __atomic_store_n(&first->state, INJECT_APART_IDLE, __ATOMIC_RELEASE);
  last = &first;
  pthread_cond_broadcast(&changed);
  while (is_compiling)
    pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

/* Starts the thread, under the mutex, where it is not there; false where that fails. Signals are
 * for the program's own threads. */
static bool start_work(void) {
  sigset_t all, kept;
  pthread_attr_t attributes;
  pthread_t thread;
  if (is_working)
    return true;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &kept);
  is_working = pthread_create(&thread, &attributes, work, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &kept, NULL);
  pthread_attr_destroy(&attributes);
  return is_working;
}

/* After fork the child has no such thread. */
static void hold(void) { pthread_mutex_lock(&mutex); }
static void release(void) { pthread_mutex_unlock(&mutex); }
static void release_child(void) {
  is_working = is_compiling = false;
  is_over = true;
  pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void watch_fork(void) {
  pthread_atfork(hold, release, release_child);
}

/* ---- Launches that wait ---- */

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits, under the mutex, until the kernel is there, or for as long as waits may take. */
static void wait_for(const inject_apart *apart) {
  uint64_t begun = now_ns();
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  uint64_t left = waited_ns < MOST_WAIT_NS ? MOST_WAIT_NS - waited_ns : 0;
  uint64_t nanoseconds = (uint64_t)until.tv_nsec + left;
  until.tv_sec += (time_t)(nanoseconds / 1000000000);
  until.tv_nsec = (long)(nanoseconds % 1000000000);
  int answer = 0;
  while (apart->state == INJECT_APART_BUSY && answer == 0)
    answer = inject_takes_times ? pthread_cond_wait(&changed, &mutex)
                                : pthread_cond_timedwait(&changed, &mutex, &until);
  waited_ns += now_ns() - begun;
}

/* Asks for the second version of a kernel, under the mutex: to be compiled, or to be prepared. */
static void ask(inject_apart *apart, bool is_wanted) {
  int (*get_context)(void **) = inject_driver("cuCtxGetCurrent");
  if (is_over || (get_context && get_context(&apart->context) != CUDA_SUCCESS))
    return;
  apart->is_wanted = is_wanted;
  apart->next = NULL;
  *last = apart;
  last = &apart->next;
  __atomic_store_n(&apart->state, INJECT_APART_BUSY, __ATOMIC_RELEASE);
  if (!start_work()) {
    first = NULL;
    last = &first;
    apart->state = INJECT_APART_REFUSED;
  }
}

inject_apart_state inject_apart_look(const inject_pair *pair) {
  return (inject_apart_state)__atomic_load_n(&apart_of(pair)->state, __ATOMIC_ACQUIRE);
}

bool inject_apart_prepare(const inject_pair *pair) {
  inject_apart *apart = apart_of(pair);
  pthread_mutex_lock(&mutex);
  if (apart->state == INJECT_APART_IDLE && !apart->is_prepared) {
    apart->is_prepared = true;
    ask(apart, false);
  }
  bool is_busy = apart->state == INJECT_APART_BUSY;
  pthread_mutex_unlock(&mutex);
  return is_busy;
}

inject_apart_state inject_apart_get(const inject_pair *pair, bool gains) {
  inject_apart *apart = apart_of(pair);
  pthread_mutex_lock(&mutex);
  bool is_first = apart->state == INJECT_APART_IDLE;
  if (is_first)
    ask(apart, true);
  if (((is_first && gains) || inject_takes_times) && apart->state == INJECT_APART_BUSY)
    wait_for(apart);
  int state = apart->state;
  pthread_mutex_unlock(&mutex);
  /* The driver's compiler is loaded by now, and what is registered last is called first. */
  if (is_first && state == INJECT_APART_BUSY) {
    inject_log("%s: its second version is compiled while the program goes on", pair->kernel->name);
    atexit(end_work);
  }
  return (inject_apart_state)state;
}

void *inject_apart_handle(const inject_pair *pair) {
  void *function = NULL;
  if (inject_apart_look(pair) != INJECT_APART_READY)
    return NULL;
  void *made = apart_of(pair)->made;
  if (pair->is_of_library)
    return made;
  return REAL(cuKernelGetFunction, &function, made) == CUDA_SUCCESS ? function : NULL;
}

/* ---- Contexts that end ---- */

#define END_CONTEXT(name, type)                                                                    \
  API(name, type handle) {                                                                         \
    inject_apart_wait();                                                                           \
    int result = REAL(name, handle);                                                               \
    inject_handles_end_context();                                                                  \
    return result;                                                                                 \
  }
END_CONTEXT(cuCtxDestroy_v2, void *)
END_CONTEXT(cuDevicePrimaryCtxReset_v2, int)
END_CONTEXT(cuDevicePrimaryCtxRelease_v2, int)

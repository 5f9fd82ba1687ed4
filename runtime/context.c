/* The context: the only mutable state of the process, its lock, and what the environment sets. */
#include "order.h"

#include "rewrite/listed.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A program may load several libraries that are built of these sources: libcuda, and libcudart once
 * or twice. They share a context: the dynamic linker gives all of them the same bankfold_shared,
 * however they were loaded, because it is unique; whoever comes first has it point to its own. The
 * libraries are never unloaded. */
__asm__(".pushsection .bss\n"
        ".balign 8\n"
        ".globl bankfold_shared\n"
        ".type bankfold_shared, %gnu_unique_object\n"
        ".size bankfold_shared, 8\n"
        "bankfold_shared: .zero 8\n"
        ".popsection");
extern rt_context *bankfold_shared __attribute__((visibility("default")));
static rt_context own_context = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .idle = PTHREAD_COND_INITIALIZER,
                                 .print_lock = PTHREAD_MUTEX_INITIALIZER};

/* The context of the process. */
static rt_context *shared_context(void) {
  rt_context *found = NULL;
  if (__atomic_compare_exchange_n(&bankfold_shared, &found, &own_context, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return &own_context;
  return found;
}

enum { CONFIGURATIONS = 8 };

/* What each thread of the program has for itself. */
static _Thread_local struct {
  int last_error;
  unsigned configurations;
  rt_configuration configuration[CONFIGURATIONS];
  int capture_mode; /* cudaStreamCaptureMode */
} the_thread;

/* ---- Entering and leaving ---- */

rt_context *rt_enter(void) {
  rt_context *context = shared_context();
  pthread_mutex_lock(&context->lock);
  if (context->is_busy)
    __atomic_store_n(&context->is_meddled, true, __ATOMIC_RELAXED);
  return context;
}

void rt_settle(rt_context *context) {
  if (context->is_busy)
    return;
  rt_order_settle(context);
  if (context->printed.size) {
    fwrite(context->printed.data, 1, context->printed.size, stdout);
    bf_text_free(&context->printed);
  }
  if (context->pending != cudaSuccess && context->sticky == cudaSuccess)
    context->sticky = context->pending;
}

rt_context *rt_enter_synchronised(const void *stream) {
  rt_context *context = rt_enter();
  rt_await(context, stream);
  rt_settle(context);
  return context;
}

int rt_leave(rt_context *context, int error) {
  if (error != cudaSuccess && error != cudaErrorNotReady)
    the_thread.last_error = error;
  pthread_mutex_unlock(&context->lock);
  return error;
}

/* These two wait for no launch: programs call them behind each. */
API(cudaGetLastError, void) {
  int error = the_thread.last_error;
  the_thread.last_error = cudaSuccess;
  return error;
}

API(cudaPeekAtLastError, void) { return the_thread.last_error; }

bool rt_push_configuration(rt_configuration configuration) {
  if (the_thread.configurations == CONFIGURATIONS)
    return false;
  the_thread.configuration[the_thread.configurations++] = configuration;
  return true;
}

bool rt_pop_configuration(rt_configuration *configuration) {
  if (the_thread.configurations == 0)
    return false;
  *configuration = the_thread.configuration[--the_thread.configurations];
  return true;
}

int *rt_capture_mode(void) { return &the_thread.capture_mode; }

/* ---- Messages ---- */

void rt_say(const rt_context *context, const char *format, ...) {
  if (context->settings.quiet)
    return;
  va_list arguments;
  va_start(arguments, format);
  fflush(stdout);
  fputs("bankfold: ", stderr);
  vfprintf(stderr, format, arguments);
  fputs("\n", stderr);
  va_end(arguments);
}

int rt_refuse(const char *name) {
  rt_context *context = rt_enter();
  if (!rt_map_get(&context->refused, name)) {
    rt_say(context, "%s is not supported", name);
    rt_map_put(&context->refused, name, context);
  }
  return rt_leave(context, cudaErrorNotSupported);
}

/* ---- Set-up ---- */

/* Different accesses that are kept of all kernels together; each takes some hundred bytes. */
enum { MOST_ACCESSES = 1 << 18 };

/* Loads the machine of emulated launches, and the device that stands for it. */
static int load_machine(rt_context *context, bf_diagnostic *diagnostic) {
  const char *name = context->settings.machine ? context->settings.machine : "hopper";
  bf_machine *machine;
  BF_TRY(bf_machine_load(name, &context->settings.overrides, &machine, diagnostic));
  context->machine = machine;
  context->device = rt_device_of(bf_machine_name(machine));
  return BF_OK;
}

/* Reads the settings, loads the machine or GPU and the hashes and starts the emulator. */
static int start(rt_context *context, bf_diagnostic *diagnostic) {
  BF_TRY(bf_run_settings_get(&context->settings, diagnostic));
  BF_TRY(context->settings.gpu ? rt_load_gpu(context, diagnostic)
                               : load_machine(context, diagnostic));
  if (bf_machine_lanes(context->machine) != BF_EMU_LANES)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "CUDA programs have warps of %d threads; machine '%s' has %u", BF_EMU_LANES,
                   bf_machine_name(context->machine), bf_machine_lanes(context->machine));
  BF_TRY(rt_choose_hash(context, context->settings.hash, diagnostic));
  if (context->settings.hash_file)
    BF_TRY(bf_hash_list_read(context->settings.hash_file, bf_machine_geometry(context->machine),
                             &context->kernel_hashes, diagnostic));
  if (context->settings.rewrite)
    BF_TRY(bf_hash_list_read(context->settings.rewrite, bf_listed_geometry,
                             &context->rewriting_hashes, diagnostic));
  BF_TRY(rt_choose_lock_hash(context, context->settings.lock_hash, diagnostic));
  return bf_emu_create(&context->emu, diagnostic);
}

int rt_set_up(rt_context *context) {
#ifndef RT_IS_DRIVER
  context->is_primary_used = true;
#endif
  if (context->is_set_up)
    return context->set_up_error;
  context->is_set_up = true;
  context->process = (long)getpid();
  context->accesses_left = MOST_ACCESSES;
  context->kept_left = MOST_ACCESSES;
  context->device = rt_device_of("hopper");
  context->room_bytes = rt_host_bytes();
  bf_diagnostic diagnostic = {.caret = -1};
  int error = start(context, &diagnostic);
  if (error) {
    rt_say(context, "%s", diagnostic.message);
    context->set_up_error =
        error == BF_NO_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInitializationError;
  }
  return context->set_up_error;
}

/* ---- The end of the process ---- */

/* Runs after the program's own exit handlers. */
__attribute__((destructor)) static void finish(void) {
  rt_context *context = shared_context();
  if (pthread_mutex_trylock(&context->lock) != 0)
    return; /* another thread is inside a call and will never leave it */
  if (!context->is_busy && context->is_set_up && context->set_up_error == cudaSuccess &&
      !context->is_finished && context->process == (long)getpid()) {
    context->is_finished = true;
    rt_write_record(context);
    rt_write_accesses(context);
  }
  pthread_mutex_unlock(&context->lock);
}

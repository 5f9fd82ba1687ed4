/* The context: the only mutable state of the library, its lock, and what the environment sets. */
#include "context.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static rt_context the_context = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { CONFIGURATIONS = 8 };

/* What each thread of the program has for itself. */
static _Thread_local struct {
  int last_error;
  unsigned configurations;
  rt_configuration configuration[CONFIGURATIONS];
} the_thread;

/* ---- Entering and leaving ---- */

rt_context *rt_enter(void) {
  pthread_mutex_lock(&the_context.lock);
  return &the_context;
}

rt_context *rt_enter_synchronised(void) {
  rt_context *context = rt_enter();
  if (context->printed.size) {
    fwrite(context->printed.data, 1, context->printed.size, stdout);
    bf_text_free(&context->printed);
  }
  if (context->pending != cudaSuccess && context->sticky == cudaSuccess)
    context->sticky = context->pending;
  return context;
}

int rt_leave(rt_context *context, int error) {
  if (error != cudaSuccess && error != cudaErrorNotReady)
    the_thread.last_error = error;
  pthread_mutex_unlock(&context->lock);
  return error;
}

API(cudaGetLastError, void) {
  rt_context *context = rt_enter();
  int error = the_thread.last_error;
  the_thread.last_error = cudaSuccess;
  pthread_mutex_unlock(&context->lock);
  return error;
}

API(cudaPeekAtLastError, void) {
  rt_context *context = rt_enter();
  int error = the_thread.last_error;
  pthread_mutex_unlock(&context->lock);
  return error;
}

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
    rt_map_put(&context->refused, name, &the_context);
  }
  return rt_leave(context, cudaErrorNotSupported);
}

/* ---- Set-up ---- */

/* Whether the list in text, separated by commas, has word. */
static bool lists(const char *text, const char *word) {
  size_t length = strlen(word);
  while (text && *text) {
    size_t part = strcspn(text, ",");
    if (part == length && strncmp(text, word, length) == 0)
      return true;
    text += part + (text[part] == ',');
  }
  return false;
}

/* Environment variable name, or NULL where it is empty or not there. */
static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

/* Reads what the environment says (docs/runtime.md). */
static void read_settings(rt_settings *settings) {
  const char *check = variable("BANKFOLD_CHECK"), *workers = variable("BANKFOLD_WORKERS");
  const char *most_cycles = variable("BANKFOLD_MAX_CYCLES");
  uint64_t number = 0;
  if (workers && bf_parse_number(&workers, &number) && number <= 1024)
    settings->workers = (unsigned)number;
  if (most_cycles)
    bf_parse_number(&most_cycles, &settings->most_cycles);
  settings->machine = variable("BANKFOLD_MACHINE");
  settings->gpu = variable("BANKFOLD_GPU");
  settings->set = variable("BANKFOLD_SET");
  settings->hash = variable("BANKFOLD_HASH");
  settings->hash_file = variable("BANKFOLD_HASH_FILE");
  settings->lock_hash = variable("BANKFOLD_LOCK_HASH");
  settings->record = variable("BANKFOLD_RECORD");
  settings->trace = variable("BANKFOLD_TRACE");
  settings->rewrite = variable("BANKFOLD_REWRITE");
  settings->accesses = variable("BANKFOLD_ACCESSES");
  settings->check_uninitialised = lists(check, "uninitialised");
  settings->check_races = lists(check, "races");
  settings->quiet = variable("BANKFOLD_QUIET") != NULL;
  settings->as_written = variable("BANKFOLD_AS_WRITTEN") != NULL;
}

/* "banks,word bytes,lanes,address bits"; 0 leaves the machine's own. */
static bf_overrides read_overrides(const char *text) {
  uint64_t value[4] = {0};
  for (size_t i = 0; text && i < 4 && bf_parse_number(&text, &value[i]); i++)
    text += *text == ',';
  return (bf_overrides){sizeof(bf_overrides), (unsigned)value[0], (unsigned)value[1],
                        (unsigned)value[2], (unsigned)value[3]};
}

/* Loads the machine of emulated launches, and the device that stands for it. */
static int load_machine(rt_context *context, bf_diagnostic *diagnostic) {
  const char *name = context->settings.machine ? context->settings.machine : "hopper";
  bf_overrides overrides = read_overrides(variable("BANKFOLD_OVERRIDES"));
  bf_machine *machine;
  BF_TRY(bf_machine_load(name, &overrides, &machine, diagnostic));
  context->machine = machine;
  context->device = rt_device_of(bf_machine_name(machine));
  return BF_OK;
}

/* Loads the machine or GPU and the hashes and starts the emulator. */
static int start(rt_context *context, bf_diagnostic *diagnostic) {
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
  BF_TRY(rt_choose_lock_hash(context, context->settings.lock_hash, diagnostic));
  return bf_emu_create(&context->emu, diagnostic);
}

int rt_set_up(rt_context *context) {
  if (context->is_set_up)
    return context->set_up_error;
  context->is_set_up = true;
  context->process = (long)getpid();
  read_settings(&context->settings);
  context->device = rt_device_of("hopper");
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
  if (pthread_mutex_trylock(&the_context.lock) != 0)
    return; /* another thread is inside a call and will never leave it */
  if (the_context.is_set_up && the_context.set_up_error == cudaSuccess &&
      the_context.process == (long)getpid()) {
    rt_write_record(&the_context);
    rt_write_accesses(&the_context);
  }
  pthread_mutex_unlock(&the_context.lock);
}

/* What the second version of a kernel is worth to a launch, predicted from the PTX of both
 * (tune/predict.h). The PTX of a kernel is read when it is first asked about, and kept. */
#include "inject.h"

#include "tune/predict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What is asked about a launch, values of parameters aside. */
typedef struct question {
  unsigned grid[3], block[3], bytes, multiprocessors, resident[2];
} question;

/* A kernel as predictions need it. */
typedef struct foresight {
  struct foresight *next;
  const inject_image *image;
  const inject_kernel *kernel;
  bf_ptx_module *module; /* both versions; NULL: it cannot be read */
  bf_plans plans;
  bf_predict_pair *pair;
  bool was_asked; /* this, which is asked again when the second version is there: */
  question asked;
  bf_prediction answer;
} foresight;

static foresight *known;    /* all that were made, under the lock */
static bf_machine *machine; /* under the lock until it is there, and then the same for good */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Gives the plan of the kernel the hash that its second version has. */
static int set_hash(foresight *made, bf_diagnostic *diagnostic) {
  bf_text lines = {0};
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash_list_write(made->kernel->name, made->kernel->hash, &lines);
  int error = lines.failed ? bf_no_memory(diagnostic) : BF_OK;
  if (!error && lines.size)
    error = bf_plans_set_text(&made->plans, "hashes", lines.data, &geometry, diagnostic);
  bf_text_free(&lines);
  return error;
}

static const bf_plan *find_plan(const foresight *of) {
  for (unsigned i = 0; i < of->plans.count; i++)
    if (strcmp(of->plans.plan[i].name, of->kernel->name) == 0)
      return &of->plans.plan[i];
  return NULL;
}

/* Reads the PTX of both versions. */
static int read_kernel(foresight *made, bf_diagnostic *diagnostic) {
  BF_TRY(inject_image_parse(made->image, made->kernel->name, made->kernel->beside, &made->module,
                            diagnostic));
  BF_TRY(bf_plans_make(made->module, "image", NULL, &made->plans, diagnostic));
  BF_TRY(set_hash(made, diagnostic));
  const bf_plan *plan = find_plan(made);
  const bf_ptx_function *beside = bf_ptx_find(made->module, made->kernel->beside);
  if (!plan || !beside)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s has no second version", made->kernel->name);
  return bf_predict_prepare(&made->plans, plan, made->module, beside, &made->pair, diagnostic);
}

static void forget(foresight *made) {
  bf_predict_pair_free(made->pair);
  bf_plans_free(&made->plans);
  bf_ptx_free(made->module);
  made->pair = NULL;
  made->module = NULL;
}

/* Reads a kernel; NULL: no memory. Where it cannot be read, the result has no module. */
static foresight *read_new(const inject_image *image, const inject_kernel *kernel) {
  bf_diagnostic diagnostic = {.caret = -1};
  foresight *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->image = image;
  made->kernel = kernel;
  if (machine && read_kernel(made, &diagnostic) == BF_OK)
    return made;
  inject_log("nothing can be predicted: %s", diagnostic.message);
  forget(made);
  return made;
}

/* What is known of a kernel, under the lock; NULL: nothing yet. */
static foresight *find(const inject_kernel *kernel) {
  bf_diagnostic diagnostic = {.caret = -1};
  foresight *at = known;
  if (!machine && bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK)
    inject_log("%s", diagnostic.message);
  while (at && at->kernel != kernel)
    at = at->next;
  return at;
}

/* Adds what was read, under the lock. */
static foresight *add(foresight *made) {
  if (made) {
    made->next = known;
    known = made;
  }
  return made;
}

void inject_foresee_prepare(const inject_image *image, const inject_kernel *kernel) {
  pthread_mutex_lock(&lock);
  bool is_known = find(kernel);
  pthread_mutex_unlock(&lock);
  foresight *made = is_known ? NULL : read_new(image, kernel);
  pthread_mutex_lock(&lock);
  if (!made || !find(kernel)) {
    add(made);
    made = NULL;
  }
  pthread_mutex_unlock(&lock);
  if (made)
    forget(made);
  free(made);
}

/* After fork the child has the lock, whatever other threads did. */
static void hold(void) { pthread_mutex_lock(&lock); }
static void release(void) { pthread_mutex_unlock(&lock); }

__attribute__((constructor)) static void watch_fork(void) {
  pthread_atfork(hold, release, release);
}

/* Predicts; false where that fails. */
static bool predict(const foresight *of, const question *about, const bf_analyze_given *given,
                    bf_prediction *prediction) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_predict_gpu gpu = bf_predict_h200;
  bf_predict_launch how = {.dynamic_shared_bytes = about->bytes,
                           .parameter = given->bytes,
                           .is_known = given->is_known,
                           .parameter_bytes = given->size};
  bf_predict_options options = {.machine = machine, .gpu = &gpu, .launch = &how};
  memcpy(how.block, about->block, sizeof how.block);
  memcpy(how.grid, about->grid, sizeof how.grid);
  memcpy(how.resident, about->resident, sizeof how.resident);
  gpu.multiprocessors = about->multiprocessors ? about->multiprocessors : gpu.multiprocessors;
  return bf_predict(of->pair, &options, prediction, &diagnostic) == BF_OK;
}

/* Predicts, or says what was said last where that is asked again; false where it fails. */
static bool answer(foresight *of, const question *about, const bf_analyze_given *given,
                   bf_prediction *prediction) {
  if (given->size > 0)
    return predict(of, about, given, prediction);
  if (!of->was_asked || memcmp(about, &of->asked, sizeof *about) != 0)
    of->was_asked = predict(of, about, given, &of->answer);
  of->asked = *about;
  *prediction = of->answer;
  return of->was_asked;
}

bool inject_foresee(const inject_image *image, const inject_kernel *kernel,
                    const inject_launch *launch, unsigned multiprocessors,
                    const unsigned resident[2], const inject_values *values, bool *may_gain,
                    char *reason, size_t reason_bytes) {
  bf_prediction prediction = {0};
  bf_analyze_given given = {0};
  const bf_comparison *compared = &prediction.comparison;
  question about = {.bytes = launch->bytes,
                    .multiprocessors = multiprocessors,
                    .resident = {resident[0], resident[1]}};
  memcpy(about.grid, launch->grid, sizeof about.grid);
  memcpy(about.block, launch->block, sizeof about.block);
  if (values)
    inject_values_fill(values, launch, &given);
  pthread_mutex_lock(&lock);
  foresight *of = find(kernel);
  of = of ? of : add(read_new(image, kernel));
  bool is_good = of && of->module && answer(of, &about, &given, &prediction);
  pthread_mutex_unlock(&lock);
  bf_analyze_given_free(&given);
  snprintf(reason, reason_bytes, "%s",
           is_good && *prediction.reason ? prediction.reason : "nothing can be predicted");
  *may_gain =
      !is_good || !prediction.is_known || compared->after.wavefronts != compared->before.wavefronts;
  return is_good && prediction.is_known && prediction.is_worth;
}

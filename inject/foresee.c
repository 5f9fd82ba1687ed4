/* What the second version of a kernel is worth to a launch, predicted from the PTX of both
 * (tune/predict.h). The PTX of a kernel is read when it is first asked about, and kept. */
#include "inject.h"

#include "tune/predict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A kernel as predictions need it. */
typedef struct foresight {
  struct foresight *next;
  const inject_image *image;
  const inject_kernel *kernel;
  bf_ptx_module *module; /* both versions; NULL: it cannot be read */
  bf_plans plans;
} foresight;

static foresight *known; /* all that were made, under the lock */
static bf_machine *machine;
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

/* Reads the PTX of both versions. */
static int read_kernel(foresight *made, bf_diagnostic *diagnostic) {
  if (!machine)
    BF_TRY(bf_machine_load("hopper", NULL, &machine, diagnostic));
  BF_TRY(inject_image_parse(made->image, made->kernel->name, made->kernel->beside, &made->module,
                            diagnostic));
  BF_TRY(bf_plans_make(made->module, "image", NULL, &made->plans, diagnostic));
  return set_hash(made, diagnostic);
}

/* What is known of a kernel, or read now; NULL where that fails. */
static foresight *find(const inject_image *image, const inject_kernel *kernel) {
  bf_diagnostic diagnostic = {.caret = -1};
  foresight *at = known;
  while (at && at->kernel != kernel)
    at = at->next;
  if (at || !(at = calloc(1, sizeof *at)))
    return at && at->module ? at : NULL;
  at->image = image;
  at->kernel = kernel;
  at->next = known;
  known = at;
  if (read_kernel(at, &diagnostic) == BF_OK)
    return at;
  inject_log("nothing can be predicted: %s", diagnostic.message);
  bf_plans_free(&at->plans);
  bf_ptx_free(at->module);
  at->module = NULL;
  return NULL;
}

static const bf_plan *find_plan(const foresight *of, const char *kernel) {
  for (unsigned i = 0; i < of->plans.count; i++)
    if (strcmp(of->plans.plan[i].name, kernel) == 0)
      return &of->plans.plan[i];
  return NULL;
}

/* Predicts; false where that fails. */
static bool predict(const foresight *of, const inject_kernel *kernel, const inject_launch *launch,
                    unsigned multiprocessors, const unsigned resident[2],
                    const bf_analyze_given *given, bf_prediction *prediction) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_predict_gpu gpu = bf_predict_h200;
  bf_predict_launch how = {.dynamic_shared_bytes = launch->bytes,
                           .parameter = given->bytes,
                           .is_known = given->is_known,
                           .parameter_bytes = given->size};
  bf_predict_options options = {.machine = machine, .gpu = &gpu, .launch = &how};
  const bf_plan *plan = find_plan(of, kernel->name);
  const bf_ptx_function *beside = bf_ptx_find(of->module, kernel->beside);
  memcpy(how.block, launch->block, sizeof how.block);
  memcpy(how.grid, launch->grid, sizeof how.grid);
  memcpy(how.resident, resident, sizeof how.resident);
  gpu.multiprocessors = multiprocessors ? multiprocessors : gpu.multiprocessors;
  return plan && beside &&
         bf_predict(&of->plans, plan, of->module, beside, &options, prediction, &diagnostic) ==
             BF_OK;
}

bool inject_foresee(const inject_image *image, const inject_kernel *kernel,
                    const inject_launch *launch, unsigned multiprocessors,
                    const unsigned resident[2], const inject_values *values, bool *may_gain,
                    char *reason, size_t reason_bytes) {
  bf_prediction prediction = {0};
  bf_analyze_given given = {0};
  const bf_comparison *compared = &prediction.comparison;
  if (values)
    inject_values_fill(values, launch, &given);
  pthread_mutex_lock(&lock);
  const foresight *of = find(image, kernel);
  bool is_good = of && predict(of, kernel, launch, multiprocessors, resident, &given, &prediction);
  pthread_mutex_unlock(&lock);
  bf_analyze_given_free(&given);
  snprintf(reason, reason_bytes, "%s",
           is_good && *prediction.reason ? prediction.reason : "nothing can be predicted");
  *may_gain =
      !is_good || !prediction.is_known || compared->after.wavefronts != compared->before.wavefronts;
  return is_good && prediction.is_known && prediction.is_worth;
}

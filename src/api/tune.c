/* Tuning on launches of the caller: room tune chooses, and asks here for every run of them. */
#include "tune/tune.h"

#include "api/launch.h"
#include "api/rewrite.h"

#include <stdlib.h>

struct bf_tuning {
  bf_rewriting rewriting;
  bf_tuned_kernel *kernel; /* in the arena of rewriting */
};

/* A launch, and what runs it. */
typedef struct step {
  const bf_api_kernel *kernel;
  bf_launch launch;
} step;

/* Everything that tuning loads and makes. */
typedef struct work {
  const bf_module *module;
  step *step;
  size_t steps;
  const bf_machine *machine;
  bf_machine *own_machine;
  bf_sim_gpu *gpu;
  bf_plans plans;
  bf_tune_options options;
  bf_tune tune;
} work;

/* ---- Launches ---- */

static int run_step(const step *s, bf_api_device *device, const bf_trial_options *options,
                    bf_trial_watch *watch, bf_diagnostic *diagnostic) {
  bf_emu_launch launch;
  bf_emu_result result;
  BF_TRY(bf_api_device_prepare(device, s->kernel, &s->launch, &launch, diagnostic));
  launch.workers = (unsigned)options->workers;
  launch.print = NULL;
  BF_TRY(bf_trial_before(watch, &launch, diagnostic));
  BF_TRY(bf_trial_execute(watch, device->emu, &launch, NULL, &result, diagnostic));
  if (result.fault.kind)
    return bf_api_fault(&result.fault, options->file, diagnostic);
  return bf_trial_after(watch, &launch, &result, diagnostic);
}

/* bf_trial_options.run: all launches on a new device. */
static int run_all(void *context, const bf_trial_options *options, bf_trial_watch *watch,
                   bf_diagnostic *diagnostic) {
  const work *w = context;
  bf_api_device device;
  int error = bf_api_device_open(options->module, &device, diagnostic);
  for (size_t i = 0; i < w->steps && !error; i++)
    error = run_step(&w->step[i], &device, options, watch, diagnostic);
  if (!error && options->keeps_memory)
    error = bf_trial_keep(watch, device.emu, device.module, bf_api_device_buffer_at, &device,
                          diagnostic);
  bf_api_device_close(&device);
  return error;
}

static int take_launches(work *w, const bf_tune_launch *given, size_t count,
                         bf_diagnostic *diagnostic) {
  w->step = calloc(count + 1, sizeof *w->step);
  if (!w->step)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < count; i++) {
    step *s = &w->step[w->steps++];
    BF_TRY(bf_take_options(given[i].launch, &s->launch, sizeof s->launch, "bf_launch", diagnostic));
    BF_TRY(bf_api_kernel_find(w->module, given[i].kernel, &s->kernel, diagnostic));
    if (s->launch.hash)
      return bf_fail(diagnostic, BF_UNSUPPORTED,
                     "a launch of kernel '%s' has a hash of the banks; tuning finds others",
                     s->kernel->info.name);
  }
  return BF_OK;
}

/* ---- Preparing ---- */

static int load_gpu(work *w, const char *name, bf_diagnostic *diagnostic) {
  if (!name)
    return BF_OK;
  BF_TRY(bf_sim_gpu_load(name, &w->gpu, diagnostic));
  /* Starting a kernel takes the same time with and without a hash, and would hide what it does in
   * short launches. */
  return bf_sim_gpu_set(w->gpu, "launch_cycles=0", diagnostic);
}

static int load(work *w, const bf_tune_launch *launch, size_t launches,
                const bf_tune_module_options *given, bf_diagnostic *diagnostic) {
  BF_TRY(bf_api_check_threads(given->launch_threads, diagnostic));
  BF_TRY(take_launches(w, launch, launches, diagnostic));
  BF_TRY(bf_api_machine(given->machine, &w->machine, &w->own_machine, diagnostic));
  BF_TRY(load_gpu(w, given->gpu, diagnostic));
  BF_TRY(bf_api_plans(w->module, given->kernel, true, &w->plans, diagnostic));
  w->options = (bf_tune_options){.file = w->module->name,
                                 .description = w->module->name,
                                 .machine = w->machine,
                                 .gpu = w->gpu,
                                 .gpu_is_needed = true,
                                 .workers = given->launch_threads ? given->launch_threads : 1,
                                 .keeps_accesses = true,
                                 .keeps_memory = true,
                                 .run = run_all,
                                 .context = w};
  return BF_OK;
}

static void unload(work *w) {
  bf_tune_free(&w->tune);
  bf_plans_free(&w->plans);
  bf_sim_gpu_free(w->gpu);
  bf_machine_free(w->own_machine);
  free(w->step);
}

/* ---- The result ---- */

static bf_kernel_cost cost_of(const bf_evidence *took, uint64_t cycles) {
  return (bf_kernel_cost){took->wavefronts, (uint64_t)took->instructions, cycles};
}

/* What tuning has found about a kernel. */
static void describe(const work *w, const bf_rewritten_kernel *rewritten, const bf_plan *plan,
                     const bf_logger *logger, bf_tuned_kernel *to) {
  const bf_trial_kernel *launched = bf_trial_find(&w->tune.original, plan->name);
  const bf_trial_kernel *simulated = bf_trial_find(&w->tune.simulated, plan->name);
  *to = (bf_tuned_kernel){.name = rewritten->name,
                          .hash = rewritten->is_rewritten ? rewritten->hash : NULL,
                          .reason = rewritten->reason};
  if (!launched)
    return;
  to->launches = launched->launches;
  to->before = to->after = cost_of(&launched->took, simulated ? simulated->took.cycles : 0);
  if (plan->has_comparison)
    to->after = cost_of(&plan->comparison.after, plan->comparison.after.cycles);
  if (launched->accesses.is_cut)
    bf_say(logger, BF_LOG_WARNING,
           "kernel '%s' was tuned for its first accesses only: there were too many different ones",
           plan->name);
}

/* Chooses, rewrites and compares. */
static int tune(work *w, const bf_tune_module_options *given, bf_tuning *out,
                bf_diagnostic *diagnostic) {
  bf_plans_search search = {.machine = w->machine,
                            .time_limit_seconds = bf_api_time_limit(given->time_limit_seconds),
                            .threads = given->threads};
  BF_TRY(bf_tune_begin(&w->options, &w->plans, &w->tune, diagnostic));
  BF_TRY(bf_tune_choose(&w->tune, &search, diagnostic));
  BF_TRY(bf_api_rewrite(&w->plans, &out->rewriting, diagnostic));
  BF_TRY(bf_tune_check(&w->tune, &out->rewriting.result, diagnostic));
  out->kernel = bf_arena_alloc(&out->rewriting.result.arena, w->plans.count * sizeof *out->kernel);
  if (!out->kernel)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < w->plans.count; i++)
    describe(w, &out->rewriting.kernel[i], &w->plans.plan[i], &given->logger, &out->kernel[i]);
  return BF_OK;
}

int bf_tune_module(const bf_module *module, const bf_tune_launch *launch, size_t launches,
                   const bf_tune_module_options *given, bf_tuning **out,
                   bf_diagnostic *diagnostic) {
  bf_tune_module_options options;
  work w = {.module = module};
  *out = NULL;
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_tune_module_options", diagnostic));
  bf_tuning *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  int error = load(&w, launch, launches, &options, diagnostic);
  if (!error)
    error = tune(&w, &options, made, diagnostic);
  unload(&w);
  if (error)
    bf_tuning_free(made);
  else
    *out = made;
  return error;
}

void bf_tuning_free(bf_tuning *tuning) {
  if (tuning)
    bf_api_rewriting_clear(&tuning->rewriting);
  free(tuning);
}

const bf_tuned_kernel *bf_tuning_get(const bf_tuning *tuning, size_t index) {
  return index < tuning->rewriting.result.kernels ? &tuning->kernel[index] : NULL;
}

const bf_rewriting *bf_tuning_rewriting(const bf_tuning *tuning) { return &tuning->rewriting; }

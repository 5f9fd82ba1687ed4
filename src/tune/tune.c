/* From the launches of a description to hashes. */
#include "tune/tune.h"

#include "tune/predict.h"

#include <string.h>

/* ---- Runs ---- */

/* What all trials have in common. */
static bf_trial_options trial_of(const bf_tune_options *o, const bf_ptx_module *module) {
  return (bf_trial_options){.file = o->file,
                            .description = o->description,
                            .module = module,
                            .machine = o->machine,
                            .workers = o->workers,
                            .run = o->run,
                            .context = o->context};
}

/* Runs the module that a rewriting gave, or the original where it changed nothing. */
static int run_rewritten(const bf_tune *tune, const bf_rewrite_result *rewritten, bool keeps_memory,
                         const bf_sim_gpu *gpu, bf_trial *trial, bf_diagnostic *diagnostic) {
  bf_trial_options o =
      trial_of(tune->options, rewritten->module ? rewritten->module : tune->plans->module);
  o.file = rewritten->module ? "rewritten" : o.file;
  o.gpu = gpu;
  o.keeps_memory = keeps_memory;
  return bf_trial_run(&o, trial, diagnostic);
}

int bf_tune_begin(const bf_tune_options *options, bf_plans *plans, bf_tune *tune,
                  bf_diagnostic *diagnostic) {
  *tune = (bf_tune){.options = options, .plans = plans};
  bf_trial_options o = trial_of(options, plans->module);
  o.keeps_accesses = options->keeps_accesses;
  o.examined = &plans->examined;
  o.keeps_memory = options->keeps_memory;
  return bf_trial_run(&o, &tune->original, diagnostic);
}

void bf_tune_free(bf_tune *tune) {
  bf_trial_free(&tune->original);
  bf_trial_free(&tune->simulated);
  bf_trial_free(&tune->last);
  bf_trial_free(&tune->result);
}

/* ---- Choosing ---- */

/* Proposes for every kernel from what it did. */
static int propose(bf_tune *tune, const bf_plans_search *search, bf_diagnostic *diagnostic) {
  const bf_predict_options predicting = {.machine = search->machine};
  for (unsigned i = 0; i < tune->plans->count; i++) {
    bf_plan *plan = &tune->plans->plan[i];
    const bf_trial_kernel *launched = bf_trial_find(&tune->original, plan->name);
    BF_TRY(bf_plan_propose(tune->plans, plan, search, launched ? &launched->accesses : NULL,
                           diagnostic));
    if (launched)
      BF_TRY(bf_predict_padding(tune->plans, plan, &predicting, diagnostic));
  }
  return BF_OK;
}

/* Runs the original on the GPU. Where that fails and need not work, as for kernels that the
 * simulator does not know, the emulator decides. */
static int simulate(bf_tune *tune, bf_diagnostic *diagnostic) {
  bf_trial_options o = trial_of(tune->options, tune->plans->module);
  o.gpu = tune->options->gpu;
  if (!o.gpu)
    return BF_OK;
  int error = bf_trial_run(&o, &tune->simulated, diagnostic);
  if (error && (tune->options->gpu_is_needed || error == BF_NO_MEMORY))
    return error;
  if (error)
    snprintf(tune->remark, sizeof tune->remark, "not simulated, wavefronts decide: %.200s",
             diagnostic->message);
  else
    tune->gpu = o.gpu;
  return BF_OK;
}

/* bf_plans_runner.run */
static int try_plans(void *context, bool *is_good, bf_diagnostic *diagnostic) {
  bf_tune *tune = context;
  bf_rewrite_result rewritten = {0};
  bf_trial_free(&tune->last);
  BF_TRY(bf_plans_rewrite(tune->plans, true, &rewritten, diagnostic));
  int error = run_rewritten(tune, &rewritten, false, tune->gpu, &tune->last, diagnostic);
  *is_good = !error;
  bf_rewrite_free(&rewritten);
  return error;
}

/* What a kernel took in two trials; false where it was not launched. */
static bool compare_trials(const bf_trial *original, const bf_trial *other, const char *kernel,
                           bf_comparison *comparison) {
  const bf_trial_kernel *before = bf_trial_find(original, kernel);
  const bf_trial_kernel *after = bf_trial_find(other, kernel);
  if (!before || !after)
    return false;
  *comparison = (bf_comparison){before->took, after->took};
  return true;
}

/* bf_plans_runner.compare */
static bool compare(void *context, const char *kernel, bf_comparison *comparison) {
  const bf_tune *tune = context;
  return compare_trials(tune->gpu ? &tune->simulated : &tune->original, &tune->last, kernel,
                        comparison);
}

int bf_tune_choose(bf_tune *tune, const bf_plans_search *search, bf_diagnostic *diagnostic) {
  bf_plans_runner runner = {.run = try_plans, .compare = compare, .context = tune};
  BF_TRY(propose(tune, search, diagnostic));
  BF_TRY(simulate(tune, diagnostic));
  return bf_plans_try(&tune->plans, 1, &runner, diagnostic);
}

/* ---- The result ---- */

/* The counts of the result beside those of the original; cycles stay as they were when the hash was
 * chosen. */
static void count_result(bf_tune *tune, const bf_rewrite_result *rewritten) {
  for (unsigned i = 0; i < tune->plans->count; i++) {
    bf_plan *plan = &tune->plans->plan[i];
    bf_comparison chosen = plan->comparison;
    plan->has_comparison =
        rewritten->kernel[i].is_rewritten &&
        compare_trials(&tune->original, &tune->result, plan->name, &plan->comparison);
    plan->comparison.before.cycles = chosen.before.cycles;
    plan->comparison.after.cycles = chosen.after.cycles;
  }
}

int bf_tune_check(bf_tune *tune, const bf_rewrite_result *rewritten, bf_diagnostic *diagnostic) {
  bool compares = tune->options->keeps_memory;
  bf_text difference = {0};
  /* A fault that only the rewritten module has is a difference too. */
  int error = run_rewritten(tune, rewritten, compares, NULL, &tune->result, diagnostic);
  tune->differs = error == BF_BAD_INPUT || error == BF_FAULT;
  BF_TRY(error);
  count_result(tune, rewritten);
  if (!compares || bf_trial_is_equal(&tune->original, &tune->result, &difference))
    return BF_OK;
  tune->differs = true;
  error = bf_fail_file(diagnostic, BF_BAD_INPUT, tune->options->description, "%s",
                       difference.data ? difference.data : "memory differs");
  bf_text_free(&difference);
  return error;
}

/* Forecasts for a kernel in blocks of one shape. */
#include "tune/forecast.h"

#include <math.h>
#include <string.h>

/* Instructions that are followed: a thousandth of what takes seconds. */
enum { MOST_STEPS = 200000 };

static const double trips[BF_FORECAST_TRIPS] = {1, 32};

/* ---- Making ---- */

/* Why a kernel cannot be predicted, if that can be said before it is counted. */
static void explain_unknown(bf_forecast *f) {
  const bf_analysis *analysis = f->analysis;
  unsigned sites = 0;
  for (uint32_t i = 0; i < analysis->sites; i++)
    sites += analysis->site[i].is_reached;
  if (analysis->is_cut)
    snprintf(f->reason, sizeof f->reason, "it is too long to be predicted");
  else if (analysis->calls && analysis->sites < f->examined->accesses)
    snprintf(f->reason, sizeof f->reason,
             "it calls functions that access shared memory, which are not predicted");
  else if (!sites)
    snprintf(f->reason, sizeof f->reason, "blocks of this shape do not access shared memory");
  f->is_beyond = f->reason[0] && sites;
}

/* Whether an access lies inside what the kernel has: a block of another shape than it is written
 * for may not. */
static bool is_inside(const bf_forecast *f) {
  uint64_t end = 0;
  for (unsigned i = 0; i < f->original->variables; i++)
    if (!f->original->variable[i].variable->bytes)
      return true; /* what the launch sizes */
  end = f->original->shared_bytes;
  for (uint32_t i = 0; i < f->analysis->sites; i++) {
    const bf_analyze_site *site = &f->analysis->site[i];
    for (size_t k = 0; !site->offset_step_bytes && site->is_exact && k < site->accesses; k++)
      for (uint32_t left = site->access[k].mask; left; left &= left - 1)
        if (site->access[k].address[__builtin_ctz(left)] + (uint64_t)site->width_bytes > end)
          return false;
  }
  return true;
}

static int analyze(bf_forecast *f, const bf_ptx_module *module, const bf_predict_options *options,
                   bf_diagnostic *diagnostic) {
  bf_analyze_options own = {.accesses_only = true, .most_steps = MOST_STEPS};
  memcpy(own.block, f->block, sizeof own.block);
  if (options->launch) {
    memcpy(own.grid, options->launch->grid, sizeof own.grid);
    own.parameter = options->launch->parameter;
    own.is_known = options->launch->is_known;
    own.parameter_bytes = options->launch->parameter_bytes;
  }
  bf_diagnostic why = {.caret = -1};
  int error = bf_analyze(module, f->original->function, &own, &f->analysis, &why);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (error)
    snprintf(f->reason, sizeof f->reason, "%.200s", why.message);
  return BF_OK;
}

static const char outside[] = "blocks of this shape would access memory outside of its arrays";

int bf_forecast_make(const bf_ptx_module *module, const bf_rewrite_kernel *examined,
                     const bf_work_version *original, const bf_predict_options *options,
                     const uint32_t block[3], bf_work_counters *counters, bf_forecast *f,
                     bf_diagnostic *diagnostic) {
  *f = (bf_forecast){.gpu = options->gpu ? options->gpu : &bf_predict_h200,
                     .examined = examined,
                     .original = original};
  memcpy(f->block, block, sizeof f->block);
  f->threads = block[0] * block[1] * block[2];
  f->decides_by_launch = options->decides_by_launch;
  if (options->launch) {
    f->dynamic_bytes = options->launch->dynamic_shared_bytes;
    memcpy(f->resident, options->launch->resident, sizeof f->resident);
  }
  BF_TRY(analyze(f, module, options, diagnostic));
  if (f->reason[0])
    return BF_OK;
  explain_unknown(f);
  if (!f->reason[0] && !is_inside(f))
    snprintf(f->reason, sizeof f->reason, "%s", outside);
  if (f->reason[0])
    return BF_OK;
  f->options = (bf_work_options){.machine = options->machine,
                                 .counters = counters,
                                 .analysis = f->analysis,
                                 .examined = examined,
                                 .original = original};
  bool is_known = false;
  int error = bf_forecast_count(f, original, NULL, f->before, &is_known, diagnostic);
  if (!error && !is_known)
    snprintf(f->reason, sizeof f->reason, "%s", outside);
  return error;
}

void bf_forecast_free(bf_forecast *f) {
  bf_analysis_free(f->analysis);
  f->analysis = NULL;
}

int bf_forecast_count(const bf_forecast *f, const bf_work_version *version,
                      const bf_work_hashes *hashes, bf_work after[BF_FORECAST_TRIPS],
                      bool *is_known, bf_diagnostic *diagnostic) {
  *is_known = bf_work_is_version_of(version, f->original);
  if (!*is_known)
    return BF_OK;
  bf_diagnostic why = {.caret = -1};
  int error = bf_work_count(&f->options, version, hashes, trips, BF_FORECAST_TRIPS, after, &why);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  *is_known = !error; /* else an address lies outside of shared memory */
  return BF_OK;
}

/* ---- Hashes of a plan ---- */

static const bf_hash *hash_of(const void *context, const char *array) {
  const bf_forecast_hashes *own = context;
  const bf_rewrite_kernel *examined = bf_plan_examined(own->plans, own->plan);
  if (!own->plan->is_by_array)
    return own->plan->hash;
  for (unsigned i = 0; array && i < examined->arrays; i++)
    if (strcmp(examined->array[i].name, array) == 0)
      return own->plan->array_hash[i];
  return own->plan->hash;
}

bf_work_hashes bf_forecast_hash(const bf_forecast_hashes *hashes) {
  return (bf_work_hashes){.hash_of = hash_of, .context = hashes};
}

/* Plans: hashes as asked for, or chosen. */
#include "cli/use/plans.h"

#include "ptx/site.h"
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

/* ---- Making ---- */

/* Whether name is that of the kernel, as in the PTX or readable. */
static bool is_called(const char *kernel, const char *name) {
  bf_text readable = {0};
  bf_ptx_readable_name(kernel, &readable);
  bool is_same = strcmp(kernel, name) == 0 ||
                 (!readable.failed && readable.data && strcmp(readable.data, name) == 0);
  bf_text_free(&readable);
  return is_same;
}

int cli_plans_make(const bf_ptx_module *module, const char *file, const char *kernel,
                   cli_plans *plans, bf_diagnostic *diagnostic) {
  *plans = (cli_plans){.module = module};
  BF_TRY(bf_rewrite_examine(module, &plans->examined, diagnostic));
  bool is_found = !kernel;
  plans->plan = calloc(plans->examined.kernels + 1, sizeof *plans->plan);
  if (!plans->plan)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < plans->examined.kernels; i++) {
    cli_plan *plan = &plans->plan[plans->count++];
    plan->name = plans->examined.kernel[i].name;
    plan->is_asked = !kernel || is_called(plan->name, kernel);
    plan->array_hash = calloc(plans->examined.kernel[i].arrays + 1, sizeof *plan->array_hash);
    if (!plan->array_hash)
      return bf_no_memory(diagnostic);
    is_found |= plan->is_asked;
  }
  if (!plans->count)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, file, "no kernel");
  return is_found ? BF_OK : bf_fail_file(diagnostic, BF_BAD_INPUT, file, "no kernel '%s'", kernel);
}

void cli_plans_free(cli_plans *plans) {
  for (unsigned i = 0; i < plans->count; i++) {
    cli_plan *plan = &plans->plan[i];
    bf_choice_clear(&plan->choice);
    for (unsigned k = 0; plan->array_choice && k < plans->examined.kernel[i].arrays; k++)
      bf_choice_clear(&plan->array_choice[k]);
    free(plan->array_choice);
    free(plan->array_hash);
  }
  free(plans->plan);
  bf_rewrite_free(&plans->examined);
  bf_hash_free(plans->hash);
  bf_hash_list_free(plans->hashes);
  *plans = (cli_plans){0};
}

/* ---- Hashes as asked for ---- */

/* Takes a hash for a kernel or an array; none leaves it alone. */
static int take(const cli_plan *plan, const bf_hash *hash, const char *file, const bf_hash **taken,
                bf_diagnostic *diagnostic) {
  *taken = NULL;
  if (!hash || strcmp(bf_hash_text(hash), "none") == 0)
    return BF_OK;
  if (!bf_hash_is_row_preserving(hash))
    return bf_fail_file(diagnostic, BF_BAD_INPUT, file,
                        "hash %s of '%s' does not keep words in their rows of %d bytes; solve "
                        "--class row finds hashes that do",
                        bf_hash_text(hash), plan->name, BF_REWRITE_ROW_BYTES);
  *taken = hash;
  return BF_OK;
}

int cli_plans_set_hash(cli_plans *plans, const char *hash, const bf_machine *machine,
                       bf_diagnostic *diagnostic) {
  BF_TRY(cli_load_hash(hash, machine, &plans->hash, diagnostic));
  for (unsigned i = 0; i < plans->count; i++)
    if (plans->plan[i].is_asked)
      BF_TRY(take(&plans->plan[i], plans->hash, "", &plans->plan[i].hash, diagnostic));
  return BF_OK;
}

int cli_plans_set_file(cli_plans *plans, const char *path, const bf_machine *machine,
                       bf_diagnostic *diagnostic) {
  BF_TRY(bf_hash_list_read(path, bf_machine_geometry(machine), &plans->hashes, diagnostic));
  for (unsigned i = 0; i < plans->count; i++) {
    cli_plan *plan = &plans->plan[i];
    const bf_rewrite_kernel *examined = &plans->examined.kernel[i];
    if (!plan->is_asked)
      continue;
    BF_TRY(take(plan, bf_rewrite_listed_hash(plans->hashes, plan->name, NULL), path, &plan->hash,
                diagnostic));
    for (unsigned k = 0; k < examined->arrays; k++) {
      const bf_hash *hash =
          bf_rewrite_listed_hash(plans->hashes, plan->name, examined->array[k].name);
      BF_TRY(take(plan, hash, path, &plan->array_hash[k], diagnostic));
      plan->is_by_array |= plan->array_hash[k] != plan->hash;
    }
  }
  return BF_OK;
}

/* ---- Choosing ---- */

/* What is asked of bf_choose for accesses of that width. */
static bf_choose_options options_for(const cli_plans_search *search, unsigned granule_bytes,
                                     const bf_workload *merged, const bf_workload *written) {
  return (bf_choose_options){.machine = search->machine,
                             .written = written,
                             .merged = merged,
                             .granule_bytes = granule_bytes,
                             .time_limit_seconds = search->time_limit_seconds,
                             .threads = search->threads};
}

/* Chooses for one kernel that can be rewritten and takes the best. */
static int choose(cli_plan *plan, const bf_rewrite_kernel *examined, const cli_plans_search *search,
                  const bf_workload *merged, const bf_workload *written,
                  bf_diagnostic *diagnostic) {
  bf_choose_options options = options_for(search, examined->granule_bytes, merged, written);
  BF_TRY(bf_choose(&options, &plan->choice, diagnostic));
  const bf_candidate *best = &plan->choice.candidate[0];
  bool is_worth = plan->choice.candidates && !plan->choice.reason[0];
  plan->hash = is_worth ? best->hash : NULL;
  plan->has_prediction = is_worth;
  plan->prediction = best->prediction;
  memcpy(plan->reason, plan->choice.reason, sizeof plan->reason);
  return BF_OK;
}

/* Chooses for every array of a kernel, where it has several and all its accesses are known. */
static int choose_arrays(cli_plan *plan, const bf_rewrite_kernel *examined,
                         const cli_plans_search *search, const bf_workload *merged,
                         const bf_workload *written, bf_diagnostic *diagnostic) {
  if (examined->arrays < 2 || !examined->knows_arrays || !plan->choice.candidates)
    return BF_OK;
  plan->array_choice = calloc(examined->arrays, sizeof *plan->array_choice);
  if (!plan->array_choice)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < examined->arrays; i++) {
    const bf_rewrite_array *array = &examined->array[i];
    bf_choose_options options = options_for(search, array->granule_bytes, merged, written);
    BF_TRY(bf_choose_array(&options, array->name, &plan->array_choice[i], diagnostic));
  }
  return BF_OK;
}

/* Whether there is something to choose for the kernel. */
static bool is_open(const cli_plans *plans, unsigned index) {
  const bf_rewrite_kernel *examined = &plans->examined.kernel[index];
  return plans->plan[index].is_asked && !examined->obstacles && examined->accesses;
}

int cli_plans_choose(cli_plans *plans, const cli_plans_search *search, const bf_trial *merged,
                     const bf_trial *written, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < plans->count; i++) {
    cli_plan *plan = &plans->plan[i];
    const bf_trial_kernel *own = bf_trial_find(merged, plan->name);
    const bf_trial_kernel *apart = bf_trial_find(written, plan->name);
    if (!is_open(plans, i))
      continue;
    const bf_rewrite_kernel *examined = &plans->examined.kernel[i];
    if (!own || !apart) {
      snprintf(plan->reason, sizeof plan->reason, "it is not launched");
      continue;
    }
    BF_TRY(choose(plan, examined, search, own->workload, apart->workload, diagnostic));
    BF_TRY(choose_arrays(plan, examined, search, own->workload, apart->workload, diagnostic));
  }
  return BF_OK;
}

/* Sorts the accesses of a trace by kernel; *kept is how many belong to one. */
static int sort_accesses(const bf_site_names *names, const bf_workload *trace, bf_workload **own,
                         size_t *kept, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < names->kernels; i++)
    if (bf_workload_create(&own[i]) != BF_OK)
      return bf_no_memory(diagnostic);
  for (size_t i = 0; i < bf_workload_size(trace); i++) {
    const bf_access *access = bf_workload_get(trace, i);
    size_t to = bf_site_kernel(names, access->site);
    if (to == names->kernels)
      continue;
    if (bf_workload_add(own[to], access) != BF_OK)
      return bf_no_memory(diagnostic);
    ++*kept;
  }
  return BF_OK;
}

static int choose_sorted(cli_plans *plans, const cli_plans_search *search, bf_workload **own,
                         bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < plans->count; i++)
    if (is_open(plans, i))
      BF_TRY(choose(&plans->plan[i], &plans->examined.kernel[i], search, NULL, own[i], diagnostic));
  return BF_OK;
}

int cli_plans_choose_trace(cli_plans *plans, const cli_plans_search *search, const char *path,
                           bf_diagnostic *diagnostic) {
  bf_workload *trace;
  bf_site_names names;
  size_t kept = 0;
  BF_TRY(bf_workload_read(path, search->machine, &trace, diagnostic));
  bf_workload **own = calloc(plans->count, sizeof *own);
  int error = bf_site_names_make(plans->module, &names, diagnostic);
  if (!error)
    error = own ? sort_accesses(&names, trace, own, &kept, diagnostic) : bf_no_memory(diagnostic);
  if (!error && !kept)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, path,
                         "no access is of a kernel of the module: sites start with KERNEL:");
  if (!error)
    error = choose_sorted(plans, search, own, diagnostic);
  for (unsigned i = 0; own && i < plans->count; i++)
    bf_workload_free(own[i]);
  free(own);
  bf_site_names_free(&names);
  bf_workload_free(trace);
  return error;
}

/* ---- Taking ---- */

/* What was found about the kernel of a plan. */
static const bf_rewrite_kernel *examined_of(const cli_plans *plans, const cli_plan *plan) {
  return &plans->examined.kernel[plan - plans->plan];
}

bool cli_plan_has_hash(const cli_plans *plans, const cli_plan *plan) {
  bool any = plan->hash;
  for (unsigned i = 0; plan->is_by_array && i < examined_of(plans, plan)->arrays; i++)
    any |= plan->array_hash[i] != NULL;
  return any;
}

bool cli_plan_take(const cli_plans *plans, cli_plan *plan, unsigned number) {
  plan->is_by_array = number == BF_CHOOSE_MOST && plan->array_choice;
  plan->hash = number < plan->choice.candidates ? plan->choice.candidate[number].hash : NULL;
  for (unsigned i = 0; plan->is_by_array && i < examined_of(plans, plan)->arrays; i++) {
    const bf_choice *own = &plan->array_choice[i];
    plan->array_hash[i] = own->candidates && !own->reason[0] ? own->candidate[0].hash : NULL;
  }
  return cli_plan_has_hash(plans, plan);
}

/* ---- Rewriting ---- */

/* The hash of an array; open ones count as one. */
static const bf_hash *array_hash(const cli_plans *plans, const cli_plan *plan,
                                 const bf_ptx_variable *array) {
  const bf_rewrite_kernel *examined = examined_of(plans, plan);
  for (unsigned i = 0; i < examined->arrays; i++) {
    const bf_ptx_variable *own = examined->array[i].variable;
    if (own == array || (own->bytes == 0 && array->bytes == 0))
      return plan->array_hash[i];
  }
  return plan->hash;
}

static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const cli_plans *plans = context;
  for (unsigned i = 0; i < plans->count; i++) {
    const cli_plan *plan = &plans->plan[i];
    if (strcmp(plan->name, kernel->name) == 0)
      return plan->is_by_array && array ? array_hash(plans, plan, array) : plan->hash;
  }
  return NULL;
}

/* An error with the first finding, where there is one. */
static int verify(const cli_plans *plans, const bf_ptx_module *rewritten,
                  bf_diagnostic *diagnostic) {
  bf_verify_result result = {0};
  BF_TRY(
      bf_verify(plans->module, rewritten, (void *)(uintptr_t)plans, hash_of, &result, diagnostic));
  int error = BF_OK;
  if (!result.is_accepted) {
    const bf_verify_finding *first = result.findings ? &result.finding[0] : NULL;
    error = bf_fail(diagnostic, BF_UNSUPPORTED,
                    "internal error: the verifier rejects the rewritten PTX, line %llu, kernel "
                    "%s: %s",
                    (unsigned long long)(first ? first->line : 0),
                    first && first->kernel ? first->kernel : "(none)",
                    first ? first->text : "no finding");
  }
  bf_verify_free(&result);
  return error;
}

int cli_plans_rewrite(const cli_plans *plans, bf_rewrite_result *result, bf_ptx_module **rewritten,
                      bf_diagnostic *diagnostic) {
  bf_rewrite_options options = {.context = (void *)(uintptr_t)plans,
                                .hash_of = hash_of,
                                .dynamic_is_rounded = plans->dynamic_is_rounded,
                                .joins_logic = plans->joins_logic};
  BF_TRY(bf_rewrite(plans->module, &options, result, diagnostic));
  int error = result->text.failed
                  ? bf_no_memory(diagnostic)
                  : bf_ptx_parse("rewritten", result->text.data ? result->text.data : "",
                                 result->text.size, rewritten, diagnostic);
  if (!error)
    error = verify(plans, *rewritten, diagnostic);
  return error;
}

void cli_hash_lines(const char *kernel, const char *hash, bf_text *text) {
  bool is_by_array = hash && strchr(hash, '=');
  bf_text_addf(text, "%s %s\n", kernel, hash && !is_by_array ? hash : "none");
  while (is_by_array && *hash) {
    const char *comma = strstr(hash, ", "), *end = comma ? comma : hash + strlen(hash);
    int name = (int)strcspn(hash, "=");
    bf_text_addf(text, "%s[%.*s] %.*s\n", kernel, name, hash, (int)(end - hash) - name - 1,
                 hash + name + 1);
    hash = comma ? comma + 2 : end;
  }
}

void cli_plans_explain(const cli_plan *plan, const bf_rewrite_kernel *found, bf_text *text) {
  if (!plan->is_asked) {
    bf_text_puts(text, "not asked for");
  } else if (found->obstacles) {
    const bf_rewrite_obstacle *first = &found->obstacle[0];
    if (first->line)
      bf_text_addf(text, "line %llu: ", (unsigned long long)first->line);
    bf_text_puts(text, first->text);
    if (found->obstacles > 1)
      bf_text_addf(text, ", and %u more", found->obstacles - 1);
  } else if (!found->accesses) {
    bf_text_puts(text, "no accesses to shared memory");
  } else if (plan->reason[0]) {
    bf_text_puts(text, plan->reason);
  } else {
    bf_text_puts(text, found->hash ? "no access needs the hash" : "no hash is asked for");
  }
}

bool cli_plans_measure(const cli_plan *plan, const bf_trial *original, const bf_trial *rewritten,
                       bf_prediction *prediction) {
  const bf_trial_kernel *before = bf_trial_find(original, plan->name);
  const bf_trial_kernel *after = bf_trial_find(rewritten, plan->name);
  if (!before || !after)
    return false;
  *prediction = (bf_prediction){.wavefronts_before = before->wavefronts,
                                .wavefronts_after = after->wavefronts,
                                .added_instructions = (int64_t)after->warp_instructions -
                                                      (int64_t)before->warp_instructions,
                                .cycles_before = before->cycles,
                                .cycles_after = after->cycles,
                                .work_before = before->work,
                                .work_after = after->work};
  return true;
}

/* Plans: hashes as asked for, or proposed. Trying them is in try.c. */
#include "tune/plans.h"

#include "ptx/site.h"

#include <stdlib.h>
#include <string.h>

/* ---- Making ---- */

int bf_plans_make(const bf_ptx_module *module, const char *file, const char *kernel,
                  bf_plans *plans, bf_diagnostic *diagnostic) {
  *plans = (bf_plans){.module = module};
  BF_TRY(bf_rewrite_examine(module, &plans->examined, diagnostic));
  bool is_found = !kernel;
  plans->by_name.arena = &plans->examined.arena;
  plans->plan = calloc(plans->examined.kernels + 1, sizeof *plans->plan);
  if (!plans->plan)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < plans->examined.kernels; i++) {
    bf_plan *plan = &plans->plan[plans->count++];
    plan->name = plans->examined.kernel[i].name;
    void **place = bf_table_at(&plans->by_name, plan->name, strlen(plan->name));
    if (!place)
      return bf_no_memory(diagnostic);
    *place = plan;
    plan->is_asked = !kernel || bf_ptx_is_called(plan->name, kernel);
    plan->array_hash = calloc(plans->examined.kernel[i].arrays + 1, sizeof *plan->array_hash);
    if (!plan->array_hash)
      return bf_no_memory(diagnostic);
    is_found |= plan->is_asked;
  }
  return is_found ? BF_OK : bf_ptx_no_kernel(module, file, kernel, diagnostic);
}

void bf_plan_forget(const bf_plans *plans, bf_plan *plan, bool keeps_reason) {
  unsigned arrays = bf_plan_examined(plans, plan)->arrays;
  bf_plan_take(plans, plan, BF_PLAN_CANDIDATES);
  bf_proposal_clear(&plan->proposal);
  for (unsigned k = 0; plan->array_proposal && k < arrays; k++)
    bf_proposal_clear(&plan->array_proposal[k]);
  for (unsigned k = 0; plan->array_padding && k < arrays; k++)
    bf_hash_free(plan->array_padding[k]);
  free(plan->array_padding);
  free(plan->array_proposal);
  plan->array_padding = NULL;
  plan->is_unusual = plan->is_doubtful = false;
  plan->array_proposal = NULL;
  memset(plan->was_tried, 0, sizeof plan->was_tried);
  plan->has_comparison &= keeps_reason;
  if (!keeps_reason)
    plan->reason[0] = 0;
}

void bf_plans_free(bf_plans *plans) {
  for (unsigned i = 0; i < plans->count; i++) {
    bf_plan_forget(plans, &plans->plan[i], false);
    free(plans->plan[i].array_hash);
  }
  free(plans->plan);
  bf_rewrite_free(&plans->examined);
  bf_hash_free(plans->hash);
  bf_hash_list_free(plans->hashes);
  *plans = (bf_plans){0};
}

/* ---- Hashes as asked for ---- */

/* Takes a hash for a kernel or an array; none leaves it alone. */
static int take(const bf_plan *plan, const bf_hash *hash, const char *file, const bf_hash **taken,
                bf_diagnostic *diagnostic) {
  *taken = NULL;
  if (!hash || strcmp(bf_hash_text(hash), "none") == 0)
    return BF_OK;
  if (!bf_rewrite_takes(hash))
    return bf_fail_file(diagnostic, BF_BAD_INPUT, file,
                        "hash %s of '%s' does not keep words in their rows of %d bytes; solve "
                        "--class row finds hashes that do",
                        bf_hash_text(hash), plan->name, BF_REWRITE_ROW_BYTES);
  *taken = hash;
  return BF_OK;
}

int bf_plans_set_hash(bf_plans *plans, const char *hash, const bf_geometry *geometry,
                      bf_diagnostic *diagnostic) {
  BF_TRY(bf_hash_parse(hash, geometry, &plans->hash, diagnostic));
  for (unsigned i = 0; i < plans->count; i++)
    if (plans->plan[i].is_asked)
      BF_TRY(take(&plans->plan[i], plans->hash, "", &plans->plan[i].hash, diagnostic));
  return BF_OK;
}

/* Takes the hash that the list, or else bf_plans_set_hash, has for a kernel or an array of it. */
static int take_listed(const bf_plans *plans, const bf_plan *plan, const char *array,
                       const char *file, const bf_hash **taken, bf_diagnostic *diagnostic) {
  const bf_hash *hash;
  if (bf_rewrite_listed_hash(plans->hashes, plan->name, array, &hash) != BF_OK)
    return bf_no_memory(diagnostic);
  return take(plan, hash ? hash : plans->hash, file, taken, diagnostic);
}

/* Gives kernels and arrays what the list has for them. */
static int take_list(bf_plans *plans, const char *file, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < plans->count; i++) {
    bf_plan *plan = &plans->plan[i];
    const bf_rewrite_kernel *examined = &plans->examined.kernel[i];
    if (!plan->is_asked)
      continue;
    BF_TRY(take_listed(plans, plan, NULL, file, &plan->hash, diagnostic));
    for (unsigned k = 0; k < examined->arrays; k++) {
      BF_TRY(take_listed(plans, plan, examined->array[k].name, file, &plan->array_hash[k],
                         diagnostic));
      plan->is_by_array |= plan->array_hash[k] != plan->hash;
    }
  }
  return BF_OK;
}

int bf_plans_set_file(bf_plans *plans, const char *path, const bf_geometry *geometry,
                      bf_diagnostic *diagnostic) {
  BF_TRY(bf_hash_list_read(path, *geometry, &plans->hashes, diagnostic));
  return take_list(plans, path, diagnostic);
}

int bf_plans_set_text(bf_plans *plans, const char *name, const char *text,
                      const bf_geometry *geometry, bf_diagnostic *diagnostic) {
  BF_TRY(bf_hash_list_parse(name, text, *geometry, &plans->hashes, diagnostic));
  return take_list(plans, name, diagnostic);
}

/* ---- Proposing ---- */

const bf_rewrite_kernel *bf_plan_examined(const bf_plans *plans, const bf_plan *plan) {
  return &plans->examined.kernel[plan - plans->plan];
}

bool bf_plan_is_open(const bf_plans *plans, const bf_plan *plan) {
  const bf_rewrite_kernel *examined = bf_plan_examined(plans, plan);
  return plan->is_asked && !examined->obstacles && examined->accesses;
}

/* Proposes for the kernel as a whole and takes the best. */
static int propose_kernel(bf_plan *plan, const bf_propose_options *options,
                          bf_diagnostic *diagnostic) {
  BF_TRY(bf_propose(options, &plan->proposal, diagnostic));
  const bf_candidate *best = &plan->proposal.candidate[0];
  bool is_worth = plan->proposal.candidates && !plan->proposal.reason[0];
  plan->hash = is_worth ? best->hash : NULL;
  plan->has_comparison = is_worth;
  plan->comparison = best->predicted;
  memcpy(plan->reason, plan->proposal.reason, sizeof plan->reason);
  return BF_OK;
}

/* Proposes for every array of a kernel, where it has several and all its accesses are known. */
static int propose_arrays(bf_plan *plan, const bf_rewrite_kernel *examined,
                          const bf_propose_options *options, bf_diagnostic *diagnostic) {
  bf_propose_options own = *options;
  bool has_tiles = examined->granule_bytes >= BF_REWRITE_ROW_BYTES;
  if (examined->arrays < 2 || !examined->knows_arrays || (!plan->proposal.candidates && !has_tiles))
    return BF_OK;
  plan->array_proposal = calloc(examined->arrays, sizeof *plan->array_proposal);
  if (!plan->array_proposal)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < examined->arrays; i++) {
    own.granule_bytes = examined->array[i].granule_bytes;
    if (own.granule_bytes >= BF_REWRITE_ROW_BYTES)
      continue; /* no hash keeps its tiles together */
    BF_TRY(bf_propose_array(&own, examined->array[i].name, &plan->array_proposal[i], diagnostic));
  }
  return BF_OK;
}

static const char kept_tiles[] =
    "wmma and bulk copies take data as they lie, which no hash of the kernel keeps";

/* Whether a hash is proposed for an array of its own. */
static bool has_array_candidate(const bf_plan *plan, const bf_rewrite_kernel *examined) {
  for (unsigned i = 0; plan->array_proposal && i < examined->arrays; i++)
    if (plan->array_proposal[i].candidates && !plan->array_proposal[i].reason[0])
      return true;
  return false;
}

int bf_plan_propose(const bf_plans *plans, bf_plan *plan, const bf_plans_search *search,
                    const bf_observed *accesses, bf_diagnostic *diagnostic) {
  const bf_rewrite_kernel *examined = bf_plan_examined(plans, plan);
  if (!bf_plan_is_open(plans, plan))
    return BF_OK;
  if (!accesses) {
    snprintf(plan->reason, sizeof plan->reason, "it is not launched");
    return BF_OK;
  }
  bf_propose_options options = {.machine = search->machine,
                                .written = accesses->written,
                                .merged = accesses->merged,
                                .granule_bytes = examined->granule_bytes,
                                .time_limit_seconds = search->time_limit_seconds,
                                .deadline = search->deadline,
                                .threads = search->threads,
                                .only_terms = search->only_terms};
  bool has_tiles = examined->granule_bytes >= BF_REWRITE_ROW_BYTES;
  if (has_tiles)
    snprintf(plan->reason, sizeof plan->reason, "%s, and no longer rows remove conflicts",
             kept_tiles);
  else
    BF_TRY(propose_kernel(plan, &options, diagnostic));
  if (accesses->merged)
    BF_TRY(propose_arrays(plan, examined, &options, diagnostic));
  if (has_tiles && has_array_candidate(plan, examined))
    snprintf(plan->reason, sizeof plan->reason,
             "%s; arrays that they leave alone have candidates, which --try tries", kept_tiles);
  return BF_OK;
}

/* ---- Accesses of a trace ---- */

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

static int propose_sorted(bf_plans *plans, const bf_plans_search *search, bf_workload **own,
                          bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < plans->count; i++) {
    bf_observed accesses = {.written = own[i]};
    BF_TRY(bf_plan_propose(plans, &plans->plan[i], search, &accesses, diagnostic));
    BF_TRY(bf_padding_propose_traced(plans, &plans->plan[i], search->machine, own[i], diagnostic));
  }
  return BF_OK;
}

int bf_plans_propose_trace(bf_plans *plans, const bf_plans_search *search, const char *path,
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
    error = propose_sorted(plans, search, own, diagnostic);
  for (unsigned i = 0; own && i < plans->count; i++)
    bf_workload_free(own[i]);
  free(own);
  bf_site_names_free(&names);
  bf_workload_free(trace);
  return error;
}

/* ---- Rewriting ---- */

/* The hash of an array; open ones count as one. */
static const bf_hash *array_hash(const bf_plans *plans, const bf_plan *plan,
                                 const bf_ptx_variable *array) {
  const bf_rewrite_kernel *examined = bf_plan_examined(plans, plan);
  for (unsigned i = 0; i < examined->arrays; i++) {
    const bf_ptx_variable *own = examined->array[i].variable;
    if (own == array || (own->bytes == 0 && array->bytes == 0))
      return plan->array_hash[i];
  }
  return plan->hash;
}

const bf_hash *bf_plans_hash(const bf_plans *plans, const char *kernel,
                             const bf_ptx_variable *array) {
  const bf_plan *plan = bf_table_find(&plans->by_name, kernel, strlen(kernel));
  if (!plan || (array && bf_rewrite_is_narrow(bf_plan_examined(plans, plan), array)))
    return NULL;
  return plan->is_by_array && array ? array_hash(plans, plan, array) : plan->hash;
}

static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  return bf_plans_hash(context, kernel->name, array);
}

int bf_plans_rewrite(const bf_plans *plans, bool joins_logic, bf_rewrite_result *result,
                     bf_diagnostic *diagnostic) {
  bf_rewrite_options options = {.context = (void *)(uintptr_t)plans,
                                .hash_of = hash_of,
                                .padding_has_room = plans->padding_has_room,
                                .blocks_are_checked = plans->blocks_are_checked,
                                .resizes_dynamic = plans->resizes_dynamic,
                                .joins_logic = joins_logic};
  return bf_rewrite(plans->module, &options, result, diagnostic);
}

void bf_plan_explain(const bf_plan *plan, const bf_rewrite_kernel *found, bf_text *text) {
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

void bf_plan_write(const bf_plans *plans, const bf_plan *plan, bf_text *text) {
  const bf_rewrite_kernel *examined = bf_plan_examined(plans, plan);
  bf_text_addf(text, "%s %s\n", plan->name, plan->hash ? bf_hash_text(plan->hash) : "none");
  for (unsigned i = 0; plan->is_by_array && i < examined->arrays; i++)
    if (plan->array_hash[i])
      bf_text_addf(text, "%s[%s] %s\n", plan->name, examined->array[i].name,
                   bf_hash_text(plan->array_hash[i]));
}

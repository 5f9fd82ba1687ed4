/* PTX on its way through NVIDIA's compilers. */
#include "tune/compiling.h"

#include "process/process.h"
#include "tune/predict.h"
#include "tune/resources.h"

#include <string.h>
#include <unistd.h>

/* A module on its way. */
typedef struct rewriting {
  const bf_compiling *how;
  const char *name;
  bf_ptx_module *module;
  bf_plans plans; /* of auto, and of kernels that are left alone */
  bool has_plans;
  bf_rewrite_result result;
} rewriting;

static bf_plan *plan_of(const rewriting *work, const char *kernel) {
  for (unsigned i = 0; work->has_plans && i < work->plans.count; i++)
    if (strcmp(work->plans.plan[i].name, kernel) == 0)
      return &work->plans.plan[i];
  return NULL;
}

/* ---- Choosing and rewriting ---- */

/* Whether the list says what a kernel gets. */
static bool is_listed(const bf_compiling *how, const char *kernel) {
  return !how->is_auto || bf_listed_hash(how->listed, kernel, NULL);
}

/* bf_rewrite_options.hash_of: as listed or, with auto, as planned. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const rewriting *work = context;
  const bf_plan *plan = plan_of(work, kernel->name);
  if (plan && plan->reason[0])
    return NULL;
  if (!is_listed(work->how, kernel->name))
    return work->has_plans ? bf_plans_hash(&work->plans, kernel->name, array) : NULL;
  const bf_hash *hash = bf_listed_hash(work->how->listed, kernel->name, array ? array->name : NULL);
  return hash && strcmp(bf_hash_text(hash), "none") != 0 ? hash : NULL;
}

/* Examines the module and, with auto, chooses hashes from its PTX. */
static int plan(rewriting *work, bf_diagnostic *diagnostic) {
  const bf_compiling *how = work->how;
  bf_machine *machine = NULL;
  bf_diagnostic unused;
  int error = bf_plans_make(work->module, work->name, NULL, &work->plans, &unused);
  work->has_plans = !error;
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (error || !how->is_auto || work->plans.examined.was_rewritten)
    return BF_OK; /* it has no kernels, or none to choose for */
  work->plans.padding_has_room = how->listed->padding_has_room;
  for (unsigned i = 0; i < work->plans.count; i++)
    work->plans.plan[i].is_asked = !is_listed(how, work->plans.plan[i].name);
  BF_TRY(bf_machine_load("hopper", NULL, &machine, diagnostic));
  error = bf_predict_choose(&work->plans, &(bf_predict_options){.machine = machine}, diagnostic);
  bf_machine_free(machine);
  return error;
}

static int rewrite(rewriting *work, bf_diagnostic *diagnostic) {
  bf_rewrite_options options = {
      .context = work, .hash_of = hash_of, .padding_has_room = work->how->listed->padding_has_room};
  bf_rewrite_free(&work->result);
  return bf_rewrite(work->module, &options, &work->result, diagnostic);
}

/* Asks ptxas about the kernels of PTX, for an architecture as in sm_90. Where it does not say, the
 * list is empty. */
static int ask_ptxas(const char *ptxas, const char *arch, const bf_text *ptx,
                     bf_resources *resources, bf_diagnostic *diagnostic) {
  char path[BF_PROCESS_PATH_BYTES], option[80];
  bf_diagnostic unused;
  int file = bf_process_memory_file(ptx, path), error = BF_OK;
  if (file < 0)
    return bf_fail(diagnostic, BF_IO, "no memory for a file");
  snprintf(option, sizeof option, "-arch=%s", arch);
  const char *argv[] = {ptxas, option, "-v", path, "-o", "/dev/null", NULL};
  bf_process run = {.path = ptxas, .arguments = (char **)argv, .keeps_output = true};
  bf_process_end end;
  if (bf_process_run(&run, &end, &unused) == BF_OK) {
    if (end.status == 0 && end.error.data)
      error = bf_resources_read(end.error.data, resources, diagnostic);
    bf_process_end_free(&end);
  }
  close(file);
  return error;
}

/* Leaves kernels alone that ptxas says need too much when they are rewritten; *any: there is one.
 */
static int compare_resources(rewriting *work, const bf_text *ptx, bool *any,
                             bf_diagnostic *diagnostic) {
  const bf_compiling *how = work->how;
  bf_resources before = {0}, after = {0};
  int error = ask_ptxas(how->ptxas, how->arch, ptx, &before, diagnostic);
  if (!error)
    error = ask_ptxas(how->ptxas, how->arch, &work->result.text, &after, diagnostic);
  for (unsigned i = 0; i < work->result.kernels && !error; i++) {
    const bf_rewrite_kernel *kernel = &work->result.kernel[i];
    bf_plan *own = plan_of(work, kernel->name);
    const bf_ptx_function *function = bf_ptx_find(work->module, kernel->name);
    if (!own || !function || !kernel->is_rewritten)
      continue;
    double share = is_listed(how, kernel->name)
                       ? 0
                       : bf_judge_share(&own->comparison) * (1 + bf_judge_noise(&own->comparison));
    bf_resources_compare(&before, &after, function, share, own->reason, sizeof own->reason);
    *any |= own->reason[0] != 0;
  }
  bf_resources_free(&before);
  bf_resources_free(&after);
  return error;
}

/* Chooses, rewrites, and leaves alone what would need too much. */
static int rewrite_module(rewriting *work, const bf_text *ptx, bf_diagnostic *diagnostic) {
  bool again = false;
  BF_TRY(plan(work, diagnostic));
  BF_TRY(rewrite(work, diagnostic));
  if (work->result.is_changed && work->how->ptxas)
    BF_TRY(compare_resources(work, ptx, &again, diagnostic));
  return again ? rewrite(work, diagnostic) : BF_OK;
}

/* ---- What was done ---- */

/* What was done to a kernel, or why not, and what was predicted. */
static void remark_on_kernel(const rewriting *work, const bf_rewrite_kernel *kernel,
                             bf_text *text) {
  const bf_plan *own = plan_of(work, kernel->name);
  bool has_reason = own && own->reason[0] && !kernel->is_rewritten && !kernel->obstacles;
  bf_text_puts(text, "  ");
  if (has_reason && kernel->accesses)
    bf_text_addf(text, "%s: left alone: %s", kernel->name, own->reason);
  else
    bf_listed_remark(kernel, text);
  if (own && kernel->is_rewritten && own->has_comparison) {
    bf_text_puts(text, ": ");
    bf_judge_explain(&own->comparison, text);
  }
  bf_text_puts(text, "\n");
}

static void remark(const rewriting *work, bf_text *text) {
  const bf_rewrite_result *result = &work->result;
  unsigned rewritten = 0;
  for (unsigned i = 0; i < result->kernels; i++)
    rewritten += result->kernel[i].is_rewritten;
  bf_text_addf(text, "%s: %u of %u kernels rewritten\n", work->name, rewritten, result->kernels);
  for (unsigned i = 0; i < result->kernels; i++)
    remark_on_kernel(work, &result->kernel[i], text);
}

int bf_compiling_rewrite(const bf_compiling *how, const char *name, const bf_text *ptx,
                         bf_compiled *compiled, bf_diagnostic *diagnostic) {
  rewriting work = {.how = how, .name = name};
  *compiled = (bf_compiled){0};
  BF_TRY(bf_ptx_parse(name, ptx->data, ptx->size, &work.module, diagnostic));
  int error = rewrite_module(&work, ptx, diagnostic);
  if (!error) {
    remark(&work, &compiled->remarks);
    compiled->was_rewritten = work.result.was_rewritten;
    if (work.result.is_changed)
      bf_text_add(&compiled->ptx, work.result.text.data, work.result.text.size);
    if (compiled->ptx.failed || compiled->remarks.failed)
      error = bf_no_memory(diagnostic);
  }
  bf_rewrite_free(&work.result);
  bf_plans_free(&work.plans);
  bf_ptx_free(work.module);
  return error;
}

void bf_compiled_free(bf_compiled *compiled) {
  bf_text_free(&compiled->ptx);
  bf_text_free(&compiled->remarks);
}

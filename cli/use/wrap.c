/* What the wrappers of NVIDIA's compilers share. */
#include "cli/use/wrap.h"

#include "hash/list.h"
#include "process/process.h"
#include "ptx/ptx_text.h"
#include "rewrite/rewrite.h"
#include "tune/predict.h"
#include "tune/resources.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Settings ---- */

/* Fails where a file has a hash that kernels cannot be rewritten with. */
static int check_list(const char *path, const bf_hash_list *list, bf_diagnostic *diagnostic) {
  const bf_hash *hash;
  const char *kernel;
  for (size_t i = 0; (hash = bf_hash_list_get(list, i, &kernel)); i++)
    if (!bf_rewrite_takes(hash))
      return bf_fail_file(diagnostic, BF_BAD_INPUT, path,
                          "hash %s of '%s' does not keep words in their rows of 128 bytes",
                          bf_hash_text(hash), kernel);
  return BF_OK;
}

static bool is_auto(const char *hash) { return hash && strcmp(hash, "auto") == 0; }

/* Reads the text of a list of hashes, which file names in diagnostics (NULL: there is none), and
 * the hash of all others (NULL: none). */
static int read_hashes(const char *file, const char *text, const char *hash, cli_wrap *wrap,
                       bf_diagnostic *diagnostic) {
  if (file) {
    BF_TRY(bf_hash_list_parse(file, text, bf_listed_geometry, &wrap->hashes, diagnostic));
    BF_TRY(check_list(file, wrap->hashes, diagnostic));
  }
  if (hash)
    BF_TRY(bf_hash_parse(hash, &bf_listed_geometry, &wrap->otherwise, diagnostic));
  if (wrap->otherwise && !bf_rewrite_takes(wrap->otherwise))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "programs are rewritten with hashes that leave every word in its row of 128 "
                   "bytes; '%s' does not",
                   hash);
  wrap->listed.hashes = wrap->hashes;
  wrap->listed.otherwise = wrap->otherwise;
  return BF_OK;
}

int cli_wrap_get(cli_wrap *wrap, bf_diagnostic *diagnostic) {
  const bf_rewriting_settings *own = &wrap->settings;
  *wrap = (cli_wrap){0};
  BF_TRY(bf_rewriting_settings_get(&wrap->settings, diagnostic));
  wrap->listed.padding_has_room = own->dynamic_rounded;
  bf_text text = {0};
  const char *file = own->hashes_text ? bf_variable_name(BF_VARIABLE_HASHES_TEXT) : own->hashes;
  wrap->is_auto = own->hash ? is_auto(own->hash) : !file;
  int error = BF_OK;
  if (!own->hashes_text && own->hashes)
    error = bf_hash_list_read_text(own->hashes, &text, diagnostic);
  if (!error)
    error = read_hashes(file, own->hashes_text ? own->hashes_text : text.data,
                        wrap->is_auto ? NULL : own->hash, wrap, diagnostic);
  bf_text_free(&text);
  return error;
}

void cli_wrap_free(cli_wrap *wrap) {
  if (wrap->hashes)
    bf_hash_list_free(wrap->hashes);
  bf_hash_free(wrap->otherwise);
  bf_rewriting_settings_free(&wrap->settings);
  *wrap = (cli_wrap){0};
}

/* Whether a file cannot be read again, as pipes. */
static bool is_fleeting(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

int cli_wrap_check(const char *hash_file, const char *hash, bf_text *content,
                   bf_diagnostic *diagnostic) {
  cli_wrap wrap = {0};
  bf_text text = {0};
  bool is_kept = hash_file && is_fleeting(hash_file);
  int error = hash_file ? bf_hash_list_read_text(hash_file, &text, diagnostic) : BF_OK;
  if (!error)
    error = read_hashes(hash_file, text.data, hash, &wrap, diagnostic);
  if (!error && is_kept) {
    bf_text_add(content, text.data, text.size);
    error = content->failed ? bf_no_memory(diagnostic) : BF_OK;
  }
  bf_text_free(&text);
  cli_wrap_free(&wrap);
  return error;
}

int cli_wrap_put_hashes(const char *hash_file, const bf_text *content, bf_rewriting_settings *told,
                        bf_diagnostic *diagnostic) {
  if (content->size > BF_MOST_HASHES_TEXT_BYTES)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, hash_file,
                        "more than %d bytes of hashes need a file that can be read more than once",
                        BF_MOST_HASHES_TEXT_BYTES);
  told->hashes = content->size ? NULL : hash_file;
  told->hashes_text = content->data;
  return bf_rewriting_settings_put(told, diagnostic);
}

int cli_wrap_put(const cli_wrap_options *options, bf_diagnostic *diagnostic) {
  if (options->hash_file && strcmp(options->hash_file, "-") == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "--hash-file cannot be standard input, which is the compiler's");
  const char *file = options->hash_file, *hash = options->hash;
  const char *given = bf_variable_get(BF_VARIABLE_HASHES);
  bool is_given = !file && !hash && given && is_fleeting(given);
  if (is_given) {
    file = given;
    hash = bf_variable_get(BF_VARIABLE_HASH);
  }
  bf_text content = {0};
  bf_rewriting_settings told = {
      .hash = hash, .dynamic_rounded = options->dynamic_rounded, .log = options->log};
  int error = cli_wrap_check(file, is_auto(hash) ? NULL : hash, &content, diagnostic);
  if (!error)
    error = cli_wrap_put_hashes(file, &content, &told, diagnostic);
  bf_text_free(&content);
  return is_given ? BF_OK : error; /* what is wrong with a variable, the tools say */
}

/* ---- Log ---- */

void cli_wrap_log(const cli_wrap *wrap, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  bf_log(wrap->settings.log, format, arguments);
  va_end(arguments);
}

void cli_wrap_warn(const cli_wrap *wrap, const bf_diagnostic *diagnostic) {
  bf_text text = {0};
  if (*diagnostic->file)
    bf_text_addf(&text, "%s:", diagnostic->file);
  if (*diagnostic->file && diagnostic->line)
    bf_text_addf(&text, "%llu:", (unsigned long long)diagnostic->line);
  bf_text_addf(&text, "%s%s", text.size ? " " : "", diagnostic->message);
  const char *message = text.failed ? diagnostic->message : text.data;
  cli_wrap_log(wrap, "compiled as it is: %s", message);
  if (!wrap->settings.log || strcmp(wrap->settings.log, "stderr") != 0)
    fprintf(stderr, "bankfold: warning: compiled as it is: %s\n", message);
  bf_text_free(&text);
}

/* ---- Rewriting ---- */

/* A module on its way. */
typedef struct rewriting {
  const cli_wrap *wrap;
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

/* Whether the list, or --hash, says what a kernel gets. */
static bool is_listed(const cli_wrap *wrap, const char *kernel) {
  return !wrap->is_auto || bf_listed_hash(&wrap->listed, kernel, NULL);
}

/* bf_rewrite_options.hash_of: as listed or, with auto, as planned. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const rewriting *work = context;
  const bf_plan *plan = plan_of(work, kernel->name);
  if (plan && plan->reason[0])
    return NULL;
  if (!is_listed(work->wrap, kernel->name))
    return work->has_plans ? bf_plans_hash(&work->plans, kernel->name, array) : NULL;
  const bf_hash *hash =
      bf_listed_hash(&work->wrap->listed, kernel->name, array ? array->name : NULL);
  return hash && strcmp(bf_hash_text(hash), "none") != 0 ? hash : NULL;
}

/* Examines the module and, with auto, chooses hashes from its PTX. */
static int plan(rewriting *work, bf_diagnostic *diagnostic) {
  bf_machine *machine = NULL;
  bf_diagnostic unused;
  int error = bf_plans_make(work->module, work->name, NULL, &work->plans, &unused);
  work->has_plans = !error;
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (error || !work->wrap->is_auto || work->plans.examined.was_rewritten)
    return BF_OK; /* it has no kernels, or none to choose for */
  work->plans.padding_has_room = work->wrap->listed.padding_has_room;
  for (unsigned i = 0; i < work->plans.count; i++)
    work->plans.plan[i].is_asked = !is_listed(work->wrap, work->plans.plan[i].name);
  BF_TRY(bf_machine_load("hopper", NULL, &machine, diagnostic));
  error = bf_predict_choose(&work->plans, &(bf_predict_options){.machine = machine}, diagnostic);
  bf_machine_free(machine);
  return error;
}

static int rewrite(rewriting *work, bf_diagnostic *diagnostic) {
  bf_rewrite_options options = {
      .context = work, .hash_of = hash_of, .padding_has_room = work->wrap->listed.padding_has_room};
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
static int compare_resources(rewriting *work, const cli_wrap_ptxas *ptxas, const bf_text *ptx,
                             bool *any, bf_diagnostic *diagnostic) {
  bf_resources before = {0}, after = {0};
  int error = ask_ptxas(ptxas->path, ptxas->arch, ptx, &before, diagnostic);
  if (!error)
    error = ask_ptxas(ptxas->path, ptxas->arch, &work->result.text, &after, diagnostic);
  *any = false;
  for (unsigned i = 0; i < work->result.kernels && !error; i++) {
    const bf_rewrite_kernel *kernel = &work->result.kernel[i];
    bf_plan *own = plan_of(work, kernel->name);
    const bf_ptx_function *function = bf_ptx_find(work->module, kernel->name);
    if (!own || !function || !kernel->is_rewritten)
      continue;
    double share = is_listed(work->wrap, kernel->name)
                       ? 0
                       : bf_judge_share(&own->comparison) * (1 + bf_judge_noise(&own->comparison));
    bf_resources_compare(&before, &after, function, share, own->reason, sizeof own->reason);
    *any |= own->reason[0] != 0;
  }
  bf_resources_free(&before);
  bf_resources_free(&after);
  return error;
}

/* What was done to a kernel, or why not, and what was predicted. */
static void log_kernel(const rewriting *work, const bf_rewrite_kernel *kernel) {
  const bf_plan *own = plan_of(work, kernel->name);
  bf_text remark = {0};
  bool has_reason = own && own->reason[0] && !kernel->is_rewritten && !kernel->obstacles;
  if (has_reason && kernel->accesses)
    bf_text_addf(&remark, "%s: left alone: %s", kernel->name, own->reason);
  else
    bf_listed_remark(kernel, &remark);
  if (own && kernel->is_rewritten && own->has_comparison) {
    bf_text_puts(&remark, ": ");
    bf_judge_explain(&own->comparison, &remark);
  }
  cli_wrap_log(work->wrap, "  %s", remark.data ? remark.data : kernel->name);
  bf_text_free(&remark);
}

static void log_result(const rewriting *work) {
  const bf_rewrite_result *result = &work->result;
  unsigned hashed = 0;
  for (unsigned i = 0; i < result->kernels; i++)
    hashed += result->kernel[i].is_rewritten;
  cli_wrap_log(work->wrap, "%s: %u of %u kernels rewritten", work->name, hashed, result->kernels);
  for (unsigned i = 0; i < result->kernels; i++)
    log_kernel(work, &result->kernel[i]);
}

/* Says that a file is compiled as it is because it was rewritten before. */
static void warn_again(const cli_wrap *wrap, const char *name) {
  bf_diagnostic why = {.caret = -1};
  bf_fail_file(&why, BF_UNSUPPORTED, name, "it was rewritten before");
  cli_wrap_warn(wrap, &why);
}

/* Chooses, rewrites, and leaves alone what would need too much. */
static int rewrite_module(rewriting *work, const cli_wrap_ptxas *ptxas, const bf_text *ptx,
                          bf_diagnostic *diagnostic) {
  bool again = false;
  BF_TRY(plan(work, diagnostic));
  BF_TRY(rewrite(work, diagnostic));
  if (work->result.is_changed && ptxas->path)
    BF_TRY(compare_resources(work, ptxas, ptx, &again, diagnostic));
  return again ? rewrite(work, diagnostic) : BF_OK;
}

/* Rewrites PTX text. */
static int rewrite_text(const cli_wrap *wrap, const char *name, const bf_text *ptx,
                        const cli_wrap_ptxas *ptxas, bf_text *rewritten,
                        bf_diagnostic *diagnostic) {
  rewriting work = {.wrap = wrap, .name = name};
  BF_TRY(bf_ptx_parse(name, ptx->data, ptx->size, &work.module, diagnostic));
  int error = rewrite_module(&work, ptxas, ptx, diagnostic);
  if (!error) {
    log_result(&work);
    if (work.result.was_rewritten)
      warn_again(wrap, name);
    if (work.result.is_changed)
      bf_text_add(rewritten, work.result.text.data, work.result.text.size);
    if (rewritten->failed)
      error = bf_no_memory(diagnostic);
  }
  bf_rewrite_free(&work.result);
  bf_plans_free(&work.plans);
  bf_ptx_free(work.module);
  return error;
}

int cli_wrap_rewrite(const cli_wrap *wrap, const char *file, const char *name,
                     const cli_wrap_ptxas *ptxas, bf_text *rewritten, bf_diagnostic *diagnostic) {
  bf_text ptx = {0};
  int error = bf_read_file(file, SIZE_MAX, &ptx, diagnostic);
  if (!error && bf_ptx_text_is(ptx.data, ptx.size))
    error = rewrite_text(wrap, name, &ptx, ptxas, rewritten, diagnostic);
  bf_text_free(&ptx);
  if (error)
    bf_text_free(rewritten);
  return error;
}

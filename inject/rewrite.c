/* Rewriting: the hash of each kernel, and the rewriter, whose result must pass the verifier. */
#include "inject.h"

#include "apply/rewrite.h"
#include "apply/verify.h"

#include <stdlib.h>
#include <string.h>

/* What decides about the hash of a kernel. */
typedef struct choice {
  const inject_settings *settings;
  unsigned left_out;
  const char **name; /* kernels that get none */
} choice;

/* The line of a kernel in the file of hashes, by its own or its readable name, or the default. */
static const bf_hash *listed_hash(const inject_settings *settings, const char *name) {
  if (!settings->hashes)
    return settings->otherwise;
  bf_text readable = {0};
  bf_ptx_readable_name(name, &readable);
  bool by_readable = !readable.failed && readable.data &&
                     !bf_hash_list_has(settings->hashes, name) &&
                     bf_hash_list_has(settings->hashes, readable.data);
  const bf_hash *hash = bf_hash_list_find(settings->hashes, by_readable ? readable.data : name);
  bf_text_free(&readable);
  return hash ? hash : settings->otherwise;
}

/* As rewrite.h asks for it. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  (void)array;
  const choice *chosen = context;
  for (unsigned i = 0; i < chosen->left_out; i++)
    if (strcmp(chosen->name[i], kernel->name) == 0)
      return NULL;
  const bf_hash *hash = listed_hash(chosen->settings, kernel->name);
  return hash && strcmp(bf_hash_text(hash), "none") != 0 ? hash : NULL;
}

/* ---- Code that is linked with other code ---- */

/* Fails where other modules know the size of shared variables, which padding changes. */
static int check_variables(const bf_ptx_module *module, bf_diagnostic *diagnostic) {
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE && item->variable->space == BF_PTX_SPACE_SHARED &&
        item->variable->linkage != BF_PTX_PRIVATE && item->variable->bytes)
      return bf_fail(diagnostic, BF_UNSUPPORTED, "shared variable %s belongs to other modules too",
                     item->variable->name);
  return BF_OK;
}

/* Leaves out the kernels with dynamic shared memory. */
static int leave_out(const bf_ptx_module *module, const bf_rewrite_result *result, choice *chosen,
                     bf_diagnostic *diagnostic) {
  chosen->name = calloc((size_t)result->kernels + 1, sizeof *chosen->name);
  if (!chosen->name)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  for (unsigned i = 0; i < result->kernels; i++)
    if (result->kernel[i].has_dynamic_shared)
      chosen->name[chosen->left_out++] = bf_ptx_find(module, result->kernel[i].name)->name;
  return BF_OK;
}

/* ---- Rewriting ---- */

/* Rewrites the module, without what is left out. */
static int rewrite_module(const bf_ptx_module *module, bool is_linked, choice *chosen,
                          bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  bf_rewrite_options options = {.context = chosen, .hash_of = hash_of};
  if (is_linked) {
    bf_rewrite_result obstacles = {0};
    BF_TRY(check_variables(module, diagnostic));
    BF_TRY(bf_rewrite_examine(module, &obstacles, diagnostic));
    int error = leave_out(module, &obstacles, chosen, diagnostic);
    bf_rewrite_free(&obstacles);
    BF_TRY(error);
  }
  return bf_rewrite(module, &options, result, diagnostic);
}

/* Fails where the verifier does not accept the result. */
static int verify(const bf_ptx_module *module, choice *chosen, const bf_rewrite_result *result,
                  bf_diagnostic *diagnostic) {
  bf_ptx_module *rewritten;
  bf_verify_result verdict = {0};
  BF_TRY(
      bf_ptx_parse("rewritten PTX", result->text.data, result->text.size, &rewritten, diagnostic));
  int error = bf_verify(module, rewritten, chosen, hash_of, &verdict, diagnostic);
  if (error == BF_OK && !verdict.is_accepted)
    error = bf_fail(diagnostic, BF_UNSUPPORTED, "the verifier rejects the rewritten PTX: %s",
                    verdict.findings ? verdict.finding[0].text : "no reason given");
  bf_verify_free(&verdict);
  bf_ptx_free(rewritten);
  return error;
}

/* Adds what is to be known about one kernel. */
static void describe(const bf_rewrite_kernel *kernel, inject_rewritten *rewritten) {
  rewritten->hashed += kernel->is_rewritten;
  if (kernel->is_rewritten && kernel->has_dynamic_shared)
    bf_text_addf(&rewritten->dynamic, "%s\n", kernel->name);
  if (kernel->is_rewritten)
    bf_text_addf(&rewritten->remarks, "%s: %s\n", kernel->name, kernel->hash);
  else if (kernel->obstacles)
    bf_text_addf(&rewritten->remarks, "%s: left alone: line %llu: %s\n", kernel->name,
                 (unsigned long long)kernel->obstacle[0].line, kernel->obstacle[0].text);
  else
    bf_text_addf(&rewritten->remarks, "%s: left alone\n", kernel->name);
}

/* Rewrites, verifies and describes a parsed module. */
static int process(const bf_ptx_module *module, bool is_linked, choice *chosen,
                   inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  bf_rewrite_result result = {0};
  BF_TRY(rewrite_module(module, is_linked, chosen, &result, diagnostic));
  int error = result.is_changed ? verify(module, chosen, &result, diagnostic) : BF_OK;
  for (unsigned i = 0; i < result.kernels && error == BF_OK; i++)
    describe(&result.kernel[i], rewritten);
  rewritten->kernels = result.kernels;
  rewritten->is_changed = result.is_changed;
  if (error == BF_OK && result.is_changed)
    bf_text_add(&rewritten->text, result.text.data, result.text.size);
  if (rewritten->text.failed || rewritten->dynamic.failed)
    error = bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  bf_rewrite_free(&result);
  return error;
}

int inject_rewrite(const inject_settings *settings, const char *name, const bf_text *ptx,
                   bool is_linked, inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  bf_ptx_module *module;
  choice chosen = {.settings = settings};
  BF_TRY(bf_ptx_parse(name, ptx->data, ptx->size, &module, diagnostic));
  int error = process(module, is_linked, &chosen, rewritten, diagnostic);
  free(chosen.name);
  bf_ptx_free(module);
  return error;
}

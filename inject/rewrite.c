/* Rewriting: the hash of each kernel, and the rewriter, whose result must pass the verifier. */
#include "inject.h"

#include "apply/rewrite.h"
#include "apply/verify.h"

#include <string.h>

/* ptxas refuses static arrays above this, so that padding must not lift a kernel over it. */
enum { MOST_STATIC_BYTES = 48 * 1024, MOST_LEFT_OUT = 64 };

/* What decides about the hash of a kernel. */
typedef struct choice {
  const inject_settings *settings;
  unsigned left_out;
  const char *name[MOST_LEFT_OUT]; /* kernels that get none */
} choice;

/* What the file of hashes has for a kernel, or an array of it, or the default. */
static const bf_hash *listed_hash(const inject_settings *settings, const char *kernel,
                                  const bf_ptx_variable *array) {
  const bf_hash *hash = settings->hashes ? bf_rewrite_listed_hash(settings->hashes, kernel,
                                                                  array ? array->name : NULL)
                                         : NULL;
  return hash ? hash : settings->otherwise;
}

/* As rewrite.h asks for it. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const choice *chosen = context;
  for (unsigned i = 0; i < chosen->left_out; i++)
    if (strcmp(chosen->name[i], kernel->name) == 0)
      return NULL;
  const bf_hash *hash = listed_hash(chosen->settings, kernel->name, array);
  return hash && strcmp(bf_hash_text(hash), "none") != 0 ? hash : NULL;
}

/* Leaves out the kernels that padding makes too large; whether there are any. */
static bool leave_out(const bf_ptx_module *module, const bf_rewrite_result *result,
                      choice *chosen) {
  unsigned before = chosen->left_out;
  for (unsigned i = 0; i < result->kernels; i++) {
    const bf_rewrite_kernel *kernel = &result->kernel[i];
    const bf_ptx_function *function = bf_ptx_find(module, kernel->name);
    if (kernel->is_rewritten && kernel->padded_bytes > MOST_STATIC_BYTES && function &&
        chosen->left_out < MOST_LEFT_OUT)
      chosen->name[chosen->left_out++] = function->name;
  }
  return chosen->left_out > before;
}

/* Rewrites the module, without what is left out. */
static int rewrite_module(const bf_ptx_module *module, choice *chosen, bf_rewrite_result *result,
                          bf_diagnostic *diagnostic) {
  bf_rewrite_options options = {.context = chosen, .hash_of = hash_of, .dynamic_is_rounded = true};
  BF_TRY(bf_rewrite(module, &options, result, diagnostic));
  if (!leave_out(module, result, chosen))
    return BF_OK;
  bf_rewrite_free(result);
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
static int process(const inject_settings *settings, const bf_ptx_module *module,
                   inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  choice chosen = {.settings = settings};
  bf_rewrite_result result = {0};
  BF_TRY(rewrite_module(module, &chosen, &result, diagnostic));
  int error = result.is_changed ? verify(module, &chosen, &result, diagnostic) : BF_OK;
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
                   inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  bf_ptx_module *module;
  BF_TRY(bf_ptx_parse(name, ptx->data, ptx->size, &module, diagnostic));
  int error = process(settings, module, rewritten, diagnostic);
  bf_ptx_free(module);
  return error;
}

/* Modules whose accesses to shared memory go through hashes, as bankfold run makes them on a GPU:
 * BANKFOLD_REWRITE names a file of lines KERNEL HASH. */
#include "apply/rewrite.h"

#include "apply/verify.h"
#include "context.h"

#include <string.h>

/* As rewrite.h asks for it; context is the list. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  (void)array;
  const bf_hash *hash = bf_hash_list_find(context, kernel->name);
  return hash && strcmp(bf_hash_text(hash), "none") != 0 ? hash : NULL;
}

/* Parses the rewritten text, and fails where the verifier does not accept it. */
static int verify(const bf_ptx_module *module, bf_hash_list *list, const bf_text *text,
                  bf_ptx_module **rewritten, bf_diagnostic *diagnostic) {
  bf_verify_result verdict = {0};
  BF_TRY(bf_ptx_parse("rewritten PTX", text->data, text->size, rewritten, diagnostic));
  int error = bf_verify(module, *rewritten, list, hash_of, &verdict, diagnostic);
  if (error == BF_OK && !verdict.is_accepted)
    error = bf_fail(diagnostic, BF_UNSUPPORTED, "the verifier rejects the rewritten PTX: %s",
                    verdict.findings ? verdict.finding[0].text : "no reason given");
  bf_verify_free(&verdict);
  return error;
}

int rt_rewrite(const rt_context *context, rt_module *module, bf_diagnostic *diagnostic) {
  bf_hash_list *list;
  bf_rewrite_result result = {0};
  bf_ptx_module *rewritten = NULL;
  if (!context->settings.rewrite)
    return BF_OK;
  BF_TRY(bf_hash_list_read(context->settings.rewrite, bf_machine_geometry(context->machine), &list,
                           diagnostic));
  bf_rewrite_options options = {.context = list, .hash_of = hash_of};
  int error = bf_rewrite(module->ptx, &options, &result, diagnostic);
  if (error == BF_OK && result.is_changed)
    error = verify(module->ptx, list, &result.text, &rewritten, diagnostic);
  if (error == BF_OK && rewritten) {
    bf_ptx_free(module->ptx);
    module->ptx = rewritten;
    module->is_rewritten = true;
  } else {
    bf_ptx_free(rewritten);
  }
  bf_rewrite_free(&result);
  bf_hash_list_free(list);
  return error;
}

/* Modules whose accesses to shared memory go through hashes, as bankfold run makes them on a GPU:
 * BANKFOLD_REWRITE names a file of lines KERNEL HASH. */
#include "context.h"
#include "rewrite/listed.h"

#include <stdlib.h>
#include <string.h>

/* Lets the module be what it was rewritten to; as the module, the result stays to the end. */
static int take(rt_module *module, bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  module->rewriting = malloc(sizeof *module->rewriting);
  if (!module->rewriting)
    return bf_no_memory(diagnostic);
  bf_ptx_free(module->ptx);
  module->ptx = result->module;
  result->module = NULL;
  *module->rewriting = *result;
  *result = (bf_rewrite_result){0};
  return BF_OK;
}

bool rt_needs_rows(const rt_function *function) {
  const bf_rewrite_result *rewriting = function->module->rewriting;
  for (unsigned i = 0; rewriting && i < rewriting->kernels; i++)
    if (strcmp(rewriting->kernel[i].name, function->name) == 0)
      return rewriting->kernel[i].is_rewritten && rewriting->kernel[i].has_dynamic_shared;
  return false;
}

int rt_rewrite(const rt_context *context, rt_module *module, bf_diagnostic *diagnostic) {
  bf_hash_list *list;
  bf_rewrite_result result = {0};
  if (!context->settings.rewrite)
    return BF_OK;
  BF_TRY(bf_hash_list_read(context->settings.rewrite, bf_listed_geometry, &list, diagnostic));
  bf_listed listed = {.hashes = list, .dynamic_is_rounded = true};
  int error = bf_rewrite_listed(module->ptx, &listed, &result, diagnostic);
  if (!error && result.was_rewritten)
    rt_say(context, "a module was rewritten before, and runs as it is");
  if (!error && result.is_changed)
    error = take(module, &result, diagnostic);
  bf_rewrite_free(&result);
  bf_hash_list_free(list);
  return error;
}

/* Modules whose accesses to shared memory go through hashes, as bankfold run makes them on a GPU:
 * BANKFOLD_REWRITE names a file of lines KERNEL HASH. */
#include "context.h"
#include "rewrite/listed.h"

int rt_rewrite(const rt_context *context, rt_module *module, bf_diagnostic *diagnostic) {
  bf_rewrite_result result = {0};
  if (!context->rewriting_hashes)
    return BF_OK;
  bf_listed listed = {.hashes = context->rewriting_hashes, .padding_has_room = true};
  int error = bf_rewrite_listed(module->ptx, &listed, &result, diagnostic);
  if (!error && result.was_rewritten)
    rt_say(context, "a module was rewritten before, and runs as it is");
  if (!error && result.is_changed) {
    bf_ptx_free(module->ptx);
    module->ptx = result.module;
    result.module = NULL;
    if (context->settings.machine_code) {
      bf_text_free(&module->text);
      module->text = result.text;
      result.text = (bf_text){0};
    }
  }
  bf_rewrite_free(&result);
  return error;
}

/* Rewriting by the hashes of settings: kernels stay as they are, and hashed ones stand beside them,
 * whose sizes of dynamic shared memory are rounded at launch. */
#include "inject.h"

#include "rewrite/listed.h"

/* Adds what is to be known about one kernel: nothing where it has no hash. */
static void describe(const bf_rewrite_kernel *kernel, inject_rewritten *rewritten) {
  bf_text reason = {0};
  rewritten->hashed += kernel->is_rewritten;
  if (!kernel->is_rewritten)
    bf_listed_reason(kernel, &reason);
  if (kernel->is_rewritten)
    inject_add_kernel(&(inject_kernel){kernel->name, kernel->beside, kernel->hash, NULL,
                                       kernel->has_dynamic_shared},
                      &rewritten->lines);
  else if (reason.size)
    inject_add_kernel(&(inject_kernel){kernel->name, NULL, NULL, reason.data, false},
                      &rewritten->lines);
  rewritten->lines.failed |= reason.failed;
  bf_text_free(&reason);
  bf_listed_remark(kernel, &rewritten->remarks);
  bf_text_puts(&rewritten->remarks, "\n");
}

/* Rewrites and describes a parsed module. */
static int process(const inject_settings *settings, const bf_ptx_module *module,
                   inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  bf_listed listed = {settings->hashes, settings->otherwise, .padding_has_room = true,
                      .is_beside = true};
  bf_rewrite_result result;
  int error = BF_OK;
  BF_TRY(bf_rewrite_listed(module, &listed, &result, diagnostic));
  for (unsigned i = 0; i < result.kernels; i++)
    describe(&result.kernel[i], rewritten);
  rewritten->kernels = result.kernels;
  rewritten->is_changed = result.is_changed;
  if (result.is_changed)
    bf_text_add(&rewritten->text, result.text.data, result.text.size);
  if (rewritten->text.failed || rewritten->lines.failed)
    error = bf_no_memory(diagnostic);
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

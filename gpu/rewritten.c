/* Rewriting, with the verifier behind it. */
#include "gpu/rewritten.h"

#include "verify/verify.h"

static int verify(const bf_ptx_module *module, const bf_rewrite_options *options,
                  const bf_text *text, bf_diagnostic *diagnostic) {
  bf_ptx_module *rewritten;
  bf_verify_result verdict = {0};
  BF_TRY(bf_ptx_parse("rewritten", text->data, text->size, &rewritten, diagnostic));
  int error =
      bf_verify(module, rewritten, options->context, options->hash_of, &verdict, diagnostic);
  if (!error && !verdict.is_accepted)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "the verifier rejects the rewritten PTX: %s",
                    verdict.findings ? verdict.finding[0].text : "no finding");
  bf_verify_free(&verdict);
  bf_ptx_free(rewritten);
  return error;
}

int gpu_rewrite(const bf_ptx_module *module, const bf_rewrite_options *options, bf_text *text,
                bf_diagnostic *diagnostic) {
  bf_rewrite_result result = {0};
  BF_TRY(bf_rewrite(module, options, &result, diagnostic));
  int error = verify(module, options, &result.text, diagnostic);
  if (!error)
    bf_text_add(text, result.text.data, result.text.size);
  if (!error && text->failed)
    error = bf_no_memory(diagnostic);
  bf_rewrite_free(&result);
  return error;
}

/* What the wrappers of NVIDIA's compilers share. */
#include "cli/use/wrap.h"

#include "ptx/ptx_text.h"

#include <string.h>

/* ---- Settings ---- */

/* Fails where a file has a hash that kernels cannot be rewritten with. */
static int check_list(const char *path, const bf_hash_list *list, bf_diagnostic *diagnostic) {
  const bf_hash *hash;
  const char *kernel;
  for (size_t i = 0; (hash = bf_hash_list_get(list, i, &kernel)); i++)
    if (!bf_hash_is_row_preserving(hash))
      return bf_fail_file(diagnostic, BF_BAD_INPUT, path,
                          "hash %s of '%s' does not keep words in their rows of 128 bytes",
                          bf_hash_text(hash), kernel);
  return BF_OK;
}

/* Reads the file of hashes (NULL: none) and the hash of all others (NULL: none). */
static int read_hashes(const char *path, const char *hash, cli_wrap *wrap,
                       bf_diagnostic *diagnostic) {
  if (path) {
    BF_TRY(bf_hash_list_read(path, bf_listed_geometry, &wrap->hashes, diagnostic));
    BF_TRY(check_list(path, wrap->hashes, diagnostic));
  }
  if (hash)
    BF_TRY(bf_hash_parse(hash, &bf_listed_geometry, &wrap->otherwise, diagnostic));
  if (wrap->otherwise && !bf_hash_is_row_preserving(wrap->otherwise))
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
  return read_hashes(own->hashes, own->hash || own->hashes ? own->hash : "fixed", wrap, diagnostic);
}

void cli_wrap_free(cli_wrap *wrap) {
  if (wrap->hashes)
    bf_hash_list_free(wrap->hashes);
  bf_hash_free(wrap->otherwise);
  bf_rewriting_settings_free(&wrap->settings);
  *wrap = (cli_wrap){0};
}

int cli_wrap_check(const char *hash_file, const char *hash, bf_diagnostic *diagnostic) {
  cli_wrap wrap = {0};
  int error = read_hashes(hash_file, hash, &wrap, diagnostic);
  cli_wrap_free(&wrap);
  return error;
}

int cli_wrap_put(const cli_wrap_options *options, bf_diagnostic *diagnostic) {
  if (options->hash_file && strcmp(options->hash_file, "-") == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "--hash-file cannot be standard input, which is the compiler's");
  BF_TRY(cli_wrap_check(options->hash_file, options->hash, diagnostic));
  bf_rewriting_settings told = {.hash = options->hash,
                                .hashes = options->hash_file,
                                .dynamic_rounded = options->dynamic_rounded,
                                .log = options->log};
  return bf_rewriting_settings_put(&told, diagnostic);
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

static void log_result(const cli_wrap *wrap, const char *name, const bf_rewrite_result *result) {
  unsigned hashed = 0;
  for (unsigned i = 0; i < result->kernels; i++)
    hashed += result->kernel[i].is_rewritten;
  cli_wrap_log(wrap, "%s: %u of %u kernels rewritten", name, hashed, result->kernels);
  for (unsigned i = 0; i < result->kernels; i++) {
    bf_text remark = {0};
    bf_listed_remark(&result->kernel[i], &remark);
    cli_wrap_log(wrap, "  %s", remark.data ? remark.data : result->kernel[i].name);
    bf_text_free(&remark);
  }
}

/* Says that a file is compiled as it is because it was rewritten before. */
static void warn_again(const cli_wrap *wrap, const char *name) {
  bf_diagnostic why = {.caret = -1};
  bf_fail_file(&why, BF_UNSUPPORTED, name, "it was rewritten before");
  cli_wrap_warn(wrap, &why);
}

/* Rewrites PTX text. */
static int rewrite_text(const cli_wrap *wrap, const char *name, const bf_text *ptx,
                        bf_text *rewritten, bf_diagnostic *diagnostic) {
  bf_ptx_module *module;
  bf_rewrite_result result = {0};
  BF_TRY(bf_ptx_parse(name, ptx->data, ptx->size, &module, diagnostic));
  int error = bf_rewrite_listed(module, &wrap->listed, &result, diagnostic);
  if (!error) {
    log_result(wrap, name, &result);
    if (result.was_rewritten)
      warn_again(wrap, name);
    if (result.is_changed)
      bf_text_add(rewritten, result.text.data, result.text.size);
    if (rewritten->failed)
      error = bf_no_memory(diagnostic);
  }
  bf_rewrite_free(&result);
  bf_ptx_free(module);
  return error;
}

int cli_wrap_rewrite(const cli_wrap *wrap, const char *file, const char *name, bf_text *rewritten,
                     bf_diagnostic *diagnostic) {
  bf_text ptx = {0};
  int error = bf_read_file(file, SIZE_MAX, &ptx, diagnostic);
  if (!error && bf_ptx_text_is(ptx.data, ptx.size))
    error = rewrite_text(wrap, name, &ptx, rewritten, diagnostic);
  bf_text_free(&ptx);
  if (error)
    bf_text_free(rewritten);
  return error;
}

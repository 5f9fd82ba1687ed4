/* What the wrappers of NVIDIA's compilers share. */
#include "cli/use/wrap.h"

#include "hash/list.h"
#include "ptx/ptx_text.h"
#include "tune/compiling.h"

#include <string.h>
#include <sys/stat.h>

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

/* Says that a file is compiled as it is because it was rewritten before. */
static void warn_again(const cli_wrap *wrap, const char *name) {
  bf_diagnostic why = {.caret = -1};
  bf_fail_file(&why, BF_UNSUPPORTED, name, "it was rewritten before");
  cli_wrap_warn(wrap, &why);
}

/* Adds what was done to the log, line by line. */
static void log_remarks(const cli_wrap *wrap, const bf_text *remarks) {
  for (const char *line = remarks->data; line && *line;) {
    size_t length = strcspn(line, "\n");
    cli_wrap_log(wrap, "%.*s", (int)length, line);
    line += length + (line[length] == '\n');
  }
}

int cli_wrap_rewrite(const cli_wrap *wrap, const char *name, const bf_text *ptx, const char *ptxas,
                     const char *arch, bf_text *rewritten, bf_diagnostic *diagnostic) {
  const bf_compiling how = {
      .listed = &wrap->listed, .is_auto = wrap->is_auto, .ptxas = ptxas, .arch = arch};
  bf_compiled compiled;
  if (!bf_ptx_text_is(ptx->data, ptx->size))
    return BF_OK;
  int error = bf_compiling_rewrite(&how, name, ptx, &compiled, diagnostic);
  if (!error) {
    log_remarks(wrap, &compiled.remarks);
    if (compiled.was_rewritten)
      warn_again(wrap, name);
    *rewritten = compiled.ptx;
    compiled.ptx = (bf_text){0};
  }
  bf_compiled_free(&compiled);
  return error;
}

int cli_wrap_rewrite_file(const cli_wrap *wrap, const char *file, const char *name,
                          const char *ptxas, const char *arch, bf_text *rewritten,
                          bf_diagnostic *diagnostic) {
  bf_text ptx = {0};
  int error = bf_read_file(file, SIZE_MAX, &ptx, diagnostic);
  if (!error)
    error = cli_wrap_rewrite(wrap, name, &ptx, ptxas, arch, rewritten, diagnostic);
  bf_text_free(&ptx);
  return error;
}

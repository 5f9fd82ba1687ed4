/* Rewriting by a list of hashes. */
#include "rewrite/listed.h"

#include <string.h>

const bf_geometry bf_listed_geometry = {.bank_bits = 5, .address_bits = 16, .word_bytes = 4};

const bf_hash *bf_listed_hash(const bf_listed *listed, const char *kernel, const char *array) {
  const bf_hash *hash = NULL;
  if (listed->hashes && bf_rewrite_listed_hash(listed->hashes, kernel, array, &hash) != BF_OK)
    return NULL;
  return hash ? hash : listed->otherwise;
}

/* A list, and what was found out about the kernels that ask for its hashes. */
typedef struct asking {
  const bf_listed *listed;
  const bf_rewrite_result *examined; /* NULL: nothing */
  unsigned last;                     /* kernel that was asked for: they come in their order */
} asking;

/* Whether the array is one that is left alone whatever its hash. */
static bool is_narrow(asking *a, const char *kernel, const bf_ptx_variable *array) {
  for (unsigned i = 0; a->examined && i < a->examined->kernels; i++) {
    unsigned at = (a->last + i) % a->examined->kernels;
    if (strcmp(a->examined->kernel[at].name, kernel) != 0)
      continue;
    a->last = at;
    return bf_rewrite_is_narrow(&a->examined->kernel[at], array);
  }
  return false;
}

/* As rewrite.h asks for it; a hash called none leaves a kernel alone. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  asking *a = context;
  const bf_hash *hash = bf_listed_hash(a->listed, kernel->name, array ? array->name : NULL);
  if (!hash || strcmp(bf_hash_text(hash), "none") == 0)
    return NULL;
  return array && is_narrow(a, kernel->name, array) ? NULL : hash;
}

static int rewrite(const bf_ptx_module *module, asking *a, bf_rewrite_result *result,
                   bf_diagnostic *diagnostic) {
  bf_rewrite_options options = {.context = a,
                                .hash_of = hash_of,
                                .padding_has_room = a->listed->padding_has_room,
                                .blocks_are_checked = a->listed->blocks_are_checked,
                                .resizes_dynamic = a->listed->resizes_dynamic,
                                .is_beside = a->listed->is_beside};
  return bf_rewrite(module, &options, result, diagnostic);
}

int bf_rewrite_listed(const bf_ptx_module *module, const bf_listed *listed,
                      bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  bf_rewrite_result examined;
  BF_TRY(bf_rewrite_examine(module, &examined, diagnostic));
  asking a = {.listed = listed, .examined = &examined};
  int error = rewrite(module, &a, result, diagnostic);
  bf_rewrite_free(&examined);
  return error;
}

void bf_listed_reason(const bf_rewrite_kernel *kernel, bf_text *text) {
  if (!kernel->obstacles)
    bf_text_puts(text, kernel->accesses ? "" : "no accesses to shared memory");
  else if (kernel->obstacle[0].line)
    bf_text_addf(text, "line %llu: %s", (unsigned long long)kernel->obstacle[0].line,
                 kernel->obstacle[0].text);
  else
    bf_text_puts(text, kernel->obstacle[0].text);
}

void bf_listed_remark(const bf_rewrite_kernel *kernel, bf_text *text) {
  bf_text_addf(text, "%s: ", kernel->name);
  if (kernel->is_rewritten) {
    bf_text_puts(text, kernel->hash);
    return;
  }
  bf_text_puts(text, "left alone: ");
  if (kernel->obstacles || !kernel->accesses)
    bf_listed_reason(kernel, text);
  else
    bf_text_puts(text, kernel->hash ? "no access needs the hash" : "no hash");
}

/* ---- Reading ---- */

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

int bf_listed_read(const char *file, const char *text, const char *hash, bf_listed *listed,
                   bf_diagnostic *diagnostic) {
  if (file) {
    bf_hash_list *hashes;
    BF_TRY(bf_hash_list_parse(file, text, bf_listed_geometry, &hashes, diagnostic));
    listed->hashes = hashes;
    BF_TRY(check_list(file, hashes, diagnostic));
  }
  if (hash) {
    bf_hash *otherwise;
    BF_TRY(bf_hash_parse(hash, &bf_listed_geometry, &otherwise, diagnostic));
    listed->otherwise = otherwise;
    if (!bf_rewrite_takes(otherwise))
      return bf_fail(diagnostic, BF_UNSUPPORTED,
                     "programs are rewritten with hashes that leave every word in its row of 128 "
                     "bytes; '%s' does not",
                     hash);
  }
  return BF_OK;
}

void bf_listed_free(bf_listed *listed) {
  if (listed->hashes)
    bf_hash_list_free((bf_hash_list *)listed->hashes);
  bf_hash_free((bf_hash *)listed->otherwise);
  *listed = (bf_listed){0};
}

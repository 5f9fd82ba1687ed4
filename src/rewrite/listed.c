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

/* As rewrite.h asks for it; a hash called none leaves a kernel alone. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const bf_hash *hash = bf_listed_hash(context, kernel->name, array ? array->name : NULL);
  return hash && strcmp(bf_hash_text(hash), "none") != 0 ? hash : NULL;
}

int bf_rewrite_listed(const bf_ptx_module *module, const bf_listed *listed,
                      bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  bf_rewrite_options options = {.context = (void *)(uintptr_t)listed,
                                .hash_of = hash_of,
                                .padding_has_room = listed->padding_has_room,
                                .is_beside = listed->is_beside};
  return bf_rewrite(module, &options, result, diagnostic);
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
    bf_text_puts(text, "no hash");
}

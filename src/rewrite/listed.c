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

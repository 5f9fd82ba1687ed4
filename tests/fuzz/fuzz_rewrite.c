/* Rewriting PTX: whatever parses is rewritten to something that parses again, has the same kernels
 * and is accepted by the verifier, or is left as it was for reasons that are told. With one hash
 * for all, and with one for arrays whose name has an even first letter. */
#include "rewrite/rewrite.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct choice {
  const bf_hash *hash;
  bool by_array;
} choice;

static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const choice *chosen = context;
  (void)kernel;
  if (!chosen->by_array)
    return chosen->hash;
  return array && array->name[0] % 2 == 0 ? chosen->hash : NULL;
}

/* A kernel is rewritten, or has obstacles, or has no access that needs it. */
static void check_kernel(const bf_rewrite_kernel *kernel, bool by_array) {
  assert(kernel->name && (kernel->hash || by_array));
  assert(!kernel->is_rewritten || kernel->obstacles == 0);
  assert(by_array || kernel->is_rewritten || kernel->obstacles > 0 ||
         kernel->accesses == kernel->exempt);
  assert(kernel->hashed + kernel->exempt <= kernel->accesses);
  for (unsigned i = 0; i < kernel->obstacles; i++)
    assert(kernel->obstacle[i].text[0]);
}

static void check_module(const bf_ptx_module *module, choice *chosen) {
  bf_rewrite_options options = {.context = chosen, .hash_of = hash_of, .padding_has_room = true};
  bf_rewrite_result result;
  bf_diagnostic diagnostic;
  bool equal;
  /* some malformed text parses; what the verifier rejects of it is left as it is */
  assert(bf_rewrite(module, &options, &result, &diagnostic) == BF_OK);
  for (unsigned i = 0; i < result.kernels; i++)
    check_kernel(&result.kernel[i], chosen->by_array);
  assert(result.is_changed == (result.module != NULL));
  assert(!result.is_changed || !result.was_rewritten);
  if (result.is_changed)
    assert(bf_ptx_equal(module, result.module, &equal) == BF_OK && !equal);
  bf_rewrite_free(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const bf_geometry geometry = {5, 16, 4};
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  bf_hash *hash;
  if (bf_ptx_parse("fuzz", (const char *)data, size, &module, &diagnostic) != BF_OK)
    return 0;
  assert(bf_hash_parse("bits:0,1,2^5^9,3^6,4^7", &geometry, &hash, &diagnostic) == BF_OK);
  for (int by_array = 0; by_array < 2; by_array++)
    check_module(module, &(choice){hash, by_array});
  bf_hash_free(hash);
  bf_ptx_free(module);
  return 0;
}

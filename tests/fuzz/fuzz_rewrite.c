/* Rewriting PTX: whatever parses is rewritten to something that parses again and has the same
 * kernels, or is left as it was for reasons that are told. */
#include "apply/rewrite.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const bf_hash *same(void *context, const bf_ptx_function *kernel,
                           const bf_ptx_variable *array) {
  (void)array;
  (void)kernel;
  return context;
}

/* A kernel is rewritten, or has obstacles, or has no access that needs it. */
static void check_kernel(const bf_rewrite_kernel *kernel) {
  assert(kernel->name && kernel->hash);
  assert(!kernel->is_rewritten || kernel->obstacles == 0);
  assert(kernel->is_rewritten || kernel->obstacles > 0 || kernel->accesses == kernel->exempt);
  assert(kernel->hashed + kernel->exempt <= kernel->accesses);
  for (unsigned i = 0; i < kernel->obstacles; i++)
    assert(kernel->obstacle[i].text[0]);
}

static void check_module(const bf_ptx_module *module, const bf_hash *hash) {
  bf_rewrite_options options = {(void *)(uintptr_t)hash, same, true};
  bf_rewrite_result result;
  bf_diagnostic diagnostic;
  bf_ptx_module *again;
  bool equal;
  assert(bf_rewrite(module, &options, &result, &diagnostic) == BF_OK);
  for (unsigned i = 0; i < result.kernels; i++)
    check_kernel(&result.kernel[i]);
  assert(bf_ptx_parse("rewritten", result.text.data, result.text.size, &again, &diagnostic) ==
         BF_OK);
  assert(bf_ptx_equal(module, again, &equal) == BF_OK && equal == !result.is_changed);
  bf_ptx_free(again);
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
  check_module(module, hash);
  bf_hash_free(hash);
  bf_ptx_free(module);
  return 0;
}
